package bundlechanges

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/charm"
	"juju/charm/bundle"
	"juju/state/entity"
)

// Declare has a bundle describe the whole model. What it does not say of its services is the default, so that their
// options, annotations, constraints and exposure go back to it; and what it does not have is removed. Only the number of
// units, the series and the storage of a service stay as they are if the bundle does not say them.
func (w *Wanted) Declare(m *Model) {
	w.Declared = true
	for name, s := range w.Services {
		s.ConstraintsGiven = true
		if _, given := s.Exposure(); !given {
			s.Expose = new(bool)
		}
		if have := m.Services[name]; have != nil && !s.UnitsGiven {
			s.Units = len(have.Units)
		}
	}
}

// lasting returns the model without what is being destroyed.
func (m *Model) lasting() *Model {
	kept := &Model{maps.Clone(m.Services), maps.Clone(m.Machines), maps.Clone(m.Relations), maps.Clone(m.SAAS), maps.Clone(m.Offers), m.UUID, m.Next}
	maps.DeleteFunc(kept.SAAS, func(_ string, r *Remote) bool { return r.Life != entity.Alive })
	maps.DeleteFunc(kept.Offers, func(_ string, o *Offer) bool { return o.Life != entity.Alive })
	maps.DeleteFunc(kept.Services, func(_ string, s *Service) bool { return s.Life != entity.Alive })
	maps.DeleteFunc(kept.Machines, func(_ string, m *Machine) bool { return m.Life != entity.Alive })
	maps.DeleteFunc(kept.Relations, func(_ string, r Relation) bool { return r.Life != entity.Alive || m.isAbroad(r) })
	return kept
}

// isAbroad reports whether a relation is of a service of another model with an offer, which no bundle can name.
func (m *Model) isAbroad(r Relation) bool {
	return slices.ContainsFunc(r.Relation[:], func(end bundle.Endpoint) bool {
		return m.Services[end.Service] == nil && m.SAAS[end.Service] == nil
	})
}

// notes returns the annotations to set: without a value those that a declared bundle does not have.
func (p *planner) notes(have, want map[string]string) map[string]string {
	set := missing(have, want)
	for key := range have {
		if _, ok := want[key]; p.Declared && !ok {
			if set == nil {
				set = map[string]string{}
			}
			set[key] = ""
		}
	}
	return set
}

// resets returns the options of a service that users have set and a declared bundle has not.
func (p *planner) resets(name string, have *Service) (reset []string) {
	if !p.Declared {
		return nil
	}
	for option := range p.diffOptions(name) {
		_, isSet := p.Options[name][option]
		_, known := p.Charms[name].Config.Options[option] // by the charm that the service gets
		if !isSet && (known || option == charm.Trust) {
			reset = append(reset, option)
		}
	}
	slices.Sort(reset)
	return reset
}

// awaited reports whether a unit is to be added on a machine of the bundle.
func (p *planner) awaited(id string) bool {
	for name, places := range p.places {
		for i, place := range places {
			if place.Machine == id && p.slots[name][i].unit == nil {
				return true
			}
		}
	}
	return false
}

// adopt finds, for the machines of the bundle that have none of their units yet, machines of the model that nothing uses:
// an interrupted command may have added them.
func (p *planner) adopt(names []string) {
	free := slices.DeleteFunc(entity.NaturalKeys(p.model.Machines), func(id string) bool {
		m := p.model.Machines[id]
		return m.Life != entity.Alive || !m.Unused || p.taken[id]
	})
	for _, id := range slices.Sorted(maps.Keys(p.Bundle.Machines)) {
		if p.spots[id] != nil || !p.awaited(id) {
			continue
		}
		for i, of := range free {
			if p.suits(id, p.model.Machines[of], names) {
				p.spots[id], p.taken[of] = &Spot{ID: of}, true
				free = slices.Delete(free, i, i+1)
				break
			}
		}
	}
}

// suits reports whether a machine of the model is like one of the bundle, and has the series of the services there.
func (p *planner) suits(id string, m *Machine, names []string) bool {
	want := p.Bundle.Machines[id]
	if !sameConstraints(want.Constraints, m.Constraints) || want.Series != "" && want.Series != m.Series {
		return false
	}
	for _, name := range names {
		for _, place := range p.places[name] {
			if series := p.seriesOf(name); place.Machine == id && place.Container == "" && series != "" && series != m.Series {
				return false
			}
		}
	}
	return true
}

