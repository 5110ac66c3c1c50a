package state_test

import (
	"slices"
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// seen returns the machine's addresses and hardware, and the status of its instance, as status shows them.
func (w *world) seen(machine string) string {
	w.Helper()
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	for _, m := range status.Machines {
		if m.ID == machine {
			text := ""
			for _, a := range m.Addresses {
				text += a + " "
			}
			return text + "| " + m.Hardware + " | " + string(m.InstanceStatus.Status)
		}
	}
	w.Fatalf("there is no machine %s", machine)
	return ""
}

// What the cloud reports and what the machine's agent reports are merged in one place: the cloud's come
// first. They go with the instance.
func TestReportsOfAMachineAreMerged(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	m := w.provisioned("0")
	want := func(text string) {
		t.Helper()
		if got := w.seen(m.ID()); got != text {
			t.Errorf("status shows %q, want %q", got, text)
		}
	}
	in := entity.Instance{ID: "i-0", Nonce: "n", Addresses: []string{"10.0.0.1", "fd00::1"},
		Hardware: entity.Hardware{Arch: "amd64", Mem: 512, Zone: "a"}}
	w.ok(m.Observe(w.ctx, in, "running"))
	want("10.0.0.1 fd00::1 | arch=amd64 mem=512M availability-zone=a | running")
	w.ok(m.SetAddresses(w.ctx, []string{"192.168.0.1", "10.0.0.1"}))
	w.ok(m.SetHardware(w.ctx, entity.Hardware{Arch: "amd64", Cores: 2, Mem: 1024, RootDisk: 2048}))
	want("10.0.0.1 fd00::1 192.168.0.1 | arch=amd64 cores=2 mem=512M root-disk=2048M availability-zone=a | running")

	// While it restarts it has no addresses, and keeps those that it had.
	in.Addresses = nil
	w.ok(m.Observe(w.ctx, in, "stopped"))
	want("10.0.0.1 fd00::1 192.168.0.1 | arch=amd64 cores=2 mem=512M root-disk=2048M availability-zone=a | stopped")
	in.Addresses = []string{"10.0.0.2"}
	w.ok(m.Observe(w.ctx, in, "running"))
	want("10.0.0.2 192.168.0.1 10.0.0.1 | arch=amd64 cores=2 mem=512M root-disk=2048M availability-zone=a | running")

	// Of another instance nothing is recorded.
	in.Nonce, in.Addresses = "other", []string{"10.0.0.3"}
	w.ok(m.Observe(w.ctx, in, "stopped"))
	want("10.0.0.2 192.168.0.1 10.0.0.1 | arch=amd64 cores=2 mem=512M root-disk=2048M availability-zone=a | running")

	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-1", Nonce: "m", Addresses: []string{"10.0.0.4"},
		Hardware: entity.Hardware{Arch: "arm64"}}))
	want("10.0.0.4 | arch=arm64 | running")
}

// The agent of a manual machine knows it best. The address by which the user has added the host stays,
// unless it was the host's own and is no more.
func TestReportsOfAManualMachine(t *testing.T) {
	w := newWorld(t)
	params := manualMachine()
	params.Manual.Addresses = []string{"10.0.0.1", "203.0.113.1"}
	m, err := w.st.AddMachine(w.ctx, params)
	w.ok(err)
	addresses := func(want ...string) {
		t.Helper()
		now, err := w.st.Machine(w.ctx, m.ID())
		w.ok(err)
		if got := now.Addresses(); !slices.Equal(got, want) {
			t.Errorf("addresses %q, want %q", got, want)
		}
	}
	addresses("10.0.0.1", "203.0.113.1")
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.1", "10.0.0.9"}))
	addresses("10.0.0.1", "203.0.113.1", "10.0.0.9")
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.2"}))
	addresses("203.0.113.1", "10.0.0.2")
	w.ok(m.SetHardware(w.ctx, entity.Hardware{Cores: 8}))
	if got, want := w.seen(m.ID()), "203.0.113.1 10.0.0.2 | arch=amd64 cores=8 mem=2048M | running"; got != want {
		t.Errorf("status shows %q, want %q", got, want)
	}
}

// A look at the cloud that has begun before a machine was Dead does not hide that its instance could not be
// stopped: forced removal does not wait for the cloud any longer then.
func TestALateReportDoesNotHideAFailedStop(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	m, in := w.provisioned("0"), entity.Instance{ID: "i-0", Nonce: "n", Addresses: []string{"10.0.0.2"}}
	w.ok(m.Observe(w.ctx, in, "stopped"))
	w.st.Before(func() {
		w.ok(w.st.Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
		w.clean()
		w.ok(m.SetInstanceStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "it is stuck"}))
	})
	for range 2 {
		w.ok(m.Observe(w.ctx, in, "running"))
	}
	w.clean()
	if _, err := w.st.Machine(w.ctx, "0"); !entity.IsNotFound(err) {
		t.Errorf("the machine is still there: %v", err)
	}
	left, err := w.st.Provisioning().Leftovers(w.ctx)
	w.ok(err)
	if len(left) != 1 || left[0].Instance != "i-0" || left[0].Why != "it is stuck" {
		t.Errorf("left is %+v", left)
	}
}

// A unit learns that the address of its machine has changed: see what its watch and UnitInfo say.
func TestAChangedAddressReachesTheUnitsOfTheMachine(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	m, unit := w.provisioned("0"), w.unit("mysql/0")
	events, err := w.st.Watches().Unit(w.ctx, unit.Name())
	w.ok(err)
	<-events
	w.ok(m.Observe(w.ctx, entity.Instance{ID: "i-0", Nonce: "n", Addresses: []string{"10.0.0.2"}}, "running"))
	<-events
	info, err := unit.Info(w.ctx)
	w.ok(err)
	if info.PrivateAddress != "10.0.0.2" {
		t.Errorf("the unit has address %q", info.PrivateAddress)
	}
}

// The history has what the cloud says when that changes, not each time that it is asked.
func TestHistoryOfWhatTheCloudSays(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	m, in := w.provisioned("0"), entity.Instance{ID: "i-0", Nonce: "n"}
	for _, status := range []string{"running", "stopped", "stopped", "", "running", "running"} {
		w.ok(m.Observe(w.ctx, in, status))
	}
	for range 2 {
		w.ok(m.SetInstanceStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "it is stuck"}))
	}
	got := w.history(entity.HistoryMachine, "0", entity.HistoryFilter{})
	if want := []string{"juju-machine pending", "machine stopped", "machine running", "machine error it is stuck"}; !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
}

// What the cloud says is recorded all or nothing if the conversation with the store breaks off, also while the relations
// are read in which the machine's units publish its new address.
func TestAReportThatIsCutOffIsNotRecorded(t *testing.T) {
	st := sharedStage(t)
	m := mutators[slices.IndexFunc(mutators, func(m mutator) bool { return m.name == "Machine.Observe" })]
	r := m.record(t, st)
	for n := range m.reads(t, st) {
		m.cutAt(t, st, r, point{n + 1, false}, false)
	}
}
