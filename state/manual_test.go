package state_test

import (
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/statetest"
)

func manualMachine() state.AddMachineParams {
	return state.AddMachineParams{
		Series: "bookworm",
		Manual: entity.Instance{ID: "manual:db.example.com", Nonce: "manual:db.example.com:1",
			Addresses: []string{"10.0.0.7"}},
		Hardware: entity.Hardware{Arch: "amd64", Cores: 2, Mem: 2048},
	}
}

func TestAManualMachineHasItsInstanceFromTheStart(t *testing.T) {
	w := newWorld(t)
	w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("mem=64G")))
	m, err := w.st.AddMachine(w.ctx, manualMachine())
	w.ok(err)
	info, err := m.Info(w.ctx)
	w.ok(err)
	want := entity.MachineInfo{ID: "0", Life: entity.Alive, Series: "bookworm", InstanceID: "manual:db.example.com",
		Nonce: "manual:db.example.com:1", Status: entity.StatusPending}
	if info != want || !info.IsManual() {
		t.Errorf("got %+v, want %+v", info, want)
	}
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	if got := status.Machines[0]; got.Hardware != "arch=amd64 cores=2 mem=2048M" || len(got.Addresses) != 1 ||
		got.Addresses[0] != "10.0.0.7" {
		t.Errorf("status shows %+v", got)
	}
	// Its agent is let in, and no other instance takes its place.
	password := state.NewAgentPassword()
	w.ok(w.st.Agents().SetPassword(w.ctx, entity.MachineTag("0"), password))
	w.ok(w.st.Agents().Check(w.ctx, entity.MachineTag("0"), password, info.Nonce))
	w.refused(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}), entity.Invalid,
		"cannot set instance data for machine 0: already set")
	w.refused(m.LoseInstance(w.ctx, entity.Instance{ID: info.InstanceID, Nonce: info.Nonce}), entity.Invalid,
		"cannot remove instance manual:db.example.com from machine 0: machine 0 is manual")
	// Only its agent makes it Dead.
	w.ok(m.Destroy(w.ctx, plain))
	w.ok(w.machine("0").EnsureDead(w.ctx))
	w.ok(w.machine("0").Remove(w.ctx))
	w.checkCounts()
}

func TestManualMachinesThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for why, change := range map[string]func(*state.AddMachineParams){
		`"i-0" is not an instance of a manual machine`:     func(p *state.AddMachineParams) { p.Manual.ID = "i-0" },
		`"" is not an instance of a manual machine`:        func(p *state.AddMachineParams) { p.Manual = entity.Instance{} },
		`"manual:" is not an instance of a manual machine`: func(p *state.AddMachineParams) { p.Manual.ID = "manual:" },
		"a manual machine needs a nonce":                   func(p *state.AddMachineParams) { p.Manual.Nonce = "" },
		"no series specified":                              func(p *state.AddMachineParams) { p.Series = "" },
		"a manual machine is no container, and has no constraints": func(p *state.AddMachineParams) {
			p.Constraints = statetest.Constraints("mem=1G")
		},
		`"zone=a" is not a placement of a manual machine`: func(p *state.AddMachineParams) { p.Placement.Directive = "zone=a" },
		"a manual machine cannot run a controller": func(p *state.AddMachineParams) {
			p.Jobs = []string{modeldb.JobManageModel}
		},
		`instance id: "manual:a\nb" contains a control character`: func(p *state.AddMachineParams) {
			p.Manual.ID = "manual:a\nb"
		},
		`"a b" is neither an IP address nor a host name`: func(p *state.AddMachineParams) {
			p.Manual.Addresses = []string{"a b"}
		},
	} {
		p := manualMachine()
		change(&p)
		_, err := w.st.AddMachine(w.ctx, p)
		w.refused(err, entity.Invalid, "cannot add a machine: "+why)
	}
	machines, err := w.st.Machines(w.ctx)
	w.ok(err)
	if len(machines) != 0 {
		t.Errorf("%d machines were added", len(machines))
	}
}
