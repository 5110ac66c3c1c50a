package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"juju/charm"
	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/charmdir"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// ErrBarred is the error of an operation that the controller refuses for now. The operation is retried when
// something has changed.
var ErrBarred = errors.New("barred")

// API is what operations need of the controller, by operation.
type API interface {
	hookAPI
	taskAPI
	scopeAPI
	lifeAPI

	// FinishUpgradeStep records that the unit has finished a step of the upgrade of its machine's operating
	// system. It does nothing if the machine is past that step.
	FinishUpgradeStep(ctx context.Context, unit entity.Tag, number int64, completing bool) error

	// SetCharm records the charm that the unit is about to deploy.
	SetCharm(ctx context.Context, unit entity.Tag, url string) error
}

// scopeAPI is what entering and leaving relations needs of the controller.
type scopeAPI interface {
	// EnterScope writes the unit's initial settings and enters the scope; it does nothing if the unit is already
	// in it. When a principal enters a container relation, its subordinate is created. It returns
	// entity.CannotEnter or entity.CannotEnterYet if the unit must not enter.
	EnterScope(ctx context.Context, unit entity.Tag, relation int) error
	// LeaveScope leaves the scope, and removes entities that only this unit still held. It does nothing if the
	// unit is not in the scope.
	LeaveScope(ctx context.Context, unit entity.Tag, relation int) error
}

// lifeAPI is what shutting the unit down needs of the controller.
type lifeAPI interface {
	// DestroyUnit sets the agent's own unit Dying, because its service or its last container relation is no
	// longer Alive.
	DestroyUnit(ctx context.Context, unit entity.Tag) error
	// DetachStorage records that the unit has released a storage instance. The attachment or the unit must be
	// Dying.
	DetachStorage(ctx context.Context, unit entity.Tag, storage string) error
	// DestroySubordinates sets all the unit's subordinates Dying.
	DestroySubordinates(ctx context.Context, unit entity.Tag) error
	// EnsureDead sets the Dying unit Dead. It returns entity.InUse while the unit is in a scope, and
	// entity.HasSubordinates while it has subordinates.
	EnsureDead(ctx context.Context, unit entity.Tag) error
}

// A Runner runs hooks. *hooks.Runner implements it and documents its errors.
type Runner interface {
	Run(ctx context.Context, hctx *hooks.Context, persist func(hooks.Process) error) error
}

// A Factory creates the operations of one unit.
type Factory struct {
	API    API
	Unit   entity.Tag
	Runner Runner
	// EndInterrupted is hooks.EndInterrupted.
	EndInterrupted func(hooks.Process) error
	// Deploy deploys the charm at url in the charm directory.
	Deploy func(ctx context.Context, url string) (*charm.Meta, error)
	// SetAgentStatus sets the agent's status.
	SetAgentStatus func(ctx context.Context, word entity.StatusWord, message string) error
	// Hook has the parameters that the contexts of all hooks share.
	Hook hooks.ContextParams
	// Command is the pending command from juju-run, or nil.
	Command *hooks.Command
}

// New returns the operation that the resolver has chosen for a unit in state s.
func (f Factory) New(op resolver.Op, s localstate.State, remote resolver.Remote) (Operation, error) {
	switch op.Verb {
	case resolver.Run:
		return &runHook{Factory: f, op: op, remote: remote}, nil
	case resolver.Skip:
		return &runHook{Factory: f, op: op, remote: remote, skip: true}, nil
	case resolver.RunTask:
		return &runTask{Factory: f, id: op.Task, remote: remote}, nil
	case resolver.RunCommand:
		return &runTask{Factory: f, command: f.Command, remote: remote}, nil
	case resolver.Deploy:
		return &deploy{Factory: f, url: op.Charm, resolved: op.Resolved}, nil
	case resolver.Commit:
		switch s.Op.Kind {
		case localstate.DeployCharm:
			return &deploy{Factory: f, url: s.Op.Charm, done: true}, nil
		case localstate.RunTask:
			return &runTask{Factory: f, id: s.Op.Task, done: true}, nil
		}
		return &runHook{Factory: f, op: op, done: true}, nil
	}
	if o, ok := f.simple(op, remote); ok {
		o.name = op.String()
		return &o, nil
	}
	return nil, fmt.Errorf("cannot carry out %q", op)
}

