package wait_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
	"juju/state/modelconfig"
)

func TestWait(t *testing.T) { synctest.Test(t, testWait) }

func testWait(t *testing.T) {
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=waiting:allocating"), waittest.Model("web/0=waiting:executing"),
		waittest.Model("web/0=active")}
	u.Types("wait-for", "web")
	u.Sees(0, "", "Waiting for web/0 (running start hook)\nSettled: web/0 (active)\n")
	u.Asked("Status", "Status", "Status")

	// So does a long one.
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=waiting")}
	time.AfterFunc(20*time.Second, func() { u.Model.Change(waittest.Model("web/0=active")) })
	u.Types("wait-for", "web")
	u.Sees(0, "", "Waiting for web/0 (waiting)\nSettled: web/0 (active)\n")

	// A condition that holds already takes one read.
	u.Types("wait-for", "web")
	u.Sees(0, "", "Settled: web/0 (active)\n")
	u.Asked("Status")
	u.Types("wait-for", "web", "-q")
	u.Sees(0, "", "")
	u.Asked("Status")

	// A wait times out.
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=blocked")}
	begun := time.Now()
	u.Types("wait-for", "web", "--timeout", "30s", "-q")
	u.Sees(1, "", "ERROR gave up after 30s: still waiting for web/0 (blocked)\n"+
		"To see its status: juju status; to see its log: juju debug-log --no-tail\n")
	if passed := time.Since(begun); passed < 30*time.Second || passed > 31*time.Second {
		t.Errorf("it waited for %v", passed)
	}
	u.Asked("Status", "Status") // and again when the watch has begun, then nothing changes

	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=waiting"), waittest.Model("web/0=error")}
	u.Types("wait-for", "-q")
	u.Sees(1, "", "ERROR unit web/0 is in error: hook failed: \"start\"\n"+
		"To see why: juju debug-log --replay --no-tail -i unit-web-0; to continue: juju resolved web/0\n")

	// It can be interrupted.
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=waiting")}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Second, cancel)
	u.TypesUntil(ctx, "wait-for", "-q")
	u.Sees(1, "", "ERROR interrupted\nThe changes continue, and nothing is undone. "+
		"To check them: juju status; to wait again: juju wait-for\n")
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(10*time.Second, cancel)
	u.TypesUntil(ctx, "wait-for", "web", "--status", "blocked", "-q")
	u.Sees(1, "", "ERROR interrupted\nThe changes continue, and nothing is undone. "+
		"To check them: juju status; to wait again: juju wait-for web --status blocked\n")
	m := waittest.Model("web/0=waiting")
	m.Services[0].Units[0].Life = entity.Dying
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(10*time.Second, cancel)
	u.TypesUntil(ctx, "wait-for", "web/0", "--gone", "-q")
	u.Sees(1, "", "ERROR interrupted\nDestruction of web/0 continues. "+
		"To check it: juju explain web/0; to wait again: juju wait-for web/0 --gone\n")
	u.Model.Returns.Err = entity.Errorf(entity.Unauthorized, "permission denied")
	u.Types("wait-for", "web")
	u.Sees(1, "", "ERROR permission denied\n")
}

// A wait reads the model when it changes: at once on a quiet model, and on a busy one no
// more often than it would if it polled. It goes on when its watch ends.
func TestWaitReadsWhenTheModelChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testWaitReadsWhenTheModelChanges)
}

func testWaitReadsWhenTheModelChanges(t *testing.T) {
	u := newUser(t)
	quiet, active := waittest.Model("web/0=waiting"), waittest.Model("web/0=active")
	u.Model.Returns.Statuses = []*entity.ModelStatus{quiet}
	begun := time.Now()
	time.AfterFunc(20*time.Second, func() { u.Model.Change(active) })
	u.Types("wait-for", "web", "-q")
	u.Sees(0, "", "")
	u.Asked("Status", "Status", "Status")
	if passed := time.Since(begun); passed != 20*time.Second {
		t.Errorf("the change was seen after %v", passed)
	}

	u.Model.Returns.Statuses = []*entity.ModelStatus{quiet}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			u.Model.Change(nil)
		}
	}()
	u.Types("wait-for", "web", "-q", "--timeout", "10s")
	cancel()
	if reads := len(u.Model.Calls); u.Code != 1 || reads < 20 || reads > 10*2+3 {
		t.Errorf("exit code %d, %d reads in 10s while everything changes", u.Code, reads)
	}

	u.Model.Returns.Statuses = []*entity.ModelStatus{quiet}
	u.Model.Watches = 0
	time.AfterFunc(5*time.Second, u.Model.EndWatch)
	time.AfterFunc(9*time.Second, func() { u.Model.Change(active) })
	u.Types("wait-for", "web", "-q")
	u.Sees(0, "", "")
	if reads := len(u.Model.Calls); u.Model.Watches != 2 || reads > 5 {
		t.Errorf("%d watches, %d reads; want 2 and 5", u.Model.Watches, reads)
	}
}

