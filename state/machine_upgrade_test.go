package state_test

import (
	"slices"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
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
	w.refused(m.CompleteUpgrade(w.ctx, false), entity.Invalid, "cannot complete the upgrade of machine 0: it has not been prepared")

	w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
	w.refused(m.PrepareUpgrade(w.ctx, "noble", false), entity.Invalid, `it is already being upgraded to "ubuntu@24.04"`)
	w.refused(m.CompleteUpgrade(w.ctx, false), entity.Invalid, "units have not finished preparing: web/0")
	_, err := web.AddUnits(w.ctx, 1, statetest.To("0"))
	w.refused(err, entity.Invalid, "the operating system of machine 0 is being upgraded")
	if got, want := w.upgradeOf("0"), "preparing the upgrade to ubuntu@24.04: waiting for web/0"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
	w.finishes("web/0")
	if got, want := w.upgradeOf("0"), "ready for the upgrade to ubuntu@24.04"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
	w.ok(m.CompleteUpgrade(w.ctx, false))
	w.ok(m.CompleteUpgrade(w.ctx, false)) // again
	if got := w.status().Machines[0].Series; got != "jammy" {
		t.Errorf("the machine has series %s before its unit has finished", got)
	}
	w.finishes("web/0")
	if got := w.status().Machines[0].Series; got != "noble" || w.upgradeOf("0") != "" {
		t.Errorf("the machine has series %s, and status says %q", got, w.upgradeOf("0"))
	}
	w.refused(m.CompleteUpgrade(w.ctx, false), entity.Invalid, "it has not been prepared")
	w.checkSeries("web", "jammy", map[string]string{"web/0": "jammy"})
}

// An upgrade does not wait for removed units, and a locked machine is removed like any other.
func TestUpgradeEndsWithoutItsUnits(t *testing.T) {
	w := newWorld(t)
	web := w.deploy("web", onTwoSeries, 1)
	_, err := web.AddUnits(w.ctx, 1, statetest.To("0"))
	w.ok(err)
	m := w.machine("0")
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "nonce"}))
	w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
	w.finishes("web/1")
	w.ok(w.unit("web/0").Destroy(w.ctx, entity.Destruction{})) // its agent never started
	w.clean()
	w.ok(m.CompleteUpgrade(w.ctx, false))
	w.ok(w.unit("web/1").Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	if got := w.status().Machines[0]; got.Series != "noble" || got.Upgrade != nil {
		t.Errorf("machine 0 has series %s and upgrade %v", got.Series, got.Upgrade)
	}

	w.ok(m.PrepareUpgrade(w.ctx, "jammy", false)) // no unit is left
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	w.refused(m.CompleteUpgrade(w.ctx, false), entity.NotAlive, "machine is not alive")
	w.ok(m.EnsureDead(w.ctx))
	w.ok(m.Remove(w.ctx))
	if slices.ContainsFunc(w.status().Machines, func(m entity.MachineStatus) bool { return m.ID == "0" }) {
		t.Error("machine 0 still exists")
	}
}

// upgradable returns machine 0, which has its instance, with web/0 and web/1 on it.
func (w *world) upgradable() (*state.Service, *state.Machine) {
	w.Helper()
	web := w.deploy("web", onTwoSeries, 1)
	_, err := web.AddUnits(w.ctx, 1, statetest.To("0"))
	w.ok(err)
	return web, w.provisioned("0")
}

