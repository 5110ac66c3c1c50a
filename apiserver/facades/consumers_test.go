package facades_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

// blog is the UUID of a model of another controller.
const blog = "deadbeef-0000-4000-8000-00000000b109"

// authority returns the certificate of an authority.
func authority(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, about, about, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A consumer of another controller sees its offer and the relations that were made with its token, and changes no others.
func TestConsumersOfOtherControllers(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	offer := facadestest.OfferMySQL(w, w.st)
	_, err := w.controller.AddUser(ctx, controller.AddUserParams{Name: "bob", Password: "a long password", Creator: statetest.Admin})
	w.ok(err)
	w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), offer, "bob", controller.AccessConsume, statetest.Admin))
	dial := func(user string) client.CrossModelRelationsFacade {
		token, err := w.controller.NewConsumer(ctx, user, w.st.UUID(), offer)
		w.ok(err)
		who, err := w.controller.CheckConsumer(ctx, token)
		w.ok(err)
		id := facades.Identity{Tag: entity.ConsumerTag(who.ID), Roles: facades.Consumer, Consumer: who}
		return client.CrossModelRelationsFacade{Caller: w.as(w.st.UUID(), id).client()}
	}
	admin, bob := dial(statetest.Admin), dial("bob")
	near := entity.NearEnd{Service: "wordpress", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}

	if s, err := bob.OfferStatus(ctx); err != nil || s.Status == "" {
		t.Errorf("the status of the offer: %v, %v", s, err)
	}
	w.ok(bob.Connect(ctx, blog, 3, near, "server"))
	w.ok(bob.Connect(ctx, blog, 3, near, "server")) // again, as after a lost reply
	w.ok(admin.Connect(ctx, blog, 3, near, "server"))
	theirs, err := bob.Relations(ctx)
	w.ok(err)
	others, err := admin.Relations(ctx)
	w.ok(err)
	if len(theirs) != 1 || len(others) != 1 || theirs[0].Relation == others[0].Relation || theirs[0].User != "bob" || theirs[0].Counterpart != 3 {
		t.Fatalf("bob has %+v, admin has %+v", theirs, others)
	}
	mine := theirs[0].Relation
	joined := entity.Members{Units: map[int]map[string]string{0: {"host": "h"}}, Application: map[string]string{"a": "b"}}
	w.ok(bob.Mirror(ctx, mine, joined))
	// A unit of another model may say as much as one of this model.
	large := func(size int) entity.Members {
		settings := map[string]string{"large": strings.Repeat("<", size)}
		return entity.Members{Units: map[int]map[string]string{0: settings}, Application: settings}
	}
	w.ok(bob.Mirror(ctx, mine, large(limits.RelationSettings.Max-100)))
	if err := bob.Mirror(ctx, mine, large(limits.RelationSettings.Max)); !errors.Is(err, entity.Invalid) ||
		!strings.Contains(err.Error(), limits.RelationSettings.Of) {
		t.Errorf("more than a unit may say: %v", err)
	}
	in := func(relation int) (names []string) {
		t.Helper()
		u, err := w.st.Unit(ctx, "mysql/0")
		w.ok(err)
		data, err := u.RelationData(ctx)
		w.ok(err)
		for _, d := range data {
			for name, unit := range d.Units {
				if d.ID == relation && unit.InScope {
					names = append(names, name)
				}
			}
		}
		return names
	}
	if got := in(mine); len(got) != 1 || !strings.HasPrefix(got[0], "remote-") || !strings.HasSuffix(got[0], "/0") {
		t.Errorf("in bob's relation: %v", got)
	}

	// Of another's relation, or one of the model itself, a consumer learns nothing.
	w.ok(admin.Mirror(ctx, mine, entity.Members{}))
	w.ok(admin.End(ctx, mine))
	if _, err := admin.Members(ctx, mine, 0); !errors.Is(err, entity.NotFound) {
		t.Errorf("another's members: %v", err)
	}
	if r, err := w.st.RelationByID(ctx, mine); err != nil || r.Life() != entity.Alive || len(in(mine)) != 1 {
		t.Errorf("another consumer changed the relation: %v", err)
	}
	for what, err := range map[string]error{
		"a model":    bob.Connect(ctx, "blog", 4, near, "server"),
		"a relation": bob.Connect(ctx, blog, -4, near, "server"),
		"a unit":     bob.Mirror(ctx, mine, entity.Members{Units: map[int]map[string]string{-1: {}}}),
		"a role":     bob.Connect(ctx, blog, 4, entity.NearEnd{Service: "wordpress", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "peer", Interface: "mysql"}}, "server"),
	} {
		if !errors.Is(err, entity.Invalid) {
			t.Errorf("%s that is not valid: %v", what, err)
		}
	}

	w.ok(bob.Mirror(ctx, mine, entity.Members{}))
	w.ok(bob.End(ctx, mine))
	w.ok(bob.End(ctx, mine))
	if theirs, err = bob.Relations(ctx); err != nil || len(theirs) == 1 && theirs[0].Life == entity.Alive {
		t.Errorf("after the end: %+v, %v", theirs, err)
	}
	if others, err = admin.Relations(ctx); err != nil || len(others) != 1 || others[0].Life != entity.Alive {
		t.Errorf("the other consumer has %+v, %v", others, err)
	}
}

