package resolver

import (
	"fmt"

	"juju/hooks"
)

// A Verb says what to do.
type Verb string

// What a unit can do next.
const (
	Wait                Verb = "wait"                 // nothing, until something changes
	AwaitResolution     Verb = "await-resolution"     // nothing, until the user deals with the failed hook or upgrade
	AwaitReboot         Verb = "await-reboot"         // nothing, until the machine restarts
	Terminate           Verb = "terminate"            // end the agent, for good
	DestroyUnit         Verb = "destroy-unit"         // set the unit itself Dying
	DestroySubordinates Verb = "destroy-subordinates" // set its subordinates Dying
	Die                 Verb = "die"                  // set the unit Dead
	Deploy              Verb = "deploy"               // put Op.Charm into the charm directory
	Run                 Verb = "run"                  // run Op.Hook
	RunTask             Verb = "run-task"             // run Op.Task
	RunCommand          Verb = "run-command"          // run the command of a user of the machine
	FailTask            Verb = "fail-task"            // Op.Task was interrupted, and nothing is left of it here
	Fail                Verb = "fail"                 // end what is left of the interrupted hook or task; it has failed
	Skip                Verb = "skip"                 // count the failed hook as run, at the user's request
	Commit              Verb = "commit"               // finish what had succeeded
	Abandon             Verb = "abandon"              // forget what is in progress
	ClearResolved       Verb = "clear-resolved"       // clear the user's request: no hook has failed
	Enter               Verb = "enter"                // enter the scope of Op.Relation
	Leave               Verb = "leave"                // leave it
	Forget              Verb = "forget"               // forget what the charm was told of Op.Relation
	Detach              Verb = "detach"               // give up Op.Storage
	ForgetStorage       Verb = "forget-storage"       // forget what the charm was told of it
)

// An Op is what a unit does next. Fields that its verb does not use are zero.
type Op struct {
	Verb     Verb
	Charm    string
	Hook     hooks.Info
	Task     string // an id
	Relation int
	Storage  string
	// Resolved says that the user has asked to run the hook, or to deploy the charm, again.
	Resolved bool
	// Retried says that a failed hook runs again by itself, because its pause is over.
	Retried bool
	// Departing is the unit that departs, for a relation-departed hook.
	Departing string
}

// String describes the operation for logs: "run relation-joined 3 mysql/0".
func (op Op) String() string {
	switch op.Verb {
	case RunTask, FailTask:
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
	case Detach, ForgetStorage:
		return fmt.Sprintf("%s %s", op.Verb, op.Storage)
	case Enter, Leave, Forget:
		return fmt.Sprintf("%s %d", op.Verb, op.Relation)
	}
	return string(op.Verb)
}
