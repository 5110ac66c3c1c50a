package crossmodel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/crossmodel"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/limits"
	"juju/state/modelconfig"
)

var (
	site   = modeldb.Endpoint{Service: "web", Name: "db", Role: "requirer", Interface: "mysql"}
	server = modeldb.Endpoint{Service: "mysql", Name: "server", Role: "provider", Interface: "mysql"}
)

func remote(e modeldb.Endpoint, service string) modeldb.Endpoint {
	e.Service, e.Remote = service, true
	return e
}

// consuming is a relation of web with the remote service db.
func consuming(id int, change func(*modeldb.Relation)) modeldb.Relation {
	r := modeldb.NewRelation(id, site, remote(server, "db"))
	if change != nil {
		change(&r)
	}
	return r
}

// consumed is a relation of mysql with a service of another model, which uses an offer.
func consumed(id int, offer string) modeldb.Relation {
	r := modeldb.NewRelation(id, remote(site, fmt.Sprint("remote-", id)), server)
	r.Offer, r.Consumer = offer, &modeldb.Consumer{Model: "there", Relation: 3, Service: "web", User: "bob", Token: "t"}
	r.Ingress = []string{"10.0.0.0/8"}
	return r
}

var told = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

var dbRemote = modeldb.Remote{Name: "db", Model: "there", Offer: "uuid", User: "eve"}

func newModel(t *testing.T, docs ...any) *modeltest.Model {
	t.Helper()
	m := modeltest.New(t, docs...)
	m.PutCharm("local:mysql-1", `{name: mysql, summary: s, description: d, provides: {server: {interface: mysql}, admin: {interface: root}}}`)
	return m
}

// Relations with services of other models are told with what the other end is: a remote service, or who uses an offer. What
// was removed between the reads is left out.
func TestConnections(t *testing.T) {
	t.Parallel()
	m := newModel(t, consuming(12, func(r *modeldb.Relation) {
		r.Joined, r.Suspended, r.Message, r.Life, r.Told = true, true, "why", entity.Dying, told
	}),
		consumed(4, "mysql"), modeldb.NewRelation(5, site, server), dbRemote, modeldb.Offer{Name: "mysql", UUID: "offered"})
	all, err := crossmodel.Connections(m.Ctx, m.DB, nil)
	m.OK(err)
	offered := entity.Connection{Relation: 4, Endpoint: "server", Far: "db", Offer: "offered", OfferName: "mysql", Model: "there", Counterpart: 3,
		User: "bob", Token: "t", Ingress: []string{"10.0.0.0/8"},
		Near: entity.NearEnd{Service: "mysql", RemoteEndpoint: entity.RemoteEndpoint{Name: "server", Role: "provider", Interface: "mysql"}}}
	modeltest.Same(t, "connections", all, []entity.Connection{offered,
		{Relation: 12, Life: entity.Dying, Endpoint: "db", Far: "server", Suspended: true, Message: "why", Since: told, Consumes: true, Remote: "db", Joined: true,
			Model: "there", Offer: "uuid", User: "eve",
			Near: entity.NearEnd{Service: "web", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}}})
	all, err = crossmodel.Connections(m.Ctx, m.DB, bson.D{{"id", 4}})
	m.OK(err)
	modeltest.Same(t, "one connection", all, []entity.Connection{offered})
	m.Remove(modeldb.OffersC, "mysql")
	m.Remove(modeldb.RemotesC, "db")
	if all, err = crossmodel.Connections(m.Ctx, m.DB, nil); err != nil || len(all) > 0 {
		t.Errorf("without the offer and the remote service: %v, %v", all, err)
	}
}