// A wait survives a lost connection.
func TestWaitReconnects(t *testing.T) { synctest.Test(t, testWaitReconnects) }

func testWaitReconnects(t *testing.T) {
	u := newUser(t)
	lost := entity.Errorf(entity.Unavailable, "the connection to the controller is lost")
	connect := u.Session.Connect
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		u.Model.Returns.Err = lost
		if u.Model.Opened == 2 {
			u.Model.Returns.Err = nil
		}
		return connect(ctx)
	}
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=waiting"), waittest.Model("web/0=active")}
	u.Types("wait-for", "web")
	u.Sees(0, "", "Waiting for the controller's response\nSettled: web/0 (active)\n")
	u.Asked("Status", "Status", "Status", "Status")
	if u.Model.Opened != 3 {
		t.Errorf("it connected %d times, want 3", u.Model.Opened)
	}

	// But it times out all the same.
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		u.Model.Returns.Err = lost
		return connect(ctx)
	}
	u.Types("wait-for", "web", "--timeout", "1m", "-q")
	u.Sees(1, "", "ERROR gave up after 1m0s: still waiting for the controller's response\n"+
		"To see its status: juju status; to see its log: juju debug-log --no-tail\n")

	// It fails if there is no controller to connect to.
	gone := entity.Errorf(entity.NotFound, "controller is gone")
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		if u.Model.Opened > 0 && u.Model.Returns.Err != nil {
			return nil, gone
		}
		u.Model.Returns.Err = lost
		return connect(ctx)
	}
	u.Model.Returns.Err, u.Model.Opened, u.Model.Closed = nil, 0, 0
	u.Types("wait-for", "web", "-q")
	u.Sees(1, "", "ERROR controller is gone\nTo see what is in the model: juju status\n")
}

// The words that Juju requires before a name are accepted.
func TestWaitForKinds(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=active unit/0=waiting")}
	for _, line := range []string{"wait-for application web", "wait-for unit web/0", "wait-for service web unit web/0",
		"wait-for web"} {
		u.Types(strings.Fields(line)...)
		u.Sees(0, "", "Settled: web/0 (active)\n")
	}
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("unit/0=active")}
	u.Types("wait-for", "unit") // a service of that name
	u.Sees(0, "", "Settled: unit/0 (active)\n")
	u.Types("wait-for", "model", "other")
	if u.Code != 0 || u.Session.Model != "other" {
		t.Errorf("exit code %d; it waited in %q", u.Code, u.Session.Model)
	}
}

// Commands with --wait wait for what they started.
func TestWaitFlag(t *testing.T) { synctest.Test(t, testWaitFlag) }

