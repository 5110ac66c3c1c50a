package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
	"juju/state/limits"
)

// task runs a task to its end.
func (r *rig) task(task Task) (entity.TaskOutcome, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.taskWith(ctx, task)
}

func (r *rig) taskWith(ctx context.Context, task Task) (entity.TaskOutcome, error) {
	r.t.Helper()
	params := testParams(Info{})
	params.Task = &task
	hctx, err := NewContext(r.backend, params)
	if err != nil {
		r.t.Fatal(err)
	}
	err = r.runner.Run(ctx, hctx, r.record)
	var failed *FailedError
	if err != nil && !errors.As(err, &failed) {
		return entity.TaskOutcome{}, err
	}
	return hctx.Outcome(failed)
}

// action writes an action of the charm.
func (r *rig) action(name, script string) {
	r.t.Helper()
	path := filepath.Join(r.params.CharmDir, "actions", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for script, want := range map[string]string{
		"": `completed "" {"return-code":0}`,
		"echo out; echo err >&2; action-set a.b=1 c=2": `completed "" ` +
			`{"a":{"b":"1"},"c":"2","return-code":0,"stderr":"err\n","stdout":"out\n"}`,
		"echo so far; exit 3":                `failed "exit status 3" {"return-code":3,"stdout":"so far\n"}`,
		"action-fail first; action-fail x":   `failed "x" {"return-code":0}`,
		"action-fail x; exit 3":              `failed "x" {"return-code":3}`,
		"kill -9 $$":                         `failed "signal: killed" {}`,
		"action-set return-code=7 && exit 3": `failed "exit status 3" {"return-code":3}`,
		"action-set a.stdout=0 || exit 3": `failed "exit status 3" {"return-code":3,` +
			`"stderr":"ERROR cannot set reserved action key \"stdout\"\n"}`,
		`printf '\377\000'`: `completed "" {"return-code":0,"stdout":"/wA=","stdout-encoding":"base64"}`,
	} {
		r.action("try", script)
		outcome, err := r.task(Task{ID: "5", Name: "try"})
		if got := fmt.Sprintf("%s %q %s", outcome.Status, outcome.Message, outcome.Results); got != want || err != nil {
			t.Errorf("%s\n got %s, %v\nwant %s", script, got, err, want)
		}
		if err := limits.CheckTaskOutcome(outcome); err != nil {
			t.Error(err)
		}
	}
	outcome, err := r.task(Task{ID: "5", Name: "missing"})
	if want := `action not implemented on unit "wordpress/0"`; err != nil || outcome.Status != entity.TaskFailed ||
		outcome.Message != want || outcome.Results != "{}" {
		t.Errorf("a missing action: %+v, %v", outcome, err)
	}
	// Its output is in the log too.
	if log := strings.Join(r.log.take(), "\n"); !strings.Contains(log, "unit.wordpress/0.try INFO so far") {
		t.Error(log)
	}
}

// A command's exit code is a result, not a failure. It runs in the charm's directory and has the
// tools of hooks.
func TestCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for command, want := range map[string]string{
		"pwd":                   `completed "" {"return-code":0,"stdout":"` + r.params.CharmDir + `\n"}`,
		"config-get title":      `completed "" {"return-code":0,"stdout":"My blog\n"}`,
		"echo no >&2; (exit 4)": `completed "" {"return-code":4,"stderr":"no\n"}`,
		`echo "[${JUJU_HOOK_NAME-none}] ${JUJU_DISPATCH_PATH-none}"`: `completed "" {"return-code":0,"stdout":"[] none\n"}`,
	} {
		outcome, err := r.task(Task{ID: "5", Name: entity.CommandTask, Command: command})
		if got := fmt.Sprintf("%s %q %s", outcome.Status, outcome.Message, outcome.Results); got != want || err != nil {
			t.Errorf("%s\n got %s, %v\nwant %s", command, got, err, want)
		}
	}
	// On a busy machine it may take a while to begin.
	for timeout := 300 * time.Millisecond; ; timeout *= 4 {
		outcome, err := r.task(Task{ID: "5", Name: entity.CommandTask, Command: "echo begun; sleep 600", Timeout: timeout})
		if err != nil || outcome.Status != entity.TaskFailed || outcome.Message != "command timed out" {
			t.Fatalf("a slow command: %+v, %v", outcome, err)
		}
		if outcome.Results == `{"stdout":"begun\n"}` {
			return
		}
		if outcome.Results != "{}" || timeout > time.Minute {
			t.Fatalf("a slow command: %+v after %v", outcome, timeout)
		}
	}
}

