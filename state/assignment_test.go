package state_test

import (
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// machineOf returns the machine of a unit, as its agent sees it.
func (w *world) machineOf(unit string) string {
	w.Helper()
	info, err := w.unit(unit).Info(w.ctx)
	w.ok(err)
	return info.Machine
}

func TestDeployAndAddUnitCreatePrincipals(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 2)
	names, err := s.AddUnits(w.ctx, 2, nil)
	w.ok(err)
	for _, name := range append([]string{"mysql/0", "mysql/1"}, names...) {
		u := w.unit(name)
		if u.Life() != entity.Alive || u.Principal() != "" || u.Service() != "mysql" || u.Machine() == "" {
			t.Errorf("unit %s is %s, of service %q, with principal %q, on machine %q", name, u.Life(), u.Service(),
				u.Principal(), u.Machine())
		}
	}
	if names[0] != "mysql/2" || names[1] != "mysql/3" {
		t.Errorf("add-unit has added %q", names)
	}
}

// A unit stays on its machine, whatever is added or destroyed, and each of several gets its own.
func TestAUnitNeverMoves(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 2)
	first, second := w.machineOf("mysql/0"), w.machineOf("mysql/1")
	if first == second || first == "" || second == "" {
		t.Fatalf("the units are on machines %q and %q", first, second)
	}
	w.started("mysql/0")
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	_, err = s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.refused(w.machine(first).Destroy(w.ctx, entity.Destruction{}), entity.InUse, "has unit")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("mysql/0").EnsureDead(w.ctx))
	for name, want := range map[string]string{"mysql/0": first, "mysql/1": second} {
		if got := w.machineOf(name); got != want {
			t.Errorf("unit %s is on machine %q, was on %q", name, got, want)
		}
	}
}

// A service, its units and their machines have one series from the beginning, even when others
// come to be the default.
func TestSeriesIsKept(t *testing.T) {
	w := newWorld(t)
	w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{"default-series": "noble"}, nil))
	url := statetest.Charm(t, w.st, statetest.MySQL)
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Series: "noble", Units: 1})
	w.ok(err)
	w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{"default-series": "jammy"}, nil))
	_, err = s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	if s.Series() != "noble" {
		t.Errorf("the service has series %q", s.Series())
	}
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	for _, m := range status.Machines {
		if m.Series != "noble" {
			t.Errorf("machine %s of a unit has series %q", m.ID, m.Series)
		}
	}
	other, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	_, err = s.AddUnits(w.ctx, 1, statetest.To(other.ID()))
	w.refused(err, entity.Invalid, "series does not match")
	names, err := s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	if w.machineOf(names[0]) == other.ID() {
		t.Error("a unit is on a machine of another series")
	}
}

func TestUnprovisionedMachineIsRemovedWithItsUnit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	m := w.machine(w.machineOf("mysql/0"))
	w.refused(m.Destroy(w.ctx, entity.Destruction{}), entity.InUse, "has unit")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	_, err := w.st.Unit(w.ctx, "mysql/0")
	w.gone("unit", "mysql/0", err)
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	_, err = w.st.Machine(w.ctx, m.ID())
	w.gone("machine", m.ID(), err)
}
