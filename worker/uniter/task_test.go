package uniter

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/state/entity"
)

// command returns a pending task that runs a command.
func command(id, command string) entity.Task {
	return entity.Task{ID: id, Name: entity.CommandTask, Status: entity.TaskPending,
		Params: fmt.Appendf(nil, `{"command":%q,"timeout":0}`, command)}
}

// awaitTask waits until a task has this status, and returns it.
func (r *rig) awaitTask(id string, status entity.TaskStatus) (task entity.Task) {
	r.t.Helper()
	r.c.await(r.t, "task "+id+" to be "+string(status), func() bool {
		task = *r.c.task(id)
		return task.Status == status
	})
	return task
}

func (r *rig) add(tasks ...entity.Task) {
	r.c.change(func() { r.c.tasks = append(r.c.tasks, tasks...) })
}

// What a task changes is committed when it succeeds, before users learn that it is over.
func TestATaskRuns(t *testing.T) {
	r := newRig(t, nil)
	r.c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1})
	r.start()
	r.settle(nil)
	r.hooks()
	r.c.change(func() { r.c.statuses = nil })
	r.add(command("5", "relation-set -r 3 a=b; action-set x=1; action-log half; echo out; open-port 81"))
	task := r.awaitTask("5", entity.TaskCompleted)
	if string(task.Results) != `{"return-code":0,"stdout":"out\n","x":"1"}` || len(task.Log) != 1 {
		t.Errorf("%s %v", task.Results, task.Log)
	}
	if got := r.c.settings[3]["a"]; got != "b" || len(r.c.ports["web/0"]) != 1 {
		t.Errorf("the settings are %v, the ports %v", r.c.settings, r.c.ports)
	}
	r.settle(nil)
	r.expectStatuses("agent executing: running commands", "agent idle")
	r.add(command("6", "relation-set -r 3 a=c; exit 1"))
	r.awaitTask("6", entity.TaskCompleted)
	if got := r.c.settings[3]; got["a"] != "b" {
		t.Errorf("a command that fails has set %v", maps.Clone(got))
	}
	r.expect()
}

// If what a task has changed is refused, the task has failed, and the unit has not.
func TestRefusedCommitOfATask(t *testing.T) {
	r := newRig(t, nil)
	r.start()
	r.settle(nil)
	refuse := func() {
		r.c.refuse["CommitHook"] = entity.Errorf(entity.InUse, "port ranges 80/tcp and 80/tcp conflict")
	}
	r.c.change(refuse)
	const why = "cannot commit its changes: port ranges 80/tcp and 80/tcp conflict"
	r.add(command("5", "echo out; open-port 80"))
	var task entity.Task
	r.c.await(t, "the end of the task", func() bool {
		task = *r.c.task("5")
		return task.Status.IsOver()
	})
	if task.Status != entity.TaskFailed || task.Message != why ||
		string(task.Results) != `{"return-code":0,"stdout":"out\n"}` {
		t.Errorf("the task: %+v", task)
	}
	r.c.change(refuse)
	r.expectRun(1, "out\n", "ERROR "+why+"\n", "web/0", "echo out; open-port 80")
	if len(r.c.ports["web/0"]) != 0 || r.c.failure() != "" {
		t.Errorf("open ports: %v; %s", r.c.ports, r.c.failure())
	}
}

// A unit in error runs tasks, and stays in error, also when its agent stops.
func TestTasksInAnErrorState(t *testing.T) {
	r := newRig(t, map[string]string{"start": "[ -e ../mended ]"})
	r.start()
	r.settle(nil)
	if r.c.failure() == "" {
		t.Fatal("start did not fail")
	}
	r.add(command("5", "echo x"))
	r.awaitTask("5", entity.TaskCompleted)
	r.add(command("6", ": >../begun; while [ ! -e ../go ]; do sleep 0.01; done"))
	r.awaitFile("begun")
	r.cancel(errors.New("told to stop"))
	r.awaitStopping("running action juju-run")
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.end()
	r.awaitTask("6", entity.TaskCompleted)
	r.start()
	r.settle(nil)
	if r.c.failure() == "" {
		t.Errorf("the failed hook is forgotten: %+v", r.c.workload)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "mended"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	r.expect("install", "config-changed", "start", "start", "config-changed")
}

// A task that is cancelled while it runs is ended.
func TestACancelledTask(t *testing.T) {
	r := newRig(t, nil)
	r.start()
	r.settle(nil)
	r.add(command("5", ": >../begun; sleep 600 & wait"), command("6", "echo next"))
	r.awaitFile("begun")
	r.c.change(func() { r.c.task("5").Status = entity.TaskAborting })
	r.awaitTask("5", entity.TaskAborted)
	r.awaitTask("6", entity.TaskCompleted)
}

// A unit that is destroyed finishes the task that it runs, and cancels those that wait.
func TestTasksOfADestroyedUnit(t *testing.T) {
	r := newRig(t, nil)
	r.start()
	r.settle(nil)
	r.add(command("5", ": >../begun; while [ ! -e ../go ]; do sleep 0.01; done; echo done"), command("6", ": >../ran"))
	r.awaitFile("begun")
	r.c.change(func() { r.c.unit.Life = entity.Dying })
	r.c.change(func() { r.c.tasks = append(r.c.tasks, command("7", ": >../ran")) })
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if task := r.awaitTask("5", entity.TaskCompleted); !strings.Contains(string(task.Results), "done") {
		t.Errorf("the results are %s", task.Results)
	}
	for _, id := range []string{"6", "7"} {
		if task := r.awaitTask(id, entity.TaskCancelled); task.Message != "unit removed" {
			t.Errorf("the message of task %s is %q", id, task.Message)
		}
	}
	r.c.await(t, "the unit to die", func() bool { return r.c.unit.Life == entity.Dead })
	if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
		t.Error("a task that was cancelled has run")
	}
}

// A task that is over before the agent begins it does not run.
func TestATaskThatIsGone(t *testing.T) {
	r := newRig(t, nil)
	r.start()
	r.settle(nil)
	r.c.onCall = func(method string, do func() error) error {
		if method == "BeginTask" {
			r.c.mu.Lock()
			if r.c.task("5").Status == entity.TaskPending {
				r.c.task("5").Status = entity.TaskCancelled
			}
			r.c.mu.Unlock()
		}
		return do()
	}
	r.add(command("5", ": >../ran"), command("6", "true"))
	r.awaitTask("6", entity.TaskCompleted)
	if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
		t.Error("it has run")
	}
}
