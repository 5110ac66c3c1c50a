package controller_test

import (
	"fmt"
	"testing"
	"time"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// The UUIDs of two offers.
const (
	offer      = "0ffe2000-0000-4000-8000-000000000001"
	otherOffer = "0ffe2000-0000-4000-8000-000000000002"
)

// accesses returns users as "name:access", in their order.
func accesses(users []controller.ModelUser, err error) (all []string) {
	if err != nil {
		return []string{err.Error()}
	}
	for _, u := range users {
		all = append(all, u.Name+":"+u.Access)
	}
	return all
}

// Access to an offer is granted and revoked like that to a model, apart from it, and goes with the offer.
func TestAccessToOffers(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	w.addUser("Ann")
	model := w.st.UUID()
	has := func(user, access string, consumes bool) {
		t.Helper()
		got, err := w.ctrl.OfferAccess(w.ctx, user, model, offer)
		w.ok(err)
		may, err := w.ctrl.MayConsume(w.ctx, user, model, offer)
		w.ok(err)
		if got != access || may != consumes {
			t.Errorf("%s has access %q and may consume: %v, want %q and %v", user, got, may, access, consumes)
		}
	}
	grant := func(user, level string) error {
		return w.ctrl.GrantOffer(w.ctx, model, offer, user, level, statetest.Admin)
	}
	revoke := func(user, level string) error { return w.ctrl.RevokeOffer(w.ctx, model, offer, user, level) }
	has(statetest.Admin, "admin", true)
	has("bob", "", false)
	has("nobody", "", false)
	for _, step := range []struct {
		level    string
		consumes bool
	}{{"read", false}, {"consume", true}, {"admin", true}} {
		w.ok(grant("BOB", step.level))
		has("bob", step.level, step.consumes)
		w.refused(grant("bob", step.level), entity.AlreadyExists,
			fmt.Sprintf("could not grant offer access: user already has %q access or greater", step.level))
	}
	err := grant("bob", "write")
	w.refused(err, entity.Invalid, `"write" offer access not valid`)
	w.same("the hint", entity.Hint(err), "The levels are: read, consume, admin")
	w.refused(revoke("bob", "write"), entity.Invalid, `"write" offer access not valid`)
	w.may("bob", "login", "") // no access to the model

	w.ok(w.ctrl.GrantOffer(w.ctx, model, otherOffer, "bob", "read", statetest.Admin))
	w.ok(w.ctrl.GrantModel(w.ctx, model, "Ann", "write", statetest.Admin))
	has("ann", "", false)
	w.ok(w.ctrl.GrantModel(w.ctx, model, "Ann", "admin", statetest.Admin))
	has("ann", "admin", true)
	w.same("the offer's users", accesses(w.ctrl.OfferUsers(w.ctx, model, offer)), []string{"admin:admin", "bob:admin"})
	w.same("the model's users", accesses(w.ctrl.ModelUsers(w.ctx, model)), []string{"Ann:admin", "admin:admin"})
	granted, err := w.ctrl.GrantedOffers(w.ctx, model)
	w.ok(err)
	w.same("the granted offers", granted, []string{offer, otherOffer})
	rows, levels, err := w.ctrl.ModelsOf(w.ctx, "bob")
	if w.ok(err); len(rows)+len(levels) > 0 {
		t.Errorf("bob's models are %v", rows)
	}

	w.ok(revoke("bob", "admin"))
	has("bob", "consume", true)
	w.ok(revoke("bob", "consume"))
	has("bob", "read", false)
	w.ok(revoke("bob", "read"))
	has("bob", "", false)
	w.refused(revoke("bob", "read"), entity.NotFound, `could not revoke offer access: user "bob" does not have "read" access`)
	w.refused(revoke(statetest.Admin, "read"), entity.InUse, `user "admin" owns model "default"`)

	// Of two changes at once the second is made from the first.
	w.ok(grant("bob", "admin"))
	w.before(func() { w.ok(revoke("bob", "consume")) })
	w.refused(revoke("bob", "admin"), entity.NotFound, `does not have "admin" access`)
	w.before(func() { w.ok(revoke("bob", "read")) })
	w.ok(grant("bob", "consume"))
	has("bob", "consume", true)
	w.before(func() { w.ok(grant("bob", "admin")) })
	w.refused(grant("bob", "admin"), entity.AlreadyExists, "or greater")

	w.ok(w.ctrl.DropOffer(w.ctx, offer))
	w.ok(w.ctrl.DropOffer(w.ctx, offer))
	has("bob", "", false)
	granted, err = w.ctrl.GrantedOffers(w.ctx, model)
	w.ok(err)
	w.same("the granted offers", granted, []string{otherOffer})
	w.ok(grant("bob", "read"))
	w.ok(w.ctrl.GrantOffer(w.ctx, model, offer, "Ann", "read", statetest.Admin))
	other := w.mustAddModel("other")
	w.ok(w.ctrl.GrantOffer(w.ctx, other.UUID(), "x", "Ann", "read", statetest.Admin))
	granted, err = w.ctrl.GrantedOffers(w.ctx, model)
	w.ok(err)
	w.same("the granted offers", granted, []string{offer, otherOffer})
	w.before(func() { w.beginRemoval(w.st) })
	w.refused(grant("Ann", "consume"), entity.NotFound, "not found")
	w.checkResumed()
	granted, err = w.ctrl.GrantedOffers(w.ctx, model)
	if w.ok(err); len(granted) > 0 {
		t.Errorf("the model is gone, and %v are granted", granted)
	}
}

// What each user has access to is listed, with when they were last there.
func TestModelsAndTheirUsers(t *testing.T) {
	w := newWorld(t)
	n := w.node(time.Unix(1000, 0))
	w.addUser("Bob")
	w.addUser("ann")
	other, err := n.AddModel(w.ctx, controller.AddModelParams{Name: "other", Owner: "ann", Series: "jammy"})
	w.ok(err)
	model := w.st.UUID()
	w.ok(n.GrantModel(w.ctx, model, "bob", "write", statetest.Admin))
	w.ok(n.NoteLogin(w.ctx, "BOB", model))
	n.passes(time.Hour)
	w.ok(n.NoteLogin(w.ctx, "bob", ""))
	listed := func(user string) (all []string) {
		t.Helper()
		rows, access, err := n.ModelsOf(w.ctx, user)
		w.ok(err)
		for i, row := range rows {
			all = append(all, row.Owner+"/"+row.Name+":"+access[i])
		}
		return all
	}
	w.same("bob's models", listed("bob"), []string{"admin/default:write"})
	w.same("ann's models", listed("ANN"), []string{"ann/other:admin"})
	w.same("the superuser's models", listed("admin"), []string{"admin/controller:admin", "admin/default:admin", "ann/other:admin"})
	users, err := n.ModelUsers(w.ctx, model)
	w.same("the users", accesses(users, err), []string{"Bob:write", "admin:admin"})
	if at := users[0].LastLogin; at.Unix() != 1000 || !users[1].LastLogin.IsZero() {
		t.Errorf("the last logins are %+v", users)
	}
	bob, err := n.User(w.ctx, "bob")
	w.ok(err)
	if bob.LastLogin.Unix() != 1000+3600 || bob.Name != "Bob" || bob.Access != "login" {
		t.Errorf("the user is %+v", bob)
	}
	at, err := n.LastLogins(w.ctx, "bob", []string{other.UUID(), model})
	w.ok(err)
	if len(at) != 1 || at[model].Unix() != 1000 {
		t.Errorf("bob's last logins are %v", at)
	}

	row, err := n.ModelNamed(w.ctx, "ann", "other")
	w.ok(err)
	w.same("the model", row.UUID, other.UUID())
	_, err = n.ModelNamed(w.ctx, "bob", "other")
	w.refused(err, entity.NotFound, `model "bob/other" not found`)
	named, err := n.AuditModel(w.ctx, other.UUID())
	w.ok(err)
	w.same("the model in the audit log", named, entity.AuditModel{UUID: other.UUID(), Name: "other", Owner: "ann"})
	named, err = n.AuditModel(w.ctx, stray)
	w.ok(err)
	w.same("a model that is not there, in the audit log", named, entity.AuditModel{UUID: stray})

	// A removed user has access to nothing, and no login is kept of a removed model.
	w.ok(n.RemoveUser(w.ctx, "bob"))
	w.same("the users", accesses(n.ModelUsers(w.ctx, model)), []string{"admin:admin"})
	w.ok(n.RemoveUser(w.ctx, "ann"))
	w.same("the users of ann's model", accesses(n.ModelUsers(w.ctx, other.UUID())), []string(nil))
	st, err := n.Model(w.ctx, model)
	w.ok(err)
	statetest.BeginRemoval(t, n.Controller, st)
	_, err = n.ModelUsers(w.ctx, model)
	w.refused(err, entity.NotFound, "not found")
	w.checkResumed()
	if at, err := n.LastLogins(w.ctx, "bob", []string{model}); len(at) > 0 || err != nil {
		t.Errorf("the model is gone, and the logins are %v, %v", at, err)
	}
}
