package state_test

import (
	"testing"

	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/statetest"
)

func (w *world) machine(id string) *state.Machine {
	w.Helper()
	m, err := w.st.Machine(w.ctx, id)
	w.ok(err)
	return m
}

func TestLostMachineGetsAnotherInstance(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	m := w.provisioned("0")
	password := state.NewAgentPassword()
	w.ok(w.st.Agents().SetPassword(w.ctx, entity.MachineTag("0"), password))
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.1"}))
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	was := entity.Instance{ID: "i-0", Nonce: "n"}
	// Only the instance that was reported lost is removed.
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-0", Nonce: "another"}))
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-7", Nonce: "n"}))
	if got := w.machine("0").InstanceID(); got != "i-0" {
		t.Fatalf("instance is %q", got)
	}
	w.ok(m.LoseInstance(w.ctx, was))
	info, err := w.machine("0").Info(w.ctx)
	w.ok(err)
	if info.InstanceID != "" || info.Nonce != "" || info.Status != entity.StatusPending ||
		len(w.machine("0").Addresses()) > 0 {
		t.Errorf("after the loss the machine is %+v, with addresses %v", info, w.machine("0").Addresses())
	}
	w.refused(w.st.Agents().Check(w.ctx, entity.MachineTag("0"), password, "n"), entity.Unauthorized,
		"invalid entity name or password")
	w.ok(m.LoseInstance(w.ctx, was))
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-1", Nonce: "m"}))
	// A report made before the machine got another instance is about the old one.
	w.st.Before(func() {
		w.ok(w.machine("0").LoseInstance(w.ctx, entity.Instance{ID: "i-1", Nonce: "m"}))
		w.ok(w.machine("0").SetProvisioned(w.ctx, entity.Instance{ID: "i-2", Nonce: "o"}))
	})
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-1", Nonce: "m"}))
	if got := w.machine("0").InstanceID(); got != "i-2" {
		t.Errorf("instance is %q", got)
	}
	history, err := w.st.StatusHistory(w.ctx, entity.HistoryMachine, "0", entity.HistoryFilter{})
	w.ok(err)
	lost := 0
	for _, s := range history {
		if s.Message == "instance i-0 was lost" {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("the history has the loss %d times: %v", lost, history)
	}
	w.checkCounts()
}

func TestManagerIsNeverLost(t *testing.T) {
	w := newWorld(t)
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Jobs: []string{modeldb.JobManageModel}})
	w.ok(err)
	w.provisioned(m.ID())
	w.refused(m.LoseInstance(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}), entity.Invalid, "machine 0 runs a controller")
}

// Dying units on a lost machine need agents again, and those need an instance.
// A machine with nothing on it needs none.
func TestLostDyingMachine(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	u, m := w.started("mysql/0"), w.provisioned("0")
	w.ok(u.Destroy(w.ctx, entity.Destruction{}))
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
	w.refused(m.EnsureDead(w.ctx), entity.InUse, `machine 0 has unit "mysql/0" assigned`)
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-1", Nonce: "m"}))
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-1", Nonce: "m"}))
	w.st.Before(func() { w.end("mysql/0") })
	w.refused(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-2", Nonce: "o"}), entity.NotAlive, "machine is not alive")
	w.ok(m.EnsureDead(w.ctx))
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-2", Nonce: "o"}))
	w.ok(m.Remove(w.ctx))
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-2", Nonce: "o"}))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	w.empty()
}

func TestRetryProvisioning(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
		w.ok(err)
	}
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: statetest.At("lxd:2")})
	w.ok(err)
	events, err := w.st.Watches().Machines(w.ctx)
	w.ok(err)
	<-events
	failed := entity.Status{Status: entity.StatusError, Message: "no more of these"}
	for _, id := range []string{"0", "1", "2/lxd/0"} {
		w.ok(w.machine(id).SetStatus(w.ctx, failed))
	}
	w.provisioned("1") // its agent has failed, not its instance
	w.refused(w.machine("1").RetryProvisioning(w.ctx, nil), entity.Invalid, "machine 1 is not in error")
	w.refused(w.machine("2").RetryProvisioning(w.ctx, nil), entity.Invalid, "machine 2 is not in error")
	all, err := w.st.Provisioning().FailedMachines(w.ctx)
	w.ok(err)
	if len(all) != 2 || all[0].ID() != "0" || all[1].ID() != "2/lxd/0" {
		t.Errorf("failed machines are %v, want machine 0 and the container", all)
	}
	w.ok(w.machine("2/lxd/0").RetryProvisioning(w.ctx, nil))
	named(t, events, "2/lxd/0")
	w.ok(w.machine("0").RetryProvisioning(w.ctx, nil))
	named(t, events, "0")
	info, err := w.machine("0").Info(w.ctx)
	w.ok(err)
	if info.Status != entity.StatusPending {
		t.Errorf("its status is %s, want pending", info.Status)
	}
	w.ok(w.machine("0").SetStatus(w.ctx, failed))
	w.st.Before(func() { w.ok(w.machine("0").RetryProvisioning(w.ctx, nil)) })
	w.refused(w.machine("0").RetryProvisioning(w.ctx, nil), entity.Invalid, "machine 0 is not in error")
	named(t, events, "0") // each retry wakes the provisioner
}

// A user who retries with other constraints replaces all of those that the machine has.
func TestRetryProvisioningWithConstraints(t *testing.T) {
	w := newWorld(t)
	w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("arch=amd64")))
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Constraints: statetest.Constraints("mem=500T cores=2")})
	w.ok(err)
	for _, c := range []struct{ asked, want string }{
		{"mem=2G cpu-power=400", "cpu-power=400 mem=2048M"},
		{"mem=2G", "mem=2048M"},
		{"mem=2G", "mem=2048M"},
		{"", ""},
		{"", ""},
		{"cores=1", "cores=1"},
	} {
		w.ok(w.machine("0").SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "no room"}))
		conflict, err := constraints.Parse("instance-type=big mem=2G")
		w.ok(err)
		w.refused(w.machine("0").RetryProvisioning(w.ctx, &conflict), entity.Invalid, "overlaps")
		asked, err := constraints.Parse(c.asked)
		w.ok(err)
		w.ok(w.machine("0").RetryProvisioning(w.ctx, &asked))
		info, err := w.machine("0").Info(w.ctx)
		w.ok(err)
		if info.Constraints != c.want || info.Status != entity.StatusPending {
			t.Errorf("with %q the machine has constraints %q and is %s, want %q", c.asked, info.Constraints, info.Status,
				c.want)
		}
		refused := w.machine("0").RetryProvisioning(w.ctx, &asked)
		w.refused(refused, entity.Invalid, "machine 0 is not in error")
	}
	w.ok(w.machine("0").Destroy(w.ctx, entity.Destruction{}))
	w.empty()
}

// Of two provisioners that have started an instance for one machine, only the first is heard.
func TestAMachineHasOneInstance(t *testing.T) {
	w := newWorld(t)
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	w.st.Before(func() { w.provisioned("0") })
	w.refused(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-1", Nonce: "m"}), entity.Invalid, "already set")
	if got := w.machine("0").InstanceID(); got != "i-0" {
		t.Errorf("the instance is %q", got)
	}
}
