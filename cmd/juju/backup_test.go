package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"juju/agent/backup"
)

// A backup's description is escaped where it is printed, and its name can't lead out of the client's directory.
func TestHostileBackups(t *testing.T) {
	u := newUser(t)
	path := filepath.Join(t.TempDir(), "b")
	for _, name := range []string{"../../escaped", "a\x1b[2Jb", "", "/etc"} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := backup.NewWriter(f, backup.Manifest{Controller: "uuid", Name: name, Cloud: "local", Version: "1.2.3", Made: time.Now()})
		if err == nil {
			err = w.Close()
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"verify-backup", "restore-backup"} {
			u.types(command, path)
			if out := u.out.String() + u.err.String(); strings.Contains(out, "\x1b") || strings.Contains(command, "restore") &&
				!strings.Contains(out, "is not a valid controller name") {
				t.Errorf("%s %q: printed %q", command, name, out)
			}
		}
	}
}
