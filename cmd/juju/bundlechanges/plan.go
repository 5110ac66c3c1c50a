package bundlechanges

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"juju/charm"
	"juju/charm/bundle"
	"juju/state/constraints"
	"juju/state/entity"
)

// Plan returns the changes that give a model what it lacks of a bundle, in an order in which they
// can be made: services, machines with their units, relations. It does not remove anything, and
// warns of what the model has too much. Its error joins all that cannot be done.
func Plan(w Wanted, m *Model) (changes []Change, warnings []string, err error) {
	p := newPlanner(w, m)
	names := slices.Sorted(maps.Keys(w.Services))
	for _, name := range names {
		p.service(name)
	}
	p.place(names)
	for _, name := range names {
		p.unit(name, len(p.slots[name])-1)
	}
	for _, name := range names {
		for i := range p.slots[name] {
			p.oneUnit(name, i) // those that were passed over
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.Bundle.Machines)) {
		p.machineAnnotations(id)
	}
	p.relations()
	if len(p.refused) > 0 {
		return nil, nil, errors.Join(p.refused...)
	}
	return p.changes, p.warnings, nil
}

// A planner collects changes.
type planner struct {
	Wanted
	model    *Model
	changes  []Change
	warnings []string
	refused  []error

	charms   map[string]*AddCharm // by the bundle's name of the charm, and its series
	places   map[string][]bundle.Placement
	slots    map[string][]*slot // by service
	planned  map[string]int     // service → how many of its slots are done or being done
	spots    map[string]*Spot   // by the bundle's id of the machine
	taken    map[string]bool    // the model's machines among them
	machine  int                // the expected id of the next machine
	nextUnit map[string]int     // by service
	// forContainers are the new machines, by the bundle's ids, on which there are only containers.
	forContainers map[string]*AddMachine
}

// A slot is a unit that the bundle wants.
type slot struct {
	unit  *Unit // the one in the model that it is; nil if it is to be added
	spot  *Spot // its machine, once it is known
	doing bool
}

func newPlanner(w Wanted, m *Model) *planner {
	p := &planner{Wanted: w, model: m, charms: map[string]*AddCharm{}, places: map[string][]bundle.Placement{},
		slots: map[string][]*slot{}, planned: map[string]int{}, spots: map[string]*Spot{}, taken: map[string]bool{},
		nextUnit: map[string]int{}, forContainers: map[string]*AddMachine{}}
	for id := range m.Machines {
		if n, err := strconv.Atoi(id); err == nil {
			p.machine = max(p.machine, n+1)
		}
	}
	for name, s := range m.Services {
		p.nextUnit[name] = s.NextUnit
	}
	for id, of := range w.Machines {
		p.spots[id], p.taken[of] = &Spot{ID: of}, true
	}
	return p
}

func (p *planner) add(c Change) { p.changes = append(p.changes, c) }

func (p *planner) refuse(format string, args ...any) {
	p.refused = append(p.refused, entity.Errorf(entity.Invalid, format, args...))
}

// service plans all about a service but its units and relations.
func (p *planner) service(name string) {
	want, have := p.Services[name], p.model.Services[name]
	if have == nil {
		p.newService(name, want)
		have = &Service{}
	} else {
		p.changeService(name, want, have)
	}
	if want.Expose != nil && *want.Expose != have.Exposed {
		p.add(&SetExposed{name, *want.Expose})
	}
	if missing := lacking(have.Annotations, want.Annotations); len(missing) > 0 {
		p.add(&SetAnnotations{Service: name, Annotations: missing})
	}
}

func (p *planner) newService(name string, want *bundle.Service) {
	series := p.Series[name]
	ch := p.charm(name, want, series)
	p.add(&AddService{Name: name, Series: series, Charm: ch})
	if !want.UnitsGiven && !p.Charms[name].Meta.Subordinate {
		p.warnings = append(p.warnings, fmt.Sprintf("application %q gets no units: the bundle does not say num_units", name))
	}
}

// charm returns the upload of a service's charm, which is planned unless it is already, or the
// charm is in the model.
func (p *planner) charm(name string, want *bundle.Service, series string) *AddCharm {
	ch := &AddCharm{Charm: want.Charm, Of: name, Series: series, URL: p.CharmURLs[name]}
	if ch.URL != "" {
		return ch
	}
	key := want.CharmPath() + " " + want.Charm + " " + series
	if p.charms[key] == nil {
		p.charms[key] = ch
		p.add(ch)
	}
	return p.charms[key]
}