// Only a command runs what its parameters say, in the time that they say. An action has these parameters to itself.
func TestATaskOfTheController(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Task{
		entity.CommandTask: {Command: "df", Timeout: time.Minute},
		"backup":           {},
	} {
		task, err := NewTask(entity.Task{ID: "5", Name: name, Params: []byte(`{"command":"df","timeout":60000000000}`)})
		if err != nil {
			t.Fatal(err)
		}
		if task.Name != name || task.Command != want.Command || task.Timeout != want.Timeout ||
			task.Params["command"] != "df" || task.Params["timeout"] != int64(time.Minute) {
			t.Errorf("%s: %+v", name, task)
		}
	}
}

// A task that is aborted ends at once with all its processes.
func TestAbortedTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	begun := newFIFO(t, filepath.Join(r.dir, "begun"))
	r.action("slow", "sleep 600 & echo begun >../begun; wait")
	ctx, abort := WithAbort(context.Background())
	go func() {
		defer abort()
		_, _ = begun.lines.ReadString('\n')
	}()
	outcome, err := r.taskWith(ctx, Task{ID: "5", Name: "slow"})
	if err != nil || outcome.Status != entity.TaskAborted || outcome.Message != "aborted" {
		t.Errorf("%+v, %v", outcome, err)
	}
	if left := processes(r.started[0].PID); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

// A task's output is kept up to a limit.
func TestLongOutput(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.action("chatter", "head -c 300000 /dev/zero | tr '\\0' x; echo")
	outcome, err := r.task(Task{ID: "5", Name: "chatter"})
	if want := strings.Repeat("x", keptOutput) + `\n[37857 bytes cut]\n"}`; err != nil ||
		!strings.HasSuffix(outcome.Results, want) {
		t.Errorf("%v: ends with %q", err, outcome.Results[max(0, len(outcome.Results)-50):])
	}
	r.action("quiet", "echo done")
	if outcome, err = r.task(Task{ID: "6", Name: "quiet"}); outcome.Results != `{"return-code":0,"stdout":"done\n"}` {
		t.Errorf("the next: %v, %v", outcome, err)
	}
}

func TestActionsGoToDispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.action("try", "echo wrong")
	dispatch := filepath.Join(r.params.CharmDir, "dispatch")
	if err := os.WriteFile(dispatch, []byte("#!/bin/sh\necho $JUJU_DISPATCH_PATH\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	outcome, err := r.task(Task{ID: "5", Name: "try"})
	if outcome.Results != `{"return-code":0,"stdout":"actions/try\n"}` {
		t.Errorf("%+v, %v", outcome, err)
	}
}

// Tasks wait for the machine's hooks, unless they are parallel. Those of a group wait for each
// other.
func TestTasksAndTheMachineLock(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.action("try", "")
	for _, test := range []struct {
		task  Task
		lock  string
		waits bool
	}{
		{Task{ID: "5", Name: "try"}, r.params.LockPath, true},
		{Task{ID: "5", Name: "try", Parallel: true}, r.params.LockPath, false},
		{Task{ID: "5", Name: "try", Group: "disk"}, r.params.LockPath, false},
		{Task{ID: "5", Name: "try", Group: "disk", Parallel: true}, r.params.LockPath + ".6469736b", true},
		{Task{ID: "5", Name: "try", Group: "net"}, r.params.LockPath + ".6469736b", false},
	} {
		lock, err := LockMachine(context.Background(), test.lock, "another", func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if !test.waits {
			cancel()
			ctx, cancel = context.WithTimeout(context.Background(), patience)
		}
		_, err = r.taskWith(ctx, test.task)
		cancel()
		lock.Unlock()
		if (err != nil) != test.waits {
			t.Errorf("%+v while %s is locked: %v", test.task, filepath.Base(test.lock), err)
		}
	}
}

// Whoever waits for the machine is told what holds it: a hook, an action or a user's command.
func TestWhatHoldsTheMachineIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for want, task := range map[string]*Task{
		`hook "start" of unit wordpress/0`:       nil,
		`action "try" of unit wordpress/0`:       {ID: "5", Name: "try"},
		`command "juju-run" of unit wordpress/0`: {ID: "6", Name: entity.CommandTask},
	} {
		params := testParams(Info{Kind: Start})
		params.Task = task
		hctx, err := NewContext(r.backend, params)
		if err != nil {
			t.Fatal(err)
		}
		if got := hctx.who(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
