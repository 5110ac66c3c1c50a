package simulationtest

import (
	"fmt"
	"strings"

	"juju/state/entity"
)

// AddService adds a service, with the peer relations of its charm.
func (m *Model) AddService(name string, subordinate bool, charm *Charm) Answer {
	if m.Services[name] != nil {
		return Answer{entity.AlreadyExists}
	}
	s := &Service{Name: name, Subordinate: subordinate, Charm: charm, Units: map[*Unit]bool{}, Relations: map[*Relation]bool{}}
	m.Services[name] = s
	m.addPeers(s)
	return nil
}

// A Placed is a new unit, and the machine that state assigned it to.
type Placed struct{ Unit, Machine string }

// MayPlace returns the errors that placing a unit may return: on a machine ("3"), in a new container on it
// ("lxd:3"), or in a container on a new machine ("lxd").
func (m *Model) MayPlace(placement string) Answer {
	if placement == "lxd" {
		return nil
	}
	if host, in := strings.CutPrefix(placement, "lxd:"); in {
		return m.MayHost(host)
	}
	x := m.Machines[placement]
	switch {
	case x == nil:
		return Answer{entity.NotFound}
	case x.Life.Life != entity.Alive:
		return Answer{entity.NotAlive}
	case x.Manager:
		return Answer{entity.Invalid}
	}
	return nil
}

