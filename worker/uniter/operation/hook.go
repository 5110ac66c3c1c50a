package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// The workload's status messages until the charm sets one.
const (
	installing = "installing charm software"
	stopping   = "stopping charm software"
)

// hookAPI is what hooks and the operations that run them need of the controller.
type hookAPI interface {
	hooks.Backend

	// CommitHook applies the buffered changes of a successful hook atomically.
	CommitHook(ctx context.Context, unit entity.Tag, changes entity.HookChanges) error
	// HookRan reports how long a hook ran, for the controller's metrics.
	HookRan(ctx context.Context, unit entity.Tag, took time.Duration) error
	// ClearResolved clears the user's request to resolve the failed hook.
	ClearResolved(ctx context.Context, unit entity.Tag) error
}

// runHook runs a hook, or commits one that has run.
type runHook struct {
	Factory
	op     resolver.Op
	remote resolver.Remote
	skip   bool // treat the failed hook as successful
	done   bool // a previous agent has run it
	name   string
	begins localstate.Op // the hook's record before it starts
}

func (o *runHook) String() string {
	if o.name != "" {
		return fmt.Sprintf("run hook %q", o.name)
	}
	return o.op.String()
}

func (o *runHook) History() string {
	if o.skip || o.done {
		return ""
	}
	return "hook " + o.name
}

func (o *runHook) Prepare(ctx context.Context, s localstate.State) (localstate.State, error) {
	switch {
	case o.done:
		o.name = s.Op.Name
		return s, errSkipExecute
	case o.skip:
		op := *s.Op
		o.name = op.Name
		if err := o.showWorkload(ctx, s); err != nil {
			return s, err
		}
		op.Step, op.Resolved, op.Reason, op.ExitCode, op.LastLine, op.Workload = localstate.Done, true, "", 0, "", nil
		op.Message = ""
		op.Changes = telling(op.Hook, o.remote, entity.HookChanges{})
		return s.With(&op), errSkipExecute
	}
	hctx, err := o.context(s)
	if err != nil {
		return s, err
	}
	o.name = hctx.HookName()
	if err := o.showWorkload(ctx, s); err != nil {
		return s, err
	}
	if err := o.announce(ctx); err != nil {
		return s, err
	}
	o.begins = localstate.Op{
		Kind: localstate.RunHook, Step: localstate.Pending,
		Hook: o.op.Hook, Name: o.name, Config: localstate.ConfigOf(o.remote.Unit),
		Resolved: o.op.Resolved, Retried: o.op.Retried, Boot: o.remote.Boot,
	}
	if s.Op == nil {
		return s, nil // Execute records the hook together with its process
	}
	return s.With(&o.begins), nil // it replaces a failed hook
}

// announce shows in the statuses which hook is about to run. It does nothing for update-status, which runs
// all the time.
func (o *runHook) announce(ctx context.Context) error {
	if o.op.Hook.Kind == hooks.UpdateStatus {
		return nil
	}
	message := fmt.Sprintf("running %s hook", o.name)
	if remote := o.op.Hook.Remote(); remote != "" {
		message += " for " + remote
	}
	if storage := o.op.Hook.Storage; storage != "" {
		message += " for " + storage
	}
	if o.op.Hook.Kind.IsSecret() {
		message += " for " + secretOf(o.op.Hook)
	}
	if err := o.SetAgentStatus(ctx, entity.StatusExecuting, message); err != nil {
		return err
	}
	switch {
	case o.op.Hook.Kind == hooks.Install && !o.op.Resolved && !o.op.Retried:
		return o.setWorkload(ctx, entity.StatusMaintenance, installing)
	case o.op.Hook.Kind == hooks.Stop:
		return o.setWorkload(ctx, entity.StatusMaintenance, stopping)
	}
	return nil
}

// showBound limits how long an agent tries to show what it waits for.
const showBound = 5 * time.Second

