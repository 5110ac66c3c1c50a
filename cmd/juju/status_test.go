package main

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// Machines are listed and shown without the services.
func TestMachines(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=active web=active 0=started 1=started")
	m.Machines[0].Hardware, m.Machines[0].InstanceID = "arch=amd64 cores=2 availability-zone=east", "inst-0"
	m.Machines[0].Containers = []entity.MachineStatus{{ID: "0/lxd/0", InstanceID: "inst-1"}}
	u.fake.statuses = []*entity.ModelStatus{m}
	u.types("machines")
	if u.code != 0 || strings.Contains(u.out.String(), "web") ||
		!regexp.MustCompile(`(?s)^Machine  State .*\n0  +started  +inst-0  +east\n0/lxd/0 .*\n1 `).MatchString(u.out.String()) {
		t.Errorf("exit code %d:\n%s", u.code, u.out.String())
	}
	u.types("show-machine", "0")
	for _, want := range []string{"model: default\n", "hardware: arch=amd64 cores=2 availability-zone=east\n", "0/lxd/0"} {
		if u.code != 0 || !strings.Contains(u.out.String(), want) || strings.Contains(u.out.String(), `"1"`) {
			t.Errorf("exit code %d, want %q:\n%s", u.code, want, u.out.String())
		}
	}
	u.types("show-machine", "0/lxd/0", "--format", "json")
	if u.code != 0 || strings.Contains(u.out.String(), "inst-0") || !strings.Contains(u.out.String(), "inst-1") {
		t.Errorf("exit code %d:\n%s", u.code, u.out.String())
	}
	u.types("show-machine", "0", "7")
	u.sees(1, "", "ERROR machine 7 not found\nTo list the machines: juju machines\n")
	u.types("show-machine", "web/0")
	u.sees(2, "", "ERROR invalid machine \"web/0\"\nFor usage: juju help show-machine\n")
	u.fake.statuses = []*entity.ModelStatus{{Model: m.Model}}
	u.types("machines")
	if u.code != 0 || u.err.String() != "Model \"default\" has no machines.\n" {
		t.Errorf("exit code %d, said %q", u.code, u.err.String())
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=active web=active 0=started")
	m.At = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	u.fake.statuses = []*entity.ModelStatus{m}
	u.types("status", "--utc")
	if u.code != 0 || !strings.HasPrefix(u.out.String(),
		"Model    Controller  Cloud/Region  Version  Timestamp\ndefault  prod                               03:04:05Z\n") ||
		!strings.Contains(u.out.String(), "web/0  active") || strings.Contains(u.out.String(), "\x1b") {
		t.Errorf("exit code %d:\n%s", u.code, u.out.String())
	}
	for format, want := range map[string]string{"yaml": "model:\n", "json": `{"model":`, "oneline": "- web/0: ",
		"short": "- web/0: ", "line": "- web/0: ", "summary": "Running on subnets:"} {
		u.types("status", "--format", format)
		if u.code != 0 || !strings.HasPrefix(u.out.String(), want) {
			t.Errorf("%s: exit code %d:\n%s", format, u.code, u.out.String())
		}
	}
	u.types("status", "--format", "yaml", "--relations")
	if u.err.String() != "ignoring --relations: it applies only to the tabular format\n" {
		t.Errorf("said %q", u.err.String())
	}

	// Colors are for terminals, or with --color.
	colored := func(want bool, args ...string) {
		t.Helper()
		u.types(append([]string{"status"}, args...)...)
		if strings.Contains(u.out.String(), "\x1b[32m") != want {
			t.Errorf("%q on a terminal (%v): %q", args, u.session.OutTerminal, u.out.String())
		}
	}
	colored(true, "--color")
	u.session.OutTerminal = true
	colored(true)
	colored(false, "--no-color")
	u.env["NO_COLOR"] = "1"
	colored(false)
	colored(true, "--color")
}

// On a terminal, lines fit its width; other output is not wrapped.
func TestStatusFitsTheTerminal(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=blocked web=active")
	m.Services[0].Units[0].Workload.Message = strings.Repeat("no database is related. ", 10)
	u.fake.statuses = []*entity.ModelStatus{m}
	widest := func() (n int) {
		for line := range strings.Lines(u.out.String()) {
			n = max(n, len(line)-1)
		}
		return n
	}
	u.types("status")
	if widest() < 200 {
		t.Errorf("piped, it is broken:\n%s", u.out.String())
	}
	u.session.OutTerminal, u.env["NO_COLOR"] = true, "1"
	u.types("status")
	if n := widest(); n > 80 {
		t.Errorf("on a terminal of 80 columns a line has %d:\n%s", n, u.out.String())
	}
	u.session.Width = func() int { return 132 }
	u.types("status")
	if n := widest(); n > 132 || n < 100 {
		t.Errorf("on a terminal of 132 columns a line has %d:\n%s", n, u.out.String())
	}
	u.fake.history = []entity.PastStatus{{Kind: "workload", Status: m.Services[0].Units[0].Workload}}
	u.types("show-status-log", "web/0")
	if n := widest(); n > 132 || n < 80 {
		t.Errorf("a line of the history has %d:\n%s", n, u.out.String())
	}
}

func TestEmptyStatus(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.types("status", "--utc")
	u.sees(0, "Model    Controller  Cloud/Region  Version  Timestamp\n"+
		"default  prod                               00:00:00Z\n", "\nModel \"prod:default\" is empty.\n")
	u.types("status", "--utc", "-q", "--format", "short")
	u.sees(0, "", "")
}

// A controller that does not answer is asked again.
func TestStatusRetries(t *testing.T) { synctest.Test(t, testStatusRetries) }

func testStatusRetries(t *testing.T) {
	u := newUser(t)
	u.fake.err = entity.Errorf(entity.Unavailable, "the connection to the controller is lost")
	u.types("status")
	u.asked("Status", "Status", "Status", "Status")
	u.sees(1, "", "ERROR the connection to the controller is lost\n")
	begun := time.Now()
	u.types("status", "--retry-count", "1", "--retry-delay", "7s")
	u.asked("Status", "Status")
	if passed := time.Since(begun); passed != 7*time.Second {
		t.Errorf("it waited for %v", passed)
	}
	// A controller that can't be reached is not retried again.
	u.session.Connect = func(context.Context) (io.Closer, error) {
		u.fake.note("connect")
		return nil, entity.Errorf(entity.Unavailable, "cannot reach controller")
	}
	u.types("status")
	u.asked("connect")
	u.sees(1, "", "ERROR cannot reach controller\n")
	u.session.Connect = func(context.Context) (io.Closer, error) {
		u.fake.opened++
		return u.fake, nil
	}
	// Errors that a retry can't change are not retried.
	u.fake.err = entity.Errorf(entity.Invalid, `pattern "a/b/c" contains too many '/' characters`)
	u.types("status", "a/b/c")
	u.asked("Status a/b/c")
	u.sees(1, "", "ERROR pattern \"a/b/c\" contains too many '/' characters\n")
}

func TestStatusWatch(t *testing.T) { synctest.Test(t, testStatusWatch) }

func testStatusWatch(t *testing.T) {
	u := newUser(t)
	u.fake.statuses = []*entity.ModelStatus{waittest.Model("web/0=waiting"), waittest.Model("web/0=active")}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Second, cancel)
	u.typesUntil(ctx, "status", "--watch", "2s", "--format", "short")
	u.sees(0, "- web/0:  (agent:idle, workload:waiting)\n\n- web/0:  (agent:idle, workload:active)\n\n"+
		"- web/0:  (agent:idle, workload:active)\n\n", "")

	// On a terminal, each status is drawn over the one before, so that nothing flickers: the screen is cleared once.
	u.session.OutTerminal = true
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(3*time.Second, cancel)
	u.typesUntil(ctx, "status", "--watch", "2s", "--format", "short", "--no-color")
	frame := "- web/0:  (agent:idle, workload:active)\x1b[K\n\x1b[K\nEvery 2s, until Ctrl-C.\x1b[K\x1b[J"
	u.sees(0, "\x1b[H\x1b[2J"+frame+"\x1b[H"+frame+"\n", "")
}