// A unit that is destroyed is not waited for, although its agent hangs in an error: its agent runs no hook of the upgrade.
func TestUpgradeDoesNotWaitForDyingUnits(t *testing.T) {
	w := newWorld(t)
	_, m := w.upgradable()
	w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
	web := w.started("web/0")
	w.ok(web.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "pre-series-upgrade"`}))
	w.ok(web.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.finishes("web/1")
	if got, want := w.upgradeOf("0"), "ready for the upgrade to ubuntu@24.04"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
	w.ok(m.CompleteUpgrade(w.ctx, false))
	w.finishes("web/1")
	if got := w.status().Machines[0]; got.Series != "noble" || got.Upgrade != nil {
		t.Errorf("machine 0 has series %s and upgrade %v", got.Series, got.Upgrade)
	}
}

// A user who has not upgraded the operating system has the machine keep its series, even after saying the opposite.
func TestUpgradeThatKeepsTheSeries(t *testing.T) {
	w := newWorld(t)
	_, m := w.upgradable()
	for _, said := range [][]bool{{true}, {true, false}, {false, true}} {
		w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
		w.finishes("web/0")
		w.finishes("web/1")
		for _, keep := range said {
			w.ok(m.CompleteUpgrade(w.ctx, keep))
		}
		w.finishes("web/0")
		if got, want := w.upgradeOf("0"), "completing the upgrade to ubuntu@22.04: waiting for web/1"; got != want {
			t.Errorf("status says %q, want %q", got, want)
		}
		w.finishes("web/1")
		if got := w.status().Machines[0]; got.Series != "jammy" || got.Upgrade != nil {
			t.Errorf("machine 0 has series %s and upgrade %v after %v", got.Series, got.Upgrade, said)
		}
	}
}

// An upgrade whose list of units was repaired can be completed.
func TestUpgradeAfterARepair(t *testing.T) {
	w := newWorld(t)
	_, m := w.upgradable()
	w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
	w.finishes("web/0")
	w.finishes("web/1")
	w.ok(m.CompleteUpgrade(w.ctx, false))
	w.ok(w.st.Write(t.Context(), "machines", func(c *mgo.Collection) error {
		return c.UpdateId("0", bson.M{"$set": bson.M{"upgrade.waiting": []string{"none/1"}}})
	}))
	if found := w.check(true); len(found) != 1 {
		t.Errorf("a check found %v", found)
	}
	w.ok(m.CompleteUpgrade(w.ctx, false))
	if got := w.status().Machines[0]; got.Series != "noble" || got.Upgrade != nil {
		t.Errorf("machine 0 has series %s and upgrade %v", got.Series, got.Upgrade)
	}
}

// A locked machine gets no units and no containers, also if it is locked while they are added.
func TestNothingIsPlacedOnALockedMachine(t *testing.T) {
	w := newWorld(t)
	web, m := w.upgradable()
	const why = "the operating system of machine 0 is being upgraded"
	places := map[string]func() error{
		"unit":       func() error { _, err := web.AddUnits(w.ctx, 1, statetest.To("0")); return err },
		"unit's own": func() error { _, err := web.AddUnits(w.ctx, 1, statetest.To("lxd:0")); return err },
		"container": func() error {
			_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: statetest.At("lxd:0")})
			return err
		},
	}
	for what, place := range places {
		w.st.Before(func() { w.ok(m.PrepareUpgrade(w.ctx, "noble", false)) })
		w.refused(place(), entity.Invalid, why)
		w.refused(place(), entity.Invalid, why)
		if got, want := w.upgradeOf("0"), "preparing the upgrade to ubuntu@24.04: waiting for web/0, web/1"; got != want {
			t.Errorf("%s: status says %q, want %q", what, got, want)
		}
		w.finishes("web/0")
		w.finishes("web/1")
		w.ok(m.CompleteUpgrade(w.ctx, true))
		w.finishes("web/0")
		w.finishes("web/1")
	}
}

// The lock has all units, even if another subordinate replaces one while it is being made.
func TestUnitsThatChangeWhileTheirMachineIsLocked(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", statetest.Logging, 0)
	w.deploy("other", statetest.Logging, 0)
	old, next, m := w.relate("mysql", "logging"), w.relate("mysql", "other"), w.provisioned("0")
	my := w.started("mysql/0")
	w.ok(my.EnterScope(w.ctx, old.ID()))
	w.started("logging/0")
	w.ok(old.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.st.Before(func() {
		w.end("logging/0")
		w.ok(my.EnterScope(w.ctx, next.ID()))
	})
	w.ok(m.PrepareUpgrade(w.ctx, "focal", true))
	if got, want := w.upgradeOf("0"), "preparing the upgrade to ubuntu@20.04: waiting for mysql/0, other/0"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
}

// A subordinate that is added to a locked machine does nothing until the upgrade is completed, and takes part in that.
func TestSubordinateOnALockedMachine(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", statetest.Logging, 0)
	info, m := w.relate("mysql", "logging"), w.provisioned("0")
	w.ok(m.PrepareUpgrade(w.ctx, "focal", true))
	w.ok(w.started("mysql/0").EnterScope(w.ctx, info.ID())) // in a sequence of hooks that it finishes first
	sees := func(want entity.UnitUpgrade) {
		t.Helper()
		got, err := w.unit("logging/0").Info(w.ctx)
		w.ok(err)
		if got.Upgrade == nil || *got.Upgrade != want {
			t.Errorf("the subordinate sees %+v, want %+v", got.Upgrade, want)
		}
	}
	sees(entity.UnitUpgrade{Number: 1, To: "focal", Done: true})
	w.finishes("mysql/0")
	w.ok(m.CompleteUpgrade(w.ctx, false))
	sees(entity.UnitUpgrade{Number: 1, To: "focal", Completing: true})
	if got, want := w.upgradeOf("0"), "completing the upgrade to ubuntu@20.04: waiting for logging/0, mysql/0"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
	w.finishes("mysql/0")
	w.finishes("logging/0")
	if got := w.upgradeOf("0"); got != "" {
		t.Errorf("status says %q", got)
	}
}

// Whatever is destroyed by force with a locked machine, or on it, ends without its agents, in either step of the upgrade.
func TestForceEndsOnALockedMachine(t *testing.T) {
	force := entity.Destruction{Strength: entity.Force}
	for what, destroy := range map[string]func(*world) error{
		"unit":    func(w *world) error { return w.unit("mysql/0").Destroy(w.ctx, force) },
		"service": func(w *world) error { return mustService(w, "mysql").Destroy(w.ctx, force) },
		"machine": func(w *world) error { return w.machine("0").Destroy(w.ctx, force) },
		"model":   func(w *world) error { return w.st.Destroy(w.ctx, force) },
	} {
		for _, completing := range []bool{false, true} {
			w, later := forcedWorld(t)
			w.related()
			m := w.provisioned("0")
			w.ok(m.PrepareUpgrade(w.ctx, "focal", true))
			if completing {
				w.finishes("mysql/0")
				w.finishes("logging/0")
				w.ok(m.CompleteUpgrade(w.ctx, false))
			}
			w.ok(destroy(w))
			w.clean()
			later(time.Minute)
			w.clean()
			for _, name := range []string{"mysql/0", "logging/0"} {
				_, err := w.st.Unit(w.ctx, name)
				w.gone("unit", name, err)
			}
			if what == "unit" || what == "service" {
				upgrade, series := w.upgradeOf("0"), w.status().Machines[0].Series
				if !completing && upgrade != "ready for the upgrade to ubuntu@20.04" || completing && (upgrade != "" || series != "focal") {
					t.Errorf("after the destruction of the %s, status says %q, and the machine has series %s", what, upgrade, series)
				}
				w.ok(w.machine("0").Destroy(w.ctx, entity.Destruction{}))
				w.ok(w.machine("0").EnsureDead(w.ctx))
				w.ok(w.machine("0").Remove(w.ctx))
			}
			_, err := w.st.Machine(w.ctx, "0")
			w.gone("machine", "0", err)
			w.checkCounts()
		}
	}
}

// A model with a locked machine is destroyed like any other.
func TestModelWithALockedMachineEnds(t *testing.T) {
	w := newWorld(t)
	_, m := w.upgradable()
	w.started("web/0")
	w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.end("web/0")
	w.clean()
	w.ok(w.machine("0").EnsureDead(w.ctx))
	w.ok(w.machine("0").Remove(w.ctx))
	w.clean()
	w.empty()
}

// An upgrade to a series that a charm does not name needs force.
func TestUpgradeByForce(t *testing.T) {
	w := newWorld(t)
	_, m := w.upgradable()
	w.refused(m.PrepareUpgrade(w.ctx, "focal", false), entity.Invalid, "not supported by charm")
	w.ok(m.PrepareUpgrade(w.ctx, "focal", true))
	if got, want := w.upgradeOf("0"), "preparing the upgrade to ubuntu@20.04: waiting for web/0, web/1"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
}

// A destroyed unit may finish its step before the cleanup that would have the upgrade wait for it no longer.
func TestADyingUnitFinishesItsStep(t *testing.T) {
	w := newWorld(t)
	_, m := w.upgradable()
	w.ok(m.PrepareUpgrade(w.ctx, "noble", false))
	web := w.started("web/0")
	w.ok(web.Destroy(w.ctx, entity.Destruction{}))
	w.finishes("web/0")
	w.clean()
	if got, want := w.upgradeOf("0"), "preparing the upgrade to ubuntu@24.04: waiting for web/1"; got != want {
		t.Errorf("status says %q, want %q", got, want)
	}
}