func testWaitFlag(t *testing.T) {
	dir := clitest.CharmDir(t, clitest.Metadata)
	for _, test := range []struct {
		line     string
		statuses []string
		polls    int
	}{
		{"add-unit web -n 2 --wait",
			[]string{"web/0=waiting web/1=active web/7=waiting", "web/0=active web/1=active web/7=waiting"}, 2},
		{"deploy " + dir + " --wait", []string{"", "webpage/0=waiting store/0=waiting", "webpage/0=active"}, 3},
		{"add-machine --wait", []string{"0=pending", "0=started"}, 2},
		{"destroy-unit web/0 --wait", []string{"web/0=active! web=active", "web=active"}, 2},
		{"destroy-service web --wait", []string{"web=active!", ""}, 2},
		{"destroy-machine 0 --wait", []string{"0=started!", "0=stopped!", ""}, 3},
	} {
		u := newUser(t)
		for _, s := range test.statuses {
			u.Model.Returns.Statuses = append(u.Model.Returns.Statuses, waittest.Model(s))
		}
		u.Types(strings.Fields(test.line)...)
		if polls := strings.Count(strings.Join(u.Model.Calls, "\n"), "Status"); u.Code != 0 || polls != test.polls {
			t.Errorf("%s: exit code %d, %s; %d polls, want %d", test.line, u.Code, u.Err.String(), polls, test.polls)
		}
	}
	// They do not wait if they failed.
	u := newUser(t)
	u.Model.Returns.Errs = []error{errors.New("no")}
	u.Types("destroy-unit", "web/0", "--wait")
	u.Sees(1, "", "ERROR no units were destroyed: no\n")
	u.Asked("DestroyUnits [web/0]")
	u = newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=waiting")}
	u.Types("add-unit", "web", "--wait=3s", "-q")
	u.Sees(1, "", "ERROR gave up after 3s: still waiting for web/0 (waiting)\n"+
		"To see its status: juju status; to see its log: juju debug-log --no-tail\n")
}

// On a terminal, progress is a text with the elapsed time, erased at the end; elsewhere it
// is lines, but not too many.
func TestProgress(t *testing.T) { synctest.Test(t, testProgress) }

func testProgress(t *testing.T) {
	u := newUser(t)
	p := u.Session.Progress("Doing %d", 1)
	p.Say("Doing %d", 2)
	time.Sleep(3 * time.Second)
	p.Say("Doing 3")
	p.Say("Doing 4")
	time.Sleep(10 * time.Second)
	p.Done()
	p.Done()
	if got, want := u.Err.String(), "Doing 1\nDoing 2\nDoing 4\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}

	// What is quick says nothing, unless it takes more than a second; a part is shown in place of the whole.
	u.Err.Reset()
	p = u.Session.Quickly("Packing 1")
	time.Sleep(900 * time.Millisecond)
	p.Done()
	p = u.Session.Progress("Deploying")
	part := u.Session.Quickly("Packing 2")
	p.Say("Deploying on")
	time.Sleep(3 * time.Second)
	part.Done()
	time.Sleep(time.Second)
	p.Done()
	if got, want := u.Err.String(), "Deploying\nPacking 2\nDeploying on\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}

	u.Err.Reset()
	u.Session.ErrTerminal = true
	u.Session.Width = func() int { return 20 }
	p = u.Session.Progress("Doing\n%s", "something long")
	time.Sleep(1100 * time.Millisecond)
	p.Say("Short")
	p.Done()
	frames := strings.Split(u.Err.String(), "\r")
	const long = "Doing\\nsomething\x1b[K\nlong "
	want := []string{"", long + "(0s)\x1b[K\x1b[1A", long + "(0s)\x1b[K\x1b[1A", long + "(1s)\x1b[K\x1b[1A", "Short (1s)\x1b[K\x1b[J", "\x1b[K"}
	if strings.Join(frames, "\r") != strings.Join(want, "\r") {
		t.Errorf("drew %q, want %q", frames, want)
	}

	u.Err.Reset()
	u.Session.Quiet = true
	p = u.Session.Progress("Doing")
	time.Sleep(5 * time.Second)
	p.Done()
	(*cli.Progress)(nil).Done()
	if u.Err.Len() > 0 {
		t.Errorf("it says %q although it is to be quiet", u.Err.String())
	}
}

// A wait says why it waits, and ends when waiting can't help.
func TestWaitSaysWhy(t *testing.T) { synctest.Test(t, testWaitSaysWhy) }

