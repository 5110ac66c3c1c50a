package resolver

import (
	"fmt"

	"juju/hooks"
)

// A Verb is a kind of operation.
type Verb string

// The kinds of operations.
const (
	Wait                Verb = "wait"                 // wait until something changes
	AwaitResolution     Verb = "await-resolution"     // wait until the user resolves the failed hook or upgrade
	AwaitReboot         Verb = "await-reboot"         // wait until the machine restarts
	Terminate           Verb = "terminate"            // terminate the agent
	DestroyUnit         Verb = "destroy-unit"         // set the unit itself Dying
	DestroySubordinates Verb = "destroy-subordinates" // set its subordinates Dying
	Die                 Verb = "die"                  // set the unit Dead
	Deploy              Verb = "deploy"               // deploy Op.Charm in the charm directory
	Run                 Verb = "run"                  // run Op.Hook
	RunTask             Verb = "run-task"             // run Op.Task
	RunCommand          Verb = "run-command"          // run the command from juju-run
	FailTask            Verb = "fail-task"            // fail Op.Task, which was interrupted and has no local record
	CancelTask          Verb = "cancel-task"          // cancel Op.Task, which has not begun when the unit is destroyed
	Fail                Verb = "fail"                 // kill the interrupted hook or task and mark it as failed
	Skip                Verb = "skip"                 // treat the failed hook as successful, at the user's request
	Commit              Verb = "commit"               // commit the successful operation
	Abandon             Verb = "abandon"              // discard the operation in progress
	ClearResolved       Verb = "clear-resolved"       // clear the user's request, because no hook has failed
	Enter               Verb = "enter"                // enter the scope of Op.Relation
	Leave               Verb = "leave"                // leave the scope of Op.Relation
	Forget              Verb = "forget"               // delete the local state of Op.Relation
	Detach              Verb = "detach"               // release Op.Storage
	ReportUpgrade       Verb = "report-upgrade"       // report that the step of the machine's upgrade is finished
	ForgetStorage       Verb = "forget-storage"       // delete the local state of Op.Storage
	PassSecret          Verb = "pass-secret"          // record that the unit was told, without the hook Op.Hook that its charm lacks
)

// An Op is an operation. Fields that its verb does not use are zero.
type Op struct {
	Verb     Verb
	Charm    string
	Hook     hooks.Info
	Task     string // an id
	Relation int
	Storage  string
	// Resolved means that the user has requested to retry the hook or the deployment.
	Resolved bool
	// Retried means that the failed hook is retried automatically.
	Retried bool
	// Departing is the departing unit of a relation-departed hook.
	Departing string
}

// String describes the operation for logs: "run relation-joined 3 mysql/0".
func (op Op) String() string {
	switch op.Verb {
	case RunTask, FailTask, CancelTask:
		return fmt.Sprintf("%s %s", op.Verb, op.Task)
	case Deploy:
		if op.Resolved {
			return fmt.Sprintf("%s %s again", op.Verb, op.Charm)
		}
		return fmt.Sprintf("%s %s", op.Verb, op.Charm)
	case Run:
		s := fmt.Sprintf("%s %s", op.Verb, op.Hook)
		if op.Departing != "" {
			s += " departing=" + op.Departing
		}
		if op.Resolved {
			s += " again"
		}
		if op.Retried {
			s += " again by itself"
		}
		return s
	case PassSecret:
		return fmt.Sprintf("%s %s", op.Verb, op.Hook)
	case Detach, ForgetStorage:
		return fmt.Sprintf("%s %s", op.Verb, op.Storage)
	case Enter, Leave, Forget:
		return fmt.Sprintf("%s %d", op.Verb, op.Relation)
	}
	return string(op.Verb)
}
