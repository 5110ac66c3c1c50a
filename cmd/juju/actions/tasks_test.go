package actions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/display"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

var taskOver = entity.Task{ID: "2", Receiver: "web/0", Name: "go", Status: entity.TaskCompleted, Message: "fine",
	Results: []byte(`{"a":{"b":"1"},"return-code":0,"stdout":"x\n"}`), Params: []byte(`{"level":5}`),
	Log:      []entity.TaskMessage{{At: time.Unix(100, 0), Message: "half"}},
	Enqueued: time.Unix(99, 0), Started: time.Unix(100, 0), Completed: time.Unix(101, 0)}

const taskText = `id: "2"
log:
    - 1970-01-01 00:01:40 +0000 UTC half
message: fine
results:
    a:
        b: "1"
    return-code: 0
    stdout: |
        x
status: completed
timing:
    completed: 1970-01-01 00:01:41 +0000 UTC
    enqueued: 1970-01-01 00:01:39 +0000 UTC
    started: 1970-01-01 00:01:40 +0000 UTC
unit: web/0
`

func TestShowTask(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Tasks = []entity.Task{taskOver}
	u.Types("show-task", "2", "--wait")
	u.Sees(0, taskText, "")
	u.Types("show-task", "2", "--watch")
	u.Sees(0, taskText, "")
	u.Types("show-task", "2", "--watch", "--wait=1s")
	u.Sees(2, "", "ERROR specify either --watch or --wait but not both\nFor usage: juju help show-task\n")
	u.Types("show-action-output", "2", "--wait", "5s")
	u.Sees(0, taskText, "")
	u.Model.Returns.Tasks[0].ID = "21"
	u.Types("show-action-output", "2") // the only one that begins so
	u.Sees(0, "id: \"21\"\n"+taskText[len("id: \"2\"\n"):], "")
	u.Model.Returns.Tasks = append(u.Model.Returns.Tasks, entity.Task{ID: "22"})
	u.Types("show-action-output", "2")
	u.Sees(1, "", "ERROR identifier \"2\" matched multiple actions [21 22]\nGive the whole id of one of them.\n")
	u.Model.Returns.Tasks = nil
	u.Types("show-action-output", "2")
	u.Sees(1, "", "ERROR action \"2\" not found\nTo list the actions and their ids: juju show-action-status\n")
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Status: entity.TaskPending}}
	u.Types("show-task", "2", "--wait=1ms")
	u.Sees(0, "id: \"2\"\nstatus: pending\nunit: \"\"\n", "")
}

func TestRunAction(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Tasks = []entity.Task{taskOver}
	u.Types("run-action", "web/0", "go")
	u.Sees(0, "Action queued with id: \"2\"\n", "")
	u.Model.Returns.Tasks = append(u.Model.Returns.Tasks, entity.Task{ID: "3", Receiver: "web/1", Status: entity.TaskPending})
	u.Types("run-action", "web/0", "web/1", "go")
	u.Sees(0, "unit-web-0:\n    id: \"2\"\n    unit: web/0\nunit-web-1:\n    id: \"3\"\n    unit: web/1\n", "")
	u.Types("run-action", "web/0", "web/1", "go", "--wait=1ms", "--format", "json")
	u.Sees(1, u.Out.String(), "ERROR timed out waiting for results from: unit web/1\n"+
		"The tasks are still running. To see the results later: juju show-operation 1; to cancel a task: juju cancel-task 3\n")
	u.Model.Returns.Errs = []error{errors.New("no"), nil}
	u.Types("run-action", "web/0", "web/1", "go")
	u.Sees(1, "unit-web-1:\n    id: \"3\"\n    unit: web/1\n",
		"WARNING web/0: no\nERROR some actions were not queued: no\n")
	for line, want := range map[string]string{
		"":              "no unit specified",
		"web/0":         "no action specified",
		"go":            `invalid unit or action name "go"`,
		"web/0 Go":      `invalid unit or action name "Go"`,
		"web/0 go A=1":  "key \"A\" must start and end with lowercase alphanumeric, and contain only lowercase alphanumeric and hyphens",
		"web/0 go a.=1": "key \"\" must start and end with lowercase alphanumeric, and contain only lowercase alphanumeric and hyphens",
		"web/0 go a":    `argument "a" must be of the form key.key.key...=value`,
	} {
		u.Types(append([]string{"run-action"}, strings.Fields(line)...)...)
		u.Sees(2, "", "ERROR "+want+"\nFor usage: juju help run-action\n")
	}
}

