package bundlechanges

import (
	"fmt"

	"juju/state/entity"
)

// place finds which units of the model are those that the bundle wants, and so which machines of
// the model are those of the bundle.
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
				visit(place.Service) // first, so that their machines are known
			}
		}
		p.match(name)
	}
	for _, name := range names {
		visit(name)
	}
}

// match finds the units of one service. A unit that is where the bundle wants one is that one.
// The others are taken in the order of their numbers, and their machines for the bundle's.
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
		m.takeThere(i)
	}
	for m.next() {
	}
	m.rest()
	if p.Services[name].UnitsGiven && m.left > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("application %q has %d units, and the bundle says %d: none is destroyed",
			name, len(have.Units), len(p.slots[name])))
	}
}

// A matcher finds the units of one service.
type matcher struct {
	*planner
	name    string
	units   []Unit
	used    []bool
	left    int              // how many are not used
	first   int              // none before it is left
	slot    int              // none before it needs a unit that may be anywhere
	on      map[string][]int // the units on a machine of the model, or "lxd:3": in a container on it
	slotsOf map[string][]int // the slots on a machine of the bundle
}

func (m *matcher) take(s *slot, which int) {
	s.unit, s.spot = &m.units[which], &Spot{ID: m.units[which].Machine}
	m.used[which] = true
	m.left--
}

// takeThere takes a unit that is where the bundle wants a slot's.
func (m *matcher) takeThere(i int) {
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

// next takes a unit for the first slot that may be anywhere, one on none of the bundle's machines
// if it can. It reports whether there was a slot and a unit.
func (m *matcher) next() bool {
	slots := m.slots[m.name]
	for m.slot < len(slots) && (slots[m.slot].unit != nil || m.target(m.name, m.slot) != "") {
		m.slot++
	}
	if m.slot == len(slots) || m.left == 0 {
		return false
	}
	m.take(slots[m.slot], m.candidate(m.places[m.name][m.slot].Container))
	_, machine := entity.ContainerOf(slots[m.slot].unit.Machine)
	id := m.places[m.name][m.slot].Machine
	if id != "" && !m.taken[machine] {
		m.spots[id], m.taken[machine] = &Spot{ID: machine}, true
		for _, i := range m.slotsOf[id] {
			m.takeThere(i)
		}
	}
	return true
}

// candidate returns the first unit that is left, is in a container if the bundle wants it in one, and is
// on none of the bundle's machines; or else the first on none of these, or the first that is left.
func (m *matcher) candidate(container string) int {
	for m.used[m.first] {
		m.first++
	}
	found := -1
	for i := m.first; i < len(m.units); i++ {
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
	return max(found, m.first)
}

// rest takes what is left, wherever it is.
func (m *matcher) rest() {
	for _, s := range m.slots[m.name] {
		if s.unit == nil && m.left > 0 {
			m.take(s, m.candidate(""))
		}
	}
}

// target returns the machine of the model that a unit has to be on, "lxd:3" for any container of a type
// on it; "" if there is none.
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
