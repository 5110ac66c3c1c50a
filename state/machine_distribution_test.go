package state_test

import (
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A machine's group are the others with units of its services, among them those on its containers; of a controller's
// machine, those of the other controllers.
func TestDistributionGroup(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2) // on 0 and 1
	w.deploy("riak", statetest.Riak, 2)   // on 2 and 3
	c, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy", Placement: statetest.At("lxd:1")})
	w.ok(err)
	riak, err := w.st.Service(w.ctx, "riak")
	w.ok(err)
	_, err = riak.AddUnits(w.ctx, 1, statetest.To(c.ID()))
	w.ok(err)
	empty, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	for range 2 {
		_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy", Jobs: []string{"JobManageEnviron"}})
		w.ok(err)
	}
	for id, want := range map[string]string{"0": "1", "1": "0 2 3", "2": "1/lxd/0 3", "1/lxd/0": "2 3", empty.ID(): "",
		"5": "6", "6": "5"} {
		group, err := w.machine(id).DistributionGroup(w.ctx)
		w.ok(err)
		if got := strings.Join(group, " "); got != want {
			t.Errorf("the group of machine %s is %q, want %q", id, got, want)
		}
	}
}

// The zone of an instance is shown, and told to the units on it, until it is lost.
func TestZoneOfAMachine(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	check := func(want, hardware string) {
		t.Helper()
		info, err := w.unit("mysql/0").Info(w.ctx)
		w.ok(err)
		if got := w.status().Machines[0].Hardware; info.Zone != want || got != hardware {
			t.Errorf("the unit is told %q, and status shows %q, want %q and %q", info.Zone, got, want, hardware)
		}
	}
	check("", "")
	in := entity.Instance{ID: "i-0", Nonce: "n", Hardware: entity.Hardware{Zone: "eu-1"}}
	w.ok(w.machine("0").SetProvisioned(w.ctx, in))
	check("eu-1", "availability-zone=eu-1")
	w.ok(w.machine("0").LoseInstance(w.ctx, in))
	check("", "")
}
