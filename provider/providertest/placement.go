package providertest

import (
	"errors"
	"slices"
	"testing"

	"juju/provider"
	"juju/state/entity"
)

func testZones(t *testing.T, w *world) {
	zones, err := w.a.Zones(w.ctx, provider.PrecheckParams{})
	if err != nil || !slices.IsSorted(zones) {
		t.Fatalf("got zones %q (%v), want them sorted", zones, err)
	}
	for _, zone := range append(zones, "") {
		p := w.params("0", "n"+zone)
		p.Zone = zone
		inst, err := w.a.StartInstance(w.ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		all := w.list(t, w.a)
		if len(all) != 1 || all[0].Zone != inst.Zone || zone != "" && inst.Zone != zone ||
			(inst.Zone == "") != (len(zones) == 0) {
			t.Errorf("started in zone %q of %q: got zone %q, listed %+v", zone, zones, inst.Zone, all)
		}
		w.stop(t, w.a, inst.ID)
		if zone == "" {
			continue
		}
		one, err := w.a.Zones(w.ctx, provider.PrecheckParams{Placement: "zone=" + zone})
		if err != nil || !slices.Equal(one, []string{zone}) {
			t.Errorf("zones for placement zone=%s: got %q (%v)", zone, one, err)
		}
	}
	_, err = w.a.Zones(w.ctx, provider.PrecheckParams{Placement: w.Profile.BadPlacement})
	if !errors.Is(err, entity.Invalid) {
		t.Errorf("zones for a bad placement: got error %v, want one that is Invalid", err)
	}
}

func testContainers(t *testing.T, w *world) {
	host := w.start(t, w.a, "0", "n")
	p := w.params("0/lxd/0", "n")
	p.Parent = host.ID
	inst, err := w.a.StartInstance(w.ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if inst.MachineID != "0/lxd/0" || inst.Zone != host.Zone || inst.ID == host.ID || len(inst.Addresses) == 0 ||
		inst.Addresses[0] == host.Addresses[0] {
		t.Errorf("got container %+v on %+v, want another instance in the same zone", inst, host)
	}
	w.agents(t, ModelA+"/0", ModelA+"/0/lxd/0")
	w.stop(t, w.a, host.ID)
	w.agents(t, ModelA+"/0/lxd/0")
	if all := w.list(t, w.a); len(all) != 1 || all[0].ID != inst.ID {
		t.Errorf("after its machine was stopped: listed %+v, want %s", all, inst.ID)
	}
	p = w.params("0/lxd/1", "n")
	p.Parent = host.ID
	if _, err := w.a.StartInstance(w.ctx, p); !provider.IsRetryable(err) {
		t.Errorf("start without its machine: got error %v, want a retryable one", err)
	}
	w.agents(t, ModelA+"/0/lxd/0")
	if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Container: "lxd"}); err != nil {
		t.Errorf("precheck of a container: %v", err)
	}
	if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Container: "kvm"}); !errors.Is(err, entity.Invalid) {
		t.Errorf("precheck of a kvm container: got error %v, want one that is Invalid", err)
	}
	w.stop(t, w.a, inst.ID)
}
