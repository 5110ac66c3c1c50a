package state

import (
	"context"
	"errors"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// Destroy is what the user does to a principal: it becomes Dying, or is removed
// when its agent never came up. A unit that is Dying already only takes on the
// strength, and that its machine goes with it. A subordinate that is Alive is refused.
func (u *Unit) Destroy(ctx context.Context, how entity.Destruction) error {
	return u.move(ctx, lifecycle.ToDestroy, lifecycle.User, u.st.beginWithMachines(how))
}

// DestroySelf is what the unit's own agent does when its service is Dying or,
// of a subordinate, when its last container relation to its principal is. Nothing
// for a subordinate that has come to have another meanwhile.
func (u *Unit) DestroySelf(ctx context.Context) error {
	d := u.st.begin(entity.Destruction{})
	if u.doc.kind() == lifecycle.Principal {
		return u.move(ctx, lifecycle.ToDestroy, lifecycle.UnitAgent, d)
	}
	return u.move(ctx, lifecycle.ToDestroy, lifecycle.UnitAgent, d, func(o *ops) (bool, error) {
		svc, err := u.st.Service(ctx, u.doc.Service)
		if err != nil || svc.doc.Life != entity.Alive {
			return true, err // which it stays as long as the unit is there
		}
		return u.isOrphan(o)
	})
}

// isOrphan reports whether a subordinate is left without an Alive relation of
// container scope to its principal's service, and asserts that none has been added
// since. If as many went as came, at least nobody has entered one, counting on the
// subordinate.
func (u *Unit) isOrphan(o *ops) (bool, error) {
	service := serviceKey(u.doc.Service)
	holders, err := u.st.holders(service)
	if err != nil {
		return false, err
	}
	o.expect(service, "relations", holders["relations"])
	related, err := u.st.hasContainerRelation(u.doc.Service, entity.UnitService(u.doc.Principal))
	if err != nil || related {
		return false, err
	}
	var counted any = u.doc.Counted
	if u.doc.Counted == 0 {
		counted = bson.D{{"$exists", false}}
	}
	o.assert(unitsC, u.doc.Name, bson.D{{"counted", counted}})
	return true, nil
}

// DestroySubordinates sets the unit's subordinates Dying.
func (u *Unit) DestroySubordinates(ctx context.Context) error {
	return u.destroySubordinates(ctx, lifecycle.UnitAgent, u.st.begin(entity.Destruction{}))
}

func (u *Unit) destroySubordinates(ctx context.Context, by lifecycle.Actor, d destruction) error {
	subordinates, err := u.st.units(bson.D{{"principal", u.doc.Name}})
	if err != nil {
		return err
	}
	return forEach(ctx, subordinates, func(s *Unit) error { return s.move(ctx, lifecycle.ToDestroy, by, d) })
}

// EnsureDead sets the Dying unit Dead. entity.InUse while it is in a relation's
// scope, entity.HasSubordinates while it has subordinates; nothing when it is
// Dead or gone.
func (u *Unit) EnsureDead(ctx context.Context) error {
	return u.move(ctx, lifecycle.ToDead, lifecycle.UnitAgent, destruction{now: u.st.now()})
}

// Remove takes a Dead unit out of state, and a Dying one whose agent never came
// up. With the last unit of a Dying service without relations goes the service.
func (u *Unit) Remove(ctx context.Context) error {
	return u.move(ctx, lifecycle.ToRemove, lifecycle.Deployer, destruction{now: u.st.now()})
}

// A ground is why a unit is to be destroyed, where that may pass: whether it holds of
// the unit as it was read last, with asserts that it still does.
type ground func(*ops) (bool, error)

// move makes the farthest step toward a goal; nothing when the unit is gone, or a
// ground does not hold.
func (u *Unit) move(ctx context.Context, goal lifecycle.Goal, by lifecycle.Actor, d destruction, grounds ...ground) error {
	return u.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := u.refresh(ctx); isNotFound(err) {
			return nil, mongo.ErrNothing
		} else if err != nil {
			return nil, err
		}
		o := newOps()
		for _, holds := range grounds {
			if still, err := holds(o); err != nil {
				return nil, err
			} else if !still {
				return nil, mongo.ErrNothing
			}
		}
		if goal == lifecycle.ToDestroy && u.doc.Life != entity.Alive {
			o.raiseOps(unitsC, u.doc.Name, unitKey(u.doc.Name), u.doc.lifeDoc, d, func() { u.cascadeOps(o, d) })
			return o.build()
		}
		holders, err := u.st.holders(unitKey(u.doc.Name))
		if err != nil {
			return nil, err
		}
		facts := lifecycle.Facts{Life: u.doc.Life, Holders: holders}
		if !u.doc.Started {
			facts.Guards = append(facts.Guards, lifecycle.Unstarted)
		}
		if u.doc.forced() {
			facts.Guards = append(facts.Guards, lifecycle.Forced)
		}
		step, err := lifecycle.Plan(u.doc.kind(), goal, by, facts)
		if err != nil {
			return nil, u.refusal(goal, err)
		}
		if step.Nothing() {
			return nil, mongo.ErrNothing
		}
		o.expectStep(unitKey(u.doc.Name), step, nil)
		if step.Move.From == entity.Alive && u.doc.kind() == lifecycle.Principal {
			if err := u.st.lessUnitsOps(ctx, o, u.doc.Service); err != nil {
				return nil, err
			}
		}
		if step.Move.To == entity.Gone {
			if err := u.removeOps(ctx, o, d); err != nil {
				return nil, err
			}
			return o.build()
		}
		u.turnOps(o, step, holders, d)
		return o.build()
	})
}