// show shows a message in the agent's status. It only logs a failure.
func (f Factory) show(ctx context.Context, message string) {
	ctx, cancel := context.WithTimeout(ctx, showBound)
	defer cancel()
	if err := f.SetAgentStatus(ctx, entity.StatusExecuting, message); err != nil {
		logger.Warningf("unit %s: cannot set its status to %q: %v", f.Unit.ID, message, err)
	}
}

// showWaiting shows that a hook or task waits for a lock.
func (f Factory) showWaiting(ctx context.Context, what, why string) {
	f.show(ctx, fmt.Sprintf("waiting to run %s: %s", what, why))
}

// showStopping shows that the agent stops once the running hook or task has ended.
func (f Factory) showStopping(ctx context.Context, what string) {
	message := fmt.Sprintf("running %s, after which the agent stops or is upgraded", what)
	logger.Infof("unit %s: %s", f.Unit.ID, message)
	f.show(context.WithoutCancel(ctx), message)
}

func (o *runHook) setWorkload(ctx context.Context, word entity.StatusWord, message string) error {
	return o.API.SetUnitStatus(ctx, o.Unit, entity.Status{Status: word, Message: message})
}

// context returns the hook's context.
func (o *runHook) context(s localstate.State) (*hooks.Context, error) {
	params := o.contextParams(s, o.remote, o.op.Hook)
	params.DepartingUnit = o.op.Departing
	return hooks.NewContext(o.API, params)
}

// contextParams returns the parameters of the context of a hook or a task.
func (f Factory) contextParams(s localstate.State, remote resolver.Remote, hook hooks.Info) hooks.ContextParams {
	params := f.Hook
	params.Unit, params.Info = f.Unit.ID, hook
	params.Machine = cmp.Or(remote.Unit.Machine, params.Machine) // a subordinate has none of its own
	params.Principal = remote.Unit.Principal
	params.Storage = remote.Unit.Storage
	if up := remote.Unit.Upgrade; up != nil && (hook.Kind == hooks.PreSeriesUpgrade ||
		hook.Kind == hooks.PostSeriesUpgrade) {
		params.TargetSeries = up.To
	}
	params.Relations = map[int]hooks.Relation{}
	for _, rel := range remote.Relations {
		// A relation is recorded before the unit enters it, and entering may fail.
		seen, known := s.Relations[rel.ID]
		if rel.InScope || known && !seen.CreatedPending {
			params.Relations[rel.ID] = hooks.Relation{Name: rel.Endpoint, Key: rel.Key, Remote: rel.Remote,
				Members: members(hook, rel.ID, seen), Via: rel.Via, Model: rel.Model, Offered: rel.Offered}
		}
	}
	return params
}

// members returns the units that a hook sees in a relation: those that the charm has seen, plus the one that the
// hook is about, unless that one departs.
func members(hook hooks.Info, relation int, seen localstate.Relation) []string {
	units := maps.Clone(seen.Members)
	if units == nil {
		units = map[string]int64{}
	}
	if hook.Kind.IsRelation() && hook.RelationID == relation {
		switch hook.Kind {
		case hooks.RelationJoined, hooks.RelationChanged:
			if hook.RemoteUnit == "" {
				break // about the other service
			}
			units[hook.RemoteUnit] = hook.ChangeVersion
		case hooks.RelationDeparted:
			delete(units, hook.RemoteUnit)
		}
	}
	return slices.Collect(maps.Keys(units))
}

