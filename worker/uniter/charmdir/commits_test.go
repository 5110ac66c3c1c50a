package charmdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/juju/loggo"
)

func TestCommits(t *testing.T) {
	h, d := newHistory(t)
	if _, err := h.Commits(0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a history: %v", err)
	}
	h.mustRecord(t, "nothing")
	if all, err := h.Commits(0); err != nil || len(all) > 0 {
		t.Errorf("an empty history has %v, %v", all, err)
	}
	d.write(t, "hooks/install", "x")
	d.write(t, "old", "x")
	h.mustRecord(t, CharmMessage("local:web-1"))
	d.write(t, "state", "1")
	h.mustRecord(t, "hook install")
	d.write(t, "state", "22")
	d.write(t, "a/b", "1")
	if err := os.Remove(filepath.Join(d.Path, "old")); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "hook start (failed)")
	var got []string
	all, err := h.Commits(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		line := c.Message
		for _, change := range c.Changes {
			line += fmt.Sprintf(" %c %s", change.How, change.Path)
		}
		got = append(got, line)
		if len(c.ID) != 40 || c.Time.IsZero() {
			t.Errorf("commit %+v", c)
		}
	}
	want := []string{
		"hook start (failed) A a/b D old M state",
		"hook install A state",
		"charm local:web-1 A hooks/install A old",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if last, err := h.Commits(2); err != nil || len(last) != 2 || last[0].ID != all[0].ID {
		t.Errorf("the last 2 are %v, %v", last, err)
	}
}

// An upgrade warns about the changed files that it replaces, and the history has their contents.
func TestUpgradeReportsConflicts(t *testing.T) {
	var log loggo.TestWriter
	if err := loggo.RegisterWriter(t.Name(), &log); err != nil {
		t.Fatal(err)
	}
	defer loggo.RemoveWriter(t.Name())
	d := newDir(t)
	d.History = &History{Path: d.Path, Author: "unit web/0"}
	record := func(message string) {
		t.Helper()
		d.History.mustRecord(t, message)
	}
	remove := func(name string) {
		t.Helper()
		if err := os.Remove(filepath.Join(d.Path, name)); err != nil {
			t.Fatal(err)
		}
	}
	warnings := func() (all []string) {
		for _, e := range log.Log() {
			all = append(all, e.Message)
		}
		log.Clear()
		return all
	}
	d.mustDeploy(t, "local:web-1")
	record(CharmMessage("local:web-1"))
	d.mustDeploy(t, "local:web-2") // no local changes
	record(CharmMessage("local:web-2"))
	d.mustDeploy(t, "local:web-1")
	record(CharmMessage("local:web-1"))
	if got := warnings(); len(got) > 0 {
		t.Errorf("without changes: %q", got)
	}

	d.write(t, "hooks/install", "mended") // differs in the new charm
	d.write(t, "lib/old/gone.py", "mine") // not in the new charm
	record("hook install")
	d.write(t, "lib/util.py", "two")     // as in the new charm
	d.write(t, "hooks/start", "mine")    // new in the new charm
	d.write(t, "templates/mine", "mine") // conflicts with a file of the new charm
	d.write(t, "notes", "mine")          // kept
	remove("data/seed")                  // a directory in the new charm
	remove("same")                       // restored
	d.mustDeploy(t, "local:web-2")
	want := []string{"unit web/0: charm local:web-2 replaces files that were changed in the charm directory: " +
		"hooks/install, hooks/start, lib/old/gone.py, same, templates/mine; " +
		"the directory's history has them as they were"}
	if got := warnings(); !slices.Equal(got, want) {
		t.Errorf("it warns %q, want %q", got, want)
	}
	lines := d.History.log(t)
	last := lines[len(lines)-1]
	for _, file := range []string{"before charm local:web-2:", " hooks/install=mended", " templates/mine=mine"} {
		if !strings.Contains(last, file) {
			t.Errorf("the history has %q, want %q in it", last, file)
		}
	}
}
