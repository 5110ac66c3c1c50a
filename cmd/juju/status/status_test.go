package status_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/cmd/juju/store"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=active web=active 0=started")
	m.At = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	u.Types("status", "--utc")
	if u.Code != 0 || !strings.HasPrefix(u.Out.String(),
		"Model    Controller  Cloud/Region  Version  Timestamp\ndefault  prod                               03:04:05Z\n") ||
		!strings.Contains(u.Out.String(), "web/0  active") || strings.Contains(u.Out.String(), "\x1b") {
		t.Errorf("exit code %d:\n%s", u.Code, u.Out.String())
	}
	for format, want := range map[string]string{"yaml": "model:\n", "json": `{"model":`, "oneline": "- web/0: ",
		"short": "- web/0: ", "line": "- web/0: ", "summary": "Running on subnets:"} {
		u.Types("status", "--format", format)
		if u.Code != 0 || !strings.HasPrefix(u.Out.String(), want) {
			t.Errorf("%s: exit code %d:\n%s", format, u.Code, u.Out.String())
		}
	}
	u.Model.Returns.Storage = []entity.StorageStatus{{ID: "data/0", Filesystem: "vol", Unit: "web/0", Machine: "0", Location: "/srv"}, {ID: "logs/1"}}
	for line, want := range map[string]struct {
		shown string
		all   bool // of the storage
	}{
		"--storage": {"data/0      filesystem        /srv", true}, "--format json": {`"filesystems":{"0":{"provider-id":"vol"`, true},
		"--format yaml --storage": {"mount-point: /srv", true}, "web/0 --format json": {`"storage":{"storage":{"data/0":`, false},
		"web --storage": {"web/0         data/0", false},
	} {
		u.Types(append([]string{"status"}, strings.Fields(line)...)...)
		if u.Code != 0 || !strings.Contains(u.Out.String(), want.shown) || strings.Contains(u.Out.String(), "logs/1") != want.all || u.Err.Len() > 0 {
			t.Errorf("status %s: exit code %d, said %q:\n%s", line, u.Code, u.Err.String(), u.Out.String())
		}
	}
	for _, flag := range []string{"relations", "storage"} {
		u.Types("status", "--format", "short", "--"+flag)
		if u.Err.String() != "ignoring --"+flag+": the format short does not show that\n" {
			t.Errorf("said %q", u.Err.String())
		}
	}

	// Colors are for terminals, or with --color.
	colored := func(want bool, args ...string) {
		t.Helper()
		u.Types(append([]string{"status"}, args...)...)
		if strings.Contains(u.Out.String(), "\x1b[32m") != want {
			t.Errorf("%q on a terminal (%v): %q", args, u.Session.OutTerminal, u.Out.String())
		}
	}
	colored(true, "--color")
	u.Session.OutTerminal = true
	colored(true)
	colored(false, "--no-color")
	u.Env["NO_COLOR"] = "1"
	colored(false)
	colored(true, "--color")
}

// On a terminal, lines fit its width; other output is not wrapped.
func TestStatusFitsTheTerminal(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=blocked web=active")
	m.Services[0].Units[0].Workload.Message = strings.Repeat("no database is related. ", 10)
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	widest := func() (n int) {
		for line := range strings.Lines(u.Out.String()) {
			n = max(n, len(line)-1)
		}
		return n
	}
	u.Types("status")
	if widest() < 200 {
		t.Errorf("piped, it is broken:\n%s", u.Out.String())
	}
	u.Session.OutTerminal, u.Env["NO_COLOR"] = true, "1"
	u.Types("status")
	if n := widest(); n > 80 {
		t.Errorf("on a terminal of 80 columns a line has %d:\n%s", n, u.Out.String())
	}
	u.Session.Width = func() int { return 132 }
	u.Types("status")
	if n := widest(); n > 132 || n < 100 {
		t.Errorf("on a terminal of 132 columns a line has %d:\n%s", n, u.Out.String())
	}
	u.Model.Returns.History = []entity.PastStatus{{Kind: "workload", Status: m.Services[0].Units[0].Workload}}
	u.Types("show-status-log", "web/0")
	if n := widest(); n > 132 || n < 80 {
		t.Errorf("a line of the history has %d:\n%s", n, u.Out.String())
	}
}

