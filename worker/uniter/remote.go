package uniter

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"juju/hooks"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
	"juju/worker/leadership"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// errTimeout is returned by wait if the timeout expires before an event.
var errTimeout = errors.New("timed out")

// A goneError means that the unit itself is removed.
type goneError struct{ error }

func (e *goneError) Unwrap() error { return e.error }

// remoteAPI is what a remote reads and watches of the unit and its relations.
type remoteAPI interface {
	Unit(ctx context.Context, unit entity.Tag) (entity.UnitInfo, error)
	// WatchUnit fires when anything in UnitInfo or the model's settings may have changed.
	WatchUnit(ctx context.Context, unit entity.Tag) (<-chan struct{}, error)

	// Relations returns the Alive relations of the unit's service and the Dying ones whose scope the unit is in,
	// sorted by id. It omits container relations that the unit can't enter.
	Relations(ctx context.Context, unit entity.Tag) ([]entity.RelationInfo, error)
	// WatchRelations fires when anything in Relations may have changed.
	WatchRelations(ctx context.Context, unit entity.Tag) (<-chan struct{}, error)
	// ModelConfig returns the settings of the unit's model.
	ModelConfig(ctx context.Context, unit entity.Tag) (modelconfig.Config, error)
	// WatchRelationUnits reports changes of the counterparts of the unit in a relation.
	WatchRelationUnits(ctx context.Context, unit entity.Tag, relation int) (<-chan entity.RelationUnitsChange, error)
}

// A remote caches the controller's state as far as it concerns the unit. Watches mark parts of it as stale. Only
// the uniter's loop may call its methods.
type remote struct {
	api    remoteAPI
	unit   entity.Tag
	leader *leadership.Tracker

	snapshot resolver.Remote

	units          <-chan struct{} // watches the unit and its model's settings
	relations      <-chan struct{} // watches its relations
	unitStale      bool            // must be read again
	relationsStale bool
	configStale    bool
	woken          bool // a watch has fired since the current operation began

	config     modelconfig.Config
	configured func(modelconfig.Config) // called whenever config was read

	commands <-chan *hooks.Command // from juju-run; nil if there are none
	command  *hooks.Command        // the pending one, or nil

	counterparts chan counterpart // events of the relations' watches
	watched      map[int]context.CancelFunc
	cancel       context.CancelFunc
	ctx          context.Context // of the watches; close cancels it
	watches      sync.WaitGroup
}

// A counterpart is an event of a relation's watch. Its change is nil if the watch has ended.
type counterpart struct {
	relation int
	change   *entity.RelationUnitsChange
}

func newRemote(
	ctx context.Context, api remoteAPI, unit entity.Tag, leader *leadership.Tracker,
	configured func(modelconfig.Config),
) (*remote, error) {
	// A hook that outlives ctx must still be abortable, so the watches outlive ctx too. But starting a watch
	// may block on the controller, which a stopping agent must not wait for.
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, cancel)()
	r := &remote{
		api: api, unit: unit, leader: leader, configured: configured,
		snapshot:       resolver.Remote{Recovering: true, Asked: map[string]entity.Strength{}},
		unitStale:      true,
		relationsStale: true,
		configStale:    true,
		counterparts:   make(chan counterpart),
		watched:        map[int]context.CancelFunc{},
		ctx:            lasting, cancel: cancel,
	}
	var err error
	if r.units, err = api.WatchUnit(lasting, unit); err == nil {
		r.relations, err = api.WatchRelations(lasting, unit)
	}
	if err != nil {
		cancel()
		return nil, ofUnit(err)
	}
	return r, nil
}

// close ends all watches and waits for them.
func (r *remote) close() {
	r.cancel()
	r.watches.Wait()
}

// ofUnit converts an error of a call about the unit itself into a goneError if it means that the unit is
// removed.
func ofUnit(err error) error {
	if errors.Is(err, entity.NotFound) || errors.Is(err, entity.Unauthorized) {
		return &goneError{err}
	}
	return err
}

