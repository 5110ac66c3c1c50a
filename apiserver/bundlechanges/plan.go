package bundlechanges

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"juju/charm"
	"juju/charm/bundle"
	"juju/state/entity"
)

// Plan returns the changes that add to a model what it lacks of a bundle, in the order in which to make them:
// services, machines with their units, relations. It removes nothing, but warns about extra units, unless the bundle is
// declared: then the last changes are removals. Its error joins all reasons why the bundle cannot be deployed.
func Plan(w Wanted, m *Model) (changes []Change, warnings []string, err error) {
	p := newPlanner(w, m)
	names := slices.Sorted(maps.Keys(w.Services))
	for _, name := range names {
		p.service(name)
	}
	p.remotes()
	for _, name := range names {
		p.offersOf(name)
	}
	p.place(names)
	for _, name := range names {
		p.unit(name, len(p.slots[name])-1)
	}
	for _, name := range names {
		for i := range p.slots[name] {
			p.oneUnit(name, i) // those that were skipped
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.Bundle.Machines)) {
		p.machineAnnotations(id)
	}
	p.relations()
	if w.Declared {
		p.unchangeable()
		p.changes = append(p.changes, p.removals()...)
	}
	if len(p.rejected) > 0 {
		return nil, nil, errors.Join(p.rejected...)
	}
	return p.changes, p.warnings, nil
}

// A planner collects changes.
type planner struct {
	Wanted
	model    *Model
	changes  []Change
	warnings []string
	rejected []error

	charms   map[string]*AddCharm // by the bundle's name for the charm, and series
	places   map[string][]bundle.Placement
	slots    map[string][]*slot // by service
	planned  map[string]int     // service → how many of its slots are planned or being planned
	spots    map[string]*Spot   // by the bundle's machine id
	taken    map[string]bool    // the model's machines in spots
	machine  int                // the expected id of the next machine
	nextUnit map[string]int     // by service
	related  map[bundle.Endpoint]int
	// forContainers are the new machines that so far host only containers, by the bundle's id.
	forContainers map[string]*AddMachine
}

// A slot is a unit of the bundle.
type slot struct {
	unit  *Unit // the matching unit in the model; nil if it must be added
	spot  *Spot // its machine, once it is known
	doing bool
}

func newPlanner(w Wanted, m *Model) *planner {
	p := &planner{Wanted: w, model: m, charms: map[string]*AddCharm{}, places: map[string][]bundle.Placement{},
		slots: map[string][]*slot{}, planned: map[string]int{}, spots: map[string]*Spot{}, taken: map[string]bool{},
		machine: m.Next["machine"], nextUnit: map[string]int{}, forContainers: map[string]*AddMachine{}}
	for id := range m.Machines {
		if n, err := strconv.Atoi(id); err == nil {
			p.machine = max(p.machine, n+1)
		}
	}
	for name, n := range m.Next {
		if service, is := strings.CutPrefix(name, "application-"); is {
			p.nextUnit[service] = n
		}
	}
	for name, s := range m.Services {
		p.nextUnit[name] = max(p.nextUnit[name], s.NextUnit)
	}
	for id, of := range w.Machines {
		p.spots[id], p.taken[of] = &Spot{ID: of}, true
	}
	return p
}

func (p *planner) add(c Change) { p.changes = append(p.changes, c) }

func (p *planner) reject(format string, args ...any) {
	p.rejected = append(p.rejected, entity.Errorf(entity.Invalid, format, args...))
}

// service plans the changes to a service, except its units and relations.
func (p *planner) service(name string) {
	want, have := p.Services[name], p.model.Services[name]
	if have == nil {
		p.newService(name, want)
		have = &Service{}
	} else {
		p.changeService(name, want, have)
	}
	p.expose(name, have.Exposed)
	if add := p.notes(have.Annotations, want.Annotations); len(add) > 0 {
		p.add(&SetAnnotations{Service: name, Annotations: add})
	}
}

// expose plans what is exposed of a service. Only a declared bundle unexposes single endpoints that it does not have.
func (p *planner) expose(name string, have entity.ExposedEndpoints) {
	want, given := p.Services[name].Exposure()
	if !given {
		return
	}
	var gone []string
	for _, endpoint := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[endpoint]; !ok {
			gone = append(gone, endpoint)
		}
	}
	if len(want) == 0 && len(gone) > 0 {
		p.add(&Unexpose{Service: name})
		return
	}
	set := maps.Clone(want)
	maps.DeleteFunc(set, func(endpoint string, to entity.ExposedTo) bool {
		has, ok := have[endpoint]
		return ok && has.Equal(to)
	})
	if len(set) > 0 {
		p.add(&Expose{name, set})
	}
	if p.Declared && len(gone) > 0 {
		p.add(&Unexpose{name, gone})
	}
}