// Whoever waits for tasks gets exit code 1 if one has failed, in all formats, after their results.
func TestFailedTasks(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Tasks = []entity.Task{taskOver, {ID: "3", Receiver: "web/1", Status: entity.TaskFailed, Message: "command timed out"},
		{ID: "4", Receiver: "web/2", Status: entity.TaskAborted}, {ID: "5", Receiver: "web/3", Status: entity.TaskCompleted, Results: []byte(`{"return-code":7}`)}}
	const says = "ERROR the following tasks failed:\n  - id \"3\" with status failed\n  - id \"4\" with status aborted\n" +
		"  - id \"5\" with return code 7\nTo see why: juju show-task 3\n"
	for _, line := range []string{"run --all x", "exec --all --format json x", "run --all --format yaml x", "run-action web/0 go --wait", "run-action web/0 go --wait --format json"} {
		u.Types(strings.Fields(line)...)
		if u.Out.Len() == 0 {
			t.Errorf("juju %s prints nothing", line)
		}
		u.Sees(1, u.Out.String(), says)
	}
	u.Model.Returns.Tasks = u.Model.Returns.Tasks[1:2]
	for _, format := range []string{"yaml", "json"} {
		u.Types("exec", "--unit", "web/1", "--timeout", "1s", "--format", format, "sleep", "2")
		u.Sees(1, u.Out.String(), "ERROR the following task failed:\n  - id \"3\" with status failed\nTo see why: juju show-task 3\n")
	}
	u.Types("run-action", "web/0", "go")
	u.Sees(0, "Action queued with id: \"3\"\n", "")
	u.Types("show-task", "3")
	u.Sees(0, u.Out.String(), "")
}

// Of many tasks that can't be cancelled, the reason is told once. What is an operation is said so.
func TestCancelTasks(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var ids []string
	for i := range 580 {
		ids = append(ids, fmt.Sprint(i+1))
		u.Model.Returns.Errs = append(u.Model.Returns.Errs, entity.Errorf(entity.Unauthorized, "permission denied"))
	}
	u.Types(append([]string{"cancel-task"}, ids...)...)
	u.Sees(1, "", "ERROR no tasks were cancelled: permission denied (580 times)\n")
	for i := range u.Model.Returns.Errs {
		u.Model.Returns.Errs[i] = fmt.Errorf("task %q is not well", ids[i])
	}
	u.Types(append([]string{"cancel-task"}, ids...)...)
	if said := u.Err.String(); !strings.HasSuffix(said, `; task "10" is not well; and 570 more`+"\n") {
		t.Errorf("it says %s", said)
	}
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0"}, {ID: "3", Receiver: "web/1"}}
	u.Model.Returns.Errs = []error{entity.Errorf(entity.NotFound, "task %q not found", "1")}
	u.Types("cancel-task", "1")
	u.Sees(1, "", "ERROR task \"1\" not found\n1 is an operation. To cancel its tasks: juju cancel-task 2 3\n")
	u.Model.Returns.Errs = []error{entity.Errorf(entity.NotFound, "task %q not found", "999")}
	u.Types("cancel-task", "999")
	u.Sees(1, "", "ERROR task \"999\" not found\nTo list unfinished tasks: juju operations --status pending,running\n")
}

// A unit that does not start its command holds up the others' results for --timeout since the last of them, not for twice
// as long.
func TestFrozenUnit(t *testing.T) { synctest.Test(t, testFrozenUnit) }

