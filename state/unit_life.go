package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/ports"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// Destroy sets a principal Dying, or removes it if its agent never started. If the unit is already Dying, a stronger
// destruction raises its strength, and may also destroy its machine. The error is entity.Invalid for an Alive
// subordinate.
func (u *Unit) Destroy(ctx context.Context, how entity.Destruction) error {
	return u.st.move(ctx, u, lifecycle.ToDestroy, lifecycle.User, u.st.begin(how))
}

// DestroySelf sets the unit Dying on behalf of its own agent if its service is Dying or, for a subordinate, if its
// principal is or no container relation to the principal's service is Alive; otherwise it does nothing. If the service or
// the principal was destroyed with force, so is the unit: its agent may see that before the cleanup reaches the unit.
func (u *Unit) DestroySelf(ctx context.Context) error {
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); entity.IsNotFound(err) || err == nil && u.Life() != entity.Alive {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		d := u.st.begin(entity.Destruction{})
		leaves, err := u.goes(ctx, o, &d)
		if err == nil && !leaves && u.kind() != lifecycle.Principal {
			leaves, err = u.isOrphan(ctx, o)
		}
		if err == nil && !leaves {
			err = mongo.ErrNothing
		}
		if err != nil {
			return err
		}
		return o.moveOps(ctx, u, lifecycle.ToDestroy, lifecycle.UnitAgent, d)
	})
}

// goes reports whether the unit's agent destroys it because something that it belongs to is no longer Alive, and gives d the
// force of that. It asserts that no more force has come meanwhile.
func (u *Unit) goes(ctx context.Context, o *ops, d *destruction) (leaves bool, err error) {
	for _, ref := range lifecycle.RefsFrom(u.kind()) {
		if !ref.Reaches(entity.Plain) || !ref.Does(lifecycle.UnitAgent) {
			continue
		}
		for _, name := range u.targets(ref) {
			target, err := u.st.find(ctx, ref.To, name)
			if err != nil {
				return false, err
			}
			l := target.life()
			leaves = leaves || l.Life != entity.Alive
			o.Assert(lifecycle.RowOf(ref.To).In, target.docID(), unraised(*l))
			if l.Forced() && (d.strength != entity.Force || l.Deadline.Before(d.deadline)) {
				*d = u.st.again(entity.Force, l.Deadline)
			}
		}
	}
	return leaves, nil
}

// isOrphan reports whether a subordinate has no Alive relation of container scope to its principal's service. It asserts
// that none is added meanwhile, or at least, if as many were removed as added, that no unit has entered a new one and
// relied on the subordinate.
func (u *Unit) isOrphan(ctx context.Context, o *ops) (bool, error) {
	service := modeldb.ServiceKey(u.doc.Service)
	holders, err := u.st.db.CountsOf(ctx, service)
	if err != nil {
		return false, err
	}
	o.Expect(service, "relations", holders["relations"])
	related, err := u.st.hasContainerRelation(ctx, u.doc.Service, entity.UnitService(u.doc.Principal))
	if err != nil || related {
		return false, err
	}
	var counted any = u.doc.Counted
	if u.doc.Counted == 0 {
		counted = bson.D{{"$exists", false}}
	}
	o.Assert(modeldb.UnitsC, u.doc.Name, bson.D{{"counted", counted}})
	return true, nil
}

// DestroySubordinates sets the subordinates of a Dying unit Dying, and starts detaching its storage, as strongly as the
// unit itself was destroyed: one that was destroyed with force then leaves its relations, and its subordinates are to
// run no hooks for that.
func (u *Unit) DestroySubordinates(ctx context.Context) error {
	if err := u.refresh(ctx); entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return u.st.destroySources(ctx, u, lifecycle.UnitAgent, u.st.again(u.doc.Strength, u.doc.Deadline), nil)
}

// EnsureDead sets a Dying unit Dead. The error is entity.InUse while the unit is in a relation's scope or has storage,
// and entity.HasSubordinates while it has subordinates. It does nothing if the unit is Dead or removed.
func (u *Unit) EnsureDead(ctx context.Context) error {
	return u.st.move(ctx, u, lifecycle.ToDead, lifecycle.UnitAgent, destruction{now: u.st.db.Now()})
}

