package facades_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

// Refused requests return an error of the right kind, and change nothing in the model.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	c := w.admin().client()
	before, err := w.st.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	mysql := w.charms["mysql"]
	upload := func(series string) error { return second(c.UploadCharm(ctx, strings.NewReader("no zip"), series)) }
	destroyed, _, err := c.DestroyMachines(ctx, entity.Destruction{}, "0")
	w.ok(err)
	for name, test := range map[string]struct {
		err  error
		kind entity.Kind
		text string // "" for any
	}{
		"a charm from a hub": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: "ch:amd64/mysql-1"})),
			entity.NotFound, `charm "ch:amd64/mysql-1" not found`},
		"a charm of a store that is no more": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: "cs:mysql-1"})),
			entity.NotSupported, ""},
		"a charm that is not there": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: "local:jammy/x-1"})),
			entity.NotFound,
			`charm "local:jammy/x-1" not found`},
		"no charm's URL": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: "::"})), entity.Invalid, ""},
		"the same name": {second(c.Deploy(ctx, client.DeployArgs{Service: "mysql", CharmURL: mysql})), entity.AlreadyExists,
			`cannot add service "mysql": service already exists`},
		"a wrong type in a file": {second(c.Deploy(ctx,
			client.DeployArgs{Service: "x", CharmURL: mysql, ConfigYAML: "x: {size: big}"})), entity.Invalid,
			`settings:1: x.size: option "size" expected int, got "big"`},
		"a file for another service": {second(c.Deploy(ctx,
			client.DeployArgs{Service: "x", CharmURL: mysql, ConfigYAML: "y: {size: 1}"})), entity.Invalid,
			`no settings found for "x"`},
		"an unknown option": {c.SetServiceConfig(ctx, "mysql", map[string]string{"sise": "1", "size": "9"}, ""),
			entity.Invalid, `unknown option "sise"`},
		"a reset of an unknown option": {c.ResetServiceConfig(ctx, "mysql", "sise"), entity.Invalid,
			`unknown option "sise"`},
		"settings of no service": {c.SetServiceConfig(ctx, "nosql", nil, ""), entity.NotFound, ""},
		"a relation of one": {second(c.AddRelation(ctx, "mysql")), entity.Invalid,
			"a relation must involve two services"},
		"a relation that there is": {second(c.AddRelation(ctx, "mysql", "wordpress")), entity.AlreadyExists, ""},
		"a relation that there is not": {c.DestroyRelation(ctx, entity.Destruction{}, "mysql", "mysql"), entity.NotFound,
			""},
		"a machine with units": {errors.Join(destroyed...), "", ""},
		"a machine as placement": {third(c.AddMachine(ctx, client.MachineArgs{Placement: statetest.At("0")})), entity.Invalid,
			"machine-id cannot be specified when adding machines"},
		"no archive":          {upload(""), entity.Invalid, ""},
		"no series":           {upload("../x"), entity.Invalid, `invalid series "../x"`},
		"a charm to download": {third(c.CharmArchive(ctx, "local:jammy/x-1")), entity.NotFound, ""},
		"an agent's method": {second(client.UniterFacade{Caller: c}.Unit(ctx, entity.UnitTag("mysql/0"))),
			entity.Unauthorized, "permission denied"},
		"a bad pattern":                {second(c.Status(ctx, "a/b/c")), entity.Invalid, ""},
		"units of a service not there": {third(c.AddUnits(ctx, "nosql", 1, nil)), entity.NotFound, ""},
		"no units": {third(c.AddUnits(ctx, "mysql", 0, nil)), entity.Invalid,
			"--num-units must be a positive integer"},
		"too many units": {third(c.AddUnits(ctx, "mysql", limits.MaxAtOnce+1, nil)), entity.Invalid,
			"cannot add 101 units at once: the maximum is 100"},
		"a deploy of too many units": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: mysql,
			Units: limits.MaxAtOnce + 1})), entity.Invalid, "cannot add 101 units at once: the maximum is 100"},
		"fewer units than none": {third(c.AddUnits(ctx, "mysql", -1, nil)), entity.Invalid,
			"--num-units must be a positive integer"},
		"fewer units than none, with a placement": {third(c.AddUnits(ctx, "mysql", -1, statetest.To("lxd"))), entity.Invalid,
			"--num-units must be a positive integer"},
		"a deploy of fewer units than none": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: mysql, Units: -1,
			Placement: statetest.To("lxd")})), entity.Invalid, "--num-units must be a positive integer"},
		"a check of such a deploy": {third(c.CheckDeploy(ctx, client.DeployArgs{Service: "x", CharmURL: mysql, Units: -1,
			Placement: statetest.To("lxd")}, entity.Platforms{})), entity.Invalid, "--num-units must be a positive integer"},
	} {
		if test.err == nil || test.kind != "" && entity.KindOf(test.err) != test.kind || test.text != "" &&
			test.err.Error() != test.text {
			t.Errorf("%s: %v (%s), want %s %q", name, test.err, entity.KindOf(test.err), test.kind, test.text)
		}
	}
	after, err := w.st.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	after.At = before.At
	if diff := cmp.Diff(before, after, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("refusals have changed the model: %s", diff)
	}
}
