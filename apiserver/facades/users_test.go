package facades_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
)

// Methods that name models are refused by the blocks of each model.
func TestBlocksOfNamedModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("ann")
	w.ok(w.st.Blocks().SwitchOn(t.Context(), entity.BlockChange, "locked"))
	c := w.root()
	change := func(uuid string) params.ModifyModelAccess {
		return params.ModifyModelAccess{UserTag: params.TagOf(entity.UserTag("ann")), Action: "grant", Access: "read",
			ModelTag: params.TagOf(entity.ModelTag(uuid))}
	}
	reply := c.call("ModelManager", 10, "ModifyModelAccess", params.ModifyModelAccessRequest{
		Changes: []params.ModifyModelAccess{change(w.st.UUID()), change(w.backend.ControllerModel.UUID())}})
	var results params.ErrorResults
	w.ok(json.Unmarshal(reply.Response, &results))
	if e := results.Results[0].Error; e == nil || e.Code != "operation is blocked" || e.Message != "locked" {
		t.Errorf("at the blocked model: %+v", e)
	}
	if e := results.Results[1].Error; e != nil {
		t.Errorf("at the other: %+v", e)
	}
}

// A user who may not do something is told what that takes; a user who may do nothing is not.
func TestPermissionErrorNamesTheMissingAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "read", ""))
	c := w.user("bob", w.st.UUID()).client()
	_, err := c.Expose(t.Context(), "mysql", nil)
	want := fmt.Sprintf(`This needs "write" access to model %q; bob has "read". An administrator of the model can grant it: `+
		"juju grant bob write %[1]s", w.st.Name())
	if !errors.Is(err, entity.Unauthorized) || err.Error() != "permission denied" || entity.Hint(err) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, entity.Hint(err), want)
	}

	// What names a user or a model says so too. No one learns which models there are.
	w.addUser("ann")
	raw := w.user("bob", "")
	there, other := params.TagOf(entity.ModelTag(w.st.UUID())), params.TagOf(entity.ModelTag(w.backend.ControllerModel.UUID()))
	none := params.TagOf(entity.ModelTag("deadbeef-0000-4000-8000-00000000dead"))
	ann := params.TagOf(entity.UserTag("ann"))
	admin := fmt.Sprintf(`This needs "admin" access to model %q; bob has "read". An administrator of the model can grant it: `+
		"juju grant bob admin %[1]s", w.st.Name())
	root := `This needs "superuser" access to the controller; bob has "login". A superuser can grant it: juju grant bob superuser`
	unseen := func(level string, model params.Tag) string {
		return fmt.Sprintf("This needs %q access to model %q, if there is one; bob has none", level, model.ID)
	}
	one := func(tag params.Tag) params.Entities { return params.Entities{Entities: []params.Entity{{Tag: tag}}} }
	grant := func(model params.Tag) error {
		return facadestest.Within(raw.call("ModelManager", 10, "ModifyModelAccess", params.ModifyModelAccessRequest{
			Changes: []params.ModifyModelAccess{{UserTag: ann, Action: "grant", Access: "read", ModelTag: model}}}))
	}
	destroy := func(model params.Tag) error {
		return facadestest.Within(raw.call("ModelManager", 10, "DestroyModels",
			params.DestroyModelsParams{Models: []params.DestroyModelParams{{ModelTag: model}}}))
	}
	check := func(model params.Tag) error {
		return raw.call("Integrity", 1, "CheckModel", params.Entity{Tag: model}).Err()
	}
	charm := w.user("bob", w.st.UUID()).client()
	_, upload := charm.UploadCharm(t.Context(), strings.NewReader("x"), "")
	for _, test := range []struct {
		about string
		err   error
		want  string
	}{
		{"another's info", facadestest.Within(raw.call("UserManager", 3, "UserInfo", params.UserInfoRequest{Entities: one(ann).Entities})), root},
		{"a grant", grant(there), admin},
		{"a grant at another model", grant(other), unseen("admin", other)},
		{"a grant at no model", grant(none), unseen("admin", none)},
		{"destroying the model", destroy(there), admin},
		{"destroying another", destroy(other), unseen("admin", other)},
		{"destroying none", destroy(none), unseen("admin", none)},
		{"checking the model", check(there), admin},
		{"checking another", check(other), unseen("admin", other)},
		{"checking none", check(none), unseen("admin", none)},
		{"the users of another model", raw.call("UserManager", 3, "ModelUserInfo", one(other)).Err(), unseen("read", other)},
		{"the users of no model", raw.call("UserManager", 3, "ModelUserInfo", one(none)).Err(), unseen("read", none)},
		{"another model's info", facadestest.Within(raw.call("ModelManager", 10, "ModelInfo", one(other))), unseen("read", other)},
		{"no model's info", facadestest.Within(raw.call("ModelManager", 10, "ModelInfo", one(none))), unseen("read", none)},
		{"watching another model", raw.call("Status", 1, "WatchModel", params.Entity{Tag: other}).Err(), unseen("read", other)},
		{"watching no model", raw.call("Status", 1, "WatchModel", params.Entity{Tag: none}).Err(), unseen("read", none)},
		{"an upload", upload, want},
	} {
		if !errors.Is(test.err, entity.Unauthorized) || test.err.Error() != "permission denied" || entity.Hint(test.err) != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.about, test.err, entity.Hint(test.err), test.want)
		}
	}
	raw = w.root()
	for about, err := range map[string]error{"a grant": grant(none), "destroying it": destroy(none), "checking it": check(none),
		"its users":   raw.call("UserManager", 3, "ModelUserInfo", one(none)).Err(),
		"its info":    facadestest.Within(raw.call("ModelManager", 10, "ModelInfo", one(none))),
		"watching it": raw.call("Status", 1, "WatchModel", params.Entity{Tag: none}).Err()} {
		if !errors.Is(err, entity.NotFound) || !strings.Contains(err.Error(), `model "`+none.ID+`" not found`) {
			t.Errorf("a superuser asks about no model: %s: %v", about, err)
		}
	}
}

