package logs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/debuglog"
	"juju/apiserver/logs"
)

// size returns the bytes of all files below a directory.
func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		info, infoErr := e.Info()
		if infoErr == nil && !e.IsDir() {
			total += info.Size()
		}
		return errors.Join(err, infoErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// A unit that logs without limit does not delete the other units' lines, and its own last
// errors are kept. A line in its name counts what was dropped, and later lines are kept.
func TestNoisyUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		const share = 1 << 20
		s := open(t, dir, share)
		module := "unit.loud/0.install"
		log := func(unit, severity, message string) {
			t.Helper()
			m := debuglog.Message{Entity: unit, Timestamp: time.Now(), Severity: severity, Module: module, Message: message}
			if err := s.Append(model, m); err != nil {
				t.Fatal(err)
			}
		}
		of := func(entity string) []string {
			t.Helper()
			return read(t, s, logs.Query{Replay: true, Filter: logs.Filter{IncludeEntity: []string{entity}}})
		}
		log("unit-quiet-0", "INFO", "I am here")
		const lines = 20_000 // of 120 bytes and more: twice the share
		for i := range lines {
			log("unit-loud-0", "INFO", fmt.Sprint("line ", i))
		}
		log("unit-loud-0", "ERROR", `hook "install" failed`)
		if got := size(t, dir); got > share/8 {
			t.Errorf("it took %d bytes of %d", got, share)
		}
		if got := of("unit-quiet-0"); len(got) != 1 {
			t.Errorf("the quiet unit's log is %q", got)
		}
		heard := of("unit-loud-0")
		if len(heard) < 100 || heard[len(heard)-1] != `hook "install" failed` ||
			!strings.HasPrefix(heard[len(heard)-2], "lines are dropped from here on, for up to 2m30s: ") {
			t.Fatalf("the loud unit has %d lines, which end %q", len(heard), heard[max(0, len(heard)-3):])
		}

		module = "unit.loud/0.juju-log"
		log("unit-loud-0", "INFO", "said")
		if heard = append(heard, "said"); !slices.Equal(of("unit-loud-0"), heard) {
			t.Error("what the unit says with juju-log is dropped because of what it has printed")
		}
		module = "unit.loud/0.start"

		time.Sleep(3 * time.Minute)
		log("unit-loud-0", "INFO", "again")
		heard = append(heard, fmt.Sprintf("%d lines", lines-(len(heard)-3)), "again")
		got := of("unit-loud-0")
		if len(got) != len(heard) || got[len(got)-1] != "again" ||
			!strings.HasPrefix(got[len(got)-2], heard[len(heard)-2]+" (") {
			t.Errorf("later it ends %q, want %q", got[len(got)-3:], heard[len(heard)-3:])
		}

		// Over hours it has no more than its rate.
		for range 6 * 60 {
			time.Sleep(time.Minute)
			for range 200 {
				log("unit-loud-0", "ERROR", "no end")
			}
		}
		if got := of("unit-quiet-0"); len(got) != 1 {
			t.Errorf("after hours the quiet unit's log is %q", got)
		}
	})
}

// Every field of a message is cut to size, whatever an agent sends.
func TestLongFieldsAreCut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	long := strings.Repeat("x", 200_000)
	m := debuglog.Message{Entity: long, Severity: long, Module: long, Location: long, Message: long}
	if err := s.Append(model, m); err != nil {
		t.Fatal(err)
	}
	if got := size(t, dir); got > 18_000 {
		t.Errorf("the line has %d bytes", got)
	}
}