// An offer is told with the endpoints that its service's charm has, and who uses it.
func TestOffers(t *testing.T) {
	t.Parallel()
	m := newModel(t, modeldb.Service{Name: "mysql", CharmURL: "local:mysql-1"}, dbRemote, consuming(1, nil), consumed(4, "mysql"), consumed(5, "other"),
		modeldb.Offer{Name: "mysql", UUID: "u1", Service: "mysql", Endpoints: []string{"old", "server"}, Description: "d"},
		modeldb.Offer{Name: "other", UUID: "u2", Service: "mysql", Endpoints: []string{"admin", "server"}, Living: modeldb.Living{Life: entity.Dying}},
		modeldb.Offer{Name: "gone", UUID: "u3", Service: "gone"})
	all, err := crossmodel.Offers(m.Ctx, m.DB)
	m.OK(err)
	for i := range all {
		for j := range all[i].Connections {
			all[i].Connections[j] = entity.Connection{Relation: all[i].Connections[j].Relation}
		}
	}
	admin := entity.RemoteEndpoint{Name: "admin", Role: "provider", Interface: "root"}
	modeltest.Same(t, "offers", all, []entity.Offer{
		{Name: "mysql", UUID: "u1", Service: "mysql", CharmURL: "local:mysql-1", Description: "d", Endpoints: []entity.RemoteEndpoint{server.Described()},
			Connections: []entity.Connection{{Relation: 4}}},
		{Name: "other", UUID: "u2", Service: "mysql", CharmURL: "local:mysql-1", Life: entity.Dying, Connections: []entity.Connection{{Relation: 5}},
			Endpoints: []entity.RemoteEndpoint{admin, server.Described()}}})

	fresh := modeltest.New(t, modeldb.Service{Name: "mysql", CharmURL: "local:mysql-1"}, modeldb.Offer{Name: "mysql", Service: "mysql"})
	_, err = crossmodel.Offers(fresh.Ctx, fresh.DB)
	fresh.Refused(err, entity.NotFound, `charm "local:mysql-1" not found`)

	fresh.PutCharm("local:mysql-1", "{name: mysql}")
	all, err = crossmodel.Offers(fresh.Ctx, fresh.DB)
	fresh.OK(err)
	modeltest.Same(t, "offers of a damaged charm", all, []entity.Offer{{Name: "mysql", Service: "mysql", CharmURL: "local:mysql-1"}})
}

// members puts units of web on machines of their own into a relation.
func members(r modeldb.Relation, addresses map[string][]string) (docs []any) {
	for unit, has := range addresses {
		machine := fmt.Sprint(entity.UnitNumber(unit))
		docs = append(docs, modeldb.Unit{Name: unit, Service: "web", Machine: machine}, modeldb.Machine{ID: machine, Addresses: has},
			modeldb.Scope{ID: modeldb.ScopePrefix(r.ID, "") + "requirer#" + unit, Relation: r.ID, Unit: unit, Role: "requirer"},
			modeldb.Settings{ID: modeldb.RelationSettingsKey(r.ID, unit), Relation: &r.ID, Settings: map[string]any{"on": machine}})
	}
	return docs
}

// The other model is told which units are in a relation, what they and their service say, and where they connect from.
func TestMembers(t *testing.T) {
	t.Parallel()
	r := consuming(7, nil)
	m := newModel(t, append(members(r, map[string][]string{"web/0": {"10.0.0.1"}, "web/12": {"10.0.0.9", "10.1.0.9"}}), r,
		modeldb.Service{Name: "web"}, modeldb.Settings{ID: "r#7#web", Relation: &r.ID, Settings: map[string]any{"site": "blog"}},
		modeldb.Scope{ID: "7#provider#db/0", Relation: 7, Remote: "db/0", Role: "provider"},
		modeldb.Scope{ID: "7#counterpart#db", Relation: 7, Remote: "db", Role: modeldb.Counterpart},
		modeldb.Settings{ID: "r#7#db/0", Relation: &r.ID, Settings: map[string]any{"host": "theirs"}},
		modeldb.Scope{ID: "8#requirer#web/1", Relation: 8, Unit: "web/1", Role: "requirer"})...)
	got, err := crossmodel.Members(m.Ctx, m.DB, 7, 0)
	m.OK(err)
	modeltest.Same(t, "members", got, entity.Members{Units: map[int]map[string]string{0: {"on": "0"}, 12: {"on": "12"}},
		Application: map[string]string{"site": "blog"}, Egress: []string{"10.0.0.1/32", "10.0.0.9/32"}})
	got, err = crossmodel.Members(m.Ctx, m.DB, 99, 0)
	m.OK(err)
	modeltest.Same(t, "of no relation", got, entity.Members{Units: map[int]map[string]string{}})
	// Where the units of an offered service are does not matter.
	offered := consumed(9, "mysql")
	m.Put(append(members(offered, map[string][]string{"web/3": {"10.0.0.3"}}), offered)...)
	got, err = crossmodel.Members(m.Ctx, m.DB, 9, 0)
	if m.OK(err); len(got.Egress) > 0 || len(got.Units) != 1 {
		t.Errorf("%+v", got)
	}
}

