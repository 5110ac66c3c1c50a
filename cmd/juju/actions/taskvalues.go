package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

// taskTime is the format of times in printed tasks.
const taskTime = "2006-01-02 15:04:05 -0700 MST"

// timing returns the nonzero times of a task or operation.
func timing(enqueued, started, completed time.Time) map[string]any {
	times := map[string]any{}
	for name, at := range map[string]time.Time{"enqueued": enqueued, "started": started, "completed": completed} {
		if !at.IsZero() {
			times[name] = display.TimeIn(at.UTC(), taskTime)
		}
	}
	return times
}

// A logged message of a task is printed as one text, with the time as display.Time has it.
type logged struct {
	at      time.Time
	message string
}

func (l logged) MarshalYAML() (any, error) { return l.at.Format(taskTime) + " " + l.message, nil }

func (l logged) MarshalJSON() ([]byte, error) {
	return json.Marshal(l.at.Format(time.RFC3339) + " " + l.message)
}

// receiverKind returns "unit" or "machine".
func receiverKind(t entity.Task) string { return string(entity.ReceiverTag(t.Receiver).Kind) }

// taskValue returns a task in its printed form.
func taskValue(t entity.Task) map[string]any {
	value := map[string]any{"id": t.ID, receiverKind(t): t.Receiver, "status": string(t.Status)}
	if t.Message != "" {
		value["message"] = t.Message
	}
	if len(t.Log) > 0 {
		var log []logged
		for _, m := range t.Log {
			log = append(log, logged{m.At.UTC(), m.Message})
		}
		value["log"] = log
	}
	if results := jsonMap(t.Results); len(results) > 0 {
		value["results"] = results
	}
	if times := timing(t.Enqueued, t.Started, t.Completed); len(times) > 0 {
		value["timing"] = times
	}
	return value
}

// jsonMap returns the parameters or results of a task; nil if there are none.
func jsonMap(text json.RawMessage) (m map[string]any) {
	if len(text) > 0 && json.Unmarshal(text, &m) != nil {
		return nil // the controller sends maps
	}
	return m
}

// awaitOperation waits until all tasks of an operation have finished, and returns it. After timeout, unless that is 0,
// it returns the operation with errStillRunning. seen is called each time that it is read.
func awaitOperation(
	ctx context.Context, s *cli.Session, api tasksAPI, id string, timeout time.Duration, seen func(entity.Operation),
) (o entity.Operation, err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errStillRunning)
		defer cancel()
	}
	changes := wait.WatchChanges(ctx, func(ctx context.Context) (<-chan struct{}, error) {
		return api.WatchOperation(ctx, id)
	},
		0)
	s.WaitsFor("The tasks are still running. To see them: juju show-operation %s", id)
	p := s.AwaitQuickly()
	defer p.Clear()
	for {
		now, err := api.Operation(ctx, id)
		switch {
		case err == nil:
			o = now
			s.WaitsFor("%s", stillGoing(o))
			p.Await("", awaited(o.Tasks))
			seen(o)
		case ctx.Err() == nil:
			return o, err
		}
		if err == nil && entity.OperationStatus(o.Tasks).IsOver() {
			return o, nil
		}
		changes.Next(ctx)
		if ctx.Err() != nil {
			return o, context.Cause(ctx)
		}
	}
}

// awaited says what tasks do.
func awaited(tasks []entity.Task) (all []cli.Awaited) {
	for _, t := range tasks {
		on := t.Receiver
		if entity.IsValidMachine(on) {
			on = "machine " + on
		}
		all = append(all, cli.Awaited{Name: "task " + t.ID + " on " + on, Text: string(t.Status), Done: t.Status.IsOver()})
	}
	return all
}

// stillGoing tells users who interrupt the wait for an operation what continues.
func stillGoing(o entity.Operation) string {
	var ids []string
	for _, t := range o.Tasks {
		if !t.Status.IsOver() {
			ids = append(ids, t.ID)
		}
	}
	what := "The tasks are"
	if len(ids) == 1 {
		what = "Task " + ids[0] + " is"
	}
	return fmt.Sprintf("%s still running. To see the results later: juju show-operation %s; to cancel: juju cancel-task %s", what, o.ID,
		strings.Join(ids, " "))
}

