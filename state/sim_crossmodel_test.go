package state_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"juju/state/entity"
	"juju/state/simulationtest"
	"juju/state/statetest"
)

// What other models do to the simulated one. There are no other models: a controller's worker gives orders that could come
// from any.

// simRemotes are the names under which services of another model are used. Each name has one offer of its own.
var simRemotes = []string{"far", "far2"}

func (s *sim) someOffer() *simulationtest.Offer {
	return s.model.Offers[one(s, slices.Sorted(maps.Keys(s.model.Offers)))]
}

// someAcross picks a relation with a service of another model.
func (s *sim) someAcross() *simulationtest.Relation {
	var all []*simulationtest.Relation
	for _, id := range slices.Sorted(maps.Keys(s.model.Relations)) {
		if r := s.model.Relations[id]; r.IsAcross() {
			all = append(all, r)
		}
	}
	return one(s, all)
}

// useOffers picks an action about other models.
func (s *sim) useOffers() *simAction {
	switch n := s.rnd.IntN(20); {
	case n < 3:
		return s.addOffer(one(s, []string{"o1", "o2", "o3"}), one(s, []string{"db", "db2"}))
	case n < 5:
		return s.consume(one(s, simRemotes))
	case n < 9:
		return s.connect(s.someOffer())
	}
	return s.useOffersWhileItEnds()
}

// useOffersWhileItEnds picks an action about other models that adds nothing.
func (s *sim) useOffersWhileItEnds() *simAction {
	r := s.someAcross()
	switch n := s.rnd.IntN(20); {
	case n < 10:
		return s.mirror(r, s.rnd.IntN(4))
	case n < 13:
		return s.suspend(r, s.rnd.IntN(2) == 0)
	case n < 15:
		return s.endLikeCounterpart(r)
	case n < 17:
		return s.destroyService(s.model.Services[one(s, simRemotes)], s.destruction())
	}
	return s.destroyOffer(s.someOffer(), s.destruction())
}

// useRemotes has the model use all remote services, with a unit in a relation of one. When the model ends, one is Dying and
// the others go at once; little is left to that otherwise.
func (s *sim) useRemotes() error {
	var all []*simAction
	for _, name := range simRemotes {
		all = append(all, s.consume(name))
	}
	busy, of := one(s, simRemotes), ""
	for i := range simRelations {
		if near, far, key := relationOf(i); far == busy {
			all, of = append(all, s.deploy(near, 0, nil), s.relate(i)), key
		}
	}
	for _, a := range all {
		if err := s.do(a, nil); err != nil {
			return err
		}
	}
	for _, r := range s.model.Relations {
		if r.Key == of {
			return s.do(s.mirror(r, 1), nil)
		}
	}
	return nil // one of its services is ending
}

func (s *sim) addOffer(name, service string) *simAction {
	return &simAction{what: "offer " + service + " as " + name, by: "user",
		may: []entity.Kind{entity.AlreadyExists, entity.NotAlive, entity.Invalid},
		rival: func() *simAction {
			return s.destroyService(s.model.Services[service], s.destruction())
		},
		run: func() error {
			return s.st.CrossModel().AddOffer(s.ctx, entity.NewOffer{Name: name, Service: service, Endpoints: []string{"server"}})
		},
		expect: said(func() simulationtest.Answer { return s.model.AddOffer(name, service) })}
}

func (s *sim) destroyOffer(o *simulationtest.Offer, how entity.Destruction) *simAction {
	if o == nil {
		return nil
	}
	return &simAction{what: fmt.Sprintf("remove-offer %s %v %v", o.Name, how.Strength, how.Timeout), by: "user",
		may:   []entity.Kind{entity.InUse},
		rival: func() *simAction { return s.connect(o) },
		run: func() error {
			handle, err := s.st.CrossModel().Offer(s.ctx, o.Name)
			if err == nil {
				err = handle.Destroy(s.ctx, how)
			}
			return err
		},
		expect: said(func() simulationtest.Answer { return s.model.DestroyOffer(o, s.model.Begin(how)) })}
}

func (s *sim) consume(name string) *simAction {
	return &simAction{what: "consume " + name, by: "user",
		may: []entity.Kind{entity.AlreadyExists},
		run: func() error {
			return s.st.CrossModel().Consume(s.ctx, entity.Consumed{Name: name, Model: "another", Offer: name, URL: "admin/another." + name,
				User: statetest.Admin, Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}}})
		},
		expect: said(func() simulationtest.Answer { return s.model.Consume(name) })}
}

