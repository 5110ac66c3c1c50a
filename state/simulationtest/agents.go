package simulationtest

import (
	"slices"
	"time"

	"juju/state/entity"
)

// What agents report about their own entities.

// IsIdle reports whether a unit's agent has nothing to do.
func (u *Unit) IsIdle() bool {
	if u.Life.Life != entity.Alive || !u.Started || u.Erred || u.Service.Life.Life != entity.Alive || u.IsOrphan() {
		return u.Life.Life == entity.Dead
	}
	if u.Busy || u.Maintained || u.Charm != u.Wanted() {
		return false
	}
	for r := range u.Service.Relations {
		if u.Scopes[r] != (r.Life.Life == entity.Alive && !r.Suspended) {
			return false
		}
	}
	for a := range u.Attached {
		if a.Life.Life == entity.Dying {
			return false
		}
	}
	return true
}

// IsEmpty reports whether a machine has no Alive unit and no container.
func (x *Machine) IsEmpty() bool {
	for u := range x.Units {
		if u.Life.Life == entity.Alive {
			return false
		}
	}
	return len(x.Containers) == 0
}

// Start records the first status of a unit's agent.
func (m *Model) Start(u *Unit) Answer {
	if u.Life.Life == entity.Gone {
		return Answer{entity.NotFound}
	}
	u.Started, u.Busy = true, false
	return nil
}

// DestroySelf models the agent of a unit: it destroys its unit if the service, the principal,
// or the last container relation to the principal's service is Dying, and otherwise does
// nothing.
func (m *Model) DestroySelf(u *Unit) {
	stays := u.Service.Life.Life == entity.Alive
	if u.Principal != nil {
		stays = stays && u.Principal.Life.Life == entity.Alive && !u.IsOrphan()
	}
	if u.Life.Life != entity.Alive || stays {
		return
	}
	d := Destruction{}
	with := []Life{u.Service.Life}
	if u.Principal != nil {
		with = append(with, u.Principal.Life)
	}
	for _, l := range with {
		if l.Strength == entity.Force && (d.Strength != entity.Force || l.Deadline.Before(d.Deadline)) {
			d.Strength, d.Deadline = entity.Force, l.Deadline
		}
	}
	m.endUnit(u, d, true)
}

// DestroySubordinates models the agent of a Dying unit: it ends the unit's subordinates and
// storage, as strongly as the unit.
func (m *Model) DestroySubordinates(u *Unit) {
	if u.Life.Life != entity.Alive {
		d := Destruction{Strength: u.Life.Strength, Deadline: u.Life.Deadline}
		m.endSubordinates(u, d)
		m.endAttachments(u, d)
	}
}

// EnterScope adds a unit to the scope of a relation. born returns the name of the subordinate
// created with it, if any.
func (m *Model) EnterScope(u *Unit, r *Relation, born func(principal, service string) string) Answer {
	switch {
	case u.Life.Life == entity.Gone || r.Life.Life == entity.Gone || !u.Service.Relations[r]:
		return Answer{entity.CannotEnter}
	case r.In[u]:
		return nil
	case u.Life.Life != entity.Alive || r.Life.Life != entity.Alive || r.Suspended:
		return Answer{entity.CannotEnter}
	}
	other := r.other(u.Service)
	if r.Container {
		switch {
		case u.Principal == nil:
			var there *Unit
			for s := range u.Subs {
				if s.Service == other && (there == nil || s.Life.Life == entity.Alive) {
					there = s
				}
			}
			if there != nil && there.Life.Life != entity.Alive {
				return Answer{entity.CannotEnterYet}
			}
			if there == nil && m.Life.Life != entity.Alive {
				return Answer{entity.CannotEnter}
			}
			if there == nil {
				m.addUnit(born(u.Name, other.Name), other, nil, u)
			}
		case other != u.Principal.Service:
			beside := slices.ContainsFunc(sorted(u.Principal.Subs), func(s *Unit) bool { return s.Service == other })
			if !beside {
				return Answer{entity.CannotEnter}
			}
		}
	}
	r.In[u], u.Scopes[r] = true, true
	return nil
}

