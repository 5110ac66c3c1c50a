package main

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/doc/tools/verify"
)

// A path to anything but a regular file is refused at once: no command waits for a pipe, or
// reads a device forever.
func TestNotARegularFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	web := clitest.CharmDir(t, "name: web\nsummary: s\ndescription: d\n")
	for path, what := range map[string]string{pipe: "a named pipe", socket: "a socket", "/dev/zero": "a device"} {
		for _, test := range []struct {
			doing string
			args  []string
		}{
			{"cannot read charm", []string{"deploy", path}},
			{"cannot read option file", []string{"deploy", web, "--config", path}},
			{"cannot read option file", []string{"deploy", web, "--config", "motd=@" + path}},
			{"cannot read option file", []string{"set", "web", "motd=@" + path}},
			{"cannot read option file", []string{"set", "web", "--config", path}},
			{"cannot read option file", []string{"config", "web", "--file", path}},
			{"cannot read option file", []string{"model-config", "--file", path}},
			{"cannot read the URL of the MongoDB", []string{"bootstrap", "--mongo-url", "@" + path}},
		} {
			u := newUser(t)
			done := make(chan struct{})
			go func() {
				defer close(done)
				u.Types(test.args...)
			}()
			select {
			case <-done:
			case <-time.After(verify.Patience):
				t.Fatalf("juju %s hangs", strings.Join(test.args, " "))
			}
			want := "ERROR " + test.doing + ": open " + path + ": is " + what + ", not a file\n"
			if u.Code != 1 || !strings.HasPrefix(u.Err.String(), want) {
				t.Errorf("juju %s: exit code %d, %s", strings.Join(test.args, " "), u.Code, u.Err.String())
			}
			u.Asked()
		}
	}
	// So are such files in a charm.
	if err := syscall.Mkfifo(filepath.Join(web, "actions.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := newUser(t)
	u.Types("deploy", web)
	if u.Code != 1 || !strings.Contains(u.Err.String(), "actions.yaml: not a regular file") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
}

// A pipe from the shell is read.
func TestPipeFromTheShell(t *testing.T) {
	t.Parallel()
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(ends[0])
	if _, err := syscall.Write(ends[1], []byte("hello")); err != nil {
		t.Fatal(err)
	}
	syscall.Close(ends[1])
	text, err := cli.ReadOptionFile("/dev/fd/" + strconv.Itoa(ends[0]))
	if err != nil || text != "hello" {
		t.Errorf("got %q, %v", text, err)
	}
}
