package state_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

// consumedDB is what a model gets to know of a service of another model that it uses.
var consumedDB = entity.Consumed{Name: "db", Model: elsewhere, Offer: "o", URL: "bob/shop.db",
	Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}}}

// Offering again what is offered is no error, and takes over a description. An offer of something else is refused.
func TestOfferAgain(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	x := w.st.CrossModel()
	offer := func(name, description string, endpoints ...string) error {
		return x.AddOffer(w.ctx, entity.NewOffer{Name: name, Service: "mysql", Endpoints: endpoints, Description: description})
	}
	one := func() entity.Offer {
		t.Helper()
		all, err := x.Offers(w.ctx)
		w.ok(err)
		if len(all) != 1 {
			t.Fatalf("the offers are %+v", all)
		}
		return all[0]
	}
	w.ok(offer("shop", "first", "server"))
	first := one()
	w.ok(offer("shop", "", "server"))
	w.ok(offer("shop", "second", "server", "server"))
	if now := one(); now.UUID != first.UUID || now.Description != "second" {
		t.Errorf("the offer is %+v, was %+v", now, first)
	}
	w.refused(offer("shop", "third", "server", "admin"), entity.AlreadyExists, `offer already exists, of service "mysql" with endpoints server`)
	if now := one(); now.Description != "second" {
		t.Errorf("a refused offer has described it as %q", now.Description)
	}
	w.checkCounts()
}

// What is left to do for a remote service that was destroyed by force is not done to the next one of its name.
func TestNextRemoteServiceIsNotDestroyed(t *testing.T) {
	w := newWorld(t)
	x := w.st.CrossModel()
	u, r := w.consumes()
	w.ok(u.EnterScope(w.ctx, r.ID()))
	w.ok(x.Mirror(w.ctx, r.ID(), entity.Members{Units: aMember}))
	for _, how := range []entity.Destruction{plain, forced} {
		remote, err := x.Remote(w.ctx, "db")
		w.ok(err)
		w.ok(remote.Destroy(w.ctx, how))
	}
	w.refused(x.Consume(w.ctx, consumedDB), entity.AlreadyExists, "remote service already exists")
	w.ok(x.Mirror(w.ctx, r.ID(), entity.Members{}))
	w.ok(u.LeaveScope(w.ctx, r.ID()))
	w.ok(x.Consume(w.ctx, consumedDB))
	dump, err := w.st.Dump(w.ctx)
	w.ok(err)
	for _, c := range dump["cleanups"] {
		if strings.Contains(string(c), "rs#db") {
			t.Errorf("a cleanup is left: %s", c)
		}
	}
	w.checkCounts()
}

// consumes relates wordpress/0, which has started, with a service of another model.
func (w *world) consumes() (*state.Unit, *state.Relation) {
	w.Helper()
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.ok(w.st.CrossModel().Consume(w.ctx, consumedDB))
	return w.started("wordpress/0"), w.relate("wordpress", "db")
}

// A unit knows which model the other end of a relation is in, on both sides, and which service to expect there: one that is
// offered does not list who uses it.
func TestTheModelAtTheOtherEnd(t *testing.T) {
	w := newWorld(t)
	consumer, r := w.consumes()
	offer, x := w.offered(), w.st.CrossModel()
	mysql, err := w.st.Service(w.ctx, "mysql")
	w.ok(err)
	_, err = mysql.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	offered := w.started("mysql/0")
	w.ok(x.Connect(w.ctx, "another-model", entity.Connection{Relation: 7, Offer: offer, User: "bob", Far: "server",
		Near: entity.NearEnd{Service: "blog", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}}))
	w.relate("wordpress", "mysql:spare")
	for _, test := range []struct {
		unit        *state.Unit
		models, has string
	}{
		{consumer, elsewhere + ", ", "bob/shop.db, mysql, mysql/0"},
		{offered, "another-model, ", "wordpress, wordpress/0"},
	} {
		relations, err := test.unit.Relations(w.ctx)
		w.ok(err)
		var models []string
		for _, info := range relations {
			if info.Role != "peer" {
				models = append(models, info.Model)
			}
		}
		slices.Sort(models)
		slices.Reverse(models)
		goal, err := test.unit.GoalState(w.ctx)
		w.ok(err)
		var there []string
		for _, of := range goal.Relations {
			there = slices.AppendSeq(there, maps.Keys(of))
		}
		slices.Sort(there)
		if got, has := strings.Join(models, ", "), strings.Join(there, ", "); got != test.models || has != test.has {
			t.Errorf("%s has relations with models %q and expects %q, want %q and %q", test.unit.Name(), got, has, test.models, test.has)
		}
	}
	w.ok(x.Suspend(w.ctx, entity.Connection{Suspended: true}, r.ID()))
	goal, err := consumer.GoalState(w.ctx)
	w.ok(err)
	if got := goal.Relations["db"]["bob/shop.db"].Status; got != "suspended" {
		t.Errorf("a suspended relation is %q", got)
	}
}