func testWaitSaysWhy(t *testing.T) {
	// The charm's message is included.
	u := newUser(t)
	m := waittest.Model("web/0=blocked web=blocked")
	m.Services[0].Units[0].Workload.Message = "no database"
	m.Services[0].Status.Message = "no database"
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	u.Types("wait-for", "web", "--timeout", "3s", "-q")
	u.Sees(1, "", "ERROR gave up after 3s: still waiting for web/0 (blocked: no database), web (blocked)\n"+
		"To see its status: juju status; to see its log: juju debug-log --no-tail\n")

	// A charm that is idle will not change its status by itself.
	m.Services[0].Units[0].Agent.Since = time.Date(2013, 6, 7, 8, 9, 10, 0, time.UTC)
	m.Services[0].Units[0].Workload = entity.Status{Status: entity.StatusMaintenance, Message: "indexing"}
	for _, line := range []string{"wait-for web/0 --timeout 3s", "add-unit web --wait=3s"} {
		u = newUser(t)
		u.Model.Returns.Statuses = []*entity.ModelStatus{m}
		u.Types(strings.Fields(line)...)
		for _, want := range []string{"Waiting for web/0 (maintenance: indexing; idle since 08:09:10Z, no hook is pending)\n",
			"ERROR gave up after 3s: still waiting for web/0 (maintenance: indexing; idle since 08:09:10Z, no hook is pending)\n" +
				"No hook is pending: the charm must set the status to \"active\", when something changes or in update-status. To wait for " +
				"its current status: juju wait-for web/0 --status maintenance\n"} {
			if said := u.Err.String(); u.Code != 1 || !strings.Contains(said, want) {
				t.Errorf("%s: %d, said %s", line, u.Code, said)
			}
		}
	}

	// A unit whose machine is in error never starts.
	m = waittest.Model("web/0=waiting:allocating web=waiting 3=error 4=error")
	m.Machines[0].Status.Message = "cannot start an instance: no more addresses"
	m.Services[0].Units[0].Machine, m.Services[0].Units[0].Agent.Message = "3", ""
	m.Services[0].Units[0].Workload.Message = "waiting for machine"
	for _, line := range []string{"add-unit web --wait -q", "wait-for web -q", "wait-for web/0 -q"} {
		u = newUser(t)
		u.Model.Returns.Statuses = []*entity.ModelStatus{m}
		begun := time.Now()
		u.Types(strings.Fields(line)...)
		u.Sees(1, "", "ERROR machine 3 is in error: cannot start an instance: no more addresses\n"+
			"To retry once the cause is fixed: juju retry-provisioning 3\n")
		if passed := time.Since(begun); passed > time.Second {
			t.Errorf("%s: it waited for %v", line, passed)
		}
	}
	m.Machines[0].Status.Status = entity.StatusPending
	u = newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	u.Types("wait-for", "web/0", "--timeout", "3s", "-q")
	u.Sees(1, "", "ERROR gave up after 3s: still waiting for web/0 (waiting for machine)\n"+
		"To see its status: juju status; to see its log: juju debug-log --no-tail\n")

	// A lenient destruction skips failed hooks.
	leniently := func() *entity.ModelStatus {
		m := waittest.Model("web/0=error! web=error!")
		m.Services[0].Units[0].Strength = entity.Lenient
		return m
	}
	u = newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{leniently(), leniently(), waittest.Model("")}
	u.Types("destroy-service", "web", "--lenient", "--wait", "-q")
	u.Sees(0, "", "")
	u = newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{leniently(), leniently(), waittest.Model("")}
	u.Types("wait-for", "web", "--gone", "-q") // another command has begun it
	u.Sees(0, "", "")
	for line, hint := range map[string]string{
		"destroy-service web --lenient --wait=3s -q": "To see why: juju explain web; to finish without its agents: juju " +
			"destroy-service --force web\n",
		"destroy-service web x --lenient --wait=3s -q": "To see why: juju explain; to finish without their agents: juju " +
			"destroy-service --force web x\n",
		"destroy-unit web/0 --lenient --wait=3s -q": "To see why: juju explain web/0; to finish without its agents: " +
			"juju destroy-unit --force web/0\n",
	} {
		u = newUser(t)
		u.Model.Returns.Statuses = []*entity.ModelStatus{leniently()}
		u.Types(strings.Fields(line)...)
		if said := u.Err.String(); u.Code != 1 || !strings.HasPrefix(said,
			"ERROR gave up after 3s: still waiting for web/0 (dying, error") || !strings.HasSuffix(said, "\n"+hint) {
			t.Errorf("%s: %d, said %s", line, u.Code, said)
		}
	}
	u = newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=error! web=error!")}
	u.Types("destroy-service", "web", "--wait", "-q")
	u.Sees(1, "", "ERROR unit web/0 is in error: hook failed: \"start\"\n"+
		"To see why: juju debug-log --replay --no-tail -i unit-web-0; to continue: juju resolved web/0\n"+
		"To skip failed hooks: juju destroy-unit --lenient web/0; to run no hooks, and leave behind what they would remove: "+
		"juju destroy-unit --force web/0\n")
}

