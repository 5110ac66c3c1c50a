package state

import (
	"context"
	"errors"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
)

// addRefs increments the counts of everything that a new referrer refers to.
func (o *ops) addRefs(r referrer) { o.AddRefs(r.kind(), r.targets) }

// addCounts adds the counts of a new entity, and increments those of what it refers to.
func (o *ops) addCounts(e living) { o.AddCounts(e.kind(), e.name(), e.targets) }

// removeOps removes an entity with everything that it owns, and any Dying entity to which it was the last reference.
func (o *ops) removeOps(ctx context.Context, e living, t turn) error {
	key, l := keyOf(e), *e.life()
	o.Remove(lifecycle.RowOf(e.kind()).In, e.docID(), append(unraised(l), e.asserts()...))
	if l.Forced() {
		o.Remove(modeldb.CleanupsC, modeldb.ForceID(key), modeltxn.Exists)
	}
	o.DropCounts(key)
	for _, doc := range lifecycle.RowOf(e.kind()).Owns {
		for _, id := range ownedIDs(e, doc) {
			if err := o.removeOwned(ctx, e.state(), key, doc, id); err != nil {
				return err
			}
		}
	}
	if _, err := e.turning(ctx, o, t); err != nil {
		return err
	}
	return o.dropRefs(ctx, e, t)
}

// removeOwned removes a document with the entity that owns it, and asserts its presence as specified by the table.
func (o *ops) removeOwned(ctx context.Context, st *State, key string, doc lifecycle.Document, id string) error {
	switch doc.Held {
	case lifecycle.Always:
		o.Remove(doc.In, id, modeltxn.Exists)
	case lifecycle.Sometimes:
		o.Remove(doc.In, id, nil)
	case lifecycle.Counted:
		n, err := st.db.Count(ctx, doc.In, bson.D{{"_id", id}})
		if err != nil {
			return err
		}
		if n > 0 {
			o.Remove(doc.In, id, modeltxn.Exists)
		} else {
			o.Expect(key, doc.In, bson.D{{"$exists", false}})
		}
	case lifecycle.Followed:
		return o.removeParty(ctx, st, id)
	}
	return nil
}

// dropRefs drops the references that end with a step: all of them if the entity is removed, and those that count only
// Alive entities if it stops being Alive.
func (o *ops) dropRefs(ctx context.Context, e living, t turn) error {
	for _, ref := range lifecycle.RefsFrom(e.kind()) {
		counted := ref.IsCounted() && (!ref.Alive || t.from == entity.Alive)
		stays := t.to != entity.Gone && !ref.Alive
		if !counted || stays {
			continue
		}
		if err := o.dropRef(ctx, e.state(), ref, e.targets(ref)...); err != nil {
			return err
		}
	}
	return nil
}

// dropRef drops a reference to each of the targets. If it was the last reference to a Dying target and the table says
// so, the target is removed too. Either way, the result is asserted.
func (o *ops) dropRef(ctx context.Context, st *State, ref lifecycle.Ref, targets ...string) error {
	for _, name := range targets {
		key := lifecycle.Key(ref.To, name)
		o.Inc(key, ref.Name, -1)
		if o.moving[key] || !lifecycle.May(ref.To, lifecycle.ToRemove, lifecycle.LastRef, entity.Dying) {
			continue
		}
		target, err := st.find(ctx, ref.To, name)
		if err != nil {
			return err
		}
		if err := o.removeUnreferred(ctx, target); err != nil {
			return err
		}
	}
	return nil
}

// removeUnreferred removes a Dying entity that this transaction leaves without references. It may be called several
// times for an entity that loses several.
func (o *ops) removeUnreferred(ctx context.Context, e living) error {
	key, l := keyOf(e), e.life()
	if l.Life == entity.Alive {
		o.AssertLife(lifecycle.RowOf(e.kind()).In, e.docID(), entity.Alive)
		return nil
	}
	holders, err := e.state().holders(ctx, e)
	if err != nil {
		return err
	}
	taken := map[string]int{}
	for _, ref := range lifecycle.RefsTo(e.kind()) {
		taken[ref.Name] = o.Taken(key, ref.Name)
		holders[ref.Name] -= taken[ref.Name]
	}
	step, err := lifecycle.Plan(e.kind(), lifecycle.ToRemove, lifecycle.LastRef,
		lifecycle.Facts{Life: l.Life, Holders: holders})
	var barred *lifecycle.Barred
	if errors.As(err, &barred) && barred.Ref.Name != "" {
		// The transaction that drops that reference will remove it.
		o.Expect(key, barred.Ref.Name, bson.D{{"$gt", taken[barred.Ref.Name]}})
		return nil
	} else if err != nil {
		return err
	}
	o.ExpectStep(key, step, taken)
	return o.removeOps(ctx, e, turn{l.Life, entity.Gone, destruction{}})
}