// machinesInUse returns the machines of the model that the bundle has or on which its services keep units, by id.
func (p *planner) machinesInUse() map[string]bool {
	used := map[string]bool{}
	use := func(machine string) {
		_, host := entity.ContainerOf(machine)
		used[host] = true
	}
	for _, s := range p.spots {
		if !s.New {
			use(s.ID)
		}
	}
	for _, slots := range p.slots {
		for _, s := range slots {
			if s.spot != nil && !s.spot.New {
				use(s.spot.ID)
			}
		}
	}
	for name := range p.Services {
		if have := p.model.Services[name]; have != nil {
			removed := p.removedUnits(name)
			for _, u := range have.Units {
				if !slices.Contains(removed, u.Name) {
					use(u.Machine)
				}
			}
		}
	}
	return used
}

// removals returns the changes that remove what the bundle does not have. Units go with their services, and relations too.
func (p *planner) removals() (all []Change) {
	wanted := map[string]bool{}
	for _, r := range p.Relations {
		wanted[r.Key()] = true
	}
	m := p.model.lasting()
	for _, key := range slices.Sorted(maps.Keys(m.Relations)) {
		r := m.Relations[key].Relation
		if !wanted[key] && p.Has(r[0].Service) && p.Has(r[1].Service) {
			all = append(all, &RemoveRelation{r})
		}
	}
	all = append(all, p.crossModelRemovals(m)...)
	for _, name := range slices.Sorted(maps.Keys(m.Services)) {
		if p.Services[name] == nil {
			all = append(all, &RemoveService{name})
			continue
		}
		for _, unit := range p.removedUnits(name) {
			all = append(all, &RemoveUnit{unit})
		}
	}
	used := p.machinesInUse()
	for _, id := range entity.NaturalKeys(m.Machines) {
		if !used[id] {
			all = append(all, &RemoveMachine{id})
		}
	}
	return all
}

// removedUnits returns those units of a service that match none of the bundle's, unless they are within its minimum.
func (p *planner) removedUnits(name string) (names []string) {
	have := p.model.Services[name]
	kept := map[string]bool{}
	for _, s := range p.slots[name] {
		if s.unit != nil {
			kept[s.unit.Name] = true
		}
	}
	for _, u := range have.Units {
		if !kept[u.Name] {
			names = append(names, u.Name)
		}
	}
	return names[max(0, len(names)-max(0, len(have.Units)-have.MinUnits)):]
}

// unchangeable warns of what stays as it is although the bundle says something else.
func (p *planner) unchangeable() {
	warn := func(format string, args ...any) { p.warnings = append(p.warnings, fmt.Sprintf(format, args...)) }
	for _, c := range p.changes {
		switch c := c.(type) {
		case *SetConstraints:
			if have := p.model.Services[c.Service]; len(have.Units) > 0 {
				warn("application %q: the new constraints are for new machines: %s keep theirs", c.Service, named(have.Units))
			}
		case *SetStorage:
			p.warnOfStorage(c.Service, warn)
		case *UpgradeCharm:
			if len(c.Storage) > 0 {
				p.warnOfStorage(c.Service, warn)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Services)) {
		if have := p.model.Services[name]; have != nil && len(have.Units) > len(p.slots[name]) &&
			have.MinUnits > len(p.slots[name]) {
			warn("application %q keeps at least %d units, its minimum; to change that: juju set-min-units %[1]s %[3]d", name,
				have.MinUnits, len(p.slots[name]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Bundle.Machines)) {
		spot, want := p.spots[id], p.Bundle.Machines[id]
		if spot == nil || spot.New {
			continue
		}
		m := p.model.Machines[spot.ID]
		if m != nil && !sameConstraints(want.Constraints, m.Constraints) {
			warn("machine %q: the constraints of machine %s stay %q", id, spot.ID, m.Constraints.String())
		}
		if m != nil && want.Series != "" && want.Series != m.Series {
			p.reject("machine %s has series %q, which cannot be changed to %q", spot.ID, m.Series, want.Series)
		}
	}
}

func (p *planner) warnOfStorage(name string, warn func(string, ...any)) {
	if have := p.model.Services[name]; len(have.Units) > 0 {
		warn("application %q: the new storage is for new units: %s keep theirs", name, named(have.Units))
	}
}

// series returns the series that a declared bundle says for a service, "" if none. The bundle's own is for those charms
// that support it.
func (w *Wanted) series(name string) string {
	if s := w.Services[name]; s.Series != "" || !w.Charms[name].Meta.Supports(w.Bundle.Series) {
		return s.Series
	}
	return w.Bundle.Series
}

// named lists the names of units, of many only the first ones.
func named(units []Unit) string {
	const most = 5
	var names []string
	for _, u := range units[:min(len(units), most)] {
		names = append(names, u.Name)
	}
	if len(units) > most {
		names = append(names, fmt.Sprintf("and %d more", len(units)-most))
	}
	return strings.Join(names, ", ")
}