// destroy-relation can wait.
func TestWaitForRelationGone(t *testing.T) { synctest.Test(t, testWaitForRelationGone) }

func testWaitForRelationGone(t *testing.T) {
	dying := func(life entity.Life) *entity.ModelStatus {
		return &entity.ModelStatus{Relations: []entity.RelationStatus{
			{ID: 1, Key: "web:logs store:logs", Life: entity.Dying,
				Endpoints: []entity.EndpointStatus{{Service: "web", Name: "logs"}, {Service: "other", Name: "logs"}}},
			{ID: 4, Key: "web:db store:db", Life: life,
				Endpoints: []entity.EndpointStatus{{Service: "web", Name: "db"}, {Service: "store", Name: "db"}}}}}
	}
	for _, name := range []string{"web store", "store:db web", "4"} {
		u := newUser(t)
		// another has taken its place
		u.Model.Returns.Statuses = []*entity.ModelStatus{dying(entity.Dying), dying(entity.Dying), dying(entity.Alive)}
		u.Types(append([]string{"destroy-relation", "--wait"}, strings.Fields(name)...)...)
		u.Sees(0, "", "Waiting for relation \"web:db store:db\" (dying)\nRemoved: relation "+name+"\n")
	}
	for name, hint := range map[string]string{
		"web store": "To see why: juju explain web store; to finish without its agents: juju destroy-relation --force web " +
			"store\n",
		"4": "To see why: juju explain relation 4; to finish without its agents: juju destroy-relation --force 4\n",
	} {
		u := newUser(t)
		u.Model.Returns.Statuses = []*entity.ModelStatus{dying(entity.Dying)}
		u.Types(append([]string{"destroy-relation", "--wait=3s", "-q"}, strings.Fields(name)...)...)
		u.Sees(1, "", "ERROR gave up after 3s: still waiting for relation \"web:db store:db\" (dying)\n"+hint)
	}
}

// Where units retry failed hooks by themselves, a failed hook does not end the wait; a failed
// machine still does.
func TestWaitWithHookRetry(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.ModelConfig = modelconfig.New(map[string]string{modelconfig.RetryHooks: "true"}, "jammy")
	synctest.Test(t, func(t *testing.T) {
		u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=error"), waittest.Model("web/0=error"), waittest.Model("web/0=active")}
		u.Types("wait-for", "web", "-q")
		u.Sees(0, "", "")
		u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=error 1=error"), waittest.Model("web/0=active")}
		u.Types("wait-for", "-q")
		if u.Code != 1 || !strings.Contains(u.Err.String(), "machine 1 is in error") {
			t.Errorf("exit code %d, said %q", u.Code, u.Err.String())
		}
	})
}

// A wait for a service that is upgraded in batches ends with the upgrade, or when that stops; the error of a unit stops
// the upgrade, but only after a while.
func TestWaitForARollout(t *testing.T) { synctest.Test(t, testWaitForARollout) }

func testWaitForARollout(t *testing.T) {
	u := newUser(t)
	at := func(words string, r *entity.Rollout, held ...int) *entity.ModelStatus {
		m := waittest.Model(words)
		m.Services[0].Rollout = r
		for _, i := range held {
			m.Services[0].Units[i].CharmURL, m.Services[0].Units[i].Turned = "local:jammy/web-0", i == 0
		}
		return m
	}
	goes, stopped := &entity.Rollout{Former: "local:jammy/web-0", Batch: 1}, &entity.Rollout{Former: "local:jammy/web-0", Stopped: "why"}
	u.Model.Returns.Statuses = []*entity.ModelStatus{at("web/0=active web/1=active", goes, 0, 1), at("web/0=error web/1=active", goes, 1),
		at("web/0=active web/1=active", goes), at("web/0=active web/1=active", nil)}
	u.Types("wait-for", "web")
	u.Sees(0, "", "Waiting for web/0 (charm upgrade pending), web/1 (keeps its charm until its turn), web (being upgraded in batches)\n"+
		"Settled: web/0 (active), web/1 (active)\n")
	u.Asked("Status", "Status", "Status", "Status")
	u.Model.Returns.Statuses = []*entity.ModelStatus{at("web/0=error web/1=active", goes, 1), at("web/0=error web/1=active", stopped, 1)}
	u.Types("upgrade-charm", "web", "--resume", "--wait", "-q")
	u.Sees(1, "", "ERROR the upgrade of service web has stopped: why\nTo continue once its cause is fixed: juju upgrade-charm web "+
		"--resume; go back to charm local:jammy/web-0: juju upgrade-charm web --revert\n")
	u.Types("wait-for", "web/1") // it is held back
	u.Sees(0, "", "Settled: web/1 (active)\n")
}

