package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state/entity"
)

func TestSubordinateHasItsPrincipalsAddressAndPortsOfItsOwn(t *testing.T) {
	w := newWorld(t)
	principal, _ := w.addSubordinate()
	w.ok(w.machine(principal.Machine()).SetAddresses(w.ctx, []string{"10.0.0.9"}))
	sub := w.started("logging/0")
	info, err := sub.Info(w.ctx)
	w.ok(err)
	if info.PrivateAddress != "10.0.0.9" {
		t.Errorf("the subordinate's address is %q", info.PrivateAddress)
	}
	open := func(port int) entity.PortRange { return entity.PortRange{From: port, To: port, Protocol: "tcp"} }
	w.ok(principal.CommitHook(w.ctx, entity.HookChanges{OpenPorts: []entity.PortRange{open(80)}}))
	w.ok(sub.CommitHook(w.ctx, entity.HookChanges{OpenPorts: []entity.PortRange{open(514)}}))
	w.refused(sub.CommitHook(w.ctx, entity.HookChanges{OpenPorts: []entity.PortRange{open(80)}}), entity.InUse, "conflict")
	ports, err := sub.OpenedPorts(w.ctx)
	w.ok(err)
	want := map[string][]entity.EndpointPorts{"mysql/0": {{PortRange: open(80)}}, "logging/0": {{PortRange: open(514)}}}
	if diff := cmp.Diff(want, ports); diff != "" {
		t.Error(diff)
	}
}

func TestAnOldSubordinateMustBeGoneBeforeANewOneComes(t *testing.T) {
	w := newWorld(t)
	principal, first := w.addSubordinate()
	w.ok(w.started("logging/0").EnterScope(w.ctx, first.ID()))
	w.ok(first.Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("logging/0").DestroySelf(w.ctx))
	w.ok(principal.LeaveScope(w.ctx, first.ID()))
	w.ok(w.unit("logging/0").LeaveScope(w.ctx, first.ID()))
	again := w.relate("mysql", "logging")
	const yet = "cannot enter scope yet: non-alive subordinate unit has not been removed"
	w.refused(principal.EnterScope(w.ctx, again.ID()), entity.CannotEnterYet, yet)
	w.ok(w.unit("logging/0").EnsureDead(w.ctx))
	w.refused(principal.EnterScope(w.ctx, again.ID()), entity.CannotEnterYet, yet)
	w.ok(w.unit("logging/0").Remove(w.ctx))
	w.ok(principal.EnterScope(w.ctx, again.ID()))
	if life := w.unit("logging/1").Life(); life != entity.Alive {
		t.Errorf("the new subordinate is %s", life)
	}
}