// unseen is for waits that print nothing until the end.
func unseen(entity.Operation) {}

// followLogs returns a function that prints what tasks have logged since it was last called, on standard error.
func followLogs(s *cli.Session) func(entity.Operation) {
	shown := map[string]int{}
	return func(o entity.Operation) {
		for _, t := range o.Tasks {
			for _, m := range t.Log[min(shown[t.ID], len(t.Log)):] {
				from := ""
				if len(o.Tasks) > 1 {
					from = t.Receiver + ": "
				}
				s.Note("%s %s%s", m.At.Local().Format(time.TimeOnly), from, m.Message)
			}
			shown[t.ID] = len(t.Log)
		}
	}
}

// awaitProgress waits until an operation has finished, or until none of its tasks has started or finished within
// timeout: since the last that has, not since the wait began again. While a task runs, its agent has agentGrace more.
func awaitProgress(
	ctx context.Context, s *cli.Session, api tasksAPI, id string, timeout time.Duration,
) (entity.Operation, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(timeout+agentGrace, func() { cancel(errStillRunning) })
	defer cancel(nil)
	defer timer.Stop()
	var last entity.Operation
	return awaitOperation(ctx, s, api, id, 0, func(now entity.Operation) {
		if !sameStatuses(last, now) {
			timer.Reset(boundOf(now, timeout))
			last = now
		}
	})
}

// boundOf returns how long to wait for the next task of an operation to start or finish.
func boundOf(o entity.Operation, timeout time.Duration) time.Duration {
	running := func(t entity.Task) bool { return t.Status == entity.TaskRunning || t.Status == entity.TaskAborting }
	if slices.ContainsFunc(o.Tasks, running) {
		return timeout + agentGrace
	}
	return max(timeout, agentGrace)
}

// sameStatuses reports whether the statuses of all tasks are unchanged.
func sameStatuses(before, now entity.Operation) bool {
	return slices.EqualFunc(before.Tasks, now.Tasks, func(a, b entity.Task) bool { return a.Status == b.Status })
}

// returnCode returns the exit code of a task, 0 if it has none.
func returnCode(t entity.Task) int {
	code, _ := jsonMap(t.Results)["return-code"].(float64)
	return int(code)
}

// failedTasks returns an error that lists the tasks that failed, nil if there are none.
func failedTasks(tasks []entity.Task) error {
	var ids, lines []string
	for _, t := range tasks {
		what := "status " + string(t.Status)
		if code := returnCode(t); code != 0 {
			what = fmt.Sprintf("return code %d", code)
		} else if t.Status == entity.TaskCompleted {
			continue
		}
		if t.Status.IsOver() {
			ids, lines = append(ids, t.ID), append(lines, fmt.Sprintf("- id %q with %s", t.ID, what))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if more := len(lines) - cli.MaxErrors; more > 0 {
		lines = append(lines[:cli.MaxErrors], fmt.Sprintf("and %d more", more))
	}
	text := "the following tasks failed:"
	if len(ids) == 1 {
		text = "the following task failed:"
	}
	return entity.WithHint(fmt.Errorf("%s\n%s", text, strings.Join(lines, "\n")), "To see why: juju show-task %s", ids[0])
}

// errStillRunning means that the wait timed out.
var errStillRunning = errors.New("still running")

// waitTime is the value of --wait: -1s does not wait, 0 waits without limit.
type waitTime time.Duration

const (
	noWait  = waitTime(-time.Second)
	forEver = waitTime(0)
)

func (w waitTime) String() string { return time.Duration(w).String() }
func (w waitTime) Type() string   { return "duration" }

func (w *waitTime) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil && !strings.ContainsAny(text, "smh") { // seconds
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil {
		return fmt.Errorf("expected a duration such as 30s, 5m or 2h, got %q", text)
	}
	*w = waitTime(d)
	return nil
}

func (w waitTime) waits() bool { return w >= 0 }

func (w waitTime) duration() time.Duration { return time.Duration(w) }