func (o *runHook) Execute(
	ctx context.Context, s localstate.State, persist func(localstate.State) error,
) (localstate.State, error) {
	op := o.begins
	if op.Resolved {
		// The hook is recorded, so the request can be cleared. From now on the user can request a retry of the
		// next failure.
		if err := o.API.ClearResolved(ctx, o.Unit); err != nil {
			return s, err
		}
		op.Resolved = false
	}
	waited := false
	o.Hook.Waiting = func(ctx context.Context, why string) {
		waited = true
		if o.op.Hook.Kind != hooks.UpdateStatus {
			o.showWaiting(ctx, o.name+" hook", why)
		}
	}
	o.Hook.Stopping = func() { o.showStopping(ctx, o.name+" hook") }
	var hctx *hooks.Context
	var began time.Time
	err := awaitRoom(ctx, func() (err error) {
		if hctx, err = o.context(s); err != nil {
			return err
		}
		return o.Runner.Run(ctx, hctx, func(p hooks.Process) error {
			if waited {
				if err := o.announce(ctx); err != nil {
					return err
				}
			}
			begun := op
			begun.Process = &p
			began = time.Now()
			return persist(s.With(&begun))
		})
	}, func(err error) {
		waited = true
		o.show(ctx, fmt.Sprintf("waiting to run %s hook: %v", o.name, err))
	})
	o.reportTime(ctx, began)
	var failed *hooks.FailedError
	switch {
	case errors.Is(err, hooks.ErrRebootNow):
		s.Reboot = op.Boot
		return s.With(op.Again()), errSkipCommit
	case errors.Is(err, hooks.ErrStopped):
		return s.With(op.Again()), errSkipCommit
	case errors.As(err, &failed):
		op := op.FailedWith(failed.Reason)
		op.ExitCode, op.LastLine, op.Message = max(failed.ExitCode, 0), failed.LastLine, failed.Message
		return s.With(op), nil
	case err != nil:
		return s, err
	}
	if hctx.Reboot() == hooks.RebootAfterHook {
		op.Reboot = op.Boot
	}
	op.Step, op.Changes = localstate.Done, telling(op.Hook, o.remote, hctx.Changes())
	if op.Changes.IsEmpty() && op.Hook.Kind != hooks.Start {
		return s.Ran(op), errSkipCommit
	}
	return s.With(&op), nil
}

// reportTime reports how long the hook ran that began at a time, if it ran. It only logs a failure.
func (o *runHook) reportTime(ctx context.Context, began time.Time) {
	if began.IsZero() {
		return
	}
	took := time.Since(began)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), showBound)
	defer cancel()
	if err := o.API.HookRan(ctx, o.Unit, took); err != nil {
		logger.Debugf("unit %s: cannot report that hook %s ran for %v: %v", o.Unit.ID, o.name, took, err)
	}
}

// Commit applies the hook's effects, those on the controller's state first. It can be repeated.
func (o *runHook) Commit(ctx context.Context, s localstate.State) (localstate.State, error) {
	op := *s.Op
	if op.Resolved {
		if err := o.API.ClearResolved(ctx, o.Unit); err != nil {
			return s, err
		}
	}
	if !op.Changes.IsEmpty() {
		refused, err := o.commitChanges(ctx, op.Changes)
		if isRefusal(err) {
			return s.With(op.FailedWith(fmt.Sprintf("cannot commit its changes: %v", err))), nil
		}
		if err != nil {
			return s, err
		}
		s.RefusedEpoch = cmp.Or(refused, s.RefusedEpoch)
	}
	if op.Hook.Kind == hooks.Start {
		if err := o.endInstalling(ctx); err != nil {
			return s, err
		}
	}
	return s.Ran(op), nil
}

// endInstalling sets the workload's status to unknown if the charm has not set it.
func (o *runHook) endInstalling(ctx context.Context) error {
	status, err := o.API.UnitStatus(ctx, o.Unit)
	if err != nil {
		return err
	}
	if status.Status == entity.StatusMaintenance && status.Message == installing {
		return o.setWorkload(ctx, entity.StatusUnknown, "")
	}
	return nil
}

// isRefusal reports whether an error is permanent rather than transient. A commit that is refused, for example
// because another unit has opened the same port in the meantime, makes the hook fail.
func isRefusal(err error) bool {
	switch entity.KindOf(err) {
	case entity.NotFound, entity.AlreadyExists, entity.Invalid, entity.NotAlive, entity.InUse, entity.NotSupported,
		entity.LeadershipRefused:
		return true
	}
	return false
}
