package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// cloudTimeout is how long a cloud is left to stop the instance of a Dead machine
// that was destroyed with force; when it errs it is not waited for any longer.
const cloudTimeout = time.Minute

// dismantle takes apart what was destroyed with force, in the order in which
// agents would have: what they have done already is found done. It is not done
// while a machine's instance is the cloud's to stop; again is when to look next.
func (st *State) dismantle(ctx context.Context, key string) (done bool, again time.Duration, err error) {
	kind, id, _ := strings.Cut(key, "#")
	switch kind {
	case "u":
		err = st.dismantleUnit(ctx, id)
	case "s":
		err = st.dismantleService(ctx, id)
	case "r":
		err = st.dismantleRelation(ctx, id)
	case "m":
		return st.dismantleMachine(ctx, id)
	default:
		err = fmt.Errorf("cannot take apart %q: no such kind", key)
	}
	return err == nil, 0, err
}

// forced makes what goes with a thing as forced as the thing itself, without time
// to spare.
func (st *State) forced() destruction { return st.again(entity.Force, st.now()) }

// dismantleUnit removes a unit: its subordinates, the scopes it is in, itself.
func (st *State) dismantleUnit(ctx context.Context, name string) error {
	u, err := st.Unit(ctx, name)
	if isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if !u.doc.forced() {
		if err := u.move(ctx, lifecycle.ToDestroy, lifecycle.Cleaner, st.forced()); err != nil {
			return err
		}
	}
	subordinates, err := st.units(bson.D{{"principal", name}})
	if err != nil {
		return err
	}
	for _, s := range subordinates {
		if err := st.dismantleUnit(ctx, s.doc.Name); err != nil {
			return err
		}
	}
	var scopes []scopeDoc
	if err := st.db.All(scopesC, bson.D{{"unit", name}}, &scopes); err != nil {
		return err
	}
	for _, s := range scopes {
		if err := u.LeaveScope(ctx, s.Relation); err != nil {
			return err
		}
	}
	d := st.forced()
	if err := u.move(ctx, lifecycle.ToDead, lifecycle.Cleaner, d); err != nil {
		return err
	}
	return u.move(ctx, lifecycle.ToRemove, lifecycle.Cleaner, d)
}

// dismantleService removes the units and the relations of a service; with the last
// of them it goes itself.
func (st *State) dismantleService(ctx context.Context, name string) error {
	units, err := st.units(bson.D{{"service", name}})
	if err != nil {
		return err
	}
	relations, err := st.relationsOf(name)
	if err != nil {
		return err
	}
	svc, err := st.Service(ctx, name)
	if isNotFound(err) || err == nil && st.forced().raise(svc.doc.lifeDoc) != nil {
		return nil // or another has its name
	} else if err != nil {
		return err
	}
	err = forEach(ctx, units, func(u *Unit) error { return st.dismantleUnit(ctx, u.doc.Name) })
	return errors.Join(err, forEach(ctx, relations, func(r *Relation) error {
		if err := r.destroy(ctx, st.forced()); err != nil {
			return err
		}
		return st.dismantleRelation(ctx, strconv.Itoa(r.doc.ID))
	}))
}

