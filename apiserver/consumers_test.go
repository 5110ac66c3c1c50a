package apiserver

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"gopkg.in/macaroon.v2"

	"juju/apiserver/admission"
	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

// consumerInfo is how another controller logs in with a token.
func (w *world) consumerInfo(token string) client.Info {
	w.Helper()
	id, err := controller.TokenID(token)
	w.ok(err)
	return client.Info{Addresses: []string{w.address}, CACert: pki().ca.Cert, Model: w.st.UUID(), Tag: entity.ConsumerTag(id), Password: token}
}

// A token that this controller has not made, or not for this, opens nothing; what its holder adds to one does not widen it.
func TestTokensOfConsumers(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	offer := facadestest.OfferMySQL(w, w.st)
	token, err := w.server.controller.NewConsumer(ctx, statetest.Admin, w.st.UUID(), offer)
	w.ok(err)
	second, err := w.server.controller.NewConsumer(ctx, statetest.Admin, w.st.UUID(), offer)
	w.ok(err)
	good := w.consumerInfo(token)
	w.dial(good)
	edited := func(edit func(map[string]any)) string {
		var fields map[string]any
		w.ok(json.Unmarshal([]byte(token), &fields))
		edit(fields)
		text, err := json.Marshal(fields)
		w.ok(err)
		return string(text)
	}
	added := func(caveat string) string {
		var m macaroon.Macaroon
		w.ok(json.Unmarshal([]byte(token), &m))
		w.ok(m.AddFirstPartyCaveat([]byte(caveat)))
		text, err := json.Marshal(&m)
		w.ok(err)
		return string(text)
	}
	for name, change := range map[string]func(*client.Info){
		"another model":      func(i *client.Info) { i.Model = w.server.controllerModel.UUID() },
		"the controller":     func(i *client.Info) { i.Model = "" },
		"another token's id": func(i *client.Info) { i.Tag = w.consumerInfo(second).Tag },
		"no caveats":         func(i *client.Info) { i.Password = edited(func(f map[string]any) { f["caveats"] = []any{} }) },
		"one caveat less": func(i *client.Info) {
			i.Password = edited(func(f map[string]any) { f["caveats"] = f["caveats"].([]any)[:2] })
		},
		"another user":      func(i *client.Info) { i.Password = strings.Replace(token, "user "+statetest.Admin, "user root", 1) },
		"one more offer":    func(i *client.Info) { i.Password = added("offer deadbeef-0000-4000-8000-00000000b109") },
		"an unknown caveat": func(i *client.Info) { i.Password = added("until tomorrow") },
		"a wrong signature": func(i *client.Info) {
			i.Password = edited(func(f map[string]any) { f["signature"] = strings.Repeat("0", 64) })
		},
		"no token":            func(i *client.Info) { i.Password = "" },
		"no JSON":             func(i *client.Info) { i.Password = "guess" },
		"a very long token":   func(i *client.Info) { i.Password = token + strings.Repeat(" ", 3<<10) },
		"a user with a token": func(i *client.Info) { i.Tag = entity.UserTag(statetest.Admin) },
	} {
		info := good
		change(&info)
		c, err := client.Dial(ctx, info)
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, entity.Unauthorized) || err.Error() != "invalid entity name or password" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A token opens nothing, and its connections end, once its user may not consume the offer, however that happens. Whoever holds
// the token of an offer that is gone learns that.
func TestTokensEndWithTheRightToConsume(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	offer := facadestest.OfferMySQL(w, w.st)
	near := entity.NearEnd{Service: "wordpress", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}
	for name, lose := range map[string]func(user string) error{
		"revoked": func(user string) error {
			return w.controller.RevokeOffer(ctx, w.st.UUID(), offer, user, controller.AccessConsume)
		},
		"disabled":      func(user string) error { return w.controller.DisableUser(ctx, user) },
		"removed":       func(user string) error { return w.controller.RemoveUser(ctx, user) },
		"without-login": func(user string) error { return w.controller.RevokeController(ctx, user, controller.AccessLogin) },
	} {
		w.addUser(name)
		w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), offer, name, controller.AccessConsume, statetest.Admin))
		token, err := w.controller.NewConsumer(ctx, name, w.st.UUID(), offer)
		w.ok(err)
		info := w.consumerInfo(token)
		api := client.CrossModelRelationsFacade{Caller: w.dial(info)}
		w.ok(api.Connect(ctx, "deadbeef-0000-4000-8000-00000000b109", 3, near, "server"))
		watching := w.raw(w.modelPath()).login(info.Tag, token, "")
		w.ok(watching.call("CrossModelRelations", 1, "WatchOffer", struct{}{}).Err())
		w.ok(lose(name))
		if code := watching.ended(); code != params.CloseRevoked {
			t.Errorf("%s: the connection ends with code %d", name, code)
		}
		if _, err := client.Dial(ctx, info); !errors.Is(err, entity.Unauthorized) || !strings.Contains(err.Error(), "may no longer consume the offer") {
			t.Errorf("%s: the token is told %v", name, err)
		}
	}
	x := w.st.CrossModel()
	w.ok(x.AddOffer(ctx, entity.NewOffer{Name: "spare", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := x.Offers(ctx)
	w.ok(err)
	spare := offers[slices.IndexFunc(offers, func(o entity.Offer) bool { return o.Name == "spare" })].UUID
	w.addUser("bob")
	w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), spare, "bob", controller.AccessConsume, statetest.Admin))
	token, err := w.controller.NewConsumer(ctx, "bob", w.st.UUID(), spare)
	w.ok(err)
	o, err := x.Offer(ctx, "spare")
	w.ok(err)
	w.ok(o.Destroy(ctx, entity.Destruction{}))
	w.ok(w.controller.DropOffer(ctx, spare))
	if _, err := client.Dial(ctx, w.consumerInfo(token)); !entity.IsNotFound(err) {
		t.Errorf("the token of an offer that is gone: %v", err)
	}
}

