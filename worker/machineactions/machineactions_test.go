package machineactions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/juju/loggo"
	"golang.org/x/sync/semaphore"

	"juju/agent/host/process"
	"juju/doc/tools/verify"
	"juju/hooks"
	"juju/state/entity"
	"juju/state/limits"
	"juju/worker"
)

// A controller has the tasks of machine 3.
type controller struct {
	t *testing.T

	mu      sync.Mutex
	tasks   []entity.Task
	changed chan struct{} // closed at the next change
	watch   chan struct{}
	gate    chan struct{} // holds up the next answer to Tasks: received from when it is asked, and to let it go
}

func newController(t *testing.T) *controller {
	return &controller{t: t, changed: make(chan struct{}), watch: make(chan struct{}, 1)}
}

// change calls f, and wakes who waits.
func (c *controller) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
	select {
	case c.watch <- struct{}{}:
	default:
	}
}

func (c *controller) task(id string) *entity.Task {
	i := slices.IndexFunc(c.tasks, func(t entity.Task) bool { return t.ID == id })
	return &c.tasks[i]
}

// add adds a task that runs a command when no hook runs.
func (c *controller) add(id, command string) { c.addTo("", id, command) }

// addTo adds a task that runs a command in an execution group, at once with all others if that is "parallel", or when no
// hook runs if it is "".
func (c *controller) addTo(group, id, command string) {
	task := entity.Task{ID: id, Name: entity.CommandTask, Status: entity.TaskPending,
		Receiver: "3", Params: fmt.Appendf(nil, `{"command":%q,"timeout":0}`, command)}
	if task.Parallel = group == "parallel"; !task.Parallel {
		task.Group = group
	}
	c.change(func() { c.tasks = append(c.tasks, task) })
}

// await waits until a task has this status, and returns it.
func (c *controller) await(id string, status entity.TaskStatus) entity.Task {
	c.t.Helper()
	timeout := time.After(verify.Patience)
	for {
		c.mu.Lock()
		task, changed := *c.task(id), c.changed
		c.mu.Unlock()
		if task.Status == status {
			return task
		}
		select {
		case <-changed:
		case <-timeout:
			c.t.Fatalf("task %s is %s, not %s", id, task.Status, status)
		}
	}
}

func (c *controller) check(tag entity.Tag) {
	if tag != entity.MachineTag("3") {
		c.t.Errorf("a request for %s", tag)
	}
}

func (c *controller) Tasks(_ context.Context, tag entity.Tag) (all []entity.MachineTask, err error) {
	c.check(tag)
	c.mu.Lock()
	for _, t := range c.tasks {
		if !t.Status.IsOver() {
			all = append(all, entity.MachineTask{TaskRef: entity.TaskRef{ID: t.ID, Status: t.Status},
				Parallel: t.Parallel, Group: t.Group})
		}
	}
	gate := c.gate
	c.gate = nil
	c.mu.Unlock()
	if gate != nil {
		gate <- struct{}{}
		gate <- struct{}{}
	}
	return all, nil
}

func (c *controller) WatchTasks(_ context.Context, tag entity.Tag) (<-chan struct{}, error) {
	c.check(tag)
	c.change(func() {})
	return c.watch, nil
}

func (c *controller) BeginTask(_ context.Context, tag entity.Tag, id string) (task entity.Task, err error) {
	c.check(tag)
	c.change(func() { c.task(id).Status = entity.TaskRunning; task = *c.task(id) })
	return task, nil
}

func (c *controller) FinishTask(_ context.Context, tag entity.Tag, id string, outcome entity.TaskOutcome) error {
	c.check(tag)
	c.change(func() {
		t := c.task(id)
		t.Status, t.Message, t.Results = outcome.Status, outcome.Message, []byte(outcome.Results)
	})
	return limits.CheckTaskOutcome(outcome)
}

// start starts the worker on a machine whose files are in root; stop ends it.
func start(t *testing.T, c *controller, root string) (stop func()) {
	tell, await := startIn(t, c, root, semaphore.NewWeighted(AtOnce))
	return func() { tell(); await() }
}