// What GetConsumeDetails gives to a client is enough for another controller; what is passed on wrongly is refused, and
// nothing is consumed.
func TestConsumeOffersOfOtherControllers(t *testing.T) {
	t.Parallel()
	addresses, ca := []string{"192.0.2.1:17070"}, authority(t)
	w := newWorld(t, func(c *facades.Config) { c.API = func() ([]string, string) { return addresses, ca } }).populate()
	ctx := t.Context()
	facadestest.OfferMySQL(w, w.st)
	conn := w.admin().client()
	offer, external, err := w.root().client().ConsumeDetails(ctx, "admin/default.hosted")
	w.ok(err)
	if external == nil || external.Controller != w.controller.UUID() || cmp.Diff(addresses, external.Addresses) != "" {
		t.Fatalf("the controller of the offer: %+v", external)
	}
	// The offer is this controller's own: it needs no token, but can't be consumed in its own model.
	if err := conn.ConsumeExternal(ctx, offer, *external, "db"); !errors.Is(err, entity.NotSupported) {
		t.Errorf("an offer of the own model: %v", err)
	}
	external.Controller, external.Name = blog, "other"
	for name, change := range map[string]func(*entity.Offer, *entity.External){
		"no token":     func(_ *entity.Offer, e *entity.External) { e.Token = "{}" },
		"no addresses": func(_ *entity.Offer, e *entity.External) { e.Addresses = nil },
		"no port":      func(_ *entity.Offer, e *entity.External) { e.Addresses = []string{"192.0.2.1"} },
		"no CA":        func(_ *entity.Offer, e *entity.External) { e.CACert = "CA" },
		"no name":      func(_ *entity.Offer, e *entity.External) { e.Name = "" },
		"no endpoints": func(o *entity.Offer, _ *entity.External) { o.Endpoints = nil },
		"no offer":     func(o *entity.Offer, _ *entity.External) { o.UUID = "hosted" },
		"no model":     func(o *entity.Offer, _ *entity.External) { o.Model = "" },
		"a peer": func(o *entity.Offer, _ *entity.External) {
			o.Endpoints = []entity.RemoteEndpoint{{Name: "a", Role: "peer", Interface: "b"}}
		},
	} {
		o, e := offer, *external
		change(&o, &e)
		if err := conn.ConsumeExternal(ctx, o, e, "db"); !errors.Is(err, entity.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := w.st.CrossModel().Consumed(ctx); err != nil || len(all) > 0 {
		t.Fatalf("consumed: %v, %v", all, err)
	}
	w.ok(conn.ConsumeExternal(ctx, offer, *external, "db"))
	all, err := w.st.CrossModel().Consumed(ctx)
	w.ok(err)
	if len(all) != 1 || all[0].URL != "other:admin/default.hosted" || all[0].External == nil || all[0].External.Token != external.Token {
		t.Fatalf("consumed: %+v", all)
	}

	// It is reached where it is now; the token stays, which its relations were made with.
	first := all[0].External.ID
	_, again, err := w.root().client().ConsumeDetails(ctx, "admin/default.hosted")
	w.ok(err)
	again.Controller, again.Name, again.Addresses = blog, "other", []string{"192.0.2.2:17070"}
	w.ok(conn.ConsumeExternal(ctx, offer, *again, "db"))
	if all, err = w.st.CrossModel().Consumed(ctx); err != nil || all[0].External.ID != first || all[0].External.Addresses[0] != "192.0.2.2:17070" {
		t.Errorf("consumed again: %+v, %v", all[0].External, err)
	}

	// Its relations stay until they have ended there, or by force. No secret is shown.
	_, err = w.st.AddService(ctx, state.AddServiceParams{Name: "blog", CharmURL: statetest.Charm(t, w.st, statetest.Wordpress)})
	w.ok(err)
	r, err := w.st.AddRelation(ctx, "blog", "db")
	w.ok(err)
	w.ok(r.Destroy(ctx, entity.Destruction{}))
	if r, err = w.st.RelationByID(ctx, r.ID()); err != nil || r.Life() != entity.Dying {
		t.Fatalf("the relation: %v", err)
	}
	w.ok(w.st.CrossModel().Mirror(ctx, r.ID(), entity.Members{})) // no unit of the other model is in it
	if _, err := w.st.RelationByID(ctx, r.ID()); err != nil {
		t.Fatalf("before it has ended there: %v", err)
	}
	w.ok(w.st.CrossModel().Release(ctx, r.ID()))
	w.ok(w.st.CrossModel().Release(ctx, r.ID()))
	if _, err := w.st.RelationByID(ctx, r.ID()); !entity.IsNotFound(err) {
		t.Errorf("after it has ended there: %v", err)
	}
	dump, err := w.st.Dump(ctx)
	w.ok(err)
	text, err := json.Marshal(dump)
	w.ok(err)
	if strings.Contains(string(text), "signature") {
		t.Error("the dump shows the token")
	}
}
