package facades_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A user does not learn that an offer exists without read access to it, uses it with consume access, and manages it with
// admin access. Who else uses it, only its administrators see.
func TestAccessToOffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	mine := w.guests()
	bob, own := w.user("bob", ""), w.user("bob", mine.UUID())
	admin := w.root()
	const url = "admin/default.hosted"
	offer := params.AddApplicationOffers{Offers: []params.AddApplicationOffer{{ModelTag: params.TagOf(entity.ModelTag(w.st.UUID())),
		OfferName: "hosted", ApplicationName: "mysql", Endpoints: map[string]string{"server": "server"}}}}
	call := func(c *caller, facade string, version int, method string, p any) error {
		t.Helper()
		return facadestest.Within(c.call(facade, version, method, p))
	}
	if err := call(bob, "ApplicationOffers", 5, "Offer", offer); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("bob offered a service of another's model: %v", err)
	}
	w.ok(call(admin, "ApplicationOffers", 5, "Offer", offer))
	for _, written := range []string{url, "ADMIN/default.hosted", "default.hosted"} {
		w.ok(call(admin, "ApplicationOffers", 5, "ApplicationOffers", params.OfferURLs{OfferURLs: []string{written}}))
	}
	consume := params.ConsumeApplicationArgs{Args: []params.ConsumeApplicationArg{{
		ApplicationOfferDetails: params.ApplicationOfferDetails{OfferURL: url}}}}
	urls := params.OfferURLs{OfferURLs: []string{url}}
	grant := func(c *caller, user, level string) error {
		return call(c, "ApplicationOffers", 5, "ModifyOfferAccess", params.ModifyOfferAccessRequest{Changes: []params.ModifyOfferAccess{
			{UserTag: params.TagOf(entity.UserTag(user)), Action: params.Grant, Access: level, OfferURL: url}}})
	}
	destroy := func() error {
		return call(bob, "ApplicationOffers", 5, "DestroyOffers", params.DestroyApplicationOffers{OfferURLs: urls.OfferURLs})
	}
	for _, step := range []struct {
		level                         string
		see, consume, others, destroy entity.Kind
	}{
		{"", entity.NotFound, entity.NotFound, entity.NotFound, entity.NotFound},
		{"read", "", entity.Unauthorized, entity.Unauthorized, entity.Unauthorized},
		{"consume", "", "", entity.Unauthorized, entity.Unauthorized},
		{"admin", "", "", "", ""},
	} {
		if step.level != "" {
			w.ok(grant(admin, "bob", step.level))
		}
		var seen params.ApplicationOffersResults
		reply := bob.call("ApplicationOffers", 5, "ApplicationOffers", urls)
		w.ok(reply.Err())
		w.ok(json.Unmarshal(reply.Response, &seen))
		for what, got := range map[string][2]entity.Kind{
			"see":     {entity.KindOf(params.FromError(seen.Results[0].Error)), step.see},
			"consume": {entity.KindOf(call(own, "Application", 19, "Consume", consume)), step.consume},
			"grant":   {entity.KindOf(grant(bob, "eve", "read")), step.others},
			"destroy": {entity.KindOf(destroy()), step.destroy},
		} {
			if got[0] != got[1] {
				t.Errorf("with %q access, %s: %q, want %q", step.level, what, got[0], got[1])
			}
		}
	}
}

// A relation is not resumed whose user may no longer consume the offer that it uses.
func TestRelationOfRevokedUserIsNotResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx, x := t.Context(), w.st.CrossModel()
	w.ok(x.AddOffer(ctx, entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := x.Offers(ctx)
	w.ok(err)
	w.addUser("bob")
	w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), offers[0].UUID, "bob", controller.AccessConsume, statetest.Admin))
	for i, user := range []string{"eve", "bob"} { // eve may not consume, which says nothing about bob
		w.ok(x.Connect(ctx, blog, entity.Connection{Offer: offers[0].UUID, User: user, Relation: i, Far: "server",
			Near: entity.NearEnd{Service: "blog", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}}))
	}
	all, err := x.Connections(ctx)
	w.ok(err)
	if len(all) != 2 || all[1].User != "bob" {
		t.Fatalf("the relations are %+v", all)
	}
	admin := w.admin()
	set := func(suspended bool) error {
		return facadestest.Within(admin.call("Application", 19, "SetRelationsSuspended", params.RelationSuspendedArgs{Args: []params.RelationSuspendedArg{
			{RelationID: all[1].Relation, Suspended: suspended}}}))
	}
	since := func() *time.Time {
		t.Helper()
		var status params.FullStatus
		w.ok(admin.do("Client", 7, "FullStatus", params.StatusParams{}, &status))
		for _, r := range status.Relations {
			if r.ID == all[1].Relation && r.Status.Since != nil {
				return r.Status.Since
			}
		}
		t.Fatalf("status does not say since when relation %d is there", all[1].Relation)
		return nil
	}
	w.ok(set(true))
	for i, began := 0, since(); !since().After(*began); i++ { // it says when the relation was last suspended or resumed
		if i == 100 {
			t.Fatalf("the relation is as it is since %v", began)
		}
		w.ok(set(false))
		w.ok(set(true))
	}
	w.ok(w.controller.RevokeOffer(ctx, w.st.UUID(), offers[0].UUID, "bob", controller.AccessConsume))
	want := fmt.Sprintf(`cannot resume relation %d where user "bob" does not have consume permission`, all[1].Relation)
	if err := set(false); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), offers[0].UUID, "bob", controller.AccessConsume, statetest.Admin))
	w.ok(set(false))
}

