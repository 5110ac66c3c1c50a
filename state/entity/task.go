package entity

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// A TaskStatus says how far a task has come, in Juju's words.
type TaskStatus string

// The statuses of tasks. A task begins Pending, and is Running while its receiver works on it. A task
// that is cancelled before it runs is Cancelled; one that runs is Aborting until that has
// ended it, and then Aborted.
const (
	TaskPending   TaskStatus = "pending"
	TaskRunning   TaskStatus = "running"
	TaskAborting  TaskStatus = "aborting"
	TaskAborted   TaskStatus = "aborted"
	TaskCancelled TaskStatus = "cancelled"
	TaskFailed    TaskStatus = "failed"
	TaskCompleted TaskStatus = "completed"
)

// TaskStatuses are all statuses of tasks. An operation has the first of them that one of its tasks
// has.
var TaskStatuses = []TaskStatus{
	TaskRunning, TaskAborting, TaskPending, TaskFailed, TaskAborted, TaskCancelled, TaskCompleted,
}

// UnfinishedTask are the statuses of tasks that are not over.
var UnfinishedTask = []TaskStatus{TaskPending, TaskRunning, TaskAborting}

// IsOver reports whether a task with this status never changes again.
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

// CommandTask is the name of the tasks that run a command of a user's, which is in the parameters.
const CommandTask = "juju-run"

// The parameters of a CommandTask. The timeout is in nanoseconds; 0 means none.
const (
	CommandParam = "command"
	TimeoutParam = "timeout"
)

// A Task is one action of one unit, or a command that a user runs there or on a machine.
type Task struct {
	ID        string          `json:"id"` // "12"
	Operation string          `json:"operation"`
	Receiver  string          `json:"receiver"` // the unit that runs it, "mysql/0", or the machine, "3"
	Name      string          `json:"name"`     // of the action, or CommandTask
	Params    json.RawMessage `json:"params,omitempty"`
	Parallel  bool            `json:"parallel,omitempty"` // it does not wait for hooks of the machine
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

// A TaskMessage is one that a task has logged.
type TaskMessage struct {
	At      time.Time `json:"at" bson:"at"`
	Message string    `json:"message" bson:"message"`
}

// An Operation is what a user asked for at once: tasks for one or several units or machines.
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

// A TaskOutcome is how a task has ended.
type TaskOutcome struct {
	Status  TaskStatus `json:"status"`
	Message string     `json:"message,omitempty"`
	Results string     `json:"results,omitempty"` // a JSON map; "" for none
}

// TaskTerminated is the outcome of a task that was interrupted. It is never run again.
var TaskTerminated = TaskOutcome{Status: TaskFailed, Message: "action terminated"}

// IsValidTask reports whether id has the form of a task's or an operation's.
func IsValidTask(id string) bool {
	n, err := strconv.Atoi(id)
	return err == nil && n > 0 && strconv.Itoa(n) == id
}
