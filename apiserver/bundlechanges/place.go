package bundlechanges

import (
	"fmt"
	"slices"

	"juju/state/entity"
)

// place matches the bundle's units with the model's, and thereby the bundle's machines with the model's.
func (p *planner) place(names []string) {
	for _, name := range names {
		p.places[name] = p.Placements(name)
		slots := make([]*slot, len(p.places[name]))
		for i := range slots {
			slots[i] = &slot{}
		}
		p.slots[name] = slots
	}
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if done[name] {
			return
		}
		done[name] = true
		for _, place := range p.places[name] {
			if place.Service != "" {
				visit(place.Service) // first, so that its machines are known
			}
		}
		p.match(name)
	}
	for _, name := range names {
		visit(name)
	}
	if p.Declared {
		p.adopt(names)
	}
}

// match matches the units of one service. A unit that is already where the bundle places one matches it. The others
// are matched in numerical order, and their machines with the bundle's.
func (p *planner) match(name string) {
	have := p.model.Services[name]
	if have == nil || have.Life != entity.Alive || have.Subordinate {
		return
	}
	m := matcher{planner: p, name: name, units: have.Units, used: make([]bool, len(have.Units)), left: len(have.Units),
		on: map[string][]int{}, slotsOf: map[string][]int{}}
	for i, u := range m.units {
		m.on[u.Machine] = append(m.on[u.Machine], i)
		if kind, machine := entity.ContainerOf(u.Machine); kind != "" {
			m.on[kind+":"+machine] = append(m.on[kind+":"+machine], i)
		}
	}
	for i, place := range p.places[name] {
		m.slotsOf[place.Machine] = append(m.slotsOf[place.Machine], i)
		m.takeInPlace(i)
	}
	for m.next() {
	}
	m.rest()
	if p.Services[name].UnitsGiven && m.left > 0 && !p.Declared {
		p.warnings = append(p.warnings, fmt.Sprintf("application %q has %d units, but the bundle has %d: none are destroyed",
			name, len(have.Units), len(p.slots[name])))
	}
}

// A matcher matches the units of one service.
type matcher struct {
	*planner
	name    string
	units   []Unit
	used    []bool
	left    int              // how many units are unused
	first   int              // all units before it are used
	slot    int              // no slot before it needs a unit with any placement
	on      map[string][]int // units by the model's machine, or "lxd:3" for those in its containers
	slotsOf map[string][]int // slots by the bundle's machine
}

func (m *matcher) take(s *slot, which int) {
	s.unit, s.spot = &m.units[which], &Spot{ID: m.units[which].Machine}
	m.used[which] = true
	m.left--
}

// takeInPlace takes a unit that is already where the bundle places the slot.
func (m *matcher) takeInPlace(i int) {
	s, target := m.slots[m.name][i], m.target(m.name, i)
	if s.unit != nil || target == "" {
		return
	}
	for left := m.on[target]; len(left) > 0; left = m.on[target] {
		m.on[target] = left[1:]
		if !m.used[left[0]] {
			m.take(s, left[0])
			return
		}
	}
}

// next takes a unit that is on none of the bundle's machines for the first slot without a fixed target. It reports whether
// there was a slot and a unit. The machine of a unit that is to be added has no unit yet; if a
// slot there took one, another slot would take it once the machine is known.
func (m *matcher) next() bool {
	slots := m.slots[m.name]
	for m.slot < len(slots) && (slots[m.slot].unit != nil || m.places[m.name][m.slot].Service != "" ||
		m.target(m.name, m.slot) != "") {
		m.slot++
	}
	if m.slot == len(slots) {
		return false
	}
	which := m.candidate(m.places[m.name][m.slot].Container)
	if which < 0 {
		return false
	}
	m.take(slots[m.slot], which)
	if id := m.places[m.name][m.slot].Machine; id != "" {
		_, machine := entity.ContainerOf(m.units[which].Machine)
		m.spots[id], m.taken[machine] = &Spot{ID: machine}, true
		for _, i := range m.slotsOf[id] {
			m.takeInPlace(i)
		}
	}
	return true
}

// candidate returns the first unused unit that is on none of the bundle's machines and in a container only if the
// bundle wants one; else the first unused unit on none of the bundle's machines; else -1.
func (m *matcher) candidate(container string) int {
	found := -1
	for i := m.unused(); i < len(m.units); i++ {
		kind, machine := entity.ContainerOf(m.units[i].Machine)
		if m.used[i] || m.taken[machine] {
			continue
		}
		if (kind != "") == (container != "") {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// unused returns the first unused unit.
func (m *matcher) unused() int {
	for m.first < len(m.units) && m.used[m.first] {
		m.first++
	}
	return m.first
}

// rest takes the unused units, wherever they are, for the last slots: the first ones take the units that are added, also once
// these are there.
func (m *matcher) rest() {
	for _, s := range slices.Backward(m.slots[m.name]) {
		if s.unit == nil && m.left > 0 {
			m.take(s, m.unused())
		}
	}
}

// awaitsUnused reports whether one of the bundle's machines is a machine of the model that never had a unit, which a unit with
// any placement would get.
func (p *planner) awaitsUnused() bool {
	for id := range p.taken {
		if m := p.model.Machines[id]; m != nil && m.Unused {
			return true
		}
	}
	return false
}

// target returns the model's machine that a unit must be on, or "lxd:3" for any such container on it; "" if any
// machine will do.
func (p *planner) target(name string, i int) string {
	place := p.places[name][i]
	var spot *Spot
	switch {
	case place.Machine != "":
		spot = p.spots[place.Machine]
	case place.Service != "":
		spot = p.slots[place.Service][place.Unit].spot
	}
	switch {
	case spot == nil:
		return ""
	case place.Container != "":
		return ContainerType(place.Container) + ":" + spot.host().ID
	}
	return spot.ID
}
