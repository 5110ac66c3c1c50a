package services_test

import (
	"errors"
	"strings"
	"testing"

	"juju/state/entity"
)

// In a bulk call some entities can fail; the words are Juju's.
func TestBulk(t *testing.T) {
	t.Parallel()
	gone := func(name string) error { return entity.Errorf(entity.NotFound, "unit %q not found", name) }
	busy := entity.WithHint(entity.Errorf(entity.InUse, `machine 0 has unit "web/0" assigned`),
		"Destroy the unit first: juju destroy-unit web/0")
	for _, test := range []struct {
		line string
		errs []error
		want string
	}{
		{"destroy-unit web/8 web/9", []error{gone("web/8"), gone("web/9")},
			"ERROR no units were destroyed: unit \"web/8\" not found; unit \"web/9\" not found\n" +
				"To see what is in the model: juju status\n"},
		{"destroy-unit web/0 web/9", []error{nil, gone("web/9")},
			"ERROR some units were not destroyed: unit \"web/9\" not found\nTo see what is in the model: juju status\n"},
		{"destroy-unit web/9", []error{gone("web/9")},
			"ERROR no units were destroyed: unit \"web/9\" not found\nTo see what is in the model: juju status\n"},
		{"destroy-machine 0", []error{busy},
			"ERROR no machines were destroyed: machine 0 has unit \"web/0\" assigned\n" +
				"Destroy the unit first: juju destroy-unit web/0\n"},
		{"destroy-machine 0 1 2", []error{busy, nil, busy},
			"ERROR some machines were not destroyed: machine 0 has unit \"web/0\" assigned (2 times)\n" +
				"Destroy the unit first: juju destroy-unit web/0\n"},
		{"destroy-service a", []error{errors.New("no a")}, "ERROR no a\n"},
		{"destroy-service a b", []error{errors.New("no a"), errors.New("no b")},
			"ERROR no services were destroyed: no a; no b\n"},
		{"retry-provisioning 3", []error{errors.New("machine 3 is not in error")}, "ERROR machine 3 is not in error\n"},
		{"retry-provisioning --all", []error{nil, errors.New("machine 3 is dead")},
			"ERROR some machines were not retried: machine 3 is dead\n"},
		{"resolved web/0", []error{errors.New("already resolved")}, "ERROR already resolved\n"},
		{"resolved web/0 web/1", []error{nil, errors.New("already resolved")},
			"ERROR some units were not resolved: already resolved\n"},
		{"resolved --all", []error{nil, errors.New("already resolved")},
			"ERROR some units were not resolved: already resolved\n"},
	} {
		t.Run(test.line, func(t *testing.T) {
			u := newUser(t)
			u.Model.Returns.Errs = test.errs
			u.Types(strings.Fields(test.line)...)
			u.Sees(1, "", test.want)
		})
	}
}

// Errors of the API are shown as they are, with their hints.
func TestAPIErrors(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Err = entity.WithHint(entity.Errorf(entity.Invalid, "ambiguous relation: %q could refer to …", "a b"),
		"Name the endpoints")
	u.Types("add-relation", "a", "b")
	u.Sees(1, "", "ERROR ambiguous relation: \"a b\" could refer to …\nName the endpoints\n")
	u.Model.Returns.Err = entity.Errorf(entity.NotFound, `service "web" not found`)
	u.Types("expose", "web")
	u.Sees(1, "", "ERROR service \"web\" not found\nTo see what is in the model: juju status\n")
	u.Model.Returns.Err = entity.Errorf(entity.Invalid, `option "port" expected int, got "x"`)
	u.Types("set", "web", "port=x")
	u.Sees(1, "", "ERROR option \"port\" expected int, got \"x\"\nTo list the options: juju get web\n")
	u.Model.Returns.Err = entity.Errorf(entity.Contention, "state changing too quickly; try again soon")
	u.Types("unset", "web", "port")
	u.Sees(1, "", "ERROR state changing too quickly; try again soon\n")
	// Added machines are reported, even if others failed.
	u.Types("add-machine", "-n", "2")
	u.Sees(1, "", "ERROR state changing too quickly; try again soon\n")
}

// A disabled command says why it is refused, and how to enable it.
func TestDisabledCommandsSayHowToEnableThem(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Err = entity.WithHint(entity.Errorf(entity.OperationBlocked, "Ask SA."),
		"To enable removal, run\n\n    juju enable-command remove-object\n")
	u.Types("destroy-unit", "web/0")
	u.Sees(1, "", "ERROR Ask SA.\nTo enable removal, run\n\n    juju enable-command remove-object\n\n")
}