// A message has as many units as it can: all that there are, unless they are thousands or say much.
func TestPartsOfMembers(t *testing.T) {
	t.Parallel()
	r := consuming(7, nil)
	docs := []any{r, modeldb.Service{Name: "web"}, modeldb.Settings{ID: "r#7#web", Relation: &r.ID, Settings: map[string]any{"site": "blog"}}}
	large := strings.Repeat("x", 600<<10)
	for n := range 1100 {
		unit := fmt.Sprint("web/", n)
		settings := map[string]any{"n": unit}
		if n == 3 || n == 5 {
			settings["large"] = large
		}
		docs = append(docs, modeldb.Unit{Name: unit, Service: "web"},
			modeldb.Scope{ID: modeldb.ScopePrefix(r.ID, "") + "requirer#" + unit, Relation: r.ID, Unit: unit, Role: "requirer"},
			modeldb.Settings{ID: modeldb.RelationSettingsKey(r.ID, unit), Relation: &r.ID, Settings: settings})
	}
	m := newModel(t, docs...)
	var ends []int
	for first := 0; ; {
		part, err := crossmodel.Members(m.Ctx, m.DB, 7, first)
		m.OK(err)
		if (part.Application != nil) != (first == 0) || part.First != first {
			t.Errorf("from %d on: %v, %v", first, part.First, part.Application)
		}
		for n, settings := range part.Units {
			if !part.Has(n) || settings["n"] != fmt.Sprint("web/", n) {
				t.Errorf("from %d on there is unit %d with %.100v", first, n, settings)
			}
		}
		if ends = append(ends, part.End); part.End == 0 {
			break
		}
		if len(part.Units) != part.End-first {
			t.Errorf("from %d to %d there are %d units", first, part.End, len(part.Units))
		}
		first = part.End
	}
	modeltest.Same(t, "the ends of the parts", ends, []int{5, 1005, 0})
}