// MayAddUnits returns the errors that adding units to a service may return.
func (m *Model) MayAddUnits(s *Service) Answer {
	switch {
	case s.Life.Life == entity.Gone || s.Remote:
		return Answer{entity.NotFound}
	case s.Life.Life != entity.Alive:
		return Answer{entity.NotAlive, entity.Invalid}[:1+btoi(s.Subordinate)]
	case s.Subordinate:
		return Answer{entity.Invalid}
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isFree reports whether a machine can be assigned to a unit without a placement: it has never had a unit,
// and is not a container.
func (x *Machine) isFree() bool {
	return x.Life.Life == entity.Alive && x.Clean && !x.Manager && x.Host == nil
}

// AddUnits adds units where state has placed them, and returns an error if a placement is wrong. The first
// units are on the machines that the user named, or in new containers; each of the others is on an unused
// machine, or on a new one if no machine is unused. If raced, a machine might have become available
// meanwhile.
func (m *Model) AddUnits(s *Service, placed []Placed, named []string, raced bool) error {
	for i, p := range placed {
		x := m.Machines[p.Machine]
		host, inside := "", false
		if i < len(named) {
			host, inside = strings.CutPrefix(named[i], "lxd")
		}
		switch {
		case inside:
			var err error
			if x, err = m.addContainer(p, strings.TrimPrefix(host, ":")); err != nil {
				return err
			}
		case i < len(named) && p.Machine != named[i]:
			return fmt.Errorf("%s is on machine %s, not on %s", p.Unit, p.Machine, named[i])
		case i >= len(named) && x != nil && !x.isFree():
			return fmt.Errorf("%s was put on machine %s: %s", p.Unit, p.Machine,
				MachineFact(x.Life, x.Instance, x.Manager, x.Clean, x.ForUnits))
		case x == nil && m.used["m#"+p.Machine]:
			return fmt.Errorf("%s was put on machine %s, which is gone", p.Unit, p.Machine)
		case x == nil:
			for _, other := range m.Machines {
				if other.isFree() && !raced {
					return fmt.Errorf("%s has a new machine, though %s is free", p.Unit, other.ID)
				}
			}
			x = m.addMachine(p.Machine, nil, false, false)
			x.ForUnits = true
		}
		x.Clean = false
		m.addUnit(p.Unit, s, x, nil)
	}
	return nil
}

// addContainer adds the container that a unit is in, on the host that the user named, or on a new host.
func (m *Model) addContainer(p Placed, host string) (*Machine, error) {
	on, number, ok := strings.Cut(p.Machine, "/lxd/")
	switch {
	case !ok || strings.Contains(number, "/") && host == "":
		return nil, fmt.Errorf("%s is on machine %s, not in a container", p.Unit, p.Machine)
	case m.used["m#"+p.Machine]:
		return nil, fmt.Errorf("%s was put in container %s, which already existed", p.Unit, p.Machine)
	}
	if host != "" {
		if on = p.Machine[:strings.LastIndex(p.Machine, "/lxd/")]; on != host {
			return nil, fmt.Errorf("%s is in container %s, not in one on machine %s", p.Unit, p.Machine, host)
		}
	} else if m.used["m#"+on] {
		return nil, fmt.Errorf("%s is in a container on machine %s, not on a new one", p.Unit, on)
	}
	if m.Machines[on] == nil {
		m.addMachine(on, nil, false, false)
	}
	x := m.addMachine(p.Machine, m.Machines[on], false, false)
	x.ForUnits = true
	return x, nil
}

func (m *Model) addUnit(name string, s *Service, x *Machine, principal *Unit) {
	m.fresh("u#" + name)
	u := &Unit{Name: name, Service: s, Machine: x, Principal: principal, Subs: map[*Unit]bool{},
		Scopes: map[*Relation]bool{}, Attached: map[*Attachment]bool{}}
	m.Units[name] = u
	s.Units[u] = true
	if x != nil {
		x.Units[u] = true
	} else {
		principal.Subs[u] = true
	}
	if m.Given != nil {
		m.Given(u)
	}
}

func (m *Model) addMachine(id string, host *Machine, manager, clean bool) *Machine {
	m.fresh("m#" + id)
	x := &Machine{ID: id, Host: host, Manager: manager, Clean: clean, Units: map[*Unit]bool{},
		Containers: map[*Machine]bool{}, Storage: map[*Storage]bool{}}
	m.Machines[id] = x
	if host != nil {
		host.Containers[x] = true
		host.Clean = false
	}
	return x
}

// MayHost returns the errors that adding a container to a machine may return.
func (m *Model) MayHost(host string) Answer {
	switch x := m.Machines[host]; {
	case x == nil:
		return Answer{entity.NotFound}
	case x.Life.Life != entity.Alive:
		return Answer{entity.NotAlive}
	case x.Manager:
		return Answer{entity.NotSupported}
	}
	return nil
}

// AddMachine adds a machine. host is set only for a container, and may be new as well.
func (m *Model) AddMachine(id, host string, manager bool) {
	var on *Machine
	if host != "" {
		if on = m.Machines[host]; on == nil {
			on = m.addMachine(host, nil, false, false)
		}
	}
	m.addMachine(id, on, manager, true)
}

// MayRelate returns the errors that relating two services by this key may return. container is its scope unless one of its
// endpoints has container scope.
func (m *Model) MayRelate(a, b, key string, container bool) Answer {
	var why Answer
	for _, name := range []string{a, b} {
		why = append(why, m.mayUse(name)...)
		if s := m.Services[name]; s != nil && !container && s.Charm.contains(name, key) {
			why = append(why, entity.Invalid, entity.NotFound) // a subordinate could; or it has another charm meanwhile
		}
	}
	for _, end := range strings.Fields(key) {
		service, endpoint, _ := strings.Cut(end, ":")
		why = append(why, m.Services[service].mayHaveMore(endpoint)...)
	}
	for _, r := range m.Relations {
		if r.Key == key {
			why = append(why, entity.AlreadyExists)
		}
	}
	return why
}

// Relate adds a relation.
func (m *Model) Relate(id int, key, a, b string, container bool) {
	m.addRelation(id, key, m.Services[a], m.Services[b], container)
}

func (m *Model) addRelation(id int, key string, a, b *Service, container bool) *Relation {
	m.fresh(fmt.Sprintf("r#%d", id))
	r := &Relation{ID: id, Key: key, Ends: [2]*Service{a, b}, Container: container, In: map[*Unit]bool{}}
	m.Relations[id] = r
	a.Relations[r], b.Relations[r] = true, true
	if container {
		m.forgetOrphans(a, b)
	}
	return r
}

// DestroyMachine is juju destroy-machine.
func (m *Model) DestroyMachine(x *Machine, d Destruction) Answer {
	if x.Life.Life == entity.Alive {
		if x.Manager {
			last := true
			for _, other := range m.Machines {
				last = last && (other == x || !other.Manager || other.Life.Life != entity.Alive)
			}
			if last {
				return Answer{entity.InUse}
			}
		}
		if d.Strength != entity.Force {
			for u := range x.Units {
				if u.Life.Life == entity.Alive {
					m.bar("principal", "machine", "destroy")
					return Answer{entity.InUse}
				}
			}
			if len(x.Containers) > 0 {
				m.bar("container", "machine", "destroy")
				return Answer{entity.InUse}
			}
		}
	}
	m.endMachine(x, d)
	return nil
}

// DestroyUnit is juju destroy-unit.
func (m *Model) DestroyUnit(u *Unit, d Destruction) Answer {
	if u.Life.Life == entity.Alive && u.Principal != nil {
		return Answer{entity.Invalid}
	}
	m.endUnit(u, d, false)
	return nil
}

// DestroyRelation is juju destroy-relation.
func (m *Model) DestroyRelation(r *Relation, d Destruction) Answer {
	if r.isPeer() && r.Life.Life == entity.Alive {
		return Answer{entity.Invalid}
	}
	m.endRelation(r, d)
	return nil
}

// DestroyService is juju destroy-service, and for a remote service remove-saas.
func (m *Model) DestroyService(s *Service, d Destruction) Answer {
	if s.Life.Life == entity.Gone || s.Life.Life != entity.Alive && !s.raise(d) {
		return nil
	}
	if s.Life.Life == entity.Alive && m.isOffered(s) && d.Strength != entity.Force {
		m.bar("offer", "service", "destroy")
		return Answer{entity.InUse}
	}
	begins := s.Life.Life == entity.Alive
	if begins {
		if s.Rollout != nil {
			m.rolls("is of a service that is destroyed")
		}
		s.Life.Life, s.Rollout = entity.Dying, nil
		s.raise(d)
		for _, r := range sorted(s.Relations) {
			m.endRelation(r, d.alone())
		}
		for u := range s.Units {
			m.bar(u.kind(), s.kind(), "remove")
		}
		if len(s.Relations) > 0 {
			m.bar("relation", s.kind(), "remove")
		}
	}
	m.dropService(s)
	m.owe(func() {
		for _, r := range sorted(s.Relations) {
			if !begins {
				m.endRelation(r, d.alone())
			}
		}
		for _, u := range sorted(s.Units) {
			if u.Life.Life == entity.Alive || d.Strength > entity.Plain {
				m.endUnit(u, d.alone(), false)
			}
		}
		if d.Strength == entity.Force {
			for _, o := range m.offersOf(s) {
				m.endOffer(o, d.alone())
			}
		}
	})
	return nil
}

// Resolve is juju resolved.
func (m *Model) Resolve(u *Unit) Answer {
	switch {
	case u.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case u.Resolved || !u.Erred:
		return Answer{entity.Invalid}
	}
	u.Resolved = true
	return nil
}