// startIn starts the worker with room for commands; tell tells it to stop, and await waits until it has.
func startIn(t *testing.T, c *controller, root string, room *semaphore.Weighted) (tell, await func()) {
	work := New(Config{API: c, Machine: entity.MachineTag("3"), Room: room,
		Hooks: hooks.RunnerParams{CharmDir: root, ToolsDir: filepath.Join(root, "tools"),
			RunDir: filepath.Join(root, "agents", "machine-3", "run"), LauncherPath: hookTool,
			LockPath: filepath.Join(root, "lock"),
			Log:      func(string, loggo.Level, string) {}},
		Context: func() hooks.ContextParams {
			return hooks.ContextParams{ModelName: "prod", Settings: map[string]string{"http-proxy": "http://proxy"}}
		},
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	told := errors.New("told to stop")
	return func() { cancel(told) }, sync.OnceFunc(func() {
		select {
		case err := <-done:
			if !errors.Is(err, told) {
				t.Errorf("it ends with %v", err)
			}
		case <-time.After(verify.Patience):
			t.Error("it does not end")
		}
	})
}

func TestCommandsOfUsers(t *testing.T) {
	c, root := newController(t), t.TempDir()
	t.Setenv("SECRET", "yes")
	stop := start(t, c, root)
	defer stop()
	c.add("2", "pwd; echo $JUJU_MACHINE_ID $JUJU_MODEL_NAME $HTTP_PROXY ${JUJU_UNIT_NAME-none} ${JUJU_CONTEXT_ID-none}"+
		" ${SECRET-none} >&2; exit 3")
	want := fmt.Sprintf(`{"return-code":3,"stderr":"3 prod http://proxy none none none\n","stdout":"%s\n"}`, root)
	if task := c.await("2", entity.TaskCompleted); string(task.Results) != want {
		t.Errorf("got  %s\nwant %s", task.Results, want)
	}
	c.add("3", "sleep 1000 & wait")
	c.add("4", "echo next")
	c.await("3", entity.TaskRunning)
	c.change(func() { c.task("3").Status = entity.TaskAborting })
	c.await("3", entity.TaskAborted)
	c.await("4", entity.TaskCompleted)
}

// A command is cancelled also if the agent is told to stop at the same moment, whichever it hears of first.
func TestCommandsAreCancelledWhileTheAgentStops(t *testing.T) {
	for n := range 8 {
		c, root := newController(t), t.TempDir()
		tell, await := startIn(t, c, root, semaphore.NewWeighted(AtOnce))
		begun := pipe(t, root, "begun")
		c.add("2", "echo x >begun; exec sleep 1000")
		if _, err := begun.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		asked := make(chan struct{})
		c.change(func() { c.gate = asked })
		<-asked
		tell()
		c.change(func() { c.task("2").Status = entity.TaskAborting })
		<-asked
		await()
		if task := c.await("2", entity.TaskAborted); t.Failed() {
			t.Fatalf("round %d: %+v", n, task)
		}
	}
}

// An agent that is told to stop waits for the command, which a user can still cancel. A command whose agent was killed
// is ended and does not run again. What has ended counts as it has ended.
func TestCommandsThatAreInterrupted(t *testing.T) {
	c, root := newController(t), t.TempDir()
	stop := start(t, c, root)
	begun := pipe(t, root, "begun")
	c.add("2", "echo half; echo x >begun; exec sleep 1000")
	if _, err := begun.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	c.change(func() { c.task("2").Status = entity.TaskAborting })
	<-stopped
	if task := c.await("2", entity.TaskAborted); string(task.Results) != `{"stdout":"half\n"}` {
		t.Errorf("%q, %s", task.Message, task.Results)
	}

	run := filepath.Join(root, "agents", "machine-3", "run")
	if err := os.Mkdir(filepath.Join(run, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := []recordFile{recordFile(filepath.Join(run, recordName)), recordFile(filepath.Join(run, "1", recordName))}
	for i, test := range []struct {
		left   record
		status entity.TaskStatus
	}{
		{record{Task: "3", Process: &hooks.Process{Identity: process.Identity{PID: 1}}}, entity.TaskFailed},
		{record{Task: "3", Outcome: &entity.TaskOutcome{Status: entity.TaskCompleted}}, entity.TaskCompleted},
		{record{}, entity.TaskFailed}, // killed before it was recorded
	} {
		c.change(func() { c.tasks = nil })
		c.add("3", "true")
		c.change(func() { c.task("3").Status = entity.TaskRunning })
		file := files[i%2]
		if err := file.write(test.left); err != nil {
			t.Fatal(err)
		}
		stop = start(t, c, root)
		if task := c.await("3", test.status); task.Status == entity.TaskFailed && task.Message != "action terminated" {
			t.Errorf("the message is %q", task.Message)
		}
		stop()
		if left, err := file.read(); err != nil || left != (record{}) {
			t.Errorf("left: %+v, %v", left, err)
		}
	}
}

// pipe makes a pipe that commands in root know by its name.
func pipe(t *testing.T, root, name string) *os.File {
	path := filepath.Join(root, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	p.SetReadDeadline(time.Now().Add(verify.Patience))
	return p
}

// Parallel commands run at once, others and those of a group one after another. Cancelling one leaves the others alone. An
// agent that is told to stop waits for all of them, and leaves those that have not begun.
func TestCommandsAtOnce(t *testing.T) {
	c, root := newController(t), t.TempDir()
	tell, await := startIn(t, c, root, semaphore.NewWeighted(AtOnce))
	held := map[string]*os.File{}
	hold := func(group, id string) {
		held[id] = pipe(t, root, id)
		c.addTo(group, id, "read line <"+id+"; echo $line")
	}
	end := func(id string) {
		t.Helper()
		if _, err := held[id].WriteString("end of " + id + "\n"); err != nil {
			t.Fatal(err)
		}
		task := c.await(id, entity.TaskCompleted)
		if want := fmt.Sprintf(`{"return-code":0,"stdout":"end of %s\n"}`, id); string(task.Results) != want {
			t.Errorf("got  %s\nwant %s", task.Results, want)
		}
	}
	for i, group := range []string{"parallel", "parallel", "", "", "g", "g", "h"} {
		hold(group, fmt.Sprint(10+i))
	}
	for _, id := range []string{"10", "11", "12", "14", "16"} {
		c.await(id, entity.TaskRunning)
	}
	c.addTo("parallel", "17", "true")
	c.await("17", entity.TaskCompleted)
	for _, id := range []string{"13", "15"} {
		c.await(id, entity.TaskPending)
	}
	c.change(func() { c.task("11").Status = entity.TaskAborting })
	c.await("11", entity.TaskAborted)
	end("12")
	c.await("13", entity.TaskRunning)
	c.await("15", entity.TaskPending)
	end("14")
	c.await("15", entity.TaskRunning)
	end("15")

	hold("h", "18")
	tell()
	c.change(func() { c.task("13").Status = entity.TaskAborting })
	c.await("13", entity.TaskAborted)
	end("16")
	end("10")
	await()
	c.await("18", entity.TaskPending)
	defer start(t, c, root)()
	end("18")
}

// No command begins while the agent is about to stop, but what has not begun is left to the next agent.
func TestNoRoomForCommands(t *testing.T) {
	c, root, room := newController(t), t.TempDir(), semaphore.NewWeighted(AtOnce)
	if err := room.Acquire(t.Context(), AtOnce); err != nil {
		t.Fatal(err)
	}
	tell, await := startIn(t, c, root, room)
	c.add("2", "true")
	c.addTo("parallel", "3", "true")
	c.addTo("parallel", "4", "true")
	c.change(func() { c.task("4").Status = entity.TaskCancelled })
	tell()
	await()
	c.await("2", entity.TaskPending)
	c.await("3", entity.TaskPending)
	defer start(t, c, root)()
	c.await("2", entity.TaskCompleted)
	c.await("3", entity.TaskCompleted)
}

func TestNoMoreCommandsAtOnce(t *testing.T) {
	c := newController(t)
	c.addTo("parallel", "2", "true")
	r := running{Config: Config{API: c, Machine: entity.MachineTag("3")}, commands: make(chan *hooks.Command)}
	for range AtOnce {
		r.jobs = append(r.jobs, &job{})
	}
	if err := r.tasks(t.Context()); err != nil || len(r.jobs) != AtOnce || r.acceptable() != nil {
		t.Errorf("%d commands, %v", len(r.jobs), err)
	}
}

// A user of the machine runs commands there without naming a unit.
func TestJujuRunWithoutAContext(t *testing.T) {
	c, root := newController(t), t.TempDir()
	defer start(t, c, root)()
	c.add("2", "true")
	c.await("2", entity.TaskCompleted) // so it has begun to listen
	link := filepath.Join(root, "juju-run")
	if err := os.Symlink(hookTool, link); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, link, "--no-context", "cat; pwd; echo ${JUJU_UNIT_NAME-none}; exit 5")
	cmd.Stdin = strings.NewReader("typed\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Run()
	if want := "typed\n" + root + "\nnone\n"; out.String() != want || cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("it ends with %d and %q, want 5 and %q", cmd.ProcessState.ExitCode(), out.String(), want)
	}
}

func TestTheEndOfTheWatch(t *testing.T) {
	c := newController(t)
	close(c.watch)
	work := New(Config{API: ended{c}, Machine: entity.MachineTag("3"), Hooks: hooks.RunnerParams{
		CharmDir: t.TempDir(), RunDir: filepath.Join(t.TempDir(), "run"), LauncherPath: hookTool}})
	if err := work(t.Context()); !errors.Is(err, worker.ErrWatchEnded) {
		t.Errorf("it ends with %v", err)
	}
}

// ended is a controller whose watch has ended.
type ended struct{ *controller }

func (e ended) WatchTasks(context.Context, entity.Tag) (<-chan struct{}, error) { return e.watch, nil }

// An agent that stops does not wait for a controller that is away.
func TestNoWatchBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	r := running{Config: Config{API: away{newController(t), asked}}, places: &places{}}
	done := make(chan error, 1)
	go func() { done <- r.loop(ctx) }()
	<-asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// away waits for the controller when a watch is to begin.
type away struct {
	*controller
	asked chan<- struct{}
}

func (a away) WatchTasks(ctx context.Context, _ entity.Tag) (<-chan struct{}, error) {
	a.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}