// A unit of another model that has set nothing is in the relation, and its peers can read its settings.
func TestARemoteUnitWithoutSettings(t *testing.T) {
	w := newWorld(t)
	u, r := w.consumes()
	w.ok(u.EnterScope(w.ctx, r.ID()))
	w.ok(w.st.CrossModel().Mirror(w.ctx, r.ID(), entity.Members{Units: map[int]map[string]string{3: {}}}))
	settings, err := u.RelationSettings(w.ctx, r.ID(), "db/3")
	if err != nil || len(settings) != 0 {
		t.Errorf("its settings are %v, %v", settings, err)
	}
}

// A relation is suspended with its counterpart, and says why. If it is ending meanwhile, there is nothing to do.
func TestARelationIsSuspendedWithItsCounterpart(t *testing.T) {
	w := newWorld(t)
	x := w.st.CrossModel()
	u, r := w.consumes()
	w.ok(u.EnterScope(w.ctx, r.ID()))
	status := func() string {
		t.Helper()
		for _, s := range w.status().Relations {
			if s.ID == r.ID() {
				return strings.TrimSpace(string(s.Status.Status) + " " + s.Status.Message)
			}
		}
		return "none"
	}
	for _, message := range []string{"noon", "still noon"} {
		w.ok(x.Suspend(w.ctx, entity.Connection{Suspended: true, Message: message}, r.ID()))
		if got, want := status(), "suspended "+message; got != want {
			t.Errorf("the relation is %q, want %q", got, want)
		}
	}
	w.ok(x.Suspend(w.ctx, entity.Connection{}, r.ID()))
	if got := status(); strings.Contains(got, "noon") {
		t.Errorf("the relation is %q after it was resumed", got)
	}
	w.ok(r.Destroy(w.ctx, plain))
	w.ok(x.Suspend(w.ctx, entity.Connection{Suspended: true}, r.ID()))
	w.ok(u.LeaveScope(w.ctx, r.ID()))
	w.ok(x.Suspend(w.ctx, entity.Connection{Suspended: true}, r.ID()))
}

// An offer of which no endpoint is known, because the charm of its service is damaged, can't be used.
func TestOfferWithoutEndpoints(t *testing.T) {
	w := newWorld(t)
	w.refused(w.st.CrossModel().Consume(w.ctx, entity.Consumed{Name: "db", Model: elsewhere, Offer: "o", URL: "bob/shop.db"}), entity.Invalid,
		`cannot consume bob/shop.db as "db": the offer has no endpoints`)
}

// Where connections come from can be said of relations with other models only, and is never everywhere.
func TestViaIsForOtherModels(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 0)
	w.deploy("wordpress", statetest.Wordpress, 1)
	via := func(cidrs ...string) error {
		_, err := w.st.CrossModel().AddRelationVia(w.ctx, cidrs, "wordpress", "mysql")
		return err
	}
	w.refused(via("192.0.2.0/24"), entity.Invalid,
		`cannot add relation "wordpress:db mysql:server": the --via option can only be used when relating to offers in a different model`)
	x := w.st.CrossModel()
	w.ok(x.Consume(w.ctx, consumedDB))
	for cidr, says := range map[string]string{"192.0.2.1": `invalid CIDR "192.0.2.1"`, "0.0.0.0/0": `CIDR "0.0.0.0/0" not allowed`} {
		_, err := w.st.CrossModel().AddRelationVia(w.ctx, []string{cidr}, "wordpress", "db")
		w.refused(err, entity.Invalid, says)
		r, err := w.st.AddRelation(w.ctx, "wordpress", "db")
		w.ok(err)
		w.refused(x.Mirror(w.ctx, r.ID(), entity.Members{Egress: []string{cidr}}), entity.Invalid, says)
		w.ok(r.Destroy(w.ctx, plain))
	}
}

