package admission

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The first failed logins from an address are logged, and the others counted.
func TestFailedLoginsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu  sync.Mutex
			all []string
		)
		f := Failures{Log: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, line)
		}}
		logged := func() (lines []string) {
			mu.Lock()
			defer mu.Unlock()
			lines, all = all, nil
			return lines
		}
		minute := func() {
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		for i := range 10_000 {
			f.Add("loopback", fmt.Sprint("attempt ", i))
		}
		f.Add("192.0.2.1", "another attempt")
		lines := logged()
		if len(lines) != FailuresLogged+1 || lines[0] != "attempt 0" || lines[FailuresLogged] != "another attempt" {
			t.Errorf("logged %q", lines)
		}
		minute()
		lines = logged()
		if want := "10001 logins failed within a minute, of which 6 are logged: 10000 from loopback, 1 from 192.0.2.1"; !slices.Equal(lines, []string{want}) {
			t.Errorf("after a minute: %q", lines)
		}

		f.Add("loopback", "the next minute")
		minute()
		if lines = logged(); len(lines) != 1 {
			t.Errorf("all were logged, but after the minute comes %q", lines)
		}

		for i := range 100_000 { // more addresses than are kept
			f.Add(fmt.Sprint("address ", i), "x")
		}
		minute()
		lines = logged()
		if len(lines) != failuresLoggedAll+1 ||
			!strings.HasPrefix(lines[failuresLoggedAll],
				"100000 logins failed within a minute, of which 100 are logged: 1 from") ||
			!strings.HasSuffix(lines[failuresLoggedAll], ", the others from elsewhere") {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		for i := range 10 * failuresNamed { // fewer addresses than are kept, and more than are named
			for range FailuresLogged + 1 {
				f.Add(fmt.Sprint("address ", i), "x")
			}
		}
		minute()
		if lines = logged(); !strings.HasSuffix(lines[len(lines)-1], ", the others from elsewhere") {
			t.Errorf("the last of %d lines is %q", len(lines), lines[len(lines)-1])
		}
		f.Flush() // nothing is left
		if lines = logged(); len(lines) > 0 {
			t.Errorf("%q", lines)
		}
	})
}
