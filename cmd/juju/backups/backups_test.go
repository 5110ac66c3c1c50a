package backups_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"juju/agent/backup"
	"juju/apiserver"
)

// emptyBackup writes a backup of a controller that has stored nothing.
func emptyBackup(w io.Writer, m backup.Manifest) error {
	ca, err := apiserver.NewCA(m.Controller, time.Now())
	if err != nil {
		return err
	}
	conf, err := json.Marshal(map[string]any{"controller": m.Controller, "cloud": m.Cloud, "series": "jammy", "model": "own",
		"address": "127.0.0.1:1", "ca": ca})
	if err != nil {
		return err
	}
	a, err := backup.NewWriter(w, m)
	if err == nil {
		err = a.Add(backup.ConfigName, conf)
	}
	for _, name := range []string{"juju/controller/form", "juju/controller/documents", "own/machines/form"} {
		if err == nil {
			err = a.Add(name, nil)
		}
	}
	if err == nil {
		err = a.Close()
	}
	return err
}

// A backup's description is escaped where it is printed, and its name can't lead out of the client's directory.
func TestHostileBackups(t *testing.T) {
	u := newUser(t)
	path := filepath.Join(t.TempDir(), "b")
	for _, name := range []string{"../../escaped", "a\x1b[2Jb", "", "/etc"} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		err = emptyBackup(f, backup.Manifest{Controller: "uuid", Name: name, Cloud: "local", Version: "1.2.3", Made: time.Now()})
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		u.Types("verify-backup", path, "--format", "json")
		var shown map[string]string
		if err := json.Unmarshal(u.Out.Bytes(), &shown); err != nil || shown["controller-name"] != name || shown["controller-uuid"] != "uuid" {
			t.Errorf("%v: %s%s", err, u.Out.String(), u.Err.String())
		}
		for _, command := range []string{"verify-backup", "restore-backup"} {
			u.Types(command, path)
			if out := u.Out.String() + u.Err.String(); strings.Contains(out, "\x1b") || strings.Contains(command, "restore") &&
				!strings.Contains(out, "is not a valid controller name") {
				t.Errorf("%s %q: printed %q", command, name, out)
			}
		}
	}
}
