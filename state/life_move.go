package state

import (
	"context"
	"errors"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// A condition is an additional requirement of a move. It reports whether the entity, as just read, meets it, and asserts
// that it still does.
type condition func(*ops) (bool, error)

// move moves an entity as far toward a goal as possible, in one transaction. It does nothing if the entity was removed
// or a condition does not hold.
func (st *State) move(ctx context.Context, e living, goal lifecycle.Goal, by lifecycle.Actor, d destruction,
	conditions ...condition) error {
	return st.moveBy(ctx, e, goal, func() lifecycle.Actor { return by }, d, conditions...)
}

// moveBy is move by an actor that depends on the entity as just read.
func (st *State) moveBy(ctx context.Context, e living, goal lifecycle.Goal, by func() lifecycle.Actor, d destruction,
	conditions ...condition) error {
	return st.change(ctx, func(o *ops) error {
		if err := e.refresh(ctx); entity.IsNotFound(err) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		for _, holds := range conditions {
			if still, err := holds(o); err != nil {
				return err
			} else if !still {
				return mongo.ErrNothing
			}
		}
		return o.moveOps(ctx, e, goal, by(), d)
	})
}

// moveOps adds a move to a transaction, with everything that is removed or changed with the entity; nothing if the
// entity has already reached the goal. The caller has just read the entity.
func (o *ops) moveOps(ctx context.Context, e living, goal lifecycle.Goal, by lifecycle.Actor, d destruction) error {
	l := e.life()
	if goal == lifecycle.ToDestroy && l.Life != entity.Alive {
		return o.raiseOps(ctx, e, d)
	}
	st, key := e.state(), keyOf(e)
	holders, err := st.holders(ctx, e)
	if err != nil {
		return err
	}
	// For each reference, how many sources this transaction destroys with the entity, and how many of those it removes.
	// The asserted counts are those before the transaction.
	atOnce, taken := map[string]int{}, map[string]int{}
	if goal == lifecycle.ToDestroy {
		if atOnce, err = o.destroyAtOnce(ctx, e, by, holders, d.alone()); err != nil {
			return err
		}
	}
	left := map[string]int{}
	for name, n := range holders {
		taken[name] = o.Taken(key, name)
		left[name] = n - taken[name]
	}
	guards, err := e.guards(ctx, by, left)
	if err != nil {
		return err
	}
	if l.Forced() || goal == lifecycle.ToDestroy && d.strength == entity.Force {
		guards = append(guards, lifecycle.Forced)
	}
	step, err := lifecycle.Plan(e.kind(), goal, by, lifecycle.Facts{Life: l.Life, Guards: guards, Holders: left})
	var barred *lifecycle.Barred
	if errors.As(err, &barred) {
		return e.refusal(ctx, goal, barred)
	} else if err != nil {
		return err
	}
	if step.Nothing() {
		return nil
	}
	o.ExpectStep(key, step, taken)
	t := turn{step.Move.From, step.Move.To, d}
	if t.to == entity.Gone {
		return o.removeOps(ctx, e, t)
	}
	update, err := e.turning(ctx, o, t)
	if err != nil {
		return err
	}
	set := d.turn(t.to)
	if t.from == entity.Alive {
		set = append(set, d.raise(*l)...)
	}
	o.Update(lifecycle.RowOf(e.kind()).In, e.docID(), append(unraised(*l), e.asserts()...), withSet(set, update))
	if t.from != entity.Alive {
		return nil
	}
	if err := o.dropRefs(ctx, e, t); err != nil {
		return err
	}
	o.reachOps(e, d, holders, atOnce)
	o.forceOps(key, *l, d)
	return nil
}

// withSet returns an update that also sets fields. It has a single $set, since a resumed transaction would keep only the
// last of several.
func withSet(set, update bson.D) bson.D {
	var others bson.D
	for _, e := range update {
		if fields, ok := e.Value.(bson.D); ok && e.Name == "$set" {
			set = append(set, fields...)
		} else {
			others = append(others, e)
		}
	}
	return append(bson.D{{"$set", set}}, others...)
}

// destroyAtOnce destroys sources in the entity's own transaction: those that the table has the user destroy, unless
// there are too many. It returns how many it destroyed, by reference.
func (o *ops) destroyAtOnce(ctx context.Context, e living, by lifecycle.Actor, holders map[string]int,
	d destruction) (map[string]int, error) {
	atOnce := map[string]int{}
	o.moving[keyOf(e)] = true
	for _, ref := range lifecycle.Reached(e.kind(), d.strength, lifecycle.User) {
		if holders[ref.Name] > sourcesAtOnce {
			continue
		}
		sources, err := e.state().sources(ctx, ref, e.name())
		if err != nil {
			return nil, err
		}
		for _, s := range sources {
			before := o.Len()
			if err := o.moveOps(ctx, s, lifecycle.ToDestroy, by, d); err != nil {
				return nil, err
			}
			if o.Len() == before {
				// It does not change. If it were removed meanwhile, the counts would be wrong.
				o.AssertLife(lifecycle.RowOf(s.kind()).In, s.docID(), s.life().Life)
			}
		}
		atOnce[ref.Name], holders[ref.Name] = len(sources), len(sources)
	}
	return atOnce, nil
}

// sourcesAtOnce is how many sources a destruction reaches in its own transaction; more are left to a cleanup.
const sourcesAtOnce = 30

// reachOps cascades a destruction to the sources of references. If there are any, it leaves them to the cleaner and
// asserts that there are some. Otherwise it asserts that there are none, or no more than were destroyed at once, since
// nothing would destroy one added meanwhile.
func (o *ops) reachOps(e living, d destruction, holders, atOnce map[string]int) {
	key := keyOf(e)
	var reached []lifecycle.Ref
	for _, ref := range lifecycle.Reached(e.kind(), d.strength, lifecycle.Cleaner) {
		if n, dealt := atOnce[ref.Name]; dealt {
			o.Expect(key, ref.Name, n)
			continue
		}
		reached = append(reached, ref)
	}
	for _, ref := range reached {
		if !ref.IsCounted() || holders[ref.Name] > 0 {
			if ref.IsCounted() {
				o.Expect(key, ref.Name, bson.D{{"$gt", 0}})
			}
			o.reachLater(e, d)
			return
		}
	}
	for _, ref := range reached {
		o.Expect(key, ref.Name, 0)
	}
}

// reachLater leaves the sources of an entity's references to the cleaner. Some sources' agents act themselves; the
// cleanup is for disconnected agents.
func (o *ops) reachLater(e living, d destruction) {
	o.addCleanup(modeldb.CleanupDestroy, keyOf(e), d.alone())
}

// raiseOps applies another destruction to a Dying or Dead entity, and cascades it to its sources; nothing if the
// entity's own is at least as strong. A destruction that only adds machines or storage does not cascade: the first
// one's cleanups do the rest.
func (o *ops) raiseOps(ctx context.Context, e living, d destruction) error {
	l := *e.life()
	set := d.raise(l)
	if set == nil {
		return nil
	}
	o.Update(lifecycle.RowOf(e.kind()).In, e.docID(), unraised(l), bson.D{{"$set", set}})
	if _, err := e.turning(ctx, o, turn{l.Life, l.Life, d}); err != nil {
		return err
	}
	if d.alone().raise(l) == nil {
		return nil
	}
	if len(lifecycle.Reached(e.kind(), d.strength, lifecycle.Cleaner)) > 0 {
		o.reachLater(e, d)
	}
	o.forceOps(keyOf(e), l, d)
	return nil
}
