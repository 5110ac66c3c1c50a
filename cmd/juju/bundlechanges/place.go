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
	left := len(have.Units)
	on := map[string][]*Unit{} // those that are not taken, by machine
	for i := range have.Units {
		u := &have.Units[i]
		on[u.Machine] = append(on[u.Machine], u)
	}
	taken := map[*Unit]bool{}
	take := func(s *slot, u *Unit) {
		s.unit, s.spot, taken[u] = u, &Spot{ID: u.Machine}, true
		left--
	}
	for i, s := range p.slots[name] {
		target := p.target(name, i)
		if us := on[target]; target != "" && len(us) > 0 {
			take(s, us[0])
			on[target] = us[1:]
		}
	}
	next := 0
	for _, known := range []bool{false, true} { // the bundle's machine
		for i, s := range p.slots[name] {
			if s.unit != nil || left == 0 || (p.target(name, i) != "") != known {
				continue
			}
			for taken[&have.Units[next]] {
				next++
			}
			take(s, &have.Units[next])
			if id := p.places[name][i].Machine; id != "" && p.spots[id] == nil && !p.isTaken(s.unit.Machine) {
				p.spots[id] = &Spot{ID: s.unit.Machine}
			}
		}
	}
	if p.Services[name].UnitsGiven && left > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("application %q has %d units, and the bundle says %d: none is destroyed",
			name, len(have.Units), len(p.slots[name])))
	}
}

// target returns the machine of the model that a unit has to be on, "" if there is none.
func (p *planner) target(name string, i int) string {
	place := p.places[name][i]
	switch {
	case place.Container != "":
	case place.Machine != "":
		if spot := p.spots[place.Machine]; spot != nil {
			return spot.ID
		}
	case place.Service != "":
		if host := p.slots[place.Service][place.Unit]; host.spot != nil {
			return host.spot.ID
		}
	}
	return ""
}

// isTaken reports whether a machine of the model is one of the bundle's.
func (p *planner) isTaken(id string) bool {
	for _, spot := range p.spots {
		if spot.ID == id {
			return true
		}
	}
	return false
}
