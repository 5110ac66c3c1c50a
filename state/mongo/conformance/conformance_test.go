package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"gopkg.in/mgo.v2"

	"juju/state/mongo/conformance"
	"juju/state/mongo/embedded"
)

// memory opens an embedded store in memory, closed when the test ends.
func memory(t testing.TB) *embedded.Server {
	t.Helper()
	server, err := embedded.Open("store", embedded.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("cannot close the store: %v", err)
		}
	})
	return server
}

// connect opens a session with a server of this process, over no network.
func connect(t testing.TB, server *embedded.Server) *mgo.Session {
	t.Helper()
	return dial(t, &mgo.DialInfo{
		Addrs:      []string{"127.0.0.1:1"}, // mgo resolves it, and then doesn't use it
		DialServer: func(*mgo.ServerAddr) (net.Conn, error) { return server.Dial() },
	})
}

func dial(t testing.TB, info *mgo.DialInfo) *mgo.Session {
	t.Helper()
	info.Direct = true
	info.Timeout = 30 * time.Second
	session, err := mgo.DialWithInfo(info)
	if err != nil {
		t.Fatalf("cannot connect: %v", err)
	}
	return session
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	server := memory(t)
	conformance.Run(t, func(t testing.TB) *mgo.Session { return connect(t, server) })
}

// TestMongod runs the suite on a real MongoDB: the one that MONGOD names, or
// that which is on PATH.
func TestMongod(t *testing.T) {
	t.Parallel()
	path := os.Getenv("MONGOD")
	if path == "" {
		var err error
		if path, err = exec.LookPath("mongod"); err != nil {
			t.Skip("no MongoDB to compare with: MONGOD is not set and there is no mongod on PATH")
		}
	}
	out, err := exec.Command(path, "--version").Output()
	version := regexp.MustCompile(`(?m)^db version v(\d+)\.(\d+)`).FindSubmatch(out)
	if err != nil || version == nil {
		t.Skipf("%s is no MongoDB: it answers --version with %q, %v", path, out, err)
	}
	major, _ := strconv.Atoi(string(version[1]))
	minor, _ := strconv.Atoi(string(version[2]))
	if major < 3 || major == 3 && minor < 6 || major > 5 || major == 5 && minor > 0 {
		t.Skipf("%s is MongoDB %d.%d: mgo speaks to 3.6 to 5.0", path, major, minor)
	}
	addr := startMongod(t, path)
	conformance.Run(t, func(t testing.TB) *mgo.Session { return dial(t, &mgo.DialInfo{Addrs: []string{addr}}) })
}

// startMongod starts a mongod on an empty directory and returns its address.
func startMongod(t *testing.T, path string, flags ...string) string {
	t.Helper()
	addr := freeAddress(t)
	_, port, _ := net.SplitHostPort(addr)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, append([]string{"--dbpath", t.TempDir(), "--bind_ip", "127.0.0.1", "--port", port}, flags...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", path, out.Bytes())
		}
	})
	return addr
}

// freeAddress is a loopback address that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// buildJujud builds jujud and puts it into a directory of the test's, with a
// mongod beside it that is nothing but `jujud mongod`.
func buildJujud(t *testing.T) (jujud, mongod string) {
	t.Helper()
	dir := t.TempDir()
	jujud, mongod = filepath.Join(dir, "jujud"), filepath.Join(dir, "mongod")
	if out, err := exec.Command("go", "build", "-o", jujud, "juju/cmd/jujud").CombinedOutput(); err != nil {
		t.Fatalf("cannot build jujud: %v\n%s", err, out)
	}
	if err := os.WriteFile(mongod, fmt.Appendf(nil, "#!/bin/sh\nexec %q mongod \"$@\"\n", jujud), 0o755); err != nil {
		t.Fatal(err)
	}
	return jujud, mongod
}