// Connections come from what the user or the model says, or else from the addresses that the units use.
func TestEgress(t *testing.T) {
	many := map[string][]string{}
	for i := range limits.ExposedTo.Max + 5 {
		many[fmt.Sprint("web/", i)] = []string{fmt.Sprintf("10.2.%d.1", i)}
	}
	networks := modeldb.Networks{ID: modeldb.NetworksC, Spaces: []modeldb.Space{{ID: "1", Name: "db"}},
		Subnets: []modeldb.Subnet{{Subnet: entity.Subnet{CIDR: "10.1.0.0/16"}, Space: "1"}}}
	for name, c := range map[string]struct {
		via   []string
		units map[string][]string
		docs  []any
		want  []string
	}{
		"the user's": {via: []string{"192.168.0.0/16", "10.0.0.0/8", "192.168.0.0/16"}, want: []string{"10.0.0.0/8", "192.168.0.0/16"}},
		"the model's": {docs: []any{modeldb.Model{ID: modeldb.ModelC, Config: map[string]string{modelconfig.EgressSubnets: "172.16.0.0/12,10.0.0.0/8"}}},
			units: map[string][]string{"web/0": {"10.0.0.1"}}, want: []string{"10.0.0.0/8", "172.16.0.0/12"}},
		"the units'": {units: map[string][]string{"web/0": {"10.0.0.9", "10.1.0.1"}, "web/1": {"10.0.0.9"}, "web/2": {"fd00::1"}, "web/3": nil, "web/4": {"name"}},
			want: []string{"10.0.0.9/32", "fd00::1/128"}},
		"the units' in a space": {units: map[string][]string{"web/0": {"10.0.0.9", "10.1.0.1"}}, want: []string{"10.1.0.1/32"},
			docs: []any{networks, modeldb.Service{Name: "web", Bindings: []modeldb.Binding{{Endpoint: "db", Space: "1"}}}}},
		"a subordinate's": {units: map[string][]string{"web/0": nil}, want: []string{"10.0.0.5/32"},
			docs: []any{modeldb.Unit{Name: "web/0", Service: "web", Principal: "app/0"}, modeldb.Unit{Name: "app/0", Machine: "5"},
				modeldb.Machine{ID: "5", Addresses: []string{"10.0.0.5"}}}},
		"a subordinate's, whose principal is gone": {units: map[string][]string{"web/0": nil},
			docs: []any{modeldb.Unit{Name: "web/0", Service: "web", Principal: "app/0"}}},
		"of none": {},
		"of too many": {units: many, want: func() (all []string) {
			for i := range limits.ExposedTo.Max {
				all = append(all, fmt.Sprintf("10.2.%d.1/32", i))
			}
			return all
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := consuming(7, func(r *modeldb.Relation) { r.Via = c.via })
			m := newModel(t, append(append(members(r, c.units), r, modeldb.Service{Name: "web"}), c.docs...)...)
			got, err := crossmodel.Members(m.Ctx, m.DB, 7, 0)
			m.OK(err)
			modeltest.Same(t, "egress", got.Egress, c.want)
			if name == "the units'" {
				m.Remove(modeldb.ServicesC, "web")
				if got, err = crossmodel.Members(m.Ctx, m.DB, 7, 0); err != nil || len(got.Egress) > 0 {
					t.Errorf("without the service: %v, %v", got.Egress, err)
				}
			}
		})
	}
}

// An offered service is shown as users see it: as its leader says, or else as the worst of its units.
func TestShown(t *testing.T) {
	t.Parallel()
	m := newModel(t, modeldb.Unit{Name: "mysql/0", Service: "mysql"}, modeldb.Unit{Name: "mysql/1", Service: "mysql"}, modeldb.Unit{Name: "web/0", Service: "web"},
		modeldb.Status{ID: modeldb.ServiceKey("mysql"), Status: entity.StatusUnknown},
		modeldb.Status{ID: modeldb.WorkloadKey("mysql/0"), Status: entity.StatusActive, Message: "ready"},
		modeldb.Status{ID: modeldb.WorkloadKey("mysql/1"), Status: entity.StatusBlocked, Message: "no license"},
		modeldb.Status{ID: modeldb.WorkloadKey("web/0"), Status: entity.StatusError, Message: "broken"})
	shown := func(want entity.StatusWord, message string) {
		t.Helper()
		got, err := crossmodel.Shown(m.Ctx, m.DB, "mysql")
		m.OK(err)
		if got.Status != want || got.Message != message {
			t.Errorf("it is %v, want %s: %s", got, want, message)
		}
	}
	shown(entity.StatusBlocked, "no license")
	m.Put(modeldb.Unit{Name: "mysql/2", Service: "mysql"}, modeldb.Status{ID: modeldb.WorkloadKey("mysql/2"), Status: entity.StatusBlocked, Message: "no space"},
		modeldb.Leader{Service: "mysql", Holder: "mysql/2"})
	shown(entity.StatusBlocked, "no space")
	m.Put(modeldb.Status{ID: modeldb.ServiceKey("mysql"), Status: entity.StatusActive, Message: "all is well"})
	shown(entity.StatusActive, "all is well")
}