// LeaveScope removes a unit from the scope of a relation. The last unit to
// leave a Dying relation removes it.
func (m *Model) LeaveScope(u *Unit, r *Relation) {
	delete(u.Scopes, r)
	delete(r.In, u)
	if r.Life.Life == entity.Dying && len(r.In) == 0 {
		m.removeRelation(r)
	}
}

// UnitDead sets a unit Dead.
func (m *Model) UnitDead(u *Unit) Answer {
	switch {
	case u.Life.Life >= entity.Dead:
		return nil
	case u.Life.Life == entity.Alive && len(u.Subs)+len(u.Scopes)+len(u.Attached) == 0:
		return Answer{entity.Invalid}
	case u.Life.Life == entity.Alive:
		return Answer{entity.Invalid, entity.InUse, entity.HasSubordinates}
	}
	if why := m.unitHeld(u); why != nil {
		return why
	}
	u.Life.Life = entity.Dead
	return nil
}

// unitHeld returns the errors that setting a unit Dead may return; nil if nothing blocks it.
func (m *Model) unitHeld(u *Unit) (why Answer) {
	if len(u.Subs) > 0 {
		m.bar("subordinate", "principal", "dead")
		why = append(why, entity.HasSubordinates)
	}
	if len(u.Scopes) > 0 {
		m.bar("scope", u.kind(), "dead")
		why = append(why, entity.InUse)
	}
	if len(u.Attached) > 0 {
		m.bar("attachment", u.kind(), "dead")
		why = append(why, entity.InUse)
	}
	return why
}

// RemoveUnit models the deployer, which removes the unit.
func (m *Model) RemoveUnit(u *Unit) Answer {
	switch {
	case u.Life.Life == entity.Gone:
		return nil
	case u.Life.Life == entity.Dying && !u.Started:
		if why := m.unitHeld(u); why != nil {
			return why
		}
	case u.Life.Life != entity.Dead:
		return Answer{entity.InUse}
	}
	m.removeUnit(u, Destruction{})
	return nil
}

// Provision records an instance.
func (m *Model) Provision(x *Machine) Answer {
	switch {
	case x.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case x.Instance:
		return nil // the same instance
	case x.Life.Life != entity.Alive && (x.Life.Life != entity.Dying || len(x.Units) == 0):
		return Answer{entity.NotAlive} // Dying with nothing on it
	}
	x.Instance = true
	return nil
}

// CloudSays records whether the cloud has reported an error for an instance.
func (m *Model) CloudSays(x *Machine, erred bool) Answer {
	if x.Life.Life == entity.Gone {
		return Answer{entity.NotFound}
	}
	x.CloudErred = erred
	return nil
}

// MachineDead sets a machine Dead.
func (m *Model) MachineDead(x *Machine) Answer {
	switch {
	case x.Life.Life >= entity.Dead:
		return nil
	case x.Life.Life == entity.Alive && len(x.Units)+len(x.Containers)+len(x.Storage) == 0:
		return Answer{entity.Invalid}
	case x.Life.Life == entity.Alive:
		return Answer{entity.Invalid, entity.InUse}
	case len(x.Units) > 0:
		m.bar("principal", "machine", "dead")
		return Answer{entity.InUse}
	case len(x.Containers) > 0:
		m.bar("container", "machine", "dead")
		return Answer{entity.InUse}
	case len(x.Storage) > 0:
		m.bar("storage", "machine", "dead")
		return Answer{entity.InUse}
	}
	m.turnDead(x)
	return nil
}

func (m *Model) turnDead(x *Machine) { x.Life.Life, x.DeadSince = entity.Dead, m.Now }

// RemoveMachine models the provisioner, which removes a machine once its instance has
// stopped.
func (m *Model) RemoveMachine(x *Machine) Answer {
	switch x.Life.Life {
	case entity.Gone:
		return nil
	case entity.Dead:
		m.removeMachine(x)
		return nil
	}
	return Answer{entity.Invalid, entity.InUse}
}

// cloudTimeout is how long force waits for the cloud once a machine is Dead.
const cloudTimeout = time.Minute