// Until the cleaner has destroyed the offers of a service that was destroyed by force, they are what it waits for.
func TestForcedServiceWaitsForItsOffers(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 0)
	w.ok(w.st.CrossModel().AddOffer(w.ctx, entity.NewOffer{Name: "shop", Service: "mysql", Endpoints: []string{"server"}}))
	svc, err := w.st.Service(w.ctx, "mysql")
	w.ok(err)
	w.refused(svc.Destroy(w.ctx, plain), entity.InUse, "service is used by 1 offer")
	w.ok(svc.Destroy(w.ctx, forced))
	e, err := w.st.Explainer().Explain(w.ctx, entity.ServiceTag("mysql"))
	w.ok(err)
	if len(e.Reasons) != 1 || e.Reasons[0].Text != `service "mysql" is offered as "shop"` {
		t.Errorf("the service waits for %+v", e.Reasons)
	}
	w.clean()
	if _, err := w.st.Service(w.ctx, "mysql"); !entity.IsNotFound(err) {
		t.Errorf("the service is there: %v", err)
	}
}

// Members come in parts: each changes only the units of its numbers.
func TestMembersComeInParts(t *testing.T) {
	w := newWorld(t)
	u, r := w.consumes()
	w.ok(u.EnterScope(w.ctx, r.ID()))
	x := w.st.CrossModel()
	in := func() (names []string) {
		t.Helper()
		data, err := u.RelationData(w.ctx)
		w.ok(err)
		for _, d := range data {
			for name, unit := range d.Units {
				if unit.InScope && name != u.Name() {
					names = append(names, name)
				}
			}
		}
		slices.Sort(names)
		return names
	}
	units := func(numbers ...int) map[int]map[string]string {
		all := map[int]map[string]string{}
		for _, n := range numbers {
			all[n] = nil
		}
		return all
	}
	for _, c := range []struct {
		part entity.Members
		want string
	}{
		{entity.Members{Units: units(0, 3), End: 5}, "db/0 db/3"},
		{entity.Members{Units: units(5, 7), First: 5}, "db/0 db/3 db/5 db/7"},
		{entity.Members{Units: units(1), End: 3}, "db/1 db/3 db/5 db/7"},
		{entity.Members{First: 3, End: 7}, "db/1 db/7"},
		{entity.Members{Units: units(2)}, "db/2"},
	} {
		w.ok(x.Mirror(w.ctx, r.ID(), c.part))
		if got := strings.Join(in(), " "); got != c.want {
			t.Errorf("after %+v: %s, want %s", c.part, got, c.want)
		}
	}
}

// What a model of another controller can have this one hold is bounded, in each relation and for each user of an offer. A part counts
// with the others.
func TestConsumersAreBounded(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 0)
	x := w.st.CrossModel()
	w.ok(x.AddOffer(w.ctx, entity.NewOffer{Name: "shop", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := x.Offers(w.ctx)
	w.ok(err)
	connect := func(user, token string, relation int) error {
		return x.Connect(w.ctx, elsewhere, entity.Connection{Relation: relation, Offer: offers[0].UUID, User: user, Token: token, Far: "server",
			Near: entity.NearEnd{Service: "blog", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}})
	}
	for n := range limits.ConsumerRelations.Max {
		w.ok(connect("bob", fmt.Sprint("token-", n%2), n))
	}
	w.refused(connect("bob", "token-2", 1000), entity.Invalid, "relations of a user with an offer, from other controllers: 101 relations, the limit is 100")
	w.ok(connect("bob", "token-0", 0)) // it is there
	w.ok(connect("eve", "token-3", 0))
	w.ok(connect("bob", "", 1)) // of this controller

	all, err := x.OfConsumer(w.ctx, "token-3")
	w.ok(err)
	id := all[0].Relation
	many := map[int]map[string]string{}
	for n := range limits.ConsumerUnits.Max {
		many[1+n] = nil
	}
	says := "units of another controller in a relation: 5001 units, the limit is 5000"
	w.ok(x.Mirror(w.ctx, id, entity.Members{Units: aMember, End: 4}))
	w.refused(x.Mirror(w.ctx, id, entity.Members{Units: many, First: 4}), entity.Invalid, says)
	delete(many, 1)
	many[9999], many[9998] = nil, nil
	w.refused(x.Mirror(w.ctx, id, entity.Members{Units: many}), entity.Invalid, says)
	large := map[string]string{"large": strings.Repeat("x", limits.RelationSettings.Max-100)}
	w.ok(x.Mirror(w.ctx, id, entity.Members{Units: map[int]map[string]string{3: large}, End: 4}))
	much := map[int]map[string]string{}
	for n := range limits.ConsumerSettings.Max/limits.RelationSettings.Max + 1 {
		much[4+n] = large
	}
	delete(much, 4)
	w.refused(x.Mirror(w.ctx, id, entity.Members{Units: much, First: 4}), entity.Invalid, "settings of another controller's units in a relation: ")
	if m, err := x.OfConsumer(w.ctx, "token-3"); err != nil || len(m) != 1 {
		t.Errorf("%v, %v", m, err)
	}
}