// simple returns the operation for a verb that needs no more than a few steps.
func (f Factory) simple(op resolver.Op, remote resolver.Remote) (simple, bool) {
	switch op.Verb {
	case resolver.Fail:
		return simple{execute: f.fail}, true
	case resolver.FailTask:
		return simple{call: func(ctx context.Context) error {
			return f.API.FinishTask(ctx, f.Unit, op.Task, entity.TaskTerminated)
		}}, true
	case resolver.CancelTask:
		return simple{call: func(ctx context.Context) error {
			return f.API.FinishTask(ctx, f.Unit, op.Task, entity.TaskOfRemoved(f.Unit.Kind))
		}}, true
	case resolver.Abandon:
		return simple{prepare: f.showWorkload, execute: f.abandon}, true
	case resolver.Enter:
		return simple{
			// Recorded before the unit enters; otherwise a crash could make it miss the relation's first hook.
			record: func(s localstate.State) localstate.State { return f.entering(s, op.Relation, remote) },
			call: func(ctx context.Context) error {
				err := f.API.EnterScope(ctx, f.Unit, op.Relation)
				return barred(err, entity.CannotEnter, entity.CannotEnterYet, entity.NotFound)
			},
		}, true
	case resolver.Leave:
		return simple{
			call: func(ctx context.Context) error {
				return ignore(f.API.LeaveScope(ctx, f.Unit, op.Relation), entity.NotFound)
			},
			commit: func(s localstate.State) localstate.State { return s.Without(op.Relation) },
		}, true
	case resolver.Forget:
		return simple{commit: func(s localstate.State) localstate.State { return s.Without(op.Relation) }}, true
	case resolver.Detach:
		return simple{
			call: func(ctx context.Context) error {
				return ignore(f.API.DetachStorage(ctx, f.Unit, op.Storage), entity.NotFound)
			},
			commit: func(s localstate.State) localstate.State { return s.WithoutStorage(op.Storage) },
		}, true
	case resolver.ReportUpgrade:
		return simple{call: func(ctx context.Context) error {
			up := remote.Unit.Upgrade
			return f.API.FinishUpgradeStep(ctx, f.Unit, up.Number, up.Completing)
		}}, true
	case resolver.ForgetStorage:
		return simple{commit: func(s localstate.State) localstate.State { return s.WithoutStorage(op.Storage) }}, true
	case resolver.PassSecret:
		return f.passSecret(op.Hook, remote), true
	case resolver.ClearResolved:
		return simple{call: func(ctx context.Context) error { return f.API.ClearResolved(ctx, f.Unit) }}, true
	case resolver.DestroyUnit:
		return simple{call: func(ctx context.Context) error { return f.API.DestroyUnit(ctx, f.Unit) }}, true
	case resolver.DestroySubordinates:
		return simple{call: func(ctx context.Context) error {
			return f.API.DestroySubordinates(ctx, f.Unit)
		}}, true
	case resolver.Die:
		return simple{call: func(ctx context.Context) error {
			return barred(f.API.EnsureDead(ctx, f.Unit), entity.InUse, entity.HasSubordinates)
		}}, true
	}
	return simple{}, false
}

// barred wraps err in ErrBarred if it is of one of the kinds.
func barred(err error, kinds ...entity.Kind) error {
	if slices.ContainsFunc(kinds, func(k entity.Kind) bool { return errors.Is(err, k) }) {
		return fmt.Errorf("%w: %w", ErrBarred, err)
	}
	return err
}

func ignore(err error, kind entity.Kind) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// A simple operation needs no preparation. Each of its functions may be nil.
type simple struct {
	name    string
	prepare func(context.Context, localstate.State) error
	record  func(localstate.State) localstate.State
	call    func(context.Context) error
	execute func(localstate.State) (localstate.State, error)
	commit  func(localstate.State) localstate.State
}

func (o *simple) String() string  { return o.name }
func (o *simple) History() string { return "" }

func (o *simple) Prepare(ctx context.Context, s localstate.State) (localstate.State, error) {
	if o.prepare != nil {
		return s, o.prepare(ctx, s)
	}
	if o.record != nil {
		return o.record(s), nil
	}
	return s, nil
}

