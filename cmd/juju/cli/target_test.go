package cli_test

import (
	"errors"
	"testing"

	"juju/cmd/juju/store"
	"juju/state/entity"
)

// Which model a command works with.
func TestTarget(t *testing.T) {
	t.Parallel()
	contents := &store.Contents{Current: "a", Controllers: map[string]*store.Controller{
		"a": {User: "admin", Model: "admin/default"},
		"b": {User: "bob", Model: "eve/shared"},
		"c": {User: "carol"},
		"d": {},
	}}
	for _, test := range []struct {
		flag, model, controller string // -m, JUJU_MODEL, JUJU_CONTROLLER
		want                    string
	}{
		{"", "", "", "a admin/default"},
		{"x", "", "", "a admin/x"},
		{"eve/x", "", "", "a eve/x"},
		{"b:x", "", "", "b bob/x"},
		{"b:", "", "", "b eve/shared"},
		{"", "x", "", "a admin/x"},
		{"", "b:x", "", "b bob/x"},
		{"y", "b:x", "", "a admin/y"},
		{"", "", "b", "b eve/shared"},
		{"x", "", "b", "b bob/x"},
		{"a:x", "", "b", "a admin/x"},
		{"", "a:x", "b", "a admin/x"},
		{"", "", "c", `no model is selected on controller "c"`},
		{"", "", "d", `you are logged out of controller "d"`},
		{"d:x", "", "", `you are logged out of controller "d"`},
		{"z:x", "", "", `controller "z" not found`},
		{"", "", "z", `controller "z" not found`},
	} {
		u := newUser(t)
		u.Env["JUJU_MODEL"], u.Env["JUJU_CONTROLLER"] = test.model, test.controller
		u.Session.Model = test.flag
		got, err := u.Session.Target(contents)
		text := got.Name + " " + got.Model
		if err != nil {
			text = err.Error()
			if entity.Hint(err) == "" || !errors.Is(err, entity.NotFound) && !errors.Is(err, entity.Unauthorized) {
				t.Errorf("%+v: no hint, or another kind: %v", test, err)
			}
		}
		if text != test.want {
			t.Errorf("%+v: %s", test, text)
		}
	}
}