// refresh updates the stale parts of the snapshot.
func (r *remote) refresh(ctx context.Context) error {
	if err := r.drain(ctx); err != nil {
		return err
	}
	if r.unitStale {
		unit, err := r.api.Unit(ctx, r.unit)
		if err != nil {
			return ofUnit(err)
		}
		r.snapshot.Unit, r.unitStale = unit, false
	}
	// Another unit is to lead, unless all are dying.
	r.leader.Retire(r.snapshot.Unit.Life != entity.Alive && r.snapshot.Unit.ServiceLife == entity.Alive)
	r.snapshot.Epoch, r.snapshot.EpochKnown = r.leader.Epoch()
	if r.command != nil && r.command.Context.Err() != nil {
		r.command = nil
	}
	r.snapshot.Command = r.command != nil
	if r.configStale {
		config, err := r.api.ModelConfig(ctx, r.unit)
		if err != nil {
			return ofUnit(err)
		}
		r.config, r.configStale = config, false
		r.configured(config)
	}
	if r.relationsStale {
		r.relationsStale = false // first: readRelations sets it if one is removed in the meantime
		if err := r.readRelations(ctx); err != nil {
			return err
		}
	}
	return nil
}

// copy returns a copy of the snapshot that is safe from later events.
func (r *remote) copy() resolver.Remote {
	s := r.snapshot
	s.Relations = slices.Clone(s.Relations)
	return s
}

// readRelations reads the relations, and watches the counterparts in those whose scope the unit is in.
func (r *remote) readRelations(ctx context.Context) error {
	infos, err := r.api.Relations(ctx, r.unit)
	if err != nil {
		return ofUnit(err)
	}
	before := map[int]resolver.Relation{}
	for _, rel := range r.snapshot.Relations {
		before[rel.ID] = rel
	}
	r.snapshot.Relations = nil
	here := map[int]bool{}
	for _, info := range infos {
		rel := before[info.ID]
		rel.RelationInfo = info
		if here[info.ID] = info.InScope; info.InScope && r.watched[info.ID] == nil {
			if err := r.watch(ctx, info.ID); err != nil {
				return err
			}
			rel.Members, rel.Known = nil, false
		}
		r.snapshot.Relations = append(r.snapshot.Relations, rel)
	}
	for id, cancel := range r.watched {
		if !here[id] {
			cancel()
			delete(r.watched, id)
		}
	}
	return nil
}

// complete reports whether every watch has delivered its first event.
func (r *remote) complete() bool {
	return !slices.ContainsFunc(r.snapshot.Relations, func(rel resolver.Relation) bool {
		return rel.InScope && !rel.Known
	})
}

// watch starts watching the counterparts in a relation, unless ctx is done first.
func (r *remote) watch(ctx context.Context, relation int) error {
	lasting, cancel := context.WithCancel(r.ctx)
	defer context.AfterFunc(ctx, cancel)()
	events, err := r.api.WatchRelationUnits(lasting, r.unit, relation)
	if err != nil {
		cancel()
		if errors.Is(err, entity.NotFound) {
			r.relationsStale = true // removed after it was listed
			return nil
		}
		return err
	}
	r.watched[relation] = cancel
	r.watches.Go(func() {
		defer cancel()
		for {
			event := counterpart{relation: relation}
			select {
			case <-lasting.Done():
				return
			case change, ok := <-events:
				if ok {
					event.change = &change
				}
			}
			select {
			case <-lasting.Done():
				return
			case r.counterparts <- event:
			}
			if event.change == nil {
				return
			}
		}
	})
	return nil
}

