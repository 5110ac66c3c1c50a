package state_test

import (
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// elsewhere is the UUID of another model, which the calls in these rows never open.
const elsewhere = "11111111-2222-4333-8444-555555555555"

// across is a mutator of what a model has to do with others.
func across(name, how string, call func(*scene, state.CrossModel) error, before ...func(*scene)) mutator {
	return mutator{name: "CrossModel." + name, how: how, before: before, take: func(s *scene) func() error {
		x := s.st.CrossModel()
		return func() error { return call(s, x) }
	}}
}

func offers(name, service string, endpoints ...string) func(*scene, state.CrossModel) error {
	return func(s *scene, x state.CrossModel) error {
		return x.AddOffer(s.ctx, entity.NewOffer{Name: name, Service: service, Endpoints: endpoints})
	}
}

func consumes(name string) func(*scene, state.CrossModel) error {
	return func(s *scene, x state.CrossModel) error {
		return x.Consume(s.ctx, entity.Consumed{Name: name, Model: elsewhere, Offer: "o", URL: "bob/shop.db", User: "bob",
			Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}}})
	}
}

// consumesElsewhere is consumes for an offer of another controller.
func consumesElsewhere(address string) func(*scene, state.CrossModel) error {
	return func(s *scene, x state.CrossModel) error {
		return x.Consume(s.ctx, entity.Consumed{Name: "db", Model: elsewhere, Offer: "o", URL: "other:bob/shop.db", User: "bob",
			Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}},
			External:  &entity.External{Controller: elsewhere, Name: "other", Addresses: []string{address}, CACert: "CA", ID: "t", Token: "secret"}})
	}
}

// connects is the relation that another model's relation with an offer needs.
func connects(s *scene, offer string) error {
	return s.st.CrossModel().Connect(s.ctx, elsewhere, entity.Connection{Relation: 7, Offer: offer, User: "bob", Far: "server",
		Near: entity.NearEnd{Service: "blog", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}})
}

// hosted is the UUID of the offer.
func hosted(s *scene) string {
	all, err := s.st.CrossModel().Offers(s.ctx)
	s.ok(err)
	return all[0].UUID
}

// withOffer is a mutator that needs the offer's UUID.
func withOffer(name, how string, call func(s *scene, offer string) error, before ...func(*scene)) mutator {
	return mutator{name: name, how: how, before: append([]func(*scene){offered}, before...), take: func(s *scene) func() error {
		id := hosted(s)
		return func() error { return call(s, id) }
	}}
}

// first makes a call before the one of a row.
func first(call func(*scene, state.CrossModel) error) func(*scene) {
	return func(s *scene) { s.ok(call(s, s.st.CrossModel())) }
}

var (
	offered     = first(offers("hosted", "mysql", "server"))
	connected   = func(s *scene) { s.ok(connects(s, hosted(s))) }
	consumed    = first(consumes("db"))
	relatedToDB = func(s *scene) { s.relate("wordpress", "db") }
)

// theConnection is the number of the relation with another model.
func theConnection(s *scene) int {
	all, err := s.st.CrossModel().Connections(s.ctx)
	s.ok(err)
	return all[len(all)-1].Relation
}

// onConnection is a mutator of the relation with another model.
func onConnection(name, how string, call func(*scene, state.CrossModel, int) error, before ...func(*scene)) mutator {
	return mutator{name: "CrossModel." + name, how: how, before: before, take: func(s *scene) func() error {
		x, id := s.st.CrossModel(), theConnection(s)
		return func() error { return call(s, x, id) }
	}}
}

// doing makes such a call before the one of a row.
func doing(call func(*scene, state.CrossModel, int) error) func(*scene) {
	return func(s *scene) { s.ok(call(s, s.st.CrossModel(), theConnection(s))) }
}

func mirrors(units map[int]map[string]string) func(*scene, state.CrossModel, int) error {
	return func(s *scene, x state.CrossModel, id int) error {
		return x.Mirror(s.ctx, id, entity.Members{Units: units, Application: map[string]string{"name": "blog"}})
	}
}

// aMember is a unit of another model, with its settings.
var aMember = map[int]map[string]string{3: {"ingress-address": "10.9.8.7"}}

func suspends(on bool) func(*scene, state.CrossModel, int) error {
	return func(s *scene, x state.CrossModel, id int) error { return x.SuspendRelation(s.ctx, id, on, "noon") }
}

func theOffer(s *scene) *state.Offer {
	o, err := s.st.CrossModel().Offer(s.ctx, "hosted")
	s.ok(err)
	return o
}

