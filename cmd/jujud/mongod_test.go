package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// start runs jujud with a command line that must not get to serving.
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

// TestMongodHarnessFlags gives the flags that mgo's dbtest does.
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

// TestMongodLog has the server log to a file, whose size is bounded by logfile.
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
