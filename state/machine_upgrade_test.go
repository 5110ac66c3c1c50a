package state_test

import (
	"slices"
	"testing"

	"juju/state/entity"
)

// upgradeOf returns what status shows of the upgrade of machine 0's operating system.
func (w *world) upgradeOf(machine string) string {
	for _, m := range w.status().AllMachines() {
		if m.ID == machine && m.Upgrade != nil {
			return m.Upgrade.String()
		}
	}
	return ""
}

// finishes has a unit finish its step.
func (w *world) finishes(unit string) {
	w.Helper()
	u := w.unit(unit)
	info, err := u.Info(w.ctx)
	w.ok(err)
	if info.Upgrade == nil || info.Upgrade.Done {
		w.Fatalf("%s has no step to finish: %+v", unit, info.Upgrade)
	}
	w.ok(u.FinishUpgradeStep(w.ctx, info.Upgrade.Number, info.Upgrade.Completing))
	w.ok(u.FinishUpgradeStep(w.ctx, info.Upgrade.Number, info.Upgrade.Completing)) // again
}

// A machine is locked from prepare to the last unit that has completed the upgrade, and then has its new series.
func TestUpgradeOfMachine(t *testing.T) {
	w := newWorld(t)
	web := w.deploy("web", onTwoSeries, 1)
	m := w.machine("0")
	w.refused(m.PrepareUpgrade(w.ctx, "noble", false), entity.Invalid, "cannot prepare machine 0 for an upgrade: it has not started")
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "nonce"}))
	w.refused(m.PrepareUpgrade(w.ctx, "jammy", false), entity.Invalid, `it already has base "ubuntu@22.04"`)
	w.refused(m.PrepareUpgrade(w.ctx, "focal", false), entity.Invalid, `base "ubuntu@20.04" not supported by charm "web"`)
	w.refused(m.PrepareUpgrade(w.ctx, "", true), entity.Invalid, `invalid series ""`)
	w.refused(m.CompleteUpgrade(w.ctx), entity.Invalid, "cannot complete the upgrade of machine 0: it has not been prepared")

	w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
	w.refused(m.PrepareUpgrade(w.ctx, "noble", false), entity.Invalid, `it is already being upgraded to "ubuntu@24.04"`)
	w.refused(m.CompleteUpgrade(w.ctx), entity.Invalid, "units have not finished preparing: web/0")
	_, err := web.AddUnits(w.ctx, 1, []string{"0"})
	w.refused(err, entity.Invalid, "its operating system is being upgraded")
	if got, want := w.upgradeOf("0"), "preparing the upgrade to ubuntu@24.04: waiting for web/0"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
	w.finishes("web/0")
	if got, want := w.upgradeOf("0"), "ready for the upgrade to ubuntu@24.04"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
	w.ok(m.CompleteUpgrade(w.ctx))
	w.ok(m.CompleteUpgrade(w.ctx)) // again
	if got := w.status().Machines[0].Series; got != "jammy" {
		t.Errorf("the machine has series %s before its unit has finished", got)
	}
	w.finishes("web/0")
	if got := w.status().Machines[0].Series; got != "noble" || w.upgradeOf("0") != "" {
		t.Errorf("the machine has series %s, and status says %q", got, w.upgradeOf("0"))
	}
	w.refused(m.CompleteUpgrade(w.ctx), entity.Invalid, "it has not been prepared")
	w.checkSeries("web", "jammy", map[string]string{"web/0": "jammy"})
}

// An upgrade does not wait for removed units, and a locked machine is removed like any other.
func TestUpgradeEndsWithoutItsUnits(t *testing.T) {
	w := newWorld(t)
	web := w.deploy("web", onTwoSeries, 1)
	_, err := web.AddUnits(w.ctx, 1, []string{"0"})
	w.ok(err)
	m := w.machine("0")
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "nonce"}))
	w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
	w.finishes("web/1")
	w.ok(w.unit("web/0").Destroy(w.ctx, entity.Destruction{})) // its agent never started
	w.clean()
	w.ok(m.CompleteUpgrade(w.ctx))
	w.ok(w.unit("web/1").Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	if got := w.status().Machines[0]; got.Series != "noble" || got.Upgrade != nil {
		t.Errorf("machine 0 has series %s and upgrade %v", got.Series, got.Upgrade)
	}

	w.ok(m.PrepareUpgrade(w.ctx, "jammy", false)) // no unit is left
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	w.refused(m.CompleteUpgrade(w.ctx), entity.NotAlive, "machine is not alive")
	w.ok(m.EnsureDead(w.ctx))
	w.ok(m.Remove(w.ctx))
	if slices.ContainsFunc(w.status().Machines, func(m entity.MachineStatus) bool { return m.ID == "0" }) {
		t.Error("machine 0 still exists")
	}
}
