package simulationtest

import (
	"cmp"
	"slices"

	"juju/state/entity"
)

// Clean runs the cleaner until nothing is due: it stands in for absent agents, and
// forces entities whose deadline has passed.
func (m *Model) Clean() {
	for again := true; again; {
		for len(m.owed) > 0 {
			m.pass()
		}
		again = m.endAll() || m.endOnMachines() || m.forceDue()
	}
}

// pass pays all debts once, those of machines last, and of containers before their hosts.
func (m *Model) pass() {
	all := m.owed
	m.owed = nil
	slices.SortStableFunc(all, func(a, b debt) int { return cmp.Compare(a.turn(), b.turn()) })
	for _, d := range all {
		d.pay()
	}
}

// turn is smaller for debts that are paid earlier.
func (d debt) turn() int {
	if d.emptied == nil {
		return 0
	}
	turn := 1000
	for host := d.emptied.Host; host != nil; host = host.Host {
		turn--
	}
	return turn
}

// Owed returns the number of debts that the cleaner must pay immediately.
func (m *Model) Owed() int { return len(m.owed) }

// PutOff moves debts [from, to) behind all later ones, whose causes began earlier.
func (m *Model) PutOff(from, to int) {
	m.owed = slices.Concat(m.owed[:from], m.owed[to:], m.owed[from:to])
}

// forceDue forcibly removes everything whose deadline has passed.
func (m *Model) forceDue() (did bool) {
	for _, r := range values(m.Relations) {
		if r.due(m.Now) {
			m.forceRelation(r)
			did = true
		}
	}
	for _, s := range values(m.Storage) {
		if s.Held != nil && s.Held.due(m.Now) {
			m.forceAttachment(s.Held)
			did = true
		}
		if s.due(m.Now) {
			did = m.forceStorage(s) || did
		}
	}
	for _, o := range values(m.Offers) {
		if o.due(m.Now) {
			m.forceOffer(o)
			did = true
		}
	}
	for _, u := range values(m.Units) {
		if u.due(m.Now) {
			m.forceUnit(u)
			did = true
		}
	}
	for _, s := range values(m.Services) {
		if s.due(m.Now) {
			for _, u := range sorted(s.Units) {
				m.forceUnit(u)
			}
			for _, r := range sorted(s.Relations) {
				m.endRelation(r, m.forced())
				m.forceRelation(r)
			}
			for _, o := range m.offersOf(s) {
				m.forceOffer(o)
			}
			did = true
		}
	}
	for _, x := range values(m.Machines) {
		if x.due(m.Now) {
			did = m.forceMachine(x) || did
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

func (m *Model) forceRelation(r *Relation) {
	if r.isPeer() && r.Ends[0].Life.Life == entity.Alive && len(r.In) > 0 {
		m.happens("an old peer relation ends by force")
	}
	for _, u := range sorted(r.In) {
		m.LeaveScope(u, r)
	}
}

func (m *Model) forceUnit(u *Unit) {
	if u.Strength != entity.Force {
		m.endUnit(u, m.forced(), false)
	}
	for _, s := range sorted(u.Subs) {
		m.forceUnit(s)
	}
	for _, r := range sorted(u.Scopes) {
		m.LeaveScope(u, r)
	}
	for _, a := range sorted(u.Attached) {
		m.forceAttachment(a)
	}
	if u.Life.Life != entity.Gone {
		m.removeUnit(u, m.forced())
	}
}

// forceMachine removes a machine and everything on it, and reports whether it made
// progress. It waits for the cloud to stop the instance until the cloud reports an
// error or cloudTimeout has passed; the instance then becomes a leftover.
func (m *Model) forceMachine(x *Machine) (did bool) {
	if x.Strength != entity.Force {
		m.endMachine(x, m.forced())
		did = true
	}
	for _, u := range sorted(x.Units) {
		m.forceUnit(u)
		did = true
	}
	for _, c := range sorted(x.Containers) {
		did = m.forceMachine(c) || did
		if c.Life.Life != entity.Gone {
			return did
		}
	}
	for _, s := range sorted(x.Storage) {
		did = m.forceStorage(s) || did
	}
	if len(x.Storage) > 0 {
		return did
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

// Ends returns the keys of all ending entities, sorted.
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
		note(s.Key(), s.Life)
	}
	for _, o := range m.Offers {
		note("o#"+o.Name, o.Life)
	}
	for _, u := range m.Units {
		note("u#"+u.Name, u.Life)
	}
	for _, s := range m.Storage {
		note("st#"+s.ID, s.Life)
	}
	for _, r := range m.Relations {
		note("r#"+r.Key, r.Life)
	}
	slices.Sort(keys)
	return keys
}