func TestWaitForQuery(t *testing.T) { synctest.Test(t, testWaitForQuery) }

// A query is awaited of what is not there yet, and after a failed hook too.
func testWaitForQuery(t *testing.T) {
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("store/0=active"), waittest.Model("web/0=active")}
	u.Types("wait-for", "unit", "web/0", "--query", `workload-status=="active"`)
	u.Sees(0, "", "Waiting for unit web/0 (there is none yet)\nTrue of web/0: workload-status==\"active\"\n")
	u.Asked("Status", "Status")
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=error"), waittest.Model("web/0=active")}
	u.Types("wait-for", "unit", "web/0", "--query", `workload-status=="active"`)
	u.Sees(0, "", "Waiting for web/0 (workload-status is \"error\")\nTrue of web/0: workload-status==\"active\"\n")
	u.Asked("Status", "Status")

	// What was there and is removed ends it.
	for _, line := range []string{`unit web/0 workload-status=="x"`, `web exposed`, `machine 3 status=="x"`} {
		args := strings.Fields(line)
		u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("store/0=active"), waittest.Model("web/0=waiting 3=started"), waittest.Model("store/0=active")}
		u.Types(append([]string{"wait-for", "-q", "--query", args[len(args)-1]}, args[:len(args)-1]...)...)
		name := args[len(args)-2]
		u.Sees(1, "", fmt.Sprintf("ERROR %s was removed\nTo wait until something is removed: juju wait-for %[1]s --gone\n", name))
	}
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=active")}

	// What it is about is told by its name, if not by a word before it.
	for _, line := range []string{`web/0 application=="web"`, `web len(units)==1`, `application web name=="web"`, `service web name=="web"`,
		`model default name=="default"`} {
		args := strings.Fields(line)
		u.Types(append([]string{"wait-for", "-q", "--query", args[len(args)-1]}, args[:len(args)-1]...)...)
		u.Sees(0, "", "")
		u.Asked("Status")
	}
	u.Types("wait-for", "model", "--query", "forEach(units, u => u.leader)", "--timeout", "5s", "-q")
	u.Sees(1, "", "ERROR gave up after 5s: still waiting for model default (web/0: leader is false)\n"+
		"To see its status: juju status; to see its log: juju debug-log --no-tail\n")
	u.Asked("Status", "Status")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Second, cancel)
	u.TypesUntil(ctx, "wait-for", "web", "--query", "name=='x'", "-q")
	u.Sees(1, "", "ERROR interrupted\nThe changes continue, and nothing is undone. "+
		"To check them: juju status; to wait again: juju wait-for web --query 'name=='\\''x'\\'''\n")
	u.Asked("Status", "Status")

	for line, want := range map[string]string{
		"web --query leader":                 "--query: at character 1: no application has \"leader\"; each has ",
		"web/0 web/1 --query leader":         "--query is about one service, unit or machine, or about the model\n",
		"web --query exposed --gone":         "--query says all: --gone and --status can't be given with it\n",
		"web --query exposed --status error": "--query says all: --gone and --status can't be given with it\n",
	} {
		u.Types(append([]string{"wait-for"}, strings.Fields(line)...)...)
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), "ERROR "+want) {
			t.Errorf("wait-for %s: %d, %s", line, u.Code, u.Err.String())
		}
		u.Asked()
	}
}
