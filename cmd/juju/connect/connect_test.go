package connect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"juju/agent/host/process"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/store"
	"juju/doc/tools/verify"
	"juju/provider/local"
	"juju/state/entity"
)

func TestBeforeBootstrap(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) { delete(c.Controllers, "prod") })
	real := func(ctx context.Context) (io.Closer, error) { return connect.Model(ctx, u.Session) }
	for _, line := range []string{"status", "expose web"} {
		u.Session.Connect = real
		u.Types(strings.Fields(line)...)
		u.Sees(1, "", "ERROR no controllers registered\nTo create one: juju bootstrap; to use one with a registration string from "+
			"its administrator: juju register STRING\n")
	}
	if _, err := os.Stat(u.Env["JUJU_DATA"]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was left in the user's directory: %v", err)
	}
}

// caCert returns some certificate.
func caCert(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// containerOf makes controller "prod" one on an LXD which tells the status of its container: "" for none.
func containerOf(t *testing.T, u *clitest.User, status func() string) *store.Store {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/instances/") {
			io.WriteString(w, `{"type":"sync","metadata":{}}`)
			return
		}
		said := status()
		if said == "" {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"type":"error","error_code":404,"error":"Instance not found"}`)
			return
		}
		fmt.Fprintf(w, `{"type":"sync","metadata":{"status":%q}}`, said)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	st, err := u.Session.Store()
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(clouds.Dir(st, "lxd", "prod"), "lxd.json"),
		fmt.Sprintf(`{"controller-uuid":"11111111-2222","lxd":{"endpoint":%q}}`, socket))
	return st
}

// When the controller's container is stopped or gone, users learn that, and how to start it or what is left.
func TestTheContainerOfAControllerIsGone(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var said atomic.Value
	st := containerOf(t, u, func() string { return said.Load().(string) })
	for status, want := range map[string][]string{
		"Stopped": {"its container juju-1-2222-controller is stopped", "lxc start juju-1-2222-controller"},
		"Running": {"lxc list"},
		"":        {"LXD no longer has container juju-1-2222-controller", "doc/howto/recover-a-controller.md", "destroy-environment prod"},
	} {
		said.Store(status)
		err := clouds.ControllerOf(st, "prod", &store.Controller{Cloud: "lxd"}).Unreachable(errors.New("no answer"))
		text := err.Error() + entity.Hint(err)
		for _, part := range append(want, "no answer") {
			if !strings.Contains(text, part) {
				t.Errorf("%q: %s does not say %q", status, text, part)
			}
		}
		if status != "" && strings.Contains(text, "destroy-environment") {
			t.Errorf("%q, although it is there: %s", status, text)
		}
	}
	if _, err := os.Stat("../../../doc/howto/recover-a-controller.md"); err != nil {
		t.Error(err)
	}
}

// They learn it soon, while an attempt to connect goes on, and a container that restarts is waited for.
func TestAStoppedContainerIsSeenSoon(t *testing.T) {
	verify.Only(t, "polls in real time")
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close() // so that no one listens there
	for name, test := range map[string]struct {
		first, then string // what LXD says in the first two looks, and then
		says        string
		bound       time.Duration
	}{
		"stopped":     {"Stopped", "Stopped", "its container juju-1-2222-controller is stopped\nTo start it", time.Hour},
		"gone":        {"", "", "LXD no longer has container juju-1-2222-controller", time.Hour},
		"is deleted":  {"Stopped", "", "LXD no longer has container juju-1-2222-controller", time.Hour},
		"restarts":    {"Stopped", "Running", "Check that its container is running", 500 * time.Millisecond},
		"still there": {"Running", "Running", "Check that its container is running", 500 * time.Millisecond},
	} {
		for _, address := range []string{silent.Addr().String(), closed.Addr().String()} {
			u := newUser(t)
			var looks atomic.Int32
			containerOf(t, u, func() string {
				if looks.Add(1) < 3 {
					return test.first
				}
				return test.then
			})
			u.Note(func(c *store.Contents) {
				ctrl := c.Controllers["prod"]
				ctrl.Cloud, ctrl.Addresses, ctrl.CACert = "lxd", []string{address}, caCert(t)
			})
			u.Session.ReachTimeout, u.Session.PollInterval = test.bound, 10*time.Millisecond
			u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
				_, err := connect.Model(ctx, u.Session)
				return nil, err
			}
			u.Types("expose", "web")
			first, rest, _ := strings.Cut(u.Err.String(), "\n")
			if u.Code != 1 || first != fmt.Sprintf("Waiting up to %v for controller \"prod\"", test.bound) ||
				!strings.HasPrefix(rest, `ERROR cannot reach controller "prod": `) || !strings.Contains(rest, test.says) {
				t.Errorf("%s, %s: exit code %d, said\n%s", name, address, u.Code, u.Err.String())
			}
		}
	}
}

// So do they when the directory of a local controller is gone.
func TestTheDirectoryOfAControllerIsGone(t *testing.T) {
	t.Parallel()
	err := clouds.Of("local").Controller(clouds.At{Dir: t.TempDir(), Name: "l"}).Unreachable(errors.New("no answer"))
	if text := err.Error() + entity.Hint(err); !strings.Contains(text, "are lost") || !strings.Contains(text, "doc/howto/recover-a-controller.md") {
		t.Error(text)
	}
}

// A controller that can't be reached is tried for a while; then the error says what to do.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // so that no one listens there
	u.Note(func(c *store.Contents) {
		c.Controllers["prod"].Addresses, c.Controllers["prod"].CACert = []string{l.Addr().String()}, caCert(t)
	})
	u.Session.ReachTimeout = 300 * time.Millisecond
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		conn, err := connect.Model(ctx, u.Session)
		if err == nil {
			t.Error("connected, although no one listens")
			return conn, nil
		}
		return nil, err
	}
	begun := time.Now()
	u.Types("expose", "web")
	if passed := time.Since(begun); passed < u.Session.ReachTimeout {
		t.Errorf("it gave up after %v", passed)
	}
	lines := strings.Split(u.Err.String(), "\n")
	if u.Code != 1 || len(lines) != 4 || lines[0] != `Waiting up to 300ms for controller "prod"` ||
		!strings.HasPrefix(lines[1], `ERROR cannot reach controller "prod": `) ||
		!strings.Contains(lines[2], "juju unregister prod") {
		t.Errorf("exit code %d, said\n%s", u.Code, u.Err.String())
	}
	// It can be interrupted.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	u.TypesUntil(ctx, "expose", "web")
	if u.Code != 1 || !strings.HasSuffix(u.Err.String(), "ERROR interrupted\n") {
		t.Errorf("exit code %d, said\n%s", u.Code, u.Err.String())
	}
}

// A local controller whose directory is gone can't be started.
func TestControllerGone(t *testing.T) {
	u := newUser(t)
	st := u.Store()
	ctrl := &store.Controller{UUID: "u", Cloud: "local", Addresses: []string{"127.0.0.1:1"}, CACert: caCert(t),
		User: "admin"}
	err := clouds.ControllerOf(st, "mine", ctrl).Revive(t.Context(), u.Session)
	dir := clouds.Dir(st, "local", "mine")
	if want := `controller "mine" no longer exists: there is no ` + dir; err == nil || err.Error() != want ||
		entity.Hint(err) != "To forget it: juju destroy-environment mine" {
		t.Errorf("%v (%s), want %s", err, entity.Hint(err), want)
	}
	// Neither can one that has ended for good.
	if err := os.MkdirAll(local.ControllerDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := process.MarkEnded(local.ControllerDir(dir), "it was destroyed"); err != nil {
		t.Fatal(err)
	}
	clitest.BinariesOnPath(t)
	err = clouds.ControllerOf(st, "mine", ctrl).Revive(t.Context(), u.Session)
	if err == nil || !strings.Contains(err.Error(), "it was destroyed") ||
		!strings.Contains(entity.Hint(err), "juju destroy-environment mine") {
		t.Errorf("%v (%s)", err, entity.Hint(err))
	}
	if !errors.Is(err, process.ErrEnded) {
		t.Errorf("%v", err)
	}
	// The command that the hint names removes it.
	u.Note(func(c *store.Contents) { c.Controllers["mine"] = ctrl })
	u.Types("destroy-environment", "mine", "-y", "-q")
	u.Sees(0, "", "")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if c, err := st.Read(); err != nil || c.Controllers["mine"] != nil {
		t.Errorf("it is not forgotten: %v", err)
	}
}
