package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/state/mongo"
)

// start runs jujud with a command line that must fail before it serves.
func start(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // should it serve after all, it ends at once
	var out, errs bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	code = run(ctx, cmd)
	return code, out.String(), errs.String()
}

func TestMongodRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, 2, "no --dbpath given"},
		{[]string{"--dbpath", dir, "--bind_ip", "0.0.0.0"}, 2, `cannot bind to "0.0.0.0"`},
		{[]string{"--dbpath", dir, "--bind_ip", "192.0.2.1"}, 2, "only loopback addresses"},
		{[]string{"--dbpath", dir, "--bind_ip", "::"}, 2, "only loopback addresses"},
		{[]string{"--dbpath", dir, "--bind_ip", "127.0.0.1,192.0.2.1"}, 2, "only loopback addresses"},
		{[]string{"--dbpath", dir, "--bind_ip", ""}, 2, "only loopback addresses"},
		{[]string{"--dbpath", dir, "--bind_ip", "db.example.com"}, 2, "only loopback addresses"},
		{[]string{"--dbpath", dir, "--port", "70000"}, 2, "70000"},
		{[]string{"--dbpath", dir, "--replSet=juju"}, 2, "single server"},
		{[]string{"--dbpath", dir, "--frob"}, 2, "unknown flag: --frob"},
		{[]string{"--dbpath", dir, "extra"}, 2, `unrecognized args: ["extra"]`},
		{[]string{"--dbpath", "/dev/null/db", "--port", "0"}, 1, "cannot open the store in /dev/null/db"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			code, stdout, stderr := start(t, append([]string{"mongod"}, test.args...)...)
			if code != test.code || !strings.HasPrefix(stderr, "ERROR ") || !strings.Contains(stderr, test.want) {
				t.Errorf("exit code %d, %q, want %d and %q", code, stderr, test.code, test.want)
			}
			if stdout != "" {
				t.Errorf("it printed %q", stdout)
			}
		})
	}
}

// The flags that mgo's dbtest gives are accepted.
func TestMongodHarnessFlags(t *testing.T) {
	code, stdout, stderr := start(t, "mongod", "--dbpath", t.TempDir(), "--bind_ip", "127.0.0.1", "--port", "0",
		"--nssize", "1", "--noprealloc", "--smallfiles", "--nojournal")
	if code != 0 || !strings.HasPrefix(stdout, "waiting for connections on 127.0.0.1:") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestMongodHelp(t *testing.T) {
	code, stdout, _ := start(t, "mongod", "--help")
	for _, want := range []string{"--dbpath", "--nojournal", "Examples:", "loopback"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, the help doesn't say %q:\n%s", code, want, stdout)
		}
	}
	if strings.Contains(stdout, "--replSet") {
		t.Error("the help offers what is refused")
	}
}

// The server can log to a file, whose size logfile limits.
func TestMongodLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if code, _, stderr := start(t, "mongod", "--dbpath", t.TempDir(), "--port", "0", "--logpath", path); code != 0 {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if code, _, stderr := start(t, "mongod", "--dbpath", t.TempDir(), "--logpath", "/dev/null/log"); code != 1 ||
		!strings.Contains(stderr, "cannot open the log") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// A store whose log is damaged is not served. A repair keeps what was written before the
// damage.
func TestMongodRepair(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %q, error %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-200] ^= 1
	if err := os.WriteFile(logs[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := start(t, "mongod", "--dbpath", dir, "--port", "0")
	if code != 1 || !strings.Contains(stderr, filepath.Base(logs[0])+" is damaged at byte ") ||
		!strings.Contains(stderr, "add --repair") {
		t.Errorf("serving a damaged store: code %d\n%s", code, stderr)
	}
	var out bytes.Buffer
	cmd := root()
	cmd.SetArgs([]string{"mongod", "--dbpath", dir, "--repair"})
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	if code := run(t.Context(), cmd); code != 0 || out.String() != "The store in "+dir+" opens.\n" {
		t.Errorf("repairing it: code %d\n%s", code, out.String())
	}
	if code, _, stderr := start(t, "mongod", "--dbpath", dir, "--port", "0"); code != 0 {
		t.Errorf("serving what is repaired: code %d\n%s", code, stderr)
	}
}

// fill adds collections to a store.
func fill(t *testing.T, dir string) {
	t.Helper()
	store, err := mongo.OpenEmbedded(dir, mongo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session := store.Session()
	for i := range 20 {
		if err := session.DB("db").C(fmt.Sprint("c", i)).Insert(map[string]int{"n": i}); err != nil {
			t.Fatal(err)
		}
	}
	session.Close()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
