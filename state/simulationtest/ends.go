package simulationtest

import "juju/state/entity"

// How each entity starts to end, and what its removal also removes. None of
// these functions changes an entity that is already gone.

// A debt is a cleanup that the cleaner owes.
type debt struct {
	pay     func()
	orphans *Relation // the relation whose orphans pay ends, if any
	emptied *Machine  // the machine that pay ends if it is empty, if any
}

func (m *Model) owe(f func()) { m.owed = append(m.owed, debt{pay: f}) }

// endUnit sets a unit Dying. A unit whose agent never started is removed
// immediately, unless the agent itself asks (itself). A unit that is already
// Dying takes on the strength.
func (m *Model) endUnit(u *Unit, d Destruction, itself bool) {
	switch {
	case u.Life.Life == entity.Gone:
		return
	case u.Life.Life != entity.Alive:
		if !u.raise(d) {
			return
		}
	case !itself && u.Principal == nil && !u.Started && len(u.Subs)+len(u.Scopes)+len(u.Attached) == 0:
		m.removeUnit(u, d)
		return
	default:
		m.endsInRollout(u)
		u.Life.Life = entity.Dying
		u.raise(d)
	}
	m.owe(func() {
		m.endSubordinates(u, d.alone())
		m.endAttachments(u, d)
	})
}

func (m *Model) endSubordinates(u *Unit, d Destruction) {
	for _, s := range sorted(u.Subs) {
		m.endUnit(s, d, false)
	}
}

// removeUnit removes a unit, and ends its machine if the unit or its service
// was destroyed with machines.
func (m *Model) removeUnit(u *Unit, d Destruction) {
	if x := u.Machine; x != nil && (u.Machines || d.Machines || u.Service.Machines) {
		if d.Strength <= u.Strength {
			d.Strength, d.Deadline = u.Strength, u.Deadline
		}
		m.owed = append(m.owed, debt{pay: func() { m.endEmptied(x, d.alone()) }, emptied: x})
	}
	u.Life.Life = entity.Gone
	m.owe(func() { m.cancelAll(u.Name) })
	delete(m.Units, u.Name)
	if u.Machine != nil {
		delete(u.Machine.Units, u)
	}
	if u.Principal != nil {
		delete(u.Principal.Subs, u)
	}
	delete(u.Service.Units, u)
	m.endHiddenOf(u)
	m.dropService(u.Service)
}

// endEmptied ends a machine that was created for units and has none left, or
// raises the strength if it is already ending.
func (m *Model) endEmptied(x *Machine, d Destruction) {
	if x.Life.Life != entity.Gone && x.ForUnits && len(x.Units)+len(x.Containers) == 0 {
		m.endMachine(x, d)
	}
}

// dropService removes a Dying service once nothing refers to it.
func (m *Model) dropService(s *Service) {
	if s.Life.Life == entity.Dying && len(s.Units)+len(s.Relations) == 0 && !m.isOffered(s) {
		s.Life.Life = entity.Gone
		delete(m.Services, s.Name)
		m.endHiddenIn(s)
	}
}

// endRelation sets a relation Dying, or removes it if its scope is empty. It
// also ends the subordinates that have no other container relation.
func (m *Model) endRelation(r *Relation, d Destruction) {
	switch {
	case r.Life.Life == entity.Gone:
		return
	case r.Life.Life != entity.Alive:
		if !r.raise(d) {
			return
		}
	case len(r.In) == 0:
		m.removeRelation(r)
	default:
		m.bar("scope", "relation", "remove")
		r.Life.Life = entity.Dying
		r.raise(d)
	}
	if r.Container {
		m.owed = append(m.owed, debt{pay: func() { m.endOrphans(r, d) }, orphans: r})
	}
}

func (m *Model) removeRelation(r *Relation) {
	r.Life.Life = entity.Gone
	delete(m.Relations, r.ID)
	m.endHiddenWhile(r)
	for _, s := range r.Ends {
		delete(s.Relations, r)
		m.dropService(s)
	}
	if r.isPeer() {
		m.followPeers(r.Ends[0])
	}
	if r.Offer != nil {
		delete(r.Offer.Relations, r)
		m.dropOffer(r.Offer)
	}
}

// hasContainerRelation reports whether two services have an Alive container
// relation.
func hasContainerRelation(a, b *Service) bool {
	for r := range a.Relations {
		if r.Life.Life == entity.Alive && r.Container && r.other(a) == b {
			return true
		}
	}
	return false
}

// IsOrphan reports whether a subordinate has no Alive container relation to its
// principal's service left.
func (u *Unit) IsOrphan() bool {
	return u.Principal != nil && !hasContainerRelation(u.Service, u.Principal.Service)
}

// forgetOrphans cancels pending cleanups of orphans from earlier relations
// between two services, because they are related again.
func (m *Model) forgetOrphans(a, b *Service) {
	for i, d := range m.owed {
		if r := d.orphans; r != nil && (r.Ends == [2]*Service{a, b} || r.Ends == [2]*Service{b, a}) {
			m.owed[i].pay = func() {}
		}
	}
}

// endOrphans ends the subordinates for which a relation was the last one to
// their principals' service.
func (m *Model) endOrphans(r *Relation, d Destruction) {
	for i, s := range r.Ends {
		other := r.Ends[1-i]
		for _, u := range sorted(s.Units) {
			if u.Principal != nil && u.Principal.Service == other && u.IsOrphan() &&
				(u.Life.Life == entity.Alive || d.Strength > entity.Plain) {
				m.endUnit(u, d, false)
			}
		}
	}
}

// endMachine sets a machine Dying, or removes it if it has no instance and is
// empty. A manager loses its job.
func (m *Model) endMachine(x *Machine, d Destruction) {
	switch {
	case x.Life.Life == entity.Gone:
		return
	case x.Life.Life != entity.Alive:
		if !x.raise(d) {
			return
		}
	case !x.Instance && !x.Manager && len(x.Units)+len(x.Containers)+len(x.Storage) == 0:
		m.removeMachine(x)
		return
	default:
		x.Life.Life = entity.Dying
		x.Manager = false
		x.raise(d)
	}
	x.wants = append(x.wants, d)
	if d.Strength == entity.Plain {
		return
	}
	m.owe(func() {
		for _, u := range sorted(x.Units) {
			m.endUnit(u, d, false)
		}
		for _, c := range sorted(x.Containers) {
			m.endMachine(c, d)
		}
	})
}

func (m *Model) removeMachine(x *Machine) {
	x.Life.Life = entity.Gone
	delete(m.Machines, x.ID)
	if x.Host != nil {
		delete(x.Host.Containers, x)
	}
}