func testFrozenUnit(t *testing.T) {
	u := newUser(t)
	for status, want := range map[entity.TaskStatus]time.Duration{entity.TaskPending: 12 * time.Second, entity.TaskRunning: 20 * time.Second} {
		u.Model.Returns.TaskEvents = make(chan struct{}, 1)
		u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskRunning}, {ID: "3", Receiver: "web/1", Status: status}}
		begin := time.Now()
		time.AfterFunc(2*time.Second, func() {
			u.Model.Mu.Lock()
			u.Model.Returns.Tasks = []entity.Task{taskOver, u.Model.Returns.Tasks[1]}
			u.Model.Mu.Unlock()
			u.Model.Returns.TaskEvents <- struct{}{}
		})
		u.Types("exec", "--application", "web", "--timeout", "8s", "--format", "json", "true")
		if took := time.Since(begin).Round(time.Second); took != want || u.Code != 1 ||
			!strings.HasPrefix(u.Err.String(), "ERROR timed out waiting for results from: unit web/1\n") {
			t.Errorf("with a task %s, it took %v, want %v; exit code %d, said %s", status, took, want, u.Code, u.Err.String())
		}
	}
}

// As in Juju 3, run runs an action and exec a command. Both wait, and print results by unit.
func TestRunAndExecOfJuju3(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskCompleted,
		Results: []byte(`{"return-code":0,"size":"3G"}`)}}
	const done = `{"web/0":{"id":"2","results":{"return-code":0,"size":"3G"},"status":"completed","unit":"web/0"}}` + "\n"
	const queued = "Running operation 1 with 1 task\n  - task 2 on unit-web-0\n"
	u.Types("run", "web/0", "go", "--format", "json", "--wait", "30s", "level=9")
	u.Sees(0, done, queued)
	u.Asked(`EnqueueActions go {"level":9} [web/0]`, "Operation 1")
	u.Types("run", "--format", "json", "web/leader", "go")
	u.Sees(0, done, queued)
	u.Types("run", "web/0", "go")
	u.Sees(0, "size: 3G\n", queued)
	u.Types("run", "-q", "web/0", "go")
	u.Sees(0, "size: 3G\n", "")
	u.Types("exec", "--format", "json", "--unit", "web/0", "--", "ls", "-l")
	u.Sees(0, done, "")
	const failed = "ERROR the following task failed:\n  - id \"2\" with status failed\nTo see why: juju show-task 2\n"
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskFailed, Message: "no\nspace"}}
	u.Types("run", "web/0", "go")
	u.Sees(1, "Action id 2 failed: no\\nspace\n", queued+failed)
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskCompleted,
		Results: []byte(`{"return-code":3,"stdout":"x\n","stderr":"y\n"}`)}}
	u.Types("exec", "--unit", "web/0", "x")
	u.Sees(1, "x\n", "y\n"+strings.Replace(failed, "status failed", "return code 3", 1))
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskRunning}}
	u.Types("exec", "--unit", "web/0", "--wait", "1ms", "x")
	if u.Code != 1 || !strings.HasPrefix(u.Err.String(), "ERROR timed out waiting for results from: unit web/0\n") {
		t.Errorf("exit code %d, said %s", u.Code, u.Err.String())
	}
	// There is no result for what is not there, and the text tells clients that it is not juju which has failed.
	u.Model.Returns.Errs = []error{entity.Errorf(entity.NotFound, `unit "web/9" not found`)}
	u.Types("exec", "--format", "json", "--unit", "web/9", "x")
	u.Sees(1, "", "ERROR task failed to start: unit \"web/9\" not found\nTo see what is in the model: juju status\n")
	u.Model.Returns.Errs = nil
	for line, want := range map[string]string{
		"run --unit web/0 --wait 1s x": "--wait is for actions: a command is waited for up to --timeout, unless --background is given",
		"exec --unit web/0 --wait -1s": "no commands specified",
	} {
		u.Types(strings.Fields(line)...)
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), "ERROR "+want+"\n") {
			t.Errorf("juju %s: exit code %d, said %s", line, u.Code, u.Err.String())
		}
	}
}