func theRemote(s *scene) *state.Remote {
	r, err := s.st.CrossModel().Remote(s.ctx, "db")
	s.ok(err)
	return r
}

func destroysOffer(how entity.Destruction) func(*scene, *state.Offer) error {
	return func(s *scene, o *state.Offer) error { return o.Destroy(s.ctx, how) }
}

func destroysRemote(how entity.Destruction) func(*scene, *state.Remote) error {
	return func(s *scene, r *state.Remote) error { return r.Destroy(s.ctx, how) }
}

func grantsOffer(level string) func(*scene, string) error {
	return func(s *scene, offer string) error {
		return s.ctrl.GrantOffer(s.ctx, s.stage.UUID, offer, "carol", level, statetest.Admin)
	}
}

func mayConsume(s *scene) { s.ok(grantsOffer(controller.AccessConsume)(s, hosted(s))) }

var crossModelMutators = []mutator{
	across("AddOffer", "", offers("hosted", "mysql", "server")),
	across("AddOffer", "again, with a description", func(s *scene, x state.CrossModel) error {
		return x.AddOffer(s.ctx, entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}, Description: "orders"})
	}, offered),
	across("Consume", "", consumes("db")),
	withOffer("CrossModel.Connect", "", connects),
	onConnection("Mirror", "", mirrors(aMember), offered, connected),
	onConnection("Mirror", "and take one out", mirrors(nil), offered, connected, doing(mirrors(aMember))),
	onConnection("Mirror", "and take the last one out", mirrors(nil), offered, connected, doing(mirrors(aMember)), func(s *scene) {
		s.ok(destroysOffer(forced)(s, theOffer(s)))
		s.ok(s.st.CrossModel().End(s.ctx, theConnection(s)))
	}),
	onConnection("Mirror", "and change one", mirrors(map[int]map[string]string{3: {"a": "b"}}), offered, connected, doing(mirrors(aMember))),
	onConnection("Join", "", func(s *scene, x state.CrossModel, id int) error { return x.Join(s.ctx, id) }, consumed, relatedToDB),
	onConnection("End", "", func(s *scene, x state.CrossModel, id int) error { return x.End(s.ctx, id) }, consumed, relatedToDB),
	across("Show", "", func(s *scene, x state.CrossModel) error {
		return x.Show(s.ctx, "db", entity.Status{Status: entity.StatusActive})
	}, consumed),
	onConnection("SuspendRelation", "", suspends(true), offered, connected),
	onConnection("SuspendRelation", "and resume it", suspends(false), offered, connected, doing(suspends(true))),
	onConnection("Suspend", "", func(s *scene, x state.CrossModel, id int) error {
		return x.Suspend(s.ctx, entity.Connection{Suspended: true, Message: "noon"}, id)
	}, consumed, relatedToDB),
	on("Offer.Destroy", "", theOffer, destroysOffer(plain), offered),
	on("Offer.Destroy", "by force", theOffer, destroysOffer(forced), offered, connected),
	across("Consume", "of another controller", consumesElsewhere("192.0.2.1:1")),
	across("Consume", "where another controller is now", consumesElsewhere("192.0.2.2:1"), first(consumesElsewhere("192.0.2.1:1"))),
	on("Remote.Destroy", "of another controller", theRemote, destroysRemote(plain), first(consumesElsewhere("192.0.2.1:1")), relatedToDB),
	onConnection("Release", "", func(s *scene, x state.CrossModel, id int) error { return x.Release(s.ctx, id) },
		first(consumesElsewhere("192.0.2.1:1")), relatedToDB, doing(func(s *scene, x state.CrossModel, id int) error { return x.End(s.ctx, id) })),
	on("Remote.Destroy", "", theRemote, destroysRemote(plain), consumed),
	on("Remote.Destroy", "with a relation", theRemote, destroysRemote(plain), consumed, relatedToDB),
	withOffer("Controller.GrantOffer", "", grantsOffer(controller.AccessConsume)),
	withOffer("Controller.GrantOffer", "more", grantsOffer(controller.AccessAdmin), mayConsume),
	withOffer("Controller.RevokeOffer", "", func(s *scene, offer string) error {
		return s.ctrl.RevokeOffer(s.ctx, s.stage.UUID, offer, "carol", controller.AccessRead)
	}, mayConsume),
	withOffer("Controller.NewConsumer", "", func(s *scene, offer string) error {
		_, err := s.ctrl.NewConsumer(s.ctx, "bob", s.stage.UUID, offer)
		return err
	}),
	withOffer("Controller.DropOffer", "", func(s *scene, offer string) error { return s.ctrl.DropOffer(s.ctx, offer) }, mayConsume),
}
