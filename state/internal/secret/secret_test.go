package secret

import (
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// What is in service costs what bcrypt's authors advise at least, for those who have a
// hash and for those who don't.
func TestHash(t *testing.T) {
	hash, err := Hash("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !Matches(hash, "correct horse") || Matches(hash, "correct horse ") || Matches("", "") {
		t.Error("a hash is of its password, and of no other")
	}
	for _, h := range []string{hash, nobodys()} {
		if cost, err := bcrypt.Cost([]byte(h)); err != nil || cost < 10 {
			t.Errorf("%q costs %d, %v", h, cost, err)
		}
	}
	if _, err := Hash(string(make([]byte, 73))); err == nil {
		t.Error("bcrypt would cut off what is longer than it takes")
	}
}
