package simulationtest

import (
	"slices"

	"juju/state/entity"
)

// Clean does what the cleaner does until nothing is left that is due: all that
// agents may not be there to do, and what force does for them once its time is
// over.
func (m *Model) Clean() {
	for again := true; again; {
		for len(m.owed) > 0 {
			d := m.owed[0]
			m.owed = m.owed[1:]
			d.pay()
		}
		again = m.endAll() || m.dismantle()
	}
}

// Owed is how much there is for the cleaner that has no time of its own.
func (m *Model) Owed() int { return len(m.owed) }

// PutOff has what came to be owed from one moment to another done after what came
// later, for that began before.
func (m *Model) PutOff(from, to int) {
	m.owed = slices.Concat(m.owed[:from], m.owed[to:], m.owed[from:to])
}

// dismantle takes apart whatever is due.
func (m *Model) dismantle() (did bool) {
	for _, r := range values(m.Relations) {
		if r.due(m.Now) {
			m.dismantleRelation(r)
			did = true
		}
	}
	for _, u := range values(m.Units) {
		if u.due(m.Now) {
			m.dismantleUnit(u)
			did = true
		}
	}
	for _, s := range values(m.Services) {
		if s.due(m.Now) {
			for _, u := range sorted(s.Units) {
				m.dismantleUnit(u)
			}
			for _, r := range sorted(s.Relations) {
				m.endRelation(r, m.forced())
				m.dismantleRelation(r)
			}
			did = true
		}
	}
	for _, x := range values(m.Machines) {
		if x.due(m.Now) {
			did = m.dismantleMachine(x) || did
		}
	}
	return did
}

func values[K comparable, V interface {
	comparable
	name() string
}](all map[K]V) []V {
	set := map[V]bool{}
	for _, v := range all {
		set[v] = true
	}
	return sorted(set)
}

func (m *Model) dismantleRelation(r *Relation) {
	for _, u := range sorted(r.In) {
		m.LeaveScope(u, r)
	}
}

func (m *Model) dismantleUnit(u *Unit) {
	if u.Strength != entity.Force {
		m.endUnit(u, m.forced(), false)
	}
	for _, s := range sorted(u.Subs) {
		m.dismantleUnit(s)
	}
	for _, r := range sorted(u.Scopes) {
		m.LeaveScope(u, r)
	}
	if u.Life.Life != entity.Gone {
		m.removeUnit(u, m.forced())
	}
}

// dismantleMachine removes a machine with all that is on it, and reports whether it
// came any farther. An instance is the cloud's to stop, as long as it does not err
// and takes no longer than cloudTimeout; then it is left as a leftover.
func (m *Model) dismantleMachine(x *Machine) (did bool) {
	if x.Strength != entity.Force {
		m.endMachine(x, m.forced())
		did = true
	}
	for _, u := range sorted(x.Units) {
		m.dismantleUnit(u)
		did = true
	}
	for _, c := range sorted(x.Containers) {
		did = m.dismantleMachine(c) || did
		if c.Life.Life != entity.Gone {
			return did
		}
	}
	if x.Life.Life == entity.Dying {
		m.turnDead(x)
		did = true
	}
	waits := x.Instance && !x.CloudErred && m.Now.Before(x.DeadSince.Add(cloudTimeout))
	if x.Life.Life != entity.Dead || waits {
		return did
	}
	if x.Instance {
		m.Leftovers++
	}
	m.removeMachine(x)
	return true
}

// Ends returns the keys of all that is on its way out, sorted.
func (m *Model) Ends() (keys []string) {
	note := func(key string, l Life) {
		if l.Life != entity.Alive {
			keys = append(keys, key)
		}
	}
	for _, x := range m.Machines {
		note("m#"+x.ID, x.Life)
	}
	for _, s := range m.Services {
		note("s#"+s.Name, s.Life)
	}
	for _, u := range m.Units {
		note("u#"+u.Name, u.Life)
	}
	for _, r := range m.Relations {
		note("r#"+r.Key, r.Life)
	}
	slices.Sort(keys)
	return keys
}
