package simulationtest

import "juju/state/entity"

// What a model has to do with other models. A remote service is a Service without units.

// An Offer lets services of other models relate to a service.
type Offer struct {
	Life
	Name      string
	Service   *Service
	Relations map[*Relation]bool
}

func (o *Offer) name() string { return o.Name }

// All returns the relations that use the offer, by id.
func (o *Offer) All() []*Relation { return sorted(o.Relations) }

// isOffered reports whether a service has an Alive offer, which keeps it from being destroyed.
func (m *Model) isOffered(s *Service) bool { return len(m.offersOf(s)) > 0 }

// offersOf returns the Alive offers of a service, by name.
func (m *Model) offersOf(s *Service) (all []*Offer) {
	for _, o := range values(m.Offers) {
		if o.Service == s && o.Life.Life == entity.Alive {
			all = append(all, o)
		}
	}
	return all
}

// mayUse returns the errors that using a service by name may return.
func (m *Model) mayUse(name string) Answer {
	switch s := m.Services[name]; {
	case s == nil:
		return Answer{entity.NotFound}
	case s.Life.Life != entity.Alive:
		return Answer{entity.NotAlive}
	}
	return nil
}

// AddOffer is juju offer.
func (m *Model) AddOffer(name, service string) Answer {
	if o := m.Offers[name]; o != nil && o.Life.Life == entity.Alive && o.Service == m.Services[service] {
		return nil
	} else if o != nil {
		return Answer{entity.AlreadyExists}
	}
	if why := m.mayUse(service); why != nil {
		return why
	}
	if m.Services[service].Charm.has(offered) {
		return Answer{entity.Invalid}
	}
	m.Offers[name] = &Offer{Name: name, Service: m.Services[service], Relations: map[*Relation]bool{}}
	return nil
}

// Consume is juju consume, of the same offer each time.
func (m *Model) Consume(name string) Answer {
	switch s := m.Services[name]; {
	case s == nil:
		m.Services[name] = NewRemote(name)
	case !s.Remote || s.Life.Life != entity.Alive:
		return Answer{entity.AlreadyExists}
	}
	return nil
}

// NewRemote returns a service of another model.
func NewRemote(name string) *Service {
	return &Service{Name: name, Remote: true, Units: map[*Unit]bool{}, Relations: map[*Relation]bool{}}
}

// MayConnect returns the errors that a relation that uses an offer may return.
func (m *Model) MayConnect(o *Offer) Answer {
	if o.Life.Life != entity.Alive {
		return Answer{entity.NotFound}
	}
	why := o.Service.mayHaveMore(offered)
	if why != nil {
		m.happens("a charm allows no more relations with other models")
	}
	return append(m.mayUse(o.Service.Name), why...)
}

// Connect adds a relation that uses an offer. far is the name that its other service has.
func (m *Model) Connect(o *Offer, id int, key, far string) {
	r := m.addRelation(id, key, o.Service, NewRemote(far), false)
	r.Offer, o.Relations[r] = o, true
}

// IsAcross reports whether a relation is with a service of another model.
func (r *Relation) IsAcross() bool { return r.Ends[0].Remote || r.Ends[1].Remote }

// Far returns the service of another model in a relation across models.
func (r *Relation) Far() *Service {
	if r.Ends[0].Remote {
		return r.Ends[0]
	}
	return r.Ends[1]
}

// Mirror makes the units of another model in a relation like the given ones. None is added to a relation that ends or is
// suspended.
func (m *Model) Mirror(r *Relation, names []string) {
	want := map[string]bool{}
	for _, name := range names {
		want[name] = true
	}
	for _, u := range r.Mirrored() {
		if !want[u.Name] {
			m.LeaveScope(u, r)
		}
		delete(want, u.Name)
	}
	if r.Life.Life != entity.Alive || r.Suspended {
		return
	}
	for name := range want {
		m.MirrorUnit(r, name)
	}
}

// MirrorUnit puts a unit of another model into a relation.
func (m *Model) MirrorUnit(r *Relation, name string) {
	u := &Unit{Name: name, Service: r.Far(), Scopes: map[*Relation]bool{r: true}}
	r.In[u] = true
}

// Mirrored returns the units of another model in a relation, by name.
func (r *Relation) Mirrored() (all []*Unit) {
	for _, u := range sorted(r.In) {
		if u.Service.Remote {
			all = append(all, u)
		}
	}
	return all
}

// EndLikeCounterpart destroys a relation whose counterpart in another model ends.
func (m *Model) EndLikeCounterpart(r *Relation) { m.endRelation(r, Destruction{}) }

// Suspend is juju suspend-relation and resume-relation.
func (m *Model) Suspend(r *Relation, suspended bool) Answer {
	switch {
	case r.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case r.Offer == nil:
		return Answer{entity.NotSupported}
	case r.Life.Life != entity.Alive:
		return Answer{entity.NotAlive}
	}
	r.Suspended = suspended
	return nil
}

// DestroyOffer is juju remove-offer. In a model that ends, the relations that use the offer do not bar it: they end too.
func (m *Model) DestroyOffer(o *Offer, d Destruction) Answer {
	if o.Life.Life == entity.Alive && m.Life.Life == entity.Alive && len(o.Relations) > 0 && d.Strength != entity.Force {
		m.bar("relation", "offer", "destroy")
		return Answer{entity.InUse}
	}
	m.endOffer(o, d)
	return nil
}

// endOffer sets an offer Dying, or removes it if no relation uses it.
func (m *Model) endOffer(o *Offer, d Destruction) {
	switch {
	case o.Life.Life == entity.Gone:
		return
	case o.Life.Life != entity.Alive:
		if !o.raise(d) {
			return
		}
	default:
		o.Life.Life = entity.Dying
		o.raise(d)
	}
	m.dropOffer(o)
	m.dropService(o.Service)
	if d.Strength != entity.Force {
		return
	}
	m.owe(func() {
		for _, r := range o.All() {
			m.endRelation(r, d)
		}
	})
}

// dropOffer removes a Dying offer once no relation uses it.
func (m *Model) dropOffer(o *Offer) {
	if o.Life.Life == entity.Dying && len(o.Relations) == 0 {
		o.Life.Life = entity.Gone
		delete(m.Offers, o.Name)
	}
}

// forceOffer forcibly removes an offer, with the relations that use it.
func (m *Model) forceOffer(o *Offer) {
	m.endOffer(o, m.forced())
	for _, r := range o.All() {
		m.endRelation(r, m.forced())
		m.forceRelation(r)
	}
}