// Remove removes a Dead unit, or a Dying one whose agent never started. The last unit of a Dying service without
// relations removes the service too.
func (u *Unit) Remove(ctx context.Context) error {
	return u.st.move(ctx, u, lifecycle.ToRemove, lifecycle.Deployer, destruction{now: u.st.db.Now()})
}

// How units differ from other living entities.

func (u *Unit) state() *State         { return u.st }
func (u *Unit) kind() lifecycle.Kind  { return u.doc.Kind() }
func (u *Unit) name() string          { return u.doc.Name }
func (u *Unit) docID() string         { return u.doc.Name }
func (u *Unit) tag() entity.Tag       { return entity.UnitTag(u.doc.Name) }
func (u *Unit) life() *modeldb.Living { return &u.doc.Living }

func (u *Unit) targets(ref lifecycle.Ref) []string {
	switch ref.To {
	case lifecycle.Machine:
		return unlessEmpty(u.doc.Machine)
	case lifecycle.Principal:
		return unlessEmpty(u.doc.Principal)
	}
	return []string{u.doc.Service}
}

func (u *Unit) guards(context.Context, lifecycle.Actor, map[string]int) ([]lifecycle.Guard, error) {
	if u.doc.Started {
		return nil, nil
	}
	return []lifecycle.Guard{lifecycle.Unstarted}, nil
}

// The possible moves depend on Started, the first on Locked, and removal on Machines and Tasked.
func (u *Unit) asserts() bson.D {
	assert := bson.D{{"started", u.doc.Started}}
	if !u.doc.Machines {
		assert = append(assert, bson.DocElem{Name: "machines", Value: bson.D{{"$ne", true}}})
	}
	if !u.doc.Tasked {
		assert = append(assert, bson.DocElem{Name: "tasked", Value: bson.D{{"$ne", true}}})
	}
	if !u.doc.Locked {
		assert = append(assert, bson.DocElem{Name: "locked", Value: bson.D{{"$ne", true}}})
	}
	return assert
}

func (u *Unit) turning(ctx context.Context, o *ops, t turn) (update bson.D, err error) {
	if t.from == entity.Alive && u.doc.Locked {
		o.Cleanup(modeldb.CleanupUpgrade, u.doc.Name)
	}
	if t.from == entity.Alive && u.kind() == lifecycle.Principal {
		if err := u.st.fewerUnitsOps(ctx, o, u.doc.Service); err != nil {
			return nil, err
		}
	}
	if t.to != entity.Gone {
		return nil, nil
	}
	if err := ports.CloseAll(ctx, u.st.db, o.Ops, u.doc); err != nil {
		return nil, err
	}
	o.taskedOps(u.doc.Name, u.doc.Tasked)
	return nil, u.emptiedOps(ctx, o, t.destruction)
}

func (u *Unit) refusal(_ context.Context, goal lifecycle.Goal, barred *lifecycle.Barred) error {
	switch {
	case barred.Ref.Name == "subordinates":
		return entity.Errorf(entity.HasSubordinates, "unit has subordinates")
	case barred.Ref.Name == "scopes":
		return entity.Errorf(entity.InUse, "unit %q is in the scope of a relation", u.doc.Name)
	case barred.Ref.Name == "attachments":
		return entity.Errorf(entity.InUse, "unit has storage attachments")
	case goal == lifecycle.ToRemove:
		return entity.Errorf(entity.InUse, "unit is not dead")
	case goal == lifecycle.ToDead:
		return entity.Errorf(entity.Invalid, "unit %q is not dying", u.doc.Name)
	case u.doc.Principal != "":
		return entity.WithHint(entity.Errorf(entity.Invalid, "unit %q is a subordinate", u.doc.Name),
			"It is removed with its principal, %s, or with the relation to it.", u.doc.Principal)
	}
	return barred
}
