package controller

import (
	"fmt"
	"slices"
	"time"

	"juju/state"
	"juju/state/entity"
)

// isRolling reports whether something is destroyed in the middle of an upgrade in batches. The service has two units, and
// the upgrade-charm hook fails in all revisions of its charm, so one of them is in error, and the other is held.
func isRolling(obstacle string) bool {
	return obstacle == unitHeld || obstacle == rollFailed || obstacle == rollReverts
}

// units returns the services of the world with their numbers of units.
func (w *world) units() map[string]int {
	all := map[string]int{}
	for service, n := range cast[w.kind] {
		if isRolling(w.obstacle) && service == victim[w.kind] {
			n = 2
		}
		all[service] = n
	}
	return all
}

// roll begins the upgrade.
func (w *world) roll() {
	w.Helper()
	timeout := time.Hour
	if w.obstacle == rollFailed {
		timeout = time.Second
	}
	svc, err := w.st.Service(w.ctx, w.name(victim[w.kind]))
	w.ok(err)
	_, err = svc.SetCharm(w.ctx, state.SetCharmParams{URL: w.next, Batch: 1, HealthTimeout: timeout})
	w.ok(err)
}

// unrolled says what the upgrade still waits for. Then the target is known: the unit that is held, or the one that has
// failed.
func (w *world) unrolled() string {
	w.Helper()
	name := w.name(victim[w.kind])
	of := w.status(name)
	now, units := of.Rollout, of.Units
	at := slices.IndexFunc(units, func(u entity.UnitStatus) bool { return u.Workload.Status == entity.StatusError })
	switch {
	case now == nil:
		return "no upgrade of " + name + " goes on"
	case at < 0:
		return "no unit of " + name + " is in error"
	case w.obstacle == rollFailed && now.Stopped == "":
		return "the upgrade of " + name + " has not stopped"
	}
	if w.obstacle == rollReverts && !now.Reverts {
		svc, err := w.st.Service(w.ctx, name)
		w.ok(err)
		_, err = svc.RevertRollout(w.ctx, 0, 0)
		w.ok(err)
	}
	if u := units[at]; w.obstacle == rollReverts && (u.CharmURL != "" || u.Resolved != entity.ResolvedNone || !now.Reverts) {
		return "unit " + u.Name + " has not failed again"
	}
	w.failed = units[at].Name
	ends := units[at]
	if w.obstacle == unitHeld {
		ends = units[1-at]
	}
	switch w.kind {
	case machine:
		w.target, w.machine, w.instance = entity.MachineTag(ends.Machine), ends.Machine, ""
	case principal:
		w.target = entity.UnitTag(ends.Name)
	}
	w.ends, w.first = []entity.Tag{w.target}, ends.Name
	return ""
}

// status returns the status of a service.
func (w *world) status(name string) entity.ServiceStatus {
	w.Helper()
	m, err := w.st.Status(w.ctx)
	w.ok(err)
	return m.Services[slices.IndexFunc(m.Services, func(s entity.ServiceStatus) bool { return s.Name == name })]
}

// unkept says what is missing of the rollout of a service of which a unit is gone.
func (w *world) unkept() string {
	w.Helper()
	if !isRolling(w.obstacle) || w.kind != machine && w.kind != principal {
		return ""
	}
	switch now := w.status(w.name(victim[w.kind])).Rollout; {
	case w.obstacle == unitHeld && (now == nil || now.Stopped != ""): // the other one is in error
		return fmt.Sprintf("the upgrade is %+v", now)
	case w.obstacle == rollFailed && (now == nil || now.Stopped == ""): // until the user decides
		return fmt.Sprintf("the stopped upgrade is %+v", now)
	case w.obstacle == rollReverts && now != nil: // the other unit had never been upgraded
		return fmt.Sprintf("what was reverted is %+v", now)
	}
	return ""
}
