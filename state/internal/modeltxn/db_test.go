package modeltxn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/watcher"
)

// Documents are read by their names, and what is not there is told in users' words.
func TestReads(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, modeldb.Machine{ID: "0"}, modeldb.Unit{Name: "mysql/0", Machine: "0"}, modeldb.Unit{Name: "log/0", Principal: "mysql/0"},
		modeldb.Service{Name: "mysql"}, modeldb.Storage{ID: "data/0"}, modeldb.Relation{Key: "a:b c:d", ID: 3}, modeldb.Offer{Name: "shop"}, modeldb.Remote{Name: "far"},
		modeldb.Constraints{Key: "s#mysql", Value: "mem=1G"}, modeldb.Leader{Service: "mysql", Holder: "mysql/0"}, modeldb.Networks{ID: modeldb.NetworksC, Version: 7})
	read := func(of func(name string) (string, error), name, gone, says, hint string) {
		t.Helper()
		if got, err := of(name); got != name || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		_, err := of(gone)
		m.Refused(err, entity.NotFound, says+" not found")
		if entity.Hint(err) != hint {
			t.Errorf("%s: the hint is %q, want %q", gone, entity.Hint(err), hint)
		}
	}
	const status = "To see what is in the model: juju status"
	read(func(n string) (string, error) { d, err := m.Machine(m.Ctx, n); return d.ID, err }, "0", "9", "machine 9", "")
	read(func(n string) (string, error) { d, err := m.Unit(m.Ctx, n); return d.Name, err }, "mysql/0", "x/0", `unit "x/0"`, "")
	read(func(n string) (string, error) { d, err := m.Service(m.Ctx, n); return d.Name, err }, "mysql", "x", `service "x"`, status)
	read(func(n string) (string, error) { d, err := m.Remote(m.Ctx, n); return d.Name, err }, "far", "x", `remote service "x"`, status)
	read(func(n string) (string, error) { d, err := m.Offer(m.Ctx, n); return d.Name, err }, "shop", "x", `offer "x"`, "To list the offers: juju offers")
	read(func(n string) (string, error) { d, err := m.DB.Storage(m.Ctx, n); return d.ID, err }, "data/0", "x/0", `storage "x/0"`, "To list the storage: juju storage")
	read(func(n string) (string, error) { d, err := m.Relation(m.Ctx, n); return d.Key, err }, "a:b c:d", "x:y", `relation "x:y"`, "")
	read(func(n string) (string, error) {
		var id int
		fmt.Sscan(n, &id)
		d, err := m.RelationByID(m.Ctx, id)
		return fmt.Sprint(d.ID), err
	}, "3", "4", "relation 4", "")
	for u, want := range map[modeldb.Unit]string{{Name: "mysql/0", Machine: "0"}: "0", {Principal: "mysql/0", Machine: "9"}: "0", {}: ""} {
		if got, err := m.MachineOf(m.Ctx, u); got != want || err != nil {
			t.Errorf("%s is on %q, %v", u.Name, got, err)
		}
	}
	_, err := m.MachineOf(m.Ctx, modeldb.Unit{Principal: "x/0"})
	m.Refused(err, entity.NotFound, `unit "x/0" not found`)
	for key, want := range map[string]string{"s#mysql": "mem=1G", "s#x": ""} {
		if got, err := m.Constraints(m.Ctx, key); got != want || err != nil {
			t.Errorf("the constraints of %s are %q, %v", key, got, err)
		}
	}
	if l, there, err := m.Leader(m.Ctx, "mysql"); l.Holder != "mysql/0" || !there || err != nil {
		t.Errorf("%+v, %v, %v", l, there, err)
	}
	if l, there, err := m.Leader(m.Ctx, "x"); l != (modeldb.Leader{Service: "x"}) || there || err != nil {
		t.Errorf("%+v, %v, %v", l, there, err)
	}
	if d, err := m.Networks(m.Ctx); d.Version != 7 || d.Missing || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
	m.Remove(modeldb.NetworksC, modeldb.NetworksC)
	if d, err := m.Networks(m.Ctx); !d.Missing || d.ID != modeldb.NetworksC || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := m.AliveModel(m.Ctx); d.UUID != modeltest.UUID || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
	m.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying)
	_, err = m.AliveModel(m.Ctx)
	m.Refused(err, entity.NotAlive, `model "default" is no longer alive`)
	m.Remove(modeldb.ModelC, modeldb.ModelC)
	_, err = m.AliveModel(m.Ctx)
	m.Refused(err, entity.NotFound, `model "default" not found`)
}