// connect adds a relation that mirrors one of another model.
func (s *sim) connect(o *simulationtest.Offer) *simAction {
	if o == nil {
		return nil
	}
	uuid, _ := s.shadow.docs["offers"][o.Name].More["uuid"].(string)
	s.connections++
	n := s.connections
	near := entity.NearEnd{Service: "web", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}
	return &simAction{what: fmt.Sprintf("relation %d of another model uses %s", n, o.Name), by: "controller",
		may: []entity.Kind{entity.NotAlive, entity.Invalid},
		rival: func() *simAction {
			switch s.rnd.IntN(3) {
			case 0:
				return s.destroyService(o.Service, s.destruction())
			case 1:
				return s.connect(s.someOffer())
			}
			return s.destroyOffer(o, s.destruction())
		},
		run: func() error {
			return s.st.CrossModel().Connect(s.ctx, "another", entity.Connection{Relation: n, Offer: uuid, Near: near, Far: "server",
				User: statetest.Admin})
		},
		expect: func(error) (simulationtest.Answer, error) {
			if why := s.model.MayConnect(o); why != nil {
				return why, nil
			}
			for key, d := range s.shadow.docs["relations"] {
				if by, _ := d.More["consumer"].(map[string]any); by["relation"] == n {
					s.model.Connect(o, d.Number, key, d.far())
					return nil, nil
				}
			}
			return nil, fmt.Errorf("nothing mirrors relation %d of another model", n)
		}}
}

// far returns the service of another model in a relation; "" if there is none.
func (d *simDoc) far() string {
	for _, e := range d.Endpoints {
		if e.Remote {
			return e.Service
		}
	}
	return ""
}

// onAcross returns what a controller or user does to a relation across models.
func (s *sim) onAcross(r *simulationtest.Relation, by, what string, do func(context.Context) error,
	expect func() simulationtest.Answer, may ...entity.Kind) *simAction {
	if r == nil {
		return nil
	}
	return &simAction{what: fmt.Sprintf("%s relation %d", what, r.ID), by: by, may: may,
		rival:  func() *simAction { return s.destroyRelation(r, s.destruction()) },
		run:    func() error { return do(s.ctx) },
		expect: said(expect)}
}

// mirror makes the other model's units in a relation those whose bits are set.
func (s *sim) mirror(r *simulationtest.Relation, bits int) *simAction {
	members, names := entity.Members{Units: map[int]map[string]string{}}, []string{}
	for n := range 2 {
		if r != nil && bits&(1<<n) != 0 {
			members.Units[n] = map[string]string{"n": strconv.Itoa(s.rnd.IntN(3))}
			names = append(names, fmt.Sprintf("%s/%d", r.Far().Name, n))
		}
	}
	return s.onAcross(r, "controller", fmt.Sprintf("%v are in", names), func(ctx context.Context) error {
		return s.st.CrossModel().Mirror(ctx, r.ID, members)
	}, func() simulationtest.Answer {
		if r.Life.Life != entity.Gone {
			s.model.Mirror(r, names)
		}
		return nil
	})
}

func (s *sim) suspend(r *simulationtest.Relation, suspended bool) *simAction {
	return s.onAcross(r, "user", fmt.Sprintf("suspended=%t:", suspended), func(ctx context.Context) error {
		return s.st.CrossModel().SuspendRelation(ctx, r.ID, suspended, "")
	}, func() simulationtest.Answer { return s.model.Suspend(r, suspended) }, entity.NotSupported, entity.NotAlive)
}

func (s *sim) endLikeCounterpart(r *simulationtest.Relation) *simAction {
	return s.onAcross(r, "controller", "end, like its counterpart,", func(ctx context.Context) error {
		return s.st.CrossModel().End(ctx, r.ID)
	}, func() simulationtest.Answer { s.model.EndLikeCounterpart(r); return nil })
}

// otherModels is what the controller's worker does when a relation across models ends: none of the other's units is in it.
func (s *sim) otherModels() *simAction {
	for _, id := range slices.Sorted(maps.Keys(s.model.Relations)) {
		if r := s.model.Relations[id]; r.Life.Life != entity.Alive && len(r.Mirrored()) > 0 {
			return s.mirror(r, 0)
		}
	}
	return nil
}
