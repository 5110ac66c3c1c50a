package entity

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// A TaskStatus is the status of a task, in Juju's words.
type TaskStatus string

// The statuses of tasks. A task begins Pending, and is Running while its receiver works on it. A task
// that is cancelled before it runs becomes Cancelled; a running one becomes Aborting, and Aborted once
// it has stopped.
const (
	TaskPending   TaskStatus = "pending"
	TaskRunning   TaskStatus = "running"
	TaskAborting  TaskStatus = "aborting"
	TaskAborted   TaskStatus = "aborted"
	TaskCancelled TaskStatus = "cancelled"
	TaskFailed    TaskStatus = "failed"
	TaskCompleted TaskStatus = "completed"
)

// TaskStatuses are all statuses of tasks. The status of an operation is the first of them that any of
// its tasks has.
var TaskStatuses = []TaskStatus{
	TaskRunning, TaskAborting, TaskPending, TaskFailed, TaskAborted, TaskCancelled, TaskCompleted,
}

// UnfinishedTask are the statuses of tasks that are not finished.
var UnfinishedTask = []TaskStatus{TaskPending, TaskRunning, TaskAborting}

// IsOver reports whether a task with this status is finished.
func (s TaskStatus) IsOver() bool { return !slices.Contains(UnfinishedTask, s) }

// OperationStatus returns the status of an operation from those of its tasks.
func OperationStatus(tasks []Task) TaskStatus {
	for _, s := range TaskStatuses {
		if slices.ContainsFunc(tasks, func(t Task) bool { return t.Status == s }) {
			return s
		}
	}
	return TaskPending
}

// CommandTask is the name of tasks that run a user's command, which is in the parameters.
const CommandTask = "juju-run"

// The parameters of a CommandTask. The timeout is in nanoseconds; 0 means none.
const (
	CommandParam = "command"
	TimeoutParam = "timeout"
)

// A Task is one action on one unit, or a command that a user runs on a unit or machine.
type Task struct {
	ID        string          `json:"id"` // "12"
	Operation string          `json:"operation"`
	Receiver  string          `json:"receiver"` // the unit that runs it, "mysql/0", or the machine, "3"
	Name      string          `json:"name"`     // of the action, or CommandTask
	Params    json.RawMessage `json:"params,omitempty"`
	Parallel  bool            `json:"parallel,omitempty"` // it does not wait for hooks on the machine
	Group     string          `json:"group,omitempty"`    // tasks of a group run one at a time
	Status    TaskStatus      `json:"status"`
	Message   string          `json:"message,omitempty"`
	Results   json.RawMessage `json:"results,omitempty"` // a map
	Log       []TaskMessage   `json:"log,omitempty"`
	Enqueued  time.Time       `json:"enqueued,omitzero"`
	Started   time.Time       `json:"started,omitzero"`
	Completed time.Time       `json:"completed,omitzero"`
}

// ReceiverTag returns the tag of the unit or machine that runs a task.
func ReceiverTag(name string) Tag {
	if IsValidMachine(name) {
		return MachineTag(name)
	}
	return UnitTag(name)
}

// A TaskMessage is a message that a task logged.
type TaskMessage struct {
	At      time.Time `json:"at" bson:"at"`
	Message string    `json:"message" bson:"message"`
}

// An Operation is one request of a user: tasks for one or more units or machines.
type Operation struct {
	ID       string
	Summary  string
	Enqueued time.Time
	Tasks    []Task // by number
}

// A TaskRef is an unfinished task of a unit or machine.
type TaskRef struct {
	ID     string     `json:"id"`
	Status TaskStatus `json:"status"`
}

// A MachineTask is an unfinished task of a machine, with what it waits for: nothing if it is Parallel and has no Group,
// only tasks of its Group if it has one, and otherwise also the machine's hooks.
type MachineTask struct {
	TaskRef
	Parallel bool   `json:"parallel,omitempty"`
	Group    string `json:"group,omitempty"`
}

// A TaskOutcome is the result of a finished task.
type TaskOutcome struct {
	Status  TaskStatus `json:"status"`
	Message string     `json:"message,omitempty"`
	Results string     `json:"results,omitempty"` // a JSON map; "" for none
}

// TaskTerminated is the outcome of a task that was interrupted. It is never retried.
var TaskTerminated = TaskOutcome{Status: TaskFailed, Message: "action terminated"}

// TaskOfRemoved returns the outcome of a task that has not begun, or can't be finished, because its unit or machine goes.
func TaskOfRemoved(kind TagKind) TaskOutcome {
	return TaskOutcome{Status: TaskCancelled, Message: string(kind) + " removed"}
}

// IsValidTask reports whether id is a valid id of a task or operation.
func IsValidTask(id string) bool {
	n, err := strconv.Atoi(id)
	return err == nil && n > 0 && strconv.Itoa(n) == id
}
