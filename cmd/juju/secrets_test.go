package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptUnseen checks that a text, or the contents of @FILE, is in no file below the script's
// directory except where users keep it, and in no process's arguments or environment.
func scriptUnseen(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	var secrets []string
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "@"); ok {
			arg = strings.TrimSpace(ts.ReadFile(name))
		}
		if arg == "" {
			ts.Fatalf("an empty secret")
		}
		secrets = append(secrets, arg)
	}
	seen := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			return // it has gone, or is another user's
		}
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				ts.Fatalf("%q stands in %s", secret, path)
			}
		}
	}
	root := ts.Getenv("WORK")
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it has gone
		case e.IsDir() && e.Name() == "secrets":
			return fs.SkipDir // the script's own
		case e.Type().IsRegular() && e.Name() != "accounts.yaml":
			seen(path)
		}
		return nil
	})
	for _, name := range []string{"cmdline", "environ"} {
		all, err := filepath.Glob(filepath.Join("/proc/[0-9]*", name))
		ts.Check(err)
		for _, path := range all {
			seen(path)
		}
	}
}

// scriptFilled waits until a file is not empty.
func scriptFilled(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	eventually(ts, args[0]+" has something in it", func() bool {
		info, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil && info.Size() > 0
	})
}

// scriptEnvFile sets a variable to what a file has: env-file NAME FILE.
func scriptEnvFile(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}