// juju run prints what its actions log, once, and an interrupt names what goes on.
func TestRunFollowsItsActions(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskCompleted,
		Log: []entity.TaskMessage{{At: at, Message: "half"}, {At: at, Message: "done"}}},
		{ID: "3", Receiver: "web/1", Status: entity.TaskCompleted, Log: []entity.TaskMessage{{At: at, Message: "\x1b[1mhalf"}}}}
	u.Types("run", "web/0", "web/1", "go")
	const want = "Running operation 1 with 2 tasks\n  - task 2 on unit-web-0\n  - task 3 on unit-web-1\n" +
		"03:04:05 web/0: half\n03:04:05 web/0: done\n03:04:05 web/1: \\x1b[1mhalf\n"
	if u.Code != 0 || u.Err.String() != want {
		t.Errorf("exit code %d, said\n%swant\n%s", u.Code, u.Err.String(), want)
	}
	u.Model.Returns.Tasks[1].Status = entity.TaskRunning
	ctx, cancel := context.WithCancel(t.Context())
	u.Session.Stderr = display.NewWriter(io.MultiWriter(&u.Err, &clitest.Interrupter{Press: cancel}))
	u.TypesUntil(ctx, "run", "web/0", "web/1", "go")
	if u.Code != 1 || !strings.HasSuffix(u.Err.String(), "ERROR interrupted\nTask 3 is still running. "+
		"To see the results later: juju show-operation 1; to cancel: juju cancel-task 3\n") {
		t.Errorf("exit code %d, said\n%s", u.Code, u.Err.String())
	}
}

// The output and the exit code of one command are those of juju; several are a list.
func TestRun(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	task := entity.Task{ID: "2", Receiver: "web/0", Status: entity.TaskCompleted,
		Results: []byte(`{"return-code":3,"stdout":"\u001b[1mx\n","stderr":"y\n"}`)}
	u.Model.Returns.Tasks = []entity.Task{task}
	u.Types("run", "--unit", "web/0", "x")
	u.Sees(3, "\x1b[1mx\n", "y\n")
	u.Session.OutTerminal = true
	u.Types("run", "--unit", "web/0", "x")
	u.Sees(3, "\\x1b[1mx\n", "y\n")
	u.Types("run", "--unit", "web/0", "--format", "yaml", "x")
	u.Sees(1, "- ReturnCode: 3\n  Stderr: |\n    y\n  Stdout: \"\\e[1mx\\n\"\n  UnitId: web/0\n",
		"ERROR the following task failed:\n  - id \"2\" with return code 3\nTo see why: juju show-task 2\n")
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskCompleted, Results: []byte(`{"stdout":" hi\n","stderr":"\n\nx"}`)}}
	u.Types("run", "--all", "--format", "yaml", "x")
	u.Sees(0, "- Stderr: \"\\n\\nx\"\n  Stdout: \" hi\\n\"\n  UnitId: web/0\n", "")
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskFailed, Message: "command timed out"}}
	u.Types("run", "--unit", "web/0", "x")
	u.Sees(1, "", "ERROR command timed out\nTo see the task: juju show-task 2\n")
	u.Types("run", "--unit", "web/0", "--background", "x")
	u.Sees(0, "Task 2 queued on unit web/0\n", "")
	for line, want := range map[string]string{
		"":                      "no commands specified",
		"x":                     "You must specify a target, either through --all, --machine, --service or --unit",
		"--all --unit web/0 x":  "You cannot specify --all and individual units",
		"--all --machine 0 x":   "You cannot specify --all and individual machines",
		"--all --service web x": "You cannot specify --all and individual applications",
	} {
		u.Types(append([]string{"run"}, strings.Fields(line)...)...)
		u.Sees(2, "", "ERROR "+want+"\nFor usage: juju help run\n")
	}
	for line, flag := range map[string]string{"ls --unit=web/0": "--unit", "--all ls -a": "-a"} {
		u.Types(append([]string{"run"}, strings.Fields(line)...)...)
		u.Sees(2, "", "ERROR "+flag+" comes after the command\nIf the option is for juju, put it before the command. "+
			"If it is for the command, put -- before the command.\n")
	}
	u.Types("run", "--machine", "x", "x")
	u.Sees(2, "", "ERROR invalid machine id \"x\"\nA machine id is a number; a container id is its host's id, a container "+
		"type and a number: 3, 3/lxd/0\n")
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "0", Status: entity.TaskCompleted}}
	u.Types("run", "--machine", "0", "--format", "yaml", "x")
	u.Sees(0, "- MachineId: \"0\"\n  Stdout: \"\"\n", "")
	u.Types("run", "--all", "--background", "x")
	u.Sees(0, "Task 2 queued on machine 0\n", "")
	u.Types("show-task", "2")
	u.Sees(0, "id: \"2\"\nmachine: \"0\"\nstatus: completed\n", "")
}