func (p *planner) newService(name string, want *bundle.Service) {
	if have := p.model.SAAS[name]; have != nil {
		p.reject("application %q: the model uses offer %s under this name", name, have.URL)
	}
	series := p.Series[name]
	ch := p.charm(name, want, series)
	p.add(&AddService{Name: name, Series: series, Charm: ch})
	if !want.UnitsGiven && !p.Charms[name].Meta.Subordinate {
		p.warnings = append(p.warnings, fmt.Sprintf("application %q gets no units: the bundle does not set num_units", name))
	}
}

// charm returns the upload of a service's charm, and plans it unless it is already planned or the charm is in the
// model.
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
		p.reject("application %q is still being destroyed", name)
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
		p.reject("application %q has series %q, which cannot be changed to %q: first, juju set-application-base %s %s", name,
			have.Series, series, name, series)
	}
	for option, value := range p.Options[name] {
		if have.Options[option].Value != value {
			p.add(&SetOptions{name})
			break
		}
	}
	if reset := p.resets(name, have); len(reset) > 0 {
		p.add(&ResetOptions{name, reset})
	}
	for _, resource := range slices.Sorted(maps.Keys(missing(have.Resources, p.Resources[name]))) {
		p.add(&AttachResource{name, resource})
	}
	if other := p.otherBindings(name); len(other) > 0 {
		p.add(&SetBindings{name, other})
	}
	if want.ConstraintsGiven && !have.Subordinate && !sameConstraints(want.Constraints, have.Constraints) {
		p.add(&SetConstraints{name, want.Constraints})
	}
}

// otherStorage returns the bundle's storage constraints that differ from the model's. Unspecified parts do not change.
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

// otherBindings returns the bindings to set: those of the bundle that the model has otherwise and, for a declared bundle, the
// default for those that it does not have.
func (p *planner) otherBindings(name string) map[string]string {
	want, have := p.Services[name].Bindings, p.model.Services[name].Bindings
	endpoints := maps.Clone(want)
	if p.Declared {
		endpoints = map[string]string{}
		maps.Copy(endpoints, have)
		maps.Copy(endpoints, want)
	}
	other := map[string]string{}
	for endpoint := range endpoints {
		if space := spaceOf(want, endpoint); space != spaceOf(have, endpoint) {
			other[endpoint] = space
		}
	}
	return other
}

// spaceOf returns the space to which bindings bind an endpoint.
func spaceOf(bindings map[string]string, endpoint string) string {
	return cmp.Or(bindings[endpoint], bindings[""], entity.AlphaSpace)
}

// canUpgrade reports whether a service can be upgraded to the bundle's charm, and rejects the change if not.
func (p *planner) canUpgrade(name string, want *bundle.Service, have *Service) bool {
	meta := p.Charms[name].Meta
	before := len(p.rejected)
	if meta.Subordinate != have.Subordinate {
		p.reject("cannot upgrade application %q to charm %q: cannot change an application's subordinacy", name, want.Charm)
	}
	if !meta.Supports(have.Series) && !p.Force {
		p.reject("cannot upgrade application %q to charm %q: %w", name, want.Charm, meta.Unsupported(have.Series))
	}
	for _, key := range slices.Sorted(maps.Keys(p.model.Relations)) {
		for _, end := range p.model.Relations[key].Relation {
			_, has := meta.Relations()[end.Name]
			if end.Service == name && !has && end.Name != charm.ImplicitRelation().Name {
				p.reject("cannot upgrade application %q to charm %q: would break relation %q", name, want.Charm, key)
			}
		}
	}
	for _, offer := range slices.Sorted(maps.Keys(p.model.Offers)) {
		for _, endpoint := range p.model.Offers[offer].Endpoints {
			_, has := meta.Relations()[endpoint]
			if p.model.Offers[offer].Service == name && !has && endpoint != charm.ImplicitRelation().Name {
				p.reject("cannot upgrade application %q to charm %q: it does not have endpoint %q of offer %q", name,
					want.Charm, endpoint, offer)
			}
		}
	}
	return len(p.rejected) == before
}

// missing returns the entries of want that have lacks or has with another value.
func missing(have, want map[string]string) map[string]string {
	differing := maps.Clone(want)
	maps.DeleteFunc(differing, func(key, value string) bool { return have[key] == value })
	return differing
}

// unit plans adding a service's units up to and including last. They are numbered in the bundle's order if their
// placements allow, so that a later deploy matches them. It skips units placed next to one that is being planned.
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

