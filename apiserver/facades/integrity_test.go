package facades_test

import (
	"errors"
	"fmt"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

// Admins of damaged records can list and repair the damage through the API.
func TestCheckAndRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	admin := w.root().client()
	check := func(model string, repair bool) (found []entity.Finding) {
		t.Helper()
		var err error
		if model == "" {
			found, err = admin.CheckController(t.Context(), repair)
		} else {
			found, err = admin.CheckModel(t.Context(), model, repair)
		}
		w.ok(err)
		return found
	}
	statetest.Damage(t, w.controller, w.st, "mysql")
	if found := check("", false); len(found) > 0 {
		t.Errorf("of the controller: %+v", found)
	}
	want := entity.Finding{Model: "default", Where: "counts s#mysql", What: "it is missing",
		Repair: "write the right counts"}
	if found := check(w.st.UUID(), false); len(found) != 1 || found[0] != want {
		t.Errorf("found %+v", found)
	}
	want.Done = true
	if found := check(w.st.UUID(), true); len(found) != 1 || found[0] != want {
		t.Errorf("found %+v", found)
	}
	if found := check(w.st.UUID(), true); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	w.ok(w.st.Blocks().SwitchOn(t.Context(), entity.BlockChange, "not now"))
	check(w.st.UUID(), false)
	if _, err := admin.CheckModel(t.Context(), w.st.UUID(), true); !errors.Is(err, entity.OperationBlocked) {
		t.Errorf("got %v", err)
	}
	check("", true)

	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "write", ""))
	bob := w.user("bob", "").client()
	if _, err := bob.CheckModel(t.Context(), w.st.UUID(), false); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a writer checks: %v", err)
	}
	if _, err := bob.CheckController(t.Context(), false); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a user without rights checks the controller: %v", err)
	}
}

// Each of the four requests answers with a list of findings, which is empty if nothing is damaged, and of which a repair
// says that they are repaired.
func TestRequestsOfIntegrity(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	statetest.Damage(t, w.controller, w.st, "mysql")
	const stray = "deadbeef-0bad-400d-8000-4b1d0d06f00d"
	statetest.DamageController(t, w.controller, stray)
	admin, none := w.root(), `{"findings":[]}`
	said := func(reply params.Response, want string) {
		t.Helper()
		w.ok(reply.Err())
		if got := string(reply.Response); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	controller := `{"findings":[{"where":"modelusers ` + stray + `#admin","what":"its model does not exist: models ` + stray +
		`","repair":"remove it"%s}]}`
	said(admin.call("Integrity", 1, "CheckController", nil), fmt.Sprintf(controller, ""))
	said(admin.call("Integrity", 1, "RepairController", nil), fmt.Sprintf(controller, `,"done":true`))
	said(admin.call("Integrity", 1, "CheckController", nil), none)
	model := params.Entity{Tag: params.TagOf(entity.ModelTag(w.st.UUID()))}
	said(admin.call("Integrity", 1, "RepairModel", model),
		`{"findings":[{"model":"default","where":"counts s#mysql","what":"it is missing","repair":"write the right counts","done":true}]}`)
	said(admin.call("Integrity", 1, "CheckModel", model), none)
}