// turnOps takes the unit a step on that does not remove it.
func (u *Unit) turnOps(o *ops, step lifecycle.Step, holders map[string]int, d destruction) {
	set := d.turn(step.Move.To)
	if step.Move.From == entity.Alive {
		set = append(set, d.raise(u.doc.lifeDoc)...)
	}
	// Whether the agent has come up says which moves were open.
	o.update(unitsC, u.doc.Name, append(unraised(u.doc.lifeDoc), bson.DocElem{Name: "started", Value: u.doc.Started}),
		bson.D{{"$set", set}})
	if step.Move.From != entity.Alive {
		return
	}
	if u.doc.Machine != "" {
		o.inc(machineKey(u.doc.Machine), "alive-units", -1)
	}
	switch {
	case holders["subordinates"] > 0:
		u.cascadeOps(o, d) // its agent does this; the cleanup is for one that is away
	case u.doc.kind() == lifecycle.Principal:
		// One that came meanwhile would want that too.
		o.expect(unitKey(u.doc.Name), "subordinates", 0)
	}
	o.dismantleOps(unitKey(u.doc.Name), u.doc.lifeDoc, d)
}

// cascadeOps has the subordinates of a principal destroyed.
func (u *Unit) cascadeOps(o *ops, d destruction) {
	if u.doc.kind() == lifecycle.Principal {
		o.cascadeOps(cleanupSubordinates, u.doc.Name, d.alone())
	}
}

// refusal turns what bars a move into what users and agents read.
func (u *Unit) refusal(goal lifecycle.Goal, err error) error {
	var barred *lifecycle.Barred
	if !errors.As(err, &barred) {
		return err
	}
	switch {
	case barred.Ref.Name == "subordinates":
		return entity.Errorf(entity.HasSubordinates, "unit has subordinates")
	case barred.Ref.Name == "scopes":
		return entity.Errorf(entity.InUse, "unit %q is in the scope of a relation", u.doc.Name)
	case goal == lifecycle.ToRemove:
		return entity.Errorf(entity.InUse, "unit is not dead")
	case goal == lifecycle.ToDead:
		return entity.Errorf(entity.Invalid, "unit %q is not dying", u.doc.Name)
	case u.doc.Principal != "":
		return entity.WithHint(entity.Errorf(entity.Invalid, "unit %q is a subordinate", u.doc.Name),
			"It goes with its principal, %s, or with the relation to it.", u.doc.Principal)
	}
	return err
}

// removeOps takes the unit out of state with all that was its own, and with it
// its service when it was the last thing that referred to it.
func (u *Unit) removeOps(ctx context.Context, o *ops, d destruction) error {
	name, key := u.doc.Name, unitKey(u.doc.Name)
	assert := append(unraised(u.doc.lifeDoc), bson.DocElem{Name: "started", Value: u.doc.Started})
	if !u.doc.Machines {
		assert = append(assert, bson.DocElem{Name: "machines", Value: bson.D{{"$ne", true}}})
	}
	o.remove(unitsC, name, assert)
	o.undismantleOps(key, u.doc.lifeDoc)
	o.dropCounts(key)
	o.remove(statusesC, key, nil) // there since it was set
	o.remove(statusesC, workloadKey(name), nil)
	o.remove(constraintsC, key, nil)                           // there if it has any
	o.remove(credentialsC, entity.UnitTag(name).String(), nil) // there since its first password
	if parent := u.doc.deployer(); !parent.IsZero() {
		o.remove(deploymentsC, deploymentID(parent, name), exists)
		if parent.Kind == entity.KindMachine {
			o.inc(machineKey(parent.ID), "units", -1)
			if u.doc.Life == entity.Alive {
				o.inc(machineKey(parent.ID), "alive-units", -1)
			}
		} else {
			o.inc(unitKey(parent.ID), "subordinates", -1)
		}
	}
	if err := u.closeAllPortsOps(ctx, o); err != nil {
		return err
	}
	if err := u.st.dropAnnotationsOps(o, key); err != nil {
		return err
	}
	svc, err := u.st.Service(ctx, u.doc.Service)
	if err != nil {
		return err
	}
	if u.doc.Machines || d.machines || svc.doc.Machines {
		u.emptiedOps(o, d)
	} else {
		o.expect(serviceKey(u.doc.Service), takesMachines, bson.D{{"$exists", false}})
	}
	return u.st.dropRefOps(o, svc, "units")
}

// emptiedOps has the machine of a unit that goes destroyed as strongly as the unit, if
// nothing else is on it by then. It is left to the cleaner, for others may go at the
// same time: the last of them finds the machine empty.
func (u *Unit) emptiedOps(o *ops, d destruction) {
	if u.doc.Machine == "" {
		return
	}
	if d.strength <= u.doc.Strength {
		d.strength, d.deadline = u.doc.Strength, u.doc.Deadline
	}
	id := cleanupEmptied + "-" + u.doc.Name // which no other unit ever has
	o.insert(cleanupsC, id, cleanupDoc{ID: id, Kind: cleanupEmptied, Arg: u.doc.Machine, Strength: d.strength, Deadline: d.deadline})
}
