package facades_test

import (
	"encoding/json"
	"testing"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

func TestConstraintsOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	c := w.admin().client()
	ctx := t.Context()
	constraints := func(text string) constraints.Value {
		t.Helper()
		c, err := constraints.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want := constraints("mem=2G tags=a,^b arch=")
	if _, err := c.SetServiceConstraints(ctx, "mysql", want); err != nil {
		t.Fatal(err)
	}
	if got, err := c.ServiceConstraints(ctx, "mysql"); err != nil || !got.Equal(want) {
		t.Errorf("the service has %v (%v)", got, err)
	}
	var told params.ApplicationGetResults
	reply := w.admin().call("Application", 19, "Get", params.ApplicationGet{ApplicationName: "mysql"})
	if err := json.Unmarshal(reply.Response, &told); err != nil || told.Constraints.IsEmpty() {
		t.Errorf("the service's info has constraints %v (%v)", told.Constraints, err)
	}
	if _, err := c.SetModelConstraints(ctx, constraints("cores=2")); err != nil {
		t.Fatal(err)
	}
	if got, err := c.ModelConstraints(ctx); err != nil || !got.Equal(constraints("cores=2")) {
		t.Errorf("the model has %v (%v)", got, err)
	}
	units, _, err := c.AddUnits(ctx, "mysql", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := w.st.Unit(ctx, units[0])
	if err != nil {
		t.Fatal(err)
	}
	infos, err := w.st.Provisioning().MachineInfos(ctx, u.Machine())
	if err != nil || infos[0].Constraints != "arch= cores=2 mem=2048M tags=a,^b" {
		t.Errorf("the unit's machine has %+v (%v)", infos, err)
	}
	url := statetest.Charm(t, w.st, statetest.Logging)
	if _, err := w.st.AddService(ctx, state.AddServiceParams{Name: "logging", CharmURL: url}); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]entity.Kind{"nosuch": entity.NotFound, "logging": entity.Invalid} {
		if _, err := c.ServiceConstraints(ctx, name); entity.KindOf(err) != kind {
			t.Errorf("constraints of %s: %v", name, err)
		}
		if _, err := c.SetServiceConstraints(ctx, name, want); entity.KindOf(err) != kind {
			t.Errorf("set constraints of %s: %v", name, err)
		}
	}
	if _, err := c.ServiceConfig(ctx, "logging"); err != nil {
		t.Errorf("a subordinate's constraints: %v", err)
	}
}