// drain handles all pending events of the watches.
func (r *remote) drain(ctx context.Context) error {
	for {
		var err error
		select {
		case _, ok := <-r.units:
			err = r.unitEvent(ctx, ok)
		case _, ok := <-r.relations:
			err = r.event(ctx, ok, &r.relationsStale)
		case c := <-r.counterparts:
			r.counterpart(c)
		case <-r.leader.Changed():
		case r.command = <-r.nextCommand():
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// wait waits for an event and handles it. It returns errTimeout if timeout fires first.
func (r *remote) wait(ctx context.Context, timeout <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timeout:
		return errTimeout
	case _, ok := <-r.units:
		return r.unitEvent(ctx, ok)
	case _, ok := <-r.relations:
		return r.event(ctx, ok, &r.relationsStale)
	case c := <-r.counterparts:
		r.counterpart(c)
		return nil
	case <-r.leader.Changed():
		return nil
	case r.command = <-r.nextCommand():
		return nil
	}
}

// unitEvent handles an event of the unit's watch.
func (r *remote) unitEvent(ctx context.Context, ok bool) error {
	r.configStale = true
	return r.event(ctx, ok, &r.unitStale)
}

// event handles an event of a watch: it sets stale, or fails if the watch has ended.
func (r *remote) event(ctx context.Context, ok bool, stale *bool) error {
	if !ok {
		return worker.Ended(ctx)
	}
	*stale = true
	r.unbar()
	return nil
}

// counterpart handles an event of a relation's watch.
func (r *remote) counterpart(c counterpart) {
	r.unbar()
	if c.change == nil {
		delete(r.watched, c.relation)
		r.relationsStale = true
		return
	}
	for i := range r.snapshot.Relations {
		rel := &r.snapshot.Relations[i]
		if rel.ID != c.relation {
			continue
		}
		members := maps.Clone(rel.Members) // an operation may hold the old ones
		if members == nil {
			members = map[string]int64{}
		}
		maps.Copy(members, c.change.Changed)
		for _, unit := range c.change.Departed {
			delete(members, unit)
			// What made it depart may concern this unit too: it must be known first, for example that no more hooks are to run.
			r.unitStale, r.relationsStale = true, true
		}
		rel.Members, rel.Known = members, true
		if c.change.Application != 0 {
			rel.Application = c.change.Application
		}
	}
}

// runWatched calls f, and aborts it when the unit is removed or destroyed with force, or when the task that f
// runs ("" for none) is cancelled. It does so even while f continues after ctx is done. It calls exempt when
// the unit's hooks become exempt from the machine lock.
func (r *remote) runWatched(
	ctx context.Context, task string, exempt func(), f func(context.Context) error,
) error {
	during, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ctx, abort := hooks.WithAbort(ctx)
	defer abort()
	r.woken = false
	done := make(chan error, 1)
	go func() {
		defer end()
		done <- f(ctx)
	}()
	units := r.units
	for {
		select {
		case err := <-done:
			return err
		case _, ok := <-units:
			if !ok {
				// The loop sees this after f, and restarts the worker. Until then, watch again here.
				var err error
				if units, err = r.api.WatchUnit(during, r.unit); err != nil {
					units = nil
				}
				continue
			}
			r.unitStale, r.configStale = true, true
			r.unbar()
			unit, err := r.api.Unit(during, r.unit)
			var gone *goneError
			cancelled := slices.Contains(unit.Tasks, entity.TaskRef{ID: task, Status: entity.TaskAborting})
			if err == nil && (unit.Strength == entity.Force || cancelled) || errors.As(ofUnit(err), &gone) {
				abort()
			}
			if config, err := r.api.ModelConfig(during, r.unit); err == nil && config.LockExempt(r.snapshot.Unit.Service) {
				exempt()
			}
		}
	}
}

// barred records that the controller has refused an operation. The operation is retried only when something
// changes, or has changed since it began.
func (r *remote) barred(op resolver.Op) {
	r.unitStale, r.relationsStale = true, true
	if r.woken {
		return
	}
	r.snapshot.Barred = op.Verb == resolver.Die
	for i := range r.snapshot.Relations {
		rel := &r.snapshot.Relations[i]
		rel.Barred = rel.Barred || op.Verb == resolver.Enter && rel.ID == op.Relation
	}
}

func (r *remote) unbar() {
	r.woken = true
	r.snapshot.Barred = false
	for i := range r.snapshot.Relations {
		r.snapshot.Relations[i].Barred = false
	}
}

// done records the changes of an operation that no watch reports. before and after are the unit's states.
func (r *remote) done(op resolver.Op, before, after localstate.State) {
	ran := op.Hook.Kind
	switch op.Verb {
	case resolver.Enter, resolver.Leave:
		r.relationsStale = true
	case resolver.DestroyUnit, resolver.Detach, resolver.Die, resolver.Deploy, resolver.ClearResolved, resolver.RunTask,
		resolver.FailTask, resolver.CancelTask, resolver.Fail, resolver.Commit, resolver.ReportUpgrade, resolver.PassSecret:
		r.unitStale = true
	case resolver.DestroySubordinates:
		for _, name := range r.snapshot.Unit.Subordinates {
			r.snapshot.Asked[name] = r.snapshot.Unit.Strength
		}
	case resolver.Skip:
		ran = before.Op.Hook.Kind
		r.unitStale = true
	case resolver.Run:
		// The user's request is cleared before the hook runs, whether or not the hook succeeds.
		r.unitStale = r.unitStale || op.Resolved || op.Hook.Kind.IsSecret()
	}
	if ran == hooks.ConfigChanged && after.FailedHook() == nil {
		r.snapshot.Recovering = false
	}
}