func (o *simple) Execute(
	ctx context.Context, s localstate.State, _ func(localstate.State) error,
) (localstate.State, error) {
	if o.execute != nil {
		return o.execute(s)
	}
	if o.call != nil {
		return s, o.call(ctx)
	}
	return s, nil
}

func (o *simple) Commit(_ context.Context, s localstate.State) (localstate.State, error) {
	if o.commit != nil {
		return o.commit(s), nil
	}
	return s, nil
}

// entering records that relation-created must be the relation's first hook, if the charm has that hook.
func (f Factory) entering(s localstate.State, relation int, remote resolver.Remote) localstate.State {
	for _, rel := range remote.Relations {
		hook := hooks.Info{Kind: hooks.RelationCreated}.Name(rel.Endpoint)
		if rel.ID == relation && !rel.Implicit && remote.Hooks.Has(hook) {
			return s.Entering(relation)
		}
	}
	return s
}

// fail kills the processes that the interrupted hook or task left.
func (f Factory) fail(s localstate.State) (localstate.State, error) {
	op := s.Op
	if op.Kind == localstate.RunTask {
		return f.failTask(s)
	}
	if err := f.EndInterrupted(*op.Process); err != nil {
		return s, err
	}
	return s.With(op.FailedWith("the agent was stopped before it was over")), nil
}

// abandon discards the operation in progress, and kills its processes if it is a running hook.
func (f Factory) abandon(s localstate.State) (localstate.State, error) {
	if s.Op.Process != nil {
		return s.With(nil), f.EndInterrupted(*s.Op.Process)
	}
	return s.With(nil), nil
}

// deploy deploys a charm in the charm directory.
type deploy struct {
	Factory
	url      string
	resolved bool // the user has requested a retry
	done     bool // a previous agent has deployed it
}

func (o *deploy) String() string  { return fmt.Sprintf("deploy charm %q", o.url) }
func (o *deploy) History() string { return charmdir.CharmMessage(o.url) }

func (o *deploy) Prepare(ctx context.Context, s localstate.State) (localstate.State, error) {
	if o.done {
		return s, errSkipExecute
	}
	op := &localstate.Op{Kind: localstate.DeployCharm, Step: localstate.Pending, Charm: o.url, After: s.FailedHook(),
		Resolved: o.resolved}
	if s.Op != nil && s.Op.Kind == localstate.DeployCharm {
		op.After = s.Op.After
		if err := o.showWorkload(ctx, s); err != nil {
			return s, err
		}
	}
	if err := o.SetAgentStatus(ctx, entity.StatusExecuting, "deploying charm "+o.url); err != nil {
		return s, err
	}
	return s.With(op), nil
}

func (o *deploy) Execute(
	ctx context.Context, s localstate.State, _ func(localstate.State) error,
) (localstate.State, error) {
	if s.Op.Resolved {
		if err := o.API.ClearResolved(ctx, o.Unit); err != nil {
			return s, err
		}
	}
	// Record the charm in state before deploying it, so that what it needs of state, such as its settings,
	// exists when its first hook runs. But do so only now that this operation is on disk: otherwise, if the
	// agent died here and the service then reverted to the old charm, nothing would correct state.
	if err := o.API.SetCharm(ctx, o.Unit, o.url); err != nil {
		return s, err
	}
	meta, err := o.Deploy(ctx, o.url)
	upgrade := s.Charm != ""
	switch {
	case upgrade && errors.Is(err, charmdir.ErrConflict) && ctx.Err() == nil:
		return s.With(s.Op.ConflictsWith(err)), nil
	case err != nil:
		if ctx.Err() == nil {
			err = errors.Join(err, o.SetAgentStatus(ctx, entity.StatusFailed, fmt.Sprintf("cannot %s: %v", o, err)))
		}
		return s, err
	}
	op := *s.Op
	op.Step = localstate.Done
	s.Endpoints = slices.Sorted(maps.Keys(meta.Relations()))
	return s.With(&op), nil
}

func (o *deploy) Commit(_ context.Context, s localstate.State) (localstate.State, error) {
	return s.Deployed(s.Op.Charm, s.Op.After), nil
}