// All consumers of a user's, and the user, have together what the user may have.
func TestConsumersCountAsTheirUser(t *testing.T) {
	s := &Server{config: Config{Config: facades.Config{Meter: unmetered{}}},
		members: admission.Members{Max: 100, OfUser: 3, OfAgent: 50, MaxWatches: 3}}
	consumer := func(user string) identity {
		id := uuid.NewString()
		return identity{Identity: facades.Identity{Tag: entity.ConsumerTag(id), Consumer: controller.Consumer{ID: id, User: user}}}
	}
	bob := identity{Identity: facades.Identity{Tag: entity.UserTag("Bob")}}
	for what, take := range map[string]func(model string, id identity) (func(), error){"connections": s.admit, "watches": s.admitWatch} {
		for n, id := range []identity{bob, consumer("Bob"), consumer("bob")} {
			if _, err := take("model", id); err != nil {
				t.Errorf("%s: number %d: %v", what, n, err)
			}
		}
		for _, id := range []identity{bob, consumer("bob")} {
			if _, err := take("another", id); !errors.Is(err, entity.Unavailable) {
				t.Errorf("%s: one more of %s: %v", what, id.Tag, err)
			}
		}
		if _, err := take("model", consumer("carol")); err != nil {
			t.Errorf("%s of another user: %v", what, err)
		}
	}
}

// What a unit may say in a relation fits in a request, whatever its characters: the unit's own, and another controller's.
func TestLongSettingsFitInARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	token, err := w.server.controller.NewConsumer(ctx, statetest.Admin, w.st.UUID(), facadestest.OfferMySQL(w, w.st))
	w.ok(err)
	consumer := client.CrossModelRelationsFacade{Caller: w.dial(w.consumerInfo(token))}
	w.ok(consumer.Connect(ctx, "deadbeef-0000-4000-8000-00000000b109", 3, entity.NearEnd{Service: "wordpress",
		RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}, "server"))
	all, err := consumer.Relations(ctx)
	w.ok(err)
	relation := all[0].Relation
	unit := w.uniter(entity.UnitTag("mysql/0"))
	w.ok(unit.EnterScope(ctx, entity.UnitTag("mysql/0"), relation))
	for name, char := range map[string]string{"markup": "<", "quotes": `"`, "lines": "\n"} {
		settings := map[string]string{"large": strings.Repeat(char, limits.RelationSettings.Max-200)}
		if err := consumer.Mirror(ctx, relation, entity.Members{Units: map[int]map[string]string{0: settings}, Application: settings}); err != nil {
			t.Errorf("%s of another controller's unit: %v", name, err)
		}
		err := unit.CommitHook(ctx, entity.UnitTag("mysql/0"), entity.HookChanges{
			Relations: map[int]map[string]string{relation: settings}, CharmState: settings})
		if err != nil {
			t.Errorf("%s of a unit: %v", name, err)
		}
	}
}
