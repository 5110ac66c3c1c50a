package facades_test

import (
	"testing"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// The API prepares and completes the upgrade of a machine's operating system, and says why it does not.
func TestUpgradeSeries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.st.AddService(t.Context(), state.AddServiceParams{Name: "web", Series: "jammy", Units: 1,
		CharmURL: statetest.Charm(t, w.st, `{name: web, summary: s, description: d, series: [jammy, noble]}`)})
	w.ok(err)
	m, err := w.st.Machine(t.Context(), "0")
	w.ok(err)
	w.ok(m.SetProvisioned(t.Context(), entity.Instance{ID: "i-0", Nonce: "nonce"}))
	c := w.admin()
	machine, container := entity.MachineTag("0"), entity.MachineTag("0/lxd/0")
	finish := func() {
		unit, err := w.st.Unit(t.Context(), "web/0")
		w.ok(err)
		info, err := unit.Info(t.Context())
		w.ok(err)
		w.ok(unit.FinishUpgradeStep(t.Context(), info.Upgrade.Number, info.Upgrade.Completing))
	}
	const prepare, complete = "UpgradeSeriesPrepare", "UpgradeSeriesComplete"
	const cannot, cannotComplete = "cannot prepare machine 0 for an upgrade: ", "cannot complete the upgrade of machine 0: "
	for _, one := range []struct {
		method string
		tag    entity.Tag
		arg    params.UpdateChannelArg
		want   string
	}{
		{prepare, entity.MachineTag("9"), params.UpdateChannelArg{Channel: "24.04"}, "machine 9 not found"},
		{prepare, container, params.UpdateChannelArg{Channel: "24.04"}, "machine 0/lxd/0 not found"},
		{prepare, entity.UnitTag("web/0"), params.UpdateChannelArg{Channel: "24.04"}, `"unit-web-0" is not a valid machine tag`},
		{prepare, machine, params.UpdateChannelArg{Channel: "12"}, `unknown base "ubuntu@12"`},
		{prepare, machine, params.UpdateChannelArg{}, "base missing from args"},
		{prepare, machine, params.UpdateChannelArg{Channel: "20.04"},
			cannot + `base "ubuntu@20.04" not supported by charm "web", supported bases are: ubuntu@22.04, ubuntu@24.04`},
		{complete, machine, params.UpdateChannelArg{}, cannotComplete + "it has not been prepared"},
		{complete, entity.UnitTag("web/0"), params.UpdateChannelArg{}, `"unit-web-0" is not a valid machine tag`},
		{prepare, machine, params.UpdateChannelArg{Channel: "20.04", Force: true}, ""},
		{prepare, machine, params.UpdateChannelArg{Channel: "24.04"}, cannot + `it is already being upgraded to "ubuntu@20.04"`},
		{complete, machine, params.UpdateChannelArg{}, cannotComplete + "units have not finished preparing: web/0"},
		{"", machine, params.UpdateChannelArg{}, ""},
		{complete, machine, params.UpdateChannelArg{KeepBase: true}, ""},
		{complete, machine, params.UpdateChannelArg{}, ""}, // again
		{"", machine, params.UpdateChannelArg{}, ""},
		{prepare, machine, params.UpdateChannelArg{Channel: "22.04"}, cannot + `it already has base "ubuntu@22.04"`},
		{prepare, machine, params.UpdateChannelArg{Channel: "ubuntu@24.04/stable"}, ""},
		{"", machine, params.UpdateChannelArg{}, ""},
		{complete, machine, params.UpdateChannelArg{}, ""},
		{"", machine, params.UpdateChannelArg{}, ""},
		{prepare, machine, params.UpdateChannelArg{Channel: "24.04"}, cannot + `it already has base "ubuntu@24.04"`},
	} {
		if one.method == "" {
			finish()
			continue
		}
		one.arg.Entity = params.Entity{Tag: params.TagOf(one.tag)}
		var result params.ErrorResult
		switch one.method {
		case prepare:
			w.ok(c.do("MachineManager", 10, "UpgradeSeriesPrepare", one.arg, &result))
		default:
			w.ok(c.do("MachineManager", 10, "UpgradeSeriesComplete", one.arg, &result))
		}
		got := ""
		if result.Error != nil {
			got = result.Error.Message
		}
		if got != one.want {
			t.Errorf("%s %s %+v: got error %q, want %q", one.method, one.tag, one.arg, got, one.want)
		}
	}
}