// oneUnit plans adding a unit, after the units that it is placed next to.
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
		s.spot, change.Own, change.New = &Spot{ID: strconv.Itoa(p.machine), New: true}, true, p.awaitsUnused()
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

// ContainerType returns the container type for one in a bundle: lxc means lxd.
func ContainerType(kind string) string {
	if kind == "lxc" {
		return "lxd"
	}
	return kind
}

// canHost rejects a machine of the model that cannot host a unit of a service. A unit in a container may have another
// series than the machine.
func (p *planner) canHost(spot *Spot, service string, directly bool) {
	m, series := p.model.Machines[spot.ID], p.seriesOf(service)
	switch {
	case spot.New || m == nil:
	case m.Life != entity.Alive:
		p.reject("cannot place a unit of application %q on machine %s: it is being destroyed", service, spot.ID)
	case directly && series != "" && m.Series != series:
		p.reject("cannot place application %q, which has series %q, on machine %s, which has %q", service, series,
			spot.ID, m.Series)
	}
}

// seriesOf returns the series that a service has or will have, "" if unspecified.
func (p *planner) seriesOf(name string) string {
	if s := p.model.Services[name]; s != nil {
		return s.Series
	}
	return p.Series[name]
}

// machineSpot returns the spot of a bundle's machine, for a unit of a service, directly or in a container. It plans
// adding the machine if necessary.
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

// fits rejects a unit on a new machine of another series.
func (p *planner) fits(id, service string) {
	if series := p.MachineSeries[id]; series != "" && p.seriesOf(service) != "" && series != p.seriesOf(service) {
		p.reject("cannot place application %q, which has series %q, on machine %q, which has %q", service,
			p.seriesOf(service), id, series)
	}
}

func (p *planner) machineAnnotations(id string) {
	spot := p.spots[id]
	if spot == nil {
		p.warnings = append(p.warnings, fmt.Sprintf("machine %q is not added: its units are on other machines", id))
		return
	}
	have := map[string]string{}
	if m := p.model.Machines[spot.ID]; m != nil && !spot.New {
		have = m.Annotations
	}
	if add := p.notes(have, p.Bundle.Machines[id].Annotations); len(add) > 0 {
		p.add(&SetAnnotations{Machine: spot, Annotations: add})
	}
}

func (p *planner) relations() {
	for _, r := range p.Relations {
		have, ok := p.model.Relations[r.Key()]
		switch {
		case ok && have.Life != entity.Alive:
			p.reject("relation %q is still being destroyed", strings.Join([]string{r[0].String(), r[1].String()}, " "))
		case !ok && p.isContainer(r) && p.lacksBase(r) != nil:
			p.reject("cannot relate %s and %s: subordinate must support principal application's base; subordinate only supports: %s",
				r[0], r[1], p.lacksBase(r))
		case !ok:
			for _, end := range r {
				p.withinLimit(end)
			}
			p.add(&AddRelation{r})
		}
	}
}

// withinLimit rejects one more relation of an endpoint than its charm allows.
func (p *planner) withinLimit(end bundle.Endpoint) {
	if p.Services[end.Service] == nil {
		return
	}
	if p.related == nil {
		p.related = map[bundle.Endpoint]int{}
		for key, have := range p.model.Relations {
			if p.Declared && !slices.ContainsFunc(p.Relations, func(r bundle.Relation) bool { return r.Key() == key }) {
				continue // it may be removed first
			}
			for _, end := range have.Relation {
				p.related[end]++
			}
		}
	}
	limit := p.Charms[end.Service].Meta.Relations()[end.Name].Limit
	if p.related[end]++; limit > 0 && p.related[end] == limit+1 {
		p.reject("establishing a new relation for %s would exceed its maximum relation limit of %d: quota limit exceeded",
			end, limit)
	}
}

// isContainer reports whether a relation is between units on the same machine only.
func (p *planner) isContainer(r bundle.Relation) bool {
	for _, end := range r {
		if p.Services[end.Service] != nil && p.Charms[end.Service].Meta.Relations()[end.Name].Scope == charm.ScopeContainer {
			return true
		}
	}
	return false
}

// lacksBase returns the bases that the subordinate of a relation supports, if the principal's is none of them.
func (p *planner) lacksBase(r bundle.Relation) []string {
	principal, sub := r[0].Service, r[1].Service
	isSub := func(name string) bool { return p.Charms[name] != nil && p.Charms[name].Meta.Subordinate }
	if !isSub(sub) {
		principal, sub = sub, principal
	}
	a, b := p.seriesOf(principal), p.seriesOf(sub)
	if a == "" || b == "" || a == b || !isSub(sub) || p.Charms[sub].Meta.Supports(a) {
		return nil
	}
	return p.Charms[sub].Meta.BaseNames()
}
