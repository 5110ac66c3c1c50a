package operation

import (
	"context"
	"fmt"

	"juju/state/entity"
	"juju/state/limits"
	"juju/worker/uniter/localstate"
)

// report shows a failed hook or upgrade in the workload's status. First it records the current status, which the
// charm won't set again, so that it can be restored when the failure is resolved.
type report struct{ Factory }

// Report returns the operation that shows a failure in the workload's status. It can be repeated.
func (f Factory) Report() Operation { return report{f} }

func (report) String() string  { return "report a failure" }
func (report) History() string { return "" }

func (o report) Prepare(ctx context.Context, s localstate.State) (localstate.State, error) {
	shown, err := o.API.UnitStatus(ctx, o.Unit)
	switch {
	case err != nil:
		return s, err
	case s.Op.Workload != nil && shown.Status == entity.StatusError && shown.Message == message(s.Op):
		return s, errSkipExecute
	case s.Op.Workload != nil:
		return s, nil
	case s.Op.After != nil && s.Op.After.Workload != nil:
		shown = *s.Op.After.Workload // the current one shows the earlier failed hook
	case shown.Status == entity.StatusError:
		// It shows a failure from before the unit's machine was lost, and the agent's state with it.
		shown = entity.Status{Status: entity.StatusUnknown}
	}
	op := *s.Op
	op.Workload = &shown
	return s.With(&op), nil
}

func (o report) Execute(
	ctx context.Context, s localstate.State, _ func(localstate.State) error,
) (localstate.State, error) {
	op := s.Op
	data := map[string]any{}
	if op.Kind == localstate.DeployCharm {
		data["charm"] = op.Charm
	} else {
		data["hook"] = op.Name
	}
	if op.Reason != "" {
		data["reason"] = op.Reason
	}
	if op.ExitCode != 0 {
		data["exit-code"] = op.ExitCode
	}
	if op.LastLine != "" {
		data["last-line"] = op.LastLine
	}
	if op.Hook.Storage != "" {
		data["storage-id"] = op.Hook.Storage
	}
	if op.Hook.Kind.IsSecret() {
		data["secret-id"] = secretOf(op.Hook)
	}
	if op.Hook.Kind.IsRelation() {
		data["relation-id"] = op.Hook.RelationID
		if op.Hook.RemoteUnit != "" {
			data["remote-unit"] = op.Hook.RemoteUnit
		}
	}
	return s, o.API.SetUnitStatus(ctx, o.Unit, entity.Status{
		Status: entity.StatusError, Message: message(op), Data: data,
	})
}

func (report) Commit(_ context.Context, s localstate.State) (localstate.State, error) {
	return s, nil
}

// Failure describes a failed hook or upgrade for the log.
func Failure(op *localstate.Op) string {
	if op.Kind == localstate.DeployCharm {
		return fmt.Sprintf("upgrade to charm %q failed: %s", op.Charm, op.Reason)
	}
	name := fmt.Sprintf("%q", op.Name)
	if remote := op.Hook.Remote(); remote != "" {
		name += " for " + remote
	}
	if op.Hook.Kind.IsSecret() {
		name += " for " + secretOf(op.Hook)
	}
	text := fmt.Sprintf("hook %s failed: %s", name, op.Reason)
	for _, more := range []string{op.Message, op.LastLine} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// message returns the workload status's message for a failure, including what the charm set with juju-fail.
func message(op *localstate.Op) string {
	if op.Kind == localstate.DeployCharm {
		return "upgrade failed"
	}
	text := fmt.Sprintf("hook failed: %q", op.Name)
	if op.Message != "" {
		text += ": " + op.Message
	}
	return text
}

// showWorkload restores the workload's status from before the failure. It runs before the user's request is
// cleared, so that every unit that can be resolved is in error.
func (f Factory) showWorkload(ctx context.Context, s localstate.State) error {
	if op := s.Failed(); op != nil && op.Workload != nil {
		shown := *op.Workload
		if limits.CheckStatusWord(shown.Status, entity.UnitWords) != nil { // set before statuses were checked
			shown = entity.Status{Status: entity.StatusUnknown}
		}
		return f.API.SetUnitStatus(ctx, f.Unit, shown)
	}
	return nil
}