func (p *planner) changeService(name string, want *bundle.Service, have *Service) {
	if have.Life != entity.Alive {
		p.refuse("application %q is still being destroyed", name)
		return
	}
	storage := p.otherStorage(name)
	switch {
	case !p.SameCharm[name] && p.canUpgrade(name, want, have):
		p.add(&UpgradeCharm{name, p.charm(name, want, have.Series), storage})
	case p.SameCharm[name] && len(storage) > 0:
		p.add(&SetStorage{name, storage})
	}
	if series := p.Series[name]; series != "" && series != have.Series {
		p.refuse("application %q has series %q, which cannot be changed to %q", name, have.Series, series)
	}
	for option, value := range p.Options[name] {
		if have.Options[option].Value != value {
			p.add(&SetOptions{name})
			break
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(lacking(have.Resources, p.Resources[name]))) {
		p.add(&AttachResource{name, resource})
	}
	if c, err := constraints.Parse(want.Constraints); err == nil && want.ConstraintsGiven && !have.Subordinate &&
		!c.Equal(have.Constraints) {
		p.add(&SetConstraints{name, want.Constraints})
	}
}

// otherStorage returns what the bundle wants units to get that is not what they get. What it leaves
// open stays as it is.
func (p *planner) otherStorage(name string) map[string]entity.StorageConstraints {
	other := map[string]entity.StorageConstraints{}
	for store, want := range p.Storage[name] {
		have := p.model.Services[name].Storage[store]
		if want = want.Complete(have); want != have {
			other[store] = want
		}
	}
	return other
}

// canUpgrade refuses a charm that a service can't be upgraded to.
func (p *planner) canUpgrade(name string, want *bundle.Service, have *Service) bool {
	meta := p.Charms[name].Meta
	before := len(p.refused)
	if meta.Subordinate != have.Subordinate {
		p.refuse("cannot upgrade application %q to charm %q: cannot change an application's subordinacy", name, want.Charm)
	}
	if len(meta.Series) > 0 && !slices.Contains(meta.Series, have.Series) && !p.Force {
		p.refuse("cannot upgrade application %q to charm %q: only these series are supported: %s", name, want.Charm,
			strings.Join(meta.Series, ", "))
	}
	for _, key := range slices.Sorted(maps.Keys(p.model.Relations)) {
		for _, end := range p.model.Relations[key].Relation {
			_, has := meta.Relations()[end.Name]
			if end.Service == name && !has && end.Name != charm.ImplicitRelation().Name {
				p.refuse("cannot upgrade application %q to charm %q: would break relation %q", name, want.Charm, key)
			}
		}
	}
	return len(p.refused) == before
}

// lacking returns what want has, and have has not or otherwise.
func lacking(have, want map[string]string) map[string]string {
	missing := maps.Clone(want)
	maps.DeleteFunc(missing, func(key, value string) bool { return have[key] == value })
	return missing
}

// unit plans the additions of the units of a service up to one. They get their numbers in the
// order of the bundle if their placements allow it, so that they are found again by them. It
// passes over units that are beside one whose addition is just being planned.
func (p *planner) unit(name string, last int) {
	for p.planned[name] <= last {
		i := p.planned[name]
		p.planned[name]++
		p.oneUnit(name, i)
	}
	if last >= 0 {
		p.oneUnit(name, last)
	}
}

// oneUnit plans the addition of a unit, after those that it is placed beside.
func (p *planner) oneUnit(name string, i int) {
	s := p.slots[name][i]
	if s.spot != nil || s.doing {
		return
	}
	s.doing = true
	place := p.places[name][i]
	change := &AddUnit{Service: name}
	switch {
	case place.Machine != "":
		s.spot = p.machineSpot(place.Machine, name, place.Container == "")
	case place.Service != "":
		p.unit(place.Service, place.Unit)
		if s.spot = p.slots[place.Service][place.Unit].spot; s.spot == nil {
			s.doing = false // its host is refused, or being planned
			return
		}
		change.Directive = place.String()
		if place.Container != "" {
			s.spot = s.spot.host()
		}
	case place.Container != "":
		s.spot = &Spot{ID: strconv.Itoa(p.machine), New: true}
		p.machine++
	default:
		s.spot, change.Own = &Spot{ID: strconv.Itoa(p.machine), New: true}, true
		p.machine++
	}
	p.canHost(s.spot, name, place.Container == "")
	change.Unit = fmt.Sprintf("%s/%d", name, p.nextUnit[name])
	if place.Container != "" {
		alone := place.Machine == "" && place.Service == ""
		s.spot = &Spot{New: true, Container: ContainerType(place.Container), On: s.spot, Alone: alone, For: change.Unit}
	}
	change.Spot = s.spot
	p.nextUnit[name]++
	p.add(change)
}

// ContainerType returns the type of container that stands for one in a bundle: those of LXC are LXD's
// now.
func ContainerType(kind string) string {
	if kind == "lxc" {
		return "lxd"
	}
	return kind
}

// canHost refuses a machine of the model that cannot take a unit of a service: directly, or else in a
// container of another series.
func (p *planner) canHost(spot *Spot, service string, directly bool) {
	m, series := p.model.Machines[spot.ID], p.seriesOf(service)
	switch {
	case spot.New || m == nil:
	case m.Life != entity.Alive:
		p.refuse("machine %s, which a unit of application %q is to be placed on, is being destroyed", spot.ID, service)
	case directly && series != "" && m.Series != series:
		p.refuse("machine %s has series %q, and application %q, which is to be placed on it, has %q", spot.ID, m.Series,
			service, series)
	}
}

// seriesOf returns the series that a service has or will have, "" if that is open.
func (p *planner) seriesOf(name string) string {
	if s := p.model.Services[name]; s != nil {
		return s.Series
	}
	return p.Series[name]
}

// machineSpot returns the machine for one of the bundle, which is added if need be. It is for a
// unit of a service, directly or in a container.
func (p *planner) machineSpot(id, service string, directly bool) *Spot {
	spot := p.spots[id]
	if directly && (spot == nil || spot.New) {
		p.fits(id, service)
	}
	if change := p.forContainers[id]; change != nil && directly {
		change.For = service // whose series it gets
		delete(p.forContainers, id)
	}
	if spot != nil {
		return spot
	}
	spot = &Spot{ID: strconv.Itoa(p.machine), New: true}
	p.machine++
	p.spots[id] = spot
	change := &AddMachine{ID: id, For: service, Spot: spot}
	if !directly {
		p.forContainers[id] = change
	}
	p.add(change)
	return spot
}

// fits refuses a unit on a new machine of another series.
func (p *planner) fits(id, service string) {
	if series := p.MachineSeries[id]; series != "" && p.seriesOf(service) != "" && series != p.seriesOf(service) {
		p.refuse("machine %q has series %q, and application %q, which is to be placed on it, has %q", id, series, service,
			p.seriesOf(service))
	}
}

func (p *planner) machineAnnotations(id string) {
	spot := p.spots[id]
	if spot == nil {
		p.warnings = append(p.warnings, fmt.Sprintf("machine %q is not added: the units that go there are elsewhere", id))
		return
	}
	have := map[string]string{}
	if m := p.model.Machines[spot.ID]; m != nil && !spot.New {
		have = m.Annotations
	}
	if missing := lacking(have, p.Bundle.Machines[id].Annotations); len(missing) > 0 {
		p.add(&SetAnnotations{Machine: spot, Annotations: missing})
	}
}

func (p *planner) relations() {
	for _, r := range p.Relations {
		have, ok := p.model.Relations[r.Key()]
		switch {
		case ok && have.Life != entity.Alive:
			p.refuse("relation %q is still being destroyed", strings.Join([]string{r[0].String(), r[1].String()}, " "))
		case !ok && p.isContainer(r) && !p.sameSeries(r):
			p.refuse("cannot relate %s and %s: principal and subordinate services' series must match", r[0], r[1])
		case !ok:
			p.add(&AddRelation{r})
		}
	}
}

// isContainer reports whether a relation is between units on the same machine only.
func (p *planner) isContainer(r bundle.Relation) bool {
	for _, end := range r {
		if p.Charms[end.Service].Meta.Relations()[end.Name].Scope == charm.ScopeContainer {
			return true
		}
	}
	return false
}

// sameSeries reports whether the services of a relation have the same series, as far as it is
// known.
func (p *planner) sameSeries(r bundle.Relation) bool {
	a, b := p.seriesOf(r[0].Service), p.seriesOf(r[1].Service)
	return a == "" || b == "" || a == b
}