// Lists are of what matches, in natural order.
func TestLists(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t)
	for _, n := range []string{"10", "9", "2"} {
		var id int
		fmt.Sscan(n, &id)
		r := modeldb.Relation{Key: "k" + n, ID: id, Offer: "shop", Living: modeldb.Living{Life: entity.Dying}}
		m.Put(modeldb.Machine{ID: n}, modeldb.Unit{Name: "u/" + n, Service: "u"}, modeldb.Service{Name: "s" + n}, modeldb.Offer{Name: "o" + n}, modeldb.Remote{Name: "r" + n},
			modeldb.Storage{ID: "data/" + n}, modeldb.Leftover{ID: "l" + n, Of: "m#" + n}, r, modeldb.RelationEnd{Service: "u", Relation: r.Key},
			modeldb.Attachment{ID: "a" + n, Unit: "u/" + n, Storage: "data/" + n}, modeldb.Scope{ID: "5#x#u/" + n, Relation: 5, Unit: "u/" + n},
			modeldb.Scope{ID: "5#y#" + n, Relation: 6, Remote: "far/" + n})
	}
	m.Put(modeldb.Unit{Name: "v/1", Service: "v"}, modeldb.Relation{Key: "k77", ID: 77}, modeldb.RelationEnd{Service: "v", Relation: "k77"})
	names := func(what string, want string, got []string, err error) {
		t.Helper()
		if text := fmt.Sprint(got); text != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", what, text, err, want)
		}
	}
	machines, err := m.Machines(m.Ctx, nil)
	names("machines", "[2 9 10]", each(machines, func(d modeldb.Machine) string { return d.ID }), err)
	units, err := m.Units(m.Ctx, bson.D{{"service", "u"}})
	names("units", "[u/2 u/9 u/10]", each(units, func(d modeldb.Unit) string { return d.Name }), err)
	services, err := m.Services(m.Ctx, nil)
	names("services", "[s2 s9 s10]", each(services, func(d modeldb.Service) string { return d.Name }), err)
	offers, err := m.Offers(m.Ctx, nil)
	names("offers", "[o2 o9 o10]", each(offers, func(d modeldb.Offer) string { return d.Name }), err)
	remotes, err := m.Remotes(m.Ctx, nil)
	names("remotes", "[r2 r9 r10]", each(remotes, func(d modeldb.Remote) string { return d.Name }), err)
	storages, err := m.Storages(m.Ctx, nil)
	names("storage", "[data/2 data/9 data/10]", each(storages, func(d modeldb.Storage) string { return d.ID }), err)
	leftovers, err := m.Leftovers(m.Ctx, nil)
	names("leftovers", "[l2 l9 l10]", each(leftovers, func(d modeldb.Leftover) string { return d.ID }), err)
	attachments, err := m.Attachments(m.Ctx, nil)
	names("attachments", "[a2 a9 a10]", each(attachments, func(d modeldb.Attachment) string { return d.ID }), err)
	scopes, err := m.ScopesIn(m.Ctx, 5)
	names("scopes", "[u/2 u/9 u/10]", each(scopes, modeldb.Scope.Member), err)
	scopes, err = m.ScopesIn(m.Ctx, 6)
	names("remote scopes", "[far/2 far/9 far/10]", each(scopes, modeldb.Scope.Member), err)
	relations, err := m.RelationsOf(m.Ctx, "u")
	key := func(d modeldb.Relation) string { return d.Key }
	names("relations", "[k2 k9 k10]", each(relations, key), err)
	for _, ref := range lifecycle.Refs {
		switch {
		case ref.From == lifecycle.Relation && ref.To == lifecycle.Offer:
			relations, err = m.RelationsBy(m.Ctx, ref, "shop")
			names("relations of an offer", "[k2 k9 k10]", each(relations, key), err)
		case ref.From == lifecycle.Relation && ref.To == lifecycle.Service:
			relations, err = m.RelationsBy(m.Ctx, ref, "u")
			names("relations of a service", "[k2 k9 k10]", each(relations, key), err)
		case ref.From == lifecycle.Scope && ref.To == lifecycle.Relation:
			scopes, err = m.ScopesOf(m.Ctx, ref, "5")
			names("scopes of a relation", "[u/2 u/9 u/10]", each(scopes, modeldb.Scope.Member), err)
		case ref.From != lifecycle.Scope:
			scopes, err = m.ScopesOf(m.Ctx, ref, "5")
			names("scopes by "+ref.Name, "[]", each(scopes, modeldb.Scope.Member), err)
		}
	}
	if a, err := m.AttachmentOf(m.Ctx, "data/9"); a == nil || a.ID != "a9" || err != nil {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := m.AttachmentOf(m.Ctx, "data/7"); a != nil || err != nil {
		t.Errorf("%+v, %v", a, err)
	}
	ids, err := m.IDs(m.Ctx, modeldb.UnitsC, bson.D{{"service", "v"}})
	names("ids", "[v/1]", ids, err)
}

func each[D any](docs []D, name func(D) string) (all []string) {
	for _, d := range docs {
		all = append(all, name(d))
	}
	return all
}