func TestEmptyStatus(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("status", "--utc")
	u.Sees(0, "Model    Controller  Cloud/Region  Version  Timestamp\n"+
		"default  prod                               00:00:00Z\n", "\nModel \"prod:default\" is empty.\n")
	u.Types("status", "--utc", "-q", "--format", "short")
	u.Sees(0, "", "")
}

// A controller that does not answer is asked again.
func TestStatusRetries(t *testing.T) { synctest.Test(t, testStatusRetries) }

func testStatusRetries(t *testing.T) {
	u := newUser(t)
	u.Model.Returns.Err = entity.Errorf(entity.Unavailable, "the connection to the controller is lost")
	u.Types("status")
	u.Asked("Status", "Status", "Status", "Status")
	u.Sees(1, "", "ERROR the connection to the controller is lost\n")
	begun := time.Now()
	u.Types("status", "--retry-count", "1", "--retry-delay", "7s")
	u.Asked("Status", "Status")
	if passed := time.Since(begun); passed != 7*time.Second {
		t.Errorf("it waited for %v", passed)
	}
	// A controller that can't be reached is not retried again.
	u.Session.Connect = func(context.Context) (io.Closer, error) {
		u.Model.Note("connect")
		return nil, entity.Errorf(entity.Unavailable, "cannot reach controller")
	}
	u.Types("status")
	u.Asked("connect")
	u.Sees(1, "", "ERROR cannot reach controller\n")
	u.Session.Connect = func(context.Context) (io.Closer, error) {
		u.Model.Opened++
		return u.Model, nil
	}
	// Errors that a retry can't change are not retried.
	u.Model.Returns.Err = entity.Errorf(entity.Invalid, `pattern "a/b/c" contains too many '/' characters`)
	u.Types("status", "a/b/c")
	u.Asked("Status a/b/c")
	u.Sees(1, "", "ERROR pattern \"a/b/c\" contains too many '/' characters\n")
}

func TestStatusWatch(t *testing.T) { synctest.Test(t, testStatusWatch) }

func testStatusWatch(t *testing.T) {
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=waiting"), waittest.Model("web/0=active")}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Second, cancel)
	u.TypesUntil(ctx, "status", "--watch", "2s", "--format", "short")
	u.Sees(0, "- web/0:  (agent:idle, workload:waiting)\n\n- web/0:  (agent:idle, workload:active)\n\n"+
		"- web/0:  (agent:idle, workload:active)\n\n", "")

	// On a terminal, each status is drawn over the one before, so that nothing flickers: the screen is cleared once.
	u.Session.OutTerminal = true
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(3*time.Second, cancel)
	u.TypesUntil(ctx, "status", "--watch", "2s", "--format", "short", "--no-color")
	frame := "- web/0:  (agent:idle, workload:active)\x1b[K\n\x1b[K\nEvery 2s, until Ctrl-C.\x1b[K\x1b[J"
	u.Sees(0, "\x1b[H\x1b[2J"+frame+"\x1b[H"+frame+"\n", "")
}

// A pattern that matches nothing is an error, after what the others match.
func TestStatusOfNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=active")
	m.Unmatched = []string{"x", "y/0"}
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	u.Types("status", "web", "x", "y/0")
	if says := "ERROR nothing in model \"default\" matches x, y/0\nTo see what is in the model: juju status\n"; u.Code != 1 ||
		!strings.Contains(u.Out.String(), "web/0") || u.Err.String() != says {
		t.Errorf("exit code %d, said %q, printed\n%s", u.Code, u.Err.String(), u.Out.String())
	}
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Model: m.Model, Unmatched: []string{"x"}}}
	u.Types("status", "x", "--format", "json")
	u.Sees(1, "", "ERROR nothing in model \"default\" matches x\nTo see what is in the model: juju status\n")
}

// -m and the older -e choose the model.
func TestModelFlag(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, line := range []string{"status -m b:x", "status --model b:x", "status -e b:x", "status --environment=b:x"} {
		u.Note(func(c *store.Contents) { c.Controllers["b"] = &store.Controller{User: "bob"} })
		u.Types(strings.Fields(line)...)
		if u.Code != 0 || u.Session.Model != "b:x" || !strings.Contains(u.Out.String(), "  b  ") {
			t.Errorf("%s: exit code %d, model %q\n%s%s", line, u.Code, u.Session.Model, u.Out.String(), u.Err.String())
		}
	}
}