// A command that cannot begin, behind a hook that never ends, is waited for as long as --timeout says, but ten seconds.
func TestRunDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskPending}}
		began := time.Now()
		u.Types("run", "--unit", "web/0", "--timeout", "2s", "x")
		u.Sees(1, "", "ERROR timed out waiting for results from: unit web/0\n"+
			"The tasks are still running. To see the results later: juju show-operation 1; to cancel a task: juju cancel-task 2\n")
		if waited := time.Since(began); waited != 10*time.Second { // which an agent has at least
			t.Errorf("it took %v", waited)
		}
		u.Model.Returns.Tasks = append(u.Model.Returns.Tasks, entity.Task{ID: "3", Receiver: "web/1", Status: entity.TaskCompleted})
		u.Types("run", "--unit", "web/0,web/1", "--timeout", "2s", "x")
		u.Sees(1, "- Stdout: \"\"\n  UnitId: web/1\n", u.Err.String())
	})
}

func TestOperations(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Tasks = []entity.Task{taskOver}
	u.Types("operations", "--utc")
	u.Sees(0, "Id  Status     Started              Finished             Task IDs  Summary\n"+
		"1   completed  1970-01-01T00:01:40  1970-01-01T00:01:41  2         s\n", "There are more operations; to list them, raise --limit.\n")
	u.Types("show-action-status")
	u.Sees(0, "actions:\n    - action: go\n      completed at: \"1970-01-01 00:01:41\"\n      id: \"2\"\n"+
		"      status: completed\n      unit: web/0\n", "")
	u.Types("operations", "--status", "done")
	u.Sees(2, "", "ERROR \"done\" is not a valid task status, want one of [running aborting pending failed aborted "+
		"cancelled completed]\nFor usage: juju help operations\n")
	u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Name: entity.CommandTask, Params: []byte(`{"command":"x","timeout":300000000000}`)}}
	u.Types("show-operation", "1")
	if !strings.Contains(u.Out.String(), "\n        timeout: 5m0s\n") {
		t.Errorf("the timeout is shown as\n%s", u.Out.String())
	}
	u.Types("show-operation", "x")
	u.Sees(2, "", "ERROR operation ID \"x\" not valid\nAn ID is a number. To list the operations: juju operations\n")
}

func TestActions(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Actions = map[string]client.ActionInfo{
		"go": {Description: "Go away.\nNow.", Schema: map[string]any{"properties": map[string]any{
			"level": map[string]any{"type": "integer"}}}},
		"come": {},
	}
	u.Types("actions", "web")
	u.Sees(0, "Action  Description\ncome\ngo      Go away.\n", "")
	u.Types("actions", "web", "--schema", "--format", "tabular")
	u.Sees(2, "", "ERROR full schema not compatible with tabular output\nFor usage: juju help actions\n")
	u.Types("show-action", "web", "go")
	u.Sees(0, "Go away.\n  Now.\n\nArguments\nlevel:\n    type: integer\n", "")
	u.Types("show-action", "web", "come")
	u.Sees(0, "This action takes no parameters.\n", "")
	u.Types("show-action", "web", "stay")
	u.Sees(1, "", "ERROR unknown action \"stay\"\nTo list the actions: juju actions web\n")
}
