package state_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"juju/state/entity"
)

// twoEnds is a charm whose endpoints have the same interface.
const twoEnds = `{name: mysql, summary: s, description: d, provides: {server: {interface: mysql}, spare: {interface: mysql}}}`

// offered is a world with a service that is offered, and the offer's UUID.
func (w *world) offered() string {
	w.deploy("mysql", twoEnds, 0)
	w.ok(w.st.CrossModel().AddOffer(w.ctx, entity.NewOffer{Name: "shop", Service: "mysql", Endpoints: []string{"server", "spare"}}))
	all, err := w.st.CrossModel().Offers(w.ctx)
	w.ok(err)
	return all[0].UUID
}

// connect is the order of a model elsewhere, for its relation 7 and an endpoint of the offer.
func (w *world) connect(offer, far string) error {
	return w.st.CrossModel().Connect(w.ctx, elsewhere, entity.Connection{Relation: 7, Offer: offer, User: "bob", Far: far,
		Near: entity.NearEnd{Service: "blog", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}})
}

// connections are the relations across models.
func (w *world) connections() []entity.Connection {
	w.Helper()
	all, err := w.st.CrossModel().Connections(w.ctx)
	w.ok(err)
	return all
}

// A relation of another model has one counterpart, though two calls at once name different endpoints for it.
func TestConnectRaces(t *testing.T) {
	w := newWorld(t)
	offer := w.offered()
	w.st.Before(func() { w.ok(w.connect(offer, "server")) })
	w.ok(w.connect(offer, "spare"))
	all := w.connections()
	if len(all) != 1 || all[0].Endpoint != "server" {
		t.Errorf("the relations are %+v", all)
	}
	w.checkCounts()
}

// Of two calls that mirror a relation at once, the units and settings of one remain, wherever they meet.
func TestMirrorRaces(t *testing.T) {
	for _, begins := range []map[int]map[string]string{nil, {0: {"k": "a"}, 1: {"k": "a"}}, {1: {"k": "b"}, 2: {"k": "old"}}} {
		for n := range 8 {
			t.Run(fmt.Sprint(len(begins), n), func(t *testing.T) {
				w := newWorld(t)
				w.ok(w.connect(w.offered(), "server"))
				x, id := w.st.CrossModel(), w.connections()[0].Relation
				mirror := func(app string, units map[int]map[string]string) {
					w.ok(x.Mirror(w.ctx, id, entity.Members{Units: units, Application: map[string]string{"by": app}}))
				}
				mirror("begins", begins)
				first := map[int]map[string]string{0: {"k": "a"}, 1: {"k": "a"}}
				second := map[int]map[string]string{1: {"k": "b"}, 2: {"k": "b"}}
				met := false
				w.st.BeforeNext(n, func() { met = true; mirror("second", second) })
				mirror("first", first)
				if !met {
					w.st.Before(nil)
				}
				dump := w.mirrored(id)
				var apart [2]string
				for i, m := range []func(){func() { mirror("first", first) }, func() { mirror("second", second) }} {
					m()
					apart[i] = w.mirrored(id)
				}
				if dump != apart[0] && dump != apart[1] {
					t.Errorf("the calls together left %s, neither %s nor %s", dump, apart[0], apart[1])
				}
				w.checkCounts()
			})
		}
	}
}

// mirrored are the units of the other model in a relation, with their settings and its service's.
func (w *world) mirrored(id int) string {
	w.Helper()
	dump, err := w.st.Dump(w.ctx)
	w.ok(err)
	var doc struct {
		ID       string            `json:"_id"`
		Remote   string            `json:"remote"`
		Settings map[string]string `json:"settings"`
	}
	settings, far := map[string]map[string]string{}, ""
	for _, d := range dump["settings"] {
		doc.ID, doc.Settings = "", nil
		w.ok(json.Unmarshal(d, &doc))
		if rest, ours := strings.CutPrefix(doc.ID, fmt.Sprintf("r#%d#", id)); ours {
			settings[rest], far = doc.Settings, strings.Split(rest, "/")[0]
		}
	}
	in := map[string]map[string]string{"service": settings[far]}
	for _, d := range dump["scopes"] {
		w.ok(json.Unmarshal(d, &doc))
		in[doc.Remote] = settings[doc.Remote]
	}
	return fmt.Sprint(in)
}