// Users who are not superusers can act only on themselves and on the models whose admins they
// are, whatever their requests name.
func TestUsersActOnlyOnTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("bob")
	w.addUser("ann")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "write", ""))
	home := params.TagOf(entity.ModelTag(w.backend.ControllerModel.UUID()))
	shared := params.TagOf(entity.ModelTag(w.st.UUID()))
	ann, bob := params.TagOf(entity.UserTag("ann")), params.TagOf(entity.UserTag("bob"))
	c := w.user("bob", "")
	deniedTo := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, entity.Unauthorized) || err.Error() != "permission denied" {
			t.Errorf("%s: %v", what, err)
		}
	}
	grant := func(user, model params.Tag, level string) error {
		return facadestest.Within(c.call("ModelManager", 10, "ModifyModelAccess", params.ModifyModelAccessRequest{
			Changes: []params.ModifyModelAccess{{UserTag: user, Action: "grant", Access: level, ModelTag: model}}}))
	}
	deniedTo("a grant with write only", grant(ann, shared, "read"))
	deniedTo("a grant to oneself", grant(bob, shared, "admin"))
	deniedTo("a grant at a model that one can't see", grant(ann, home, "read"))
	deniedTo("a grant at no model",
		grant(ann, params.TagOf(entity.ModelTag("deadbeef-0000-4000-8000-00000000dead")), "read"))
	deniedTo("another's password", facadestest.Within(c.call("UserManager", 3, "SetPassword",
		params.EntityPasswords{Changes: []params.EntityPassword{{Tag: ann, Password: "x"}}})))
	deniedTo("another's info", facadestest.Within(c.call("UserManager", 3, "UserInfo",
		params.UserInfoRequest{Entities: []params.Entity{{Tag: ann}}})))
	deniedTo("another's access", facadestest.Within(c.call("Controller", 12, "GetControllerAccess",
		params.Entities{Entities: []params.Entity{{Tag: ann}}})))
	deniedTo("another's models", c.call("ModelManager", 10, "ListModels", params.Entity{Tag: ann}).Err())
	deniedTo("the users of a model that one can't see",
		c.call("UserManager", 3, "ModelUserInfo", params.Entities{Entities: []params.Entity{{Tag: home}}}).Err())
	w.ok(w.controller.NoteLogin(t.Context(), "bob", ""))
	var infos params.UserInfoResults
	w.ok(json.Unmarshal(c.call("UserManager", 3, "UserInfo", params.UserInfoRequest{}).Response, &infos))
	if len(infos.Results) != 1 || infos.Results[0].Result.Username != "bob" ||
		infos.Results[0].Result.LastConnection == nil {
		t.Errorf("bob sees users %+v", infos.Results)
	}
	var users params.ModelUserInfoResults
	w.ok(json.Unmarshal(c.call("UserManager", 3, "ModelUserInfo",
		params.Entities{Entities: []params.Entity{{Tag: shared}}}).Response, &users))
	if len(users.Results) != 1 || users.Results[0].Result.UserName != "bob" || users.Results[0].Result.Access != "write" {
		t.Errorf("bob sees the model's users %+v", users.Results)
	}
	w.ok(facadestest.Within(c.call("UserManager", 3, "SetPassword",
		params.EntityPasswords{Changes: []params.EntityPassword{{Tag: params.TagOf(entity.UserTag("BOB")),
			Password: "mine"}}})))
	_, err := w.controller.CheckUser(t.Context(), "Bob", "mine") // in any case
	w.ok(err)
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "admin", ""))
	w.ok(grant(ann, shared, "read"))
	if err := grant(ann, shared, "all"); !errors.Is(err, entity.Invalid) || err.Error() != `"all" model access not valid` {
		t.Errorf("an unknown level: %v", err)
	}
}