// A charm is parsed once; what uses it asserts that it stays.
func TestCharm(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t)
	m.PutCharm("local:a-1", "{name: a, summary: s, description: d}", "config.yaml", "options: {title: {type: string}}", "actions.yaml", "go: {}")
	m.PutCharm("local:plain-1", "{name: plain, summary: s, description: d}")
	for url, files := range map[string][]string{"local:bad-1": {"{"}, "local:bad-2": {"{name: a, summary: s, description: d}", "config.yaml", "{"},
		"local:bad-3": {"{name: a, summary: s, description: d}", "actions.yaml", "{"}} {
		m.PutCharm(url, files[0], files[1:]...)
		if _, err := m.Charm(m.Ctx, url); err == nil || entity.KindOf(err) == entity.NotFound {
			t.Errorf("%s: %v", url, err)
		}
	}
	first, err := m.Charm(m.Ctx, "local:a-1")
	m.OK(err)
	if first.Meta.Name != "a" || len(first.Config.Options) != 1 || len(first.Actions.Specs) != 1 {
		t.Errorf("%+v", first)
	}
	if plain, err := m.Charm(m.Ctx, "local:plain-1"); err != nil || len(plain.Config.Options)+len(plain.Actions.Specs) > 0 {
		t.Errorf("%+v, %v", plain, err)
	}
	use := func(o *modeltxn.Ops) error { return m.UseCharm(m.Ctx, o, "local:a-1") }
	m.Do(use)
	m.Refused(m.RaceOps(func() { m.Remove(modeldb.CharmsC, "local:a-1") }, use), entity.NotFound, `charm "local:a-1" not found`)
	if again, err := m.Charm(m.Ctx, "local:a-1"); again != first || err != nil {
		t.Errorf("it was parsed again: %v", err)
	}
	_, err = m.Charm(m.Ctx, "local:gone-1")
	m.Refused(err, entity.NotFound, `charm "local:gone-1" not found`)
}

// What watches have reported is read from copies, until an event, or a change through this process, says that it is no more.
func TestAsWatched(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, modeldb.Unit{Name: "mysql/0", Service: "mysql"}, modeldb.Unit{Name: "mysql/1", Service: "mysql"})
	hub := watcher.NewHub(nil)
	defer hub.Close()
	sub := hub.Subscribe(watcher.Collection("any"))
	defer sub.Close()
	hub.Reset() // from now on it hears of changes
	db := modeltxn.New(m.Database, modeltest.UUID, "default", m.Clock, hub.Copies())
	watched := db.AsWatched()
	if err := watched.Change(m.Ctx, func(*modeltxn.Ops) error { return nil }); err == nil {
		t.Error("a model was changed from what its watches have reported")
	}
	is := func(when, want string) {
		t.Helper()
		u, err := watched.Unit(m.Ctx, "mysql/0")
		m.OK(err)
		some, err := watched.Units(m.Ctx, bson.D{{"_id", bson.D{{"$in", []string{"mysql/0", "gone/0", "mysql/0"}}}}})
		m.OK(err)
		got := u.Machine + each(some, func(u modeldb.Unit) string { return u.Machine })[0]
		for _, query := range []bson.D{nil, {{"service", "mysql"}}, {{"_id", bson.D{{"$ne", "mysql/1"}}}}} {
			all, err := watched.Units(m.Ctx, query)
			m.OK(err)
			got += all[0].Machine
		}
		if got != strings.Repeat(want, 5) || len(some) != 1 {
			t.Errorf("%s, it is on %q, want %q", when, got, want)
		}
		_, err = watched.Unit(m.Ctx, "gone/0")
		m.Refused(err, entity.NotFound, `unit "gone/0" not found`)
	}
	moves := func(to string) { m.Set(modeldb.UnitsC, "mysql/0", bson.DocElem{Name: "machine", Value: to}) }
	moves("1")
	is("at first", "1")
	moves("2")
	is("before the event", "1")
	if u, err := db.Unit(m.Ctx, "mysql/0"); u.Machine != "2" || err != nil {
		t.Errorf("whoever does not read because of an event reads %+v, %v", u, err)
	}
	hub.Publish(watcher.Change{Collection: modeldb.UnitsC, ID: "mysql/0"})
	is("after it", "2")
	moves("3")
	hub.Publish(watcher.Change{Collection: modeldb.MachinesC, ID: "mysql/0"})
	is("after another event", "2")
	watched.Forget()
	is("after everything is forgotten", "3")
	m.OK(db.Change(m.Ctx, func(o *modeltxn.Ops) error {
		o.Update(modeldb.UnitsC, "mysql/0", modeltxn.Exists, bson.D{{"$set", bson.D{{"machine", "4"}}}})
		return nil
	}))
	is("after a change through this process", "4")
	if all, err := watched.Units(m.Ctx, nil); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	m.Close(errors.New("away"))
	is("while the store is away", "4")
	watched.Forget()
	_, one := watched.Unit(m.Ctx, "mysql/0")
	_, all := watched.Units(m.Ctx, nil)
	if one == nil || all == nil || entity.IsNotFound(one) {
		t.Errorf("the store is away: %v, %v", one, all)
	}
}
