package facades_test

import (
	"errors"
	"fmt"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

func manualArgs() client.MachineArgs {
	return client.MachineArgs{Series: "bookworm", Hardware: entity.Hardware{Arch: "amd64", Cores: 2, Mem: 2048,
		RootDisk: 8192}, Manual: entity.Instance{ID: "manual:db", Nonce: "manual:db:1", Addresses: []string{"10.0.0.7", "db"}},
		Placement: entity.Placement{Manual: "root@db:2222"}}
}

func TestAManualMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *facades.Config) { c.ManualHosts = facadestest.Hosts{} })
	ctx := t.Context()
	c := w.admin().client()
	id, warnings, err := c.AddMachine(ctx, manualArgs())
	if id != "0" || len(warnings) > 0 || err != nil {
		t.Fatalf("got %q, %q, %v", id, warnings, err)
	}
	m, err := w.st.Machine(ctx, "0")
	w.ok(err)
	status, err := c.Status(ctx)
	w.ok(err)
	if got := status.Machines[0]; m.InstanceID() != "manual:db" || got.SSH != "root@db:2222" || got.Series != "bookworm" ||
		got.Hardware != "arch=amd64 cores=2 mem=2048M root-disk=8192M" || fmt.Sprint(got.Addresses) != "[10.0.0.7 db]" {
		t.Errorf("the machine is %+v", got)
	}
	var password string
	for range 2 { // the answer may be lost
		script, err := c.ProvisioningScript(ctx, "0", "manual:db:1")
		w.ok(err)
		if _, err := fmt.Sscanf(script, "default 0 manual:db:1 %s", &password); err != nil {
			t.Fatalf("the script is %q: %v", script, err)
		}
	}
	w.ok(w.st.Agents().Check(ctx, entity.MachineTag("0"), password, "manual:db:1"))
	leave := w.arrive(entity.MachineTag("0"))
	refused := func(machine, nonce string, kind entity.Kind, want string) {
		t.Helper()
		if _, err := c.ProvisioningScript(ctx, machine, nonce); entity.KindOf(err) != kind || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	cloud, err := w.st.AddMachine(ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	w.ok(cloud.SetProvisioned(ctx, entity.Instance{ID: "i-1", Nonce: "n"}))
	refused("1", "n", entity.Invalid, "cannot make the script for machine 1: it is not a manual machine with that nonce")
	refused("0", "n", entity.Invalid, "cannot make the script for machine 0: it is not a manual machine with that nonce")
	refused("7", "n", entity.NotFound, "cannot make the script for machine 7: machine 7 not found")
	w.ok(m.SetStatus(ctx, entity.Status{Status: entity.StatusStarted}))
	refused("0", "manual:db:1", entity.Invalid, "cannot make the script for machine 0: its agent has already started")

	// Its model is not destroyed under it, except by force.
	root := w.root().client()
	err = root.DestroyModel(ctx, w.st.UUID(), entity.Destruction{})
	if !errors.Is(err, entity.InUse) ||
		err.Error() != "manually provisioned machines must first be destroyed with `juju destroy-machine 0`" {
		t.Errorf("got %v", err)
	}

	// It is removed when its agent is gone.
	provisioner := client.ProvisionerFacade{Caller: w.manager().client()}
	w.ok(m.Destroy(ctx, entity.Destruction{}))
	refused("0", "manual:db:1", entity.NotAlive, "cannot make the script for machine 0: machine is not alive")
	if err := provisioner.RemoveMachine(ctx, entity.MachineTag("0")); !errors.Is(err, entity.Invalid) {
		t.Errorf("a Dying machine is removed: %v", err)
	}
	w.ok(m.EnsureDead(ctx))
	if err := provisioner.RemoveMachine(ctx, entity.MachineTag("0")); !errors.Is(err, entity.InUse) {
		t.Errorf("a machine with an agent is removed: %v", err)
	}
	leave()
	w.ok(provisioner.RemoveMachine(ctx, entity.MachineTag("0")))
	_, _, err = c.AddMachine(ctx, manualArgs())
	w.ok(err)
	w.ok(root.DestroyModel(ctx, w.st.UUID(), entity.Forced()))
}

func TestRefusedManualMachines(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t, func(c *facades.Config) { c.ManualHosts = facadestest.Hosts{} }), t.Context()
	c := w.admin().client()
	for want, change := range map[string]func(*client.MachineArgs){
		`cannot add a machine: "i-0" is not an instance of a manual machine`: func(a *client.MachineArgs) { a.Manual.ID = "i-0" },
		`cannot add a machine: the controller has no agent binaries for "s390x"`: func(a *client.MachineArgs) {
			a.Hardware.Arch = "s390x"
		},
		`cannot add a machine: unknown series "sid"`: func(a *client.MachineArgs) { a.Series = "sid" },
		`cannot add a machine: unknown series ""`:    func(a *client.MachineArgs) { a.Series = "" },
		"cannot add a machine: nonce, addresses and hardware need an instance id": func(a *client.MachineArgs) {
			a.Manual.ID = ""
		},
		"cannot add a machine: a manual machine needs a nonce": func(a *client.MachineArgs) { a.Manual.Nonce = "" },
		"cannot add a machine: a manual machine is no container, and has no constraints": func(
			a *client.MachineArgs) {
			a.Constraints = statetest.Constraints("mem=1G")
		},
	} {
		args := manualArgs()
		change(&args)
		if _, _, err := c.AddMachine(ctx, args); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	w.hasNoMachines()
}

// A controller that no host can reach has no manual machines.
func TestManualMachinesOfAControllerThatNoHostReaches(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	c := w.admin().client()
	_, _, err := c.AddMachine(ctx, manualArgs())
	_, err2 := c.ProvisioningScript(ctx, "0", "n")
	for _, err := range []error{err, err2} {
		if !errors.Is(err, entity.NotSupported) {
			t.Errorf("got %v", err)
		}
	}
	w.hasNoMachines()
}

func (w *world) hasNoMachines() {
	w.Helper()
	if machines, err := w.st.Machines(w.Context()); len(machines) > 0 || err != nil {
		w.Errorf("there are %d machines (%v)", len(machines), err)
	}
}
