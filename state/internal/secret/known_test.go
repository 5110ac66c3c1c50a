package secret

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Correct passwords are cached until they change, and guesses are limited to the rate that the slow hash allows.
func TestKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k Known
		matches := func(hash, password string, want bool) {
			t.Helper()
			if got := k.Matches("bob", hash, password); got != want {
				t.Errorf("%s with %s: %v", hash, password, got)
			}
		}
		matches("h1", "secret", false)
		k.Remember("bob", "h1", "secret")
		matches("h1", "secret", true)
		matches("h1", "Secret", false)
		matches("h2", "secret", false)
		if k.Matches("eve", "h1", "secret") {
			t.Error("eve matches bob's password")
		}
		time.Sleep(guesses * time.Second / guessesPerSecond)
		for i := range guesses {
			matches("h1", fmt.Sprint(i), false)
		}
		matches("h1", "secret", false) // the slow hash decides
		time.Sleep(time.Second)
		matches("h1", "secret", true)
		time.Sleep(knownFor)
		matches("h1", "secret", false)
	})
}
