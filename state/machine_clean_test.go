package state_test

import (
	"fmt"
	"strings"
	"testing"

	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

// cleanMachine adds a machine, which has an instance with this hardware if there is any.
func (w *world) cleanMachine(constraints string, hardware entity.Hardware) *state.Machine {
	w.Helper()
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy", Constraints: statetest.Constraints(constraints)})
	w.ok(err)
	if hardware != (entity.Hardware{}) {
		w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-" + m.ID(), Nonce: "n", Hardware: hardware}))
	}
	return m
}

// fails says that the machine's instance cannot start.
func (w *world) fails(m *state.Machine) {
	w.Helper()
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "cannot start an instance: no room"}))
}

// added adds units, and returns their machines.
func (w *world) added(s *state.Service, n int) string {
	w.Helper()
	names, err := s.AddUnits(w.ctx, n, nil)
	w.ok(err)
	var on []string
	for _, name := range names {
		on = append(on, w.unit(name).Machine())
	}
	return strings.Join(on, " ")
}

// Machines that never had a unit are used if they have what the unit wants, as far as that is known: by
// the hardware of those that have started, and by what was asked for.
func TestCleanMachinesThatHaveEnough(t *testing.T) {
	w := newWorld(t)
	w.cleanMachine("", entity.Hardware{Arch: "amd64", Cores: 1, Mem: 1024})
	w.cleanMachine("", entity.Hardware{Arch: "amd64", Cores: 4, Mem: 4096})
	w.cleanMachine("mem=1G", entity.Hardware{})
	w.cleanMachine("mem=8G", entity.Hardware{})
	w.cleanMachine("", entity.Hardware{})
	s := w.deploy("mysql", statetest.MySQL, 0)
	w.ok(s.SetConstraints(w.ctx, statetest.Constraints("mem=2G")))
	if got := w.added(s, 3); got != "1 3 5" {
		t.Errorf("units that want 2G are on %s", got)
	}
	w.ok(s.SetConstraints(w.ctx, statetest.Constraints("")))
	if got := w.added(s, 4); got != "0 2 4 6" {
		t.Errorf("units that want nothing are on %s", got)
	}
}

// A service's units are spread over the zones of clean machines as over those of new ones; what other
// services have there does not count, nor does the order of the machines unless zones are equal.
func TestCleanMachinesOfSeveralZones(t *testing.T) {
	w := newWorld(t)
	for _, zone := range []string{"a", "a", "a", "b", "a", "b", ""} {
		w.cleanMachine("", entity.Hardware{Arch: "amd64", Zone: zone})
	}
	mysql, wordpress := w.deploy("mysql", statetest.MySQL, 0), w.deploy("wordpress", statetest.Wordpress, 0)
	if got := w.added(mysql, 2); got != "0 3" {
		t.Errorf("the first units are on %s", got)
	}
	if got := w.added(mysql, 2); got != "6 1" {
		t.Errorf("the next units are on %s", got)
	}
	if got := w.added(wordpress, 1) + " " + w.added(wordpress, 1); got != "2 5" {
		t.Errorf("the other service's units are on %s", got)
	}
	if got := w.added(mysql, 2); got != "4 7" {
		t.Errorf("the last clean machine and a new one are %s", got)
	}
}

// On a machine whose instance cannot start a unit would wait for ever.
func TestMachinesInErrorAreNotClean(t *testing.T) {
	w := newWorld(t)
	w.fails(w.cleanMachine("", entity.Hardware{}))
	s := w.deploy("mysql", statetest.MySQL, 0)
	if got := w.added(s, 1); got != "1" {
		t.Errorf("the unit is on %s, want a new machine", got)
	}
	w.ok(w.machine("0").RetryProvisioning(w.ctx, nil))
	if got := w.added(s, 1); got != "0" {
		t.Errorf("the unit is on %s, want the machine that is tried again", got)
	}
}

// What a clean machine was chosen for is asserted, whether its status was ever set or not.
func TestCleanMachinesThatChangeMeanwhile(t *testing.T) {
	has := entity.Hardware{Mem: 4096}
	for name, test := range map[string]struct {
		constraints string
		hardware    entity.Hardware
		change      func(w *world)
	}{
		"its start fails": {constraints: "mem=4G", change: func(w *world) { w.fails(w.machine("0")) }},
		"its constraints are replaced": {constraints: "mem=4G", change: func(w *world) {
			w.fails(w.machine("0"))
			small, err := constraints.Parse("mem=1G")
			w.ok(err)
			w.ok(w.machine("0").RetryProvisioning(w.ctx, &small))
		}},
		"it has a unit": {constraints: "mem=4G", change: func(w *world) {
			_, err := mustService(w, "other").AddUnits(w.ctx, 1, statetest.To("0"))
			w.ok(err)
		}},
		"its instance is lost": {hardware: has, change: func(w *world) {
			w.ok(w.machine("0").LoseInstance(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
		}},
	} {
		for _, said := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, with a status: %t", name, said), func(t *testing.T) {
				w := newWorld(t)
				m := w.cleanMachine(test.constraints, test.hardware)
				if said {
					w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusPending, Message: "starting"}))
				}
				w.deploy("other", statetest.Riak, 0)
				s := w.deploy("mysql", statetest.MySQL, 0)
				w.ok(s.SetConstraints(w.ctx, statetest.Constraints("mem=2G")))
				w.st.Before(func() { test.change(w) })
				if got := w.added(s, 1); got == "0" {
					t.Error("the unit is on the machine that does not suit it any more")
				}
			})
		}
	}
}