// A filter by users that can't be read selects nothing; it must not select everything.
func TestOfferFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.root()
	for _, f := range []params.OfferFilter{{AllowedUsers: []string{"bob"}}, {ConnectedUsers: []string{"machine-0"}}} {
		err := admin.call("ApplicationOffers", 5, "FindApplicationOffers", params.OfferFilters{Filters: []params.OfferFilter{f}}).Err()
		if entity.KindOf(err) != entity.Invalid {
			t.Errorf("%+v: %v, want that it is invalid", f, err)
		}
	}
}

// Before a bundle grants access to offers, an administrator of the model can ask whether there are the users. Nobody else
// can try names.
func TestCheckUsersOfOffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "write", ""))
	users := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.UserTag("bob"))},
		{Tag: params.TagOf(entity.UserTag("nobody"))}, {Tag: params.TagOf(entity.UnitTag("mysql/0"))}}}
	var said params.ErrorResults
	w.ok(w.admin().do("ApplicationOffers", 5, "CheckUsers", users, &said))
	if r := said.Results; len(r) != 3 || r[0].Error != nil || r[1].Error == nil || r[1].Error.Message != `user "nobody" not found` ||
		r[2].Error == nil {
		t.Errorf("the users are %+v", r)
	}
	if err := w.user("bob", w.st.UUID()).call("ApplicationOffers", 5, "CheckUsers", users).Err(); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("bob, who can write, tries names: %v", err)
	}
}

// Offers are found by all that a filter says: of several filters, one suffices.
func TestOffersAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	w.addUser("bob")
	w.ok(w.st.CrossModel().AddOffer(ctx, entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}, Description: "a database"}))
	url := statetest.Charm(t, w.st, "{name: site, summary: s, description: d, provides: {url: {interface: http}}}")
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "site", CharmURL: url})
	w.ok(err)
	w.ok(w.st.CrossModel().AddOffer(ctx, entity.NewOffer{Name: "blog", Service: "site", Endpoints: []string{"url"}}))
	all, err := w.st.CrossModel().Offers(ctx)
	w.ok(err)
	for _, o := range all {
		if o.Name == "hosted" {
			w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), o.UUID, "bob", controller.AccessConsume, statetest.Admin))
		}
	}
	root := w.root()
	for filters, want := range map[string]string{
		`{}`: "blog hosted", `{"owner-name":"ADMIN","model-name":"default"}`: "blog hosted", `{"model-name":"other"}`: "", `{"owner-name":"bob"}`: "",
		`{"offer-name":"hosted"}`: "hosted", `{"offer-name":"hosted","application-name":"site"}`: "", `{"application-name":"site"}`: "blog",
		`{"application-description":"data"}`: "hosted", `{"application-description":"data","offer-name":"blog"}`: "", `{"offer-name":"none"},{"offer-name":"blog"}`: "blog",
		`{"endpoints":[{"interface":"mysql"}]}`: "hosted", `{"endpoints":[{"name":"server","role":"requirer"}]}`: "",
		`{"endpoints":[{"name":"none"},{"name":"url"}]}`: "blog", `{"allowed-users":["user-bob"]}`: "hosted", `{"connected-users":["user-bob"]}`: "",
	} {
		var found params.QueryApplicationOffersResults
		w.ok(root.do("ApplicationOffers", 5, "FindApplicationOffers", json.RawMessage(`{"Filters":[`+filters+`]}`), &found))
		var got []string
		for _, o := range found.Results {
			got = append(got, o.OfferName)
		}
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("%s finds %v, want %s", filters, got, want)
		}
	}
	root.says(step{"ApplicationOffers 5 FindApplicationOffers", `{"Filters":[]}`, "at least one offer filter is required"})
	w.user("bob", "").says(step{"ApplicationOffers 5 FindApplicationOffers", `{"Filters":[{"offer-name":"blog"}]}`, ""})
}

// A service is not related to a remote one once whoever consumed its offer may no longer do so. Other remote services are not
// affected.
func TestRelationsNeedConsumeAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx, x := t.Context(), w.st.CrossModel()
	mine := w.guests() // bob's
	offers := map[string]string{}
	for _, name := range []string{"first", "second"} {
		w.ok(x.AddOffer(ctx, entity.NewOffer{Name: name, Service: "mysql", Endpoints: []string{"server"}}))
	}
	all, err := x.Offers(ctx)
	w.ok(err)
	for _, o := range all {
		offers[o.Name] = o.UUID
		w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), o.UUID, "bob", controller.AccessConsume, statetest.Admin))
	}
	_, err = mine.AddService(ctx, state.AddServiceParams{Name: "blog", CharmURL: statetest.Charm(t, mine, statetest.Wordpress)})
	w.ok(err)
	own := w.user("bob", mine.UUID())
	for name := range offers {
		own.says(step{"Application 19 Consume", `{"args":[{"offer-url":"admin/default.` + name + `"}]}`, "{}"})
	}
	w.ok(w.controller.RevokeOffer(ctx, w.st.UUID(), offers["first"], "bob", controller.AccessConsume))
	own.says(
		step{"Application 19 AddRelation", `{"endpoints":["blog:db","first:server"]}`, `cannot relate to "first": permission denied` +
			` → Whoever consumed it, bob, has no "consume" access to offer admin/default.first any more.`},
		step{"Application 19 AddRelation", `{"endpoints":["blog:db","second"]}`, `{"endpoints"…`},
	)
}
