package apiserver

import (
	"errors"
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// Admins of damaged records can list and repair the damage through the API.
func TestCheckAndRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	admin := w.dial(w.adminInfo(""))
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
	info := w.info(entity.UserTag("bob"))
	info.Model = ""
	bob := w.dial(info)
	if _, err := bob.CheckModel(t.Context(), w.st.UUID(), false); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a writer checks: %v", err)
	}
	if _, err := bob.CheckController(t.Context(), false); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a user without rights checks the controller: %v", err)
	}
}