// dismantleRelation has every unit leave a relation; with the last it goes.
func (st *State) dismantleRelation(ctx context.Context, number string) error {
	id, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	var scopes []scopeDoc
	if err := st.db.All(scopesC, bson.D{{"relation", id}}, &scopes); err != nil {
		return err
	}
	for _, s := range scopes {
		u, err := st.Unit(ctx, s.Unit)
		if isNotFound(err) {
			continue // it has left meanwhile, to be removed
		} else if err != nil {
			return err
		}
		if err := u.LeaveScope(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// dismantleMachine removes a machine with what is on it; its instance is the
// cloud's to stop first, as long as it does not err.
func (st *State) dismantleMachine(ctx context.Context, id string) (done bool, again time.Duration, err error) {
	m, err := st.Machine(ctx, id)
	if isNotFound(err) {
		return true, 0, nil
	} else if err != nil {
		return false, 0, err
	}
	if !m.doc.forced() {
		if err := m.move(ctx, lifecycle.ToDestroy, byCleaner, st.forced()); err != nil {
			return false, 0, err
		}
	}
	units, err := st.units(bson.D{{"machine", id}})
	if err != nil {
		return false, 0, err
	}
	for _, u := range units {
		if err := st.dismantleUnit(ctx, u.doc.Name); err != nil {
			return false, 0, err
		}
	}
	containers, err := m.containers()
	if err != nil {
		return false, 0, err
	}
	for _, c := range containers {
		done, again, err := st.dismantleMachine(ctx, c.doc.ID)
		if err != nil || !done {
			return false, again, err
		}
	}
	if err := m.move(ctx, lifecycle.ToDead, byCleaner, st.forced()); err != nil {
		return false, 0, err
	}
	return st.giveUpInstance(ctx, m)
}

// giveUpInstance removes a Dead machine without an instance, or with one that the
// cloud has failed to stop, which is noted as a leftover. While the cloud may be at
// it, it is waited for.
func (st *State) giveUpInstance(ctx context.Context, m *Machine) (done bool, again time.Duration, err error) {
	if err := m.refresh(ctx); isNotFound(err) {
		return true, 0, nil
	} else if err != nil {
		return false, 0, err
	}
	if m.doc.InstanceID == "" {
		err := m.move(ctx, lifecycle.ToRemove, byCleaner, st.forced())
		return err == nil, 0, err
	}
	said, err := st.status(instanceKey(m.doc.ID))
	if err != nil && !isNotFound(err) {
		return false, 0, err
	}
	late := m.doc.Since.Add(cloudTimeout).Sub(st.now())
	// If it is more the clock has gone back, and can't tell how long the cloud has had.
	if said.Status != entity.StatusError && late > 0 && late <= cloudTimeout {
		return false, late, nil
	}
	leftover := leftoverDoc{ID: newID(), Of: machineKey(m.doc.ID), Instance: m.doc.InstanceID,
		Why: orElse(said.Message, fmt.Sprintf("the cloud has not stopped it within %v", cloudTimeout)), At: st.now()}
	leftover.How, _ = said.Data["hint"].(string)
	err = m.move(ctx, lifecycle.ToRemove, byCleaner, st.forced(), func(o *ops) (bool, error) {
		o.insert(leftoversC, leftover.ID, leftover)
		return true, nil
	})
	return err == nil, 0, err
}

// SetInstanceStatus records what the cloud said of the machine's instance last.
// An error's data may hold a "hint": how to remove the instance by hand.
func (m *Machine) SetInstanceStatus(ctx context.Context, s entity.Status) error {
	key := instanceKey(m.doc.ID)
	doc := newStatusDoc(key, s, m.st.now())
	err := m.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := m.refresh(ctx); err != nil {
			return nil, err
		}
		o := newOps()
		o.assert(machinesC, m.doc.ID, exists)
		if _, err := m.st.status(key); isNotFound(err) {
			o.insert(statusesC, key, doc)
		} else if err != nil {
			return nil, err
		} else {
			o.update(statusesC, key, exists, bson.D{{"$set", bson.D{
				{"status", doc.Status}, {"message", doc.Message}, {"data", doc.Data}, {"since", doc.Since}}}})
		}
		if m.doc.forced() && s.Status == entity.StatusError {
			// Whoever waits for the cloud need not any longer.
			o.update(cleanupsC, forceID(machineKey(m.doc.ID)), nil, bson.D{{"$set", bson.D{{"woken", doc.Since}}}})
		}
		return o.build()
	})
	if err == nil {
		m.st.remember(doc)
	}
	return err
}

type leftoverDoc struct {
	ID       string    `bson:"_id"`
	Of       string    `bson:"of"`
	Instance string    `bson:"instance"`
	Why      string    `bson:"why"`
	How      string    `bson:"how"`
	At       time.Time `bson:"at"`
}

// Leftovers returns what destructions with force have left outside of state.
func (st *State) Leftovers(ctx context.Context) ([]entity.Leftover, error) {
	model, err := st.model()
	if err != nil {
		return nil, err
	}
	var docs []leftoverDoc
	if err := st.db.All(leftoversC, nil, &docs); err != nil {
		return nil, err
	}
	sortBy(docs, func(d leftoverDoc) string { return d.Of })
	all := make([]entity.Leftover, len(docs))
	for i, d := range docs {
		machine := strings.TrimPrefix(d.Of, "m#")
		all[i] = entity.Leftover{ID: d.ID, Of: d.Of, Instance: d.Instance, What: fmt.Sprintf("instance %s of machine %s", d.Instance, machine),
			Where: "cloud " + model.Cloud, Why: d.Why, How: d.How, At: d.At}
	}
	return all, nil
}

// DropLeftovers forgets those of an instance, which is there no more.
func (st *State) DropLeftovers(ctx context.Context, instance string) error {
	return st.run(ctx, func(int) ([]txn.Op, error) {
		var docs []leftoverDoc
		if err := st.db.All(leftoversC, bson.D{{"instance", instance}}, &docs); err != nil {
			return nil, err
		}
		if len(docs) == 0 {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		for _, d := range docs {
			o.remove(leftoversC, d.ID, nil)
		}
		return o.build()
	})
}
