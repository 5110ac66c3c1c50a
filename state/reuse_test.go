package state_test

import (
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A cleaner catches up on the forced removal of a service when a new service of
// the same name is Dying too, with more time left.
func TestForceTimeoutIsNotInheritedWithTheName(t *testing.T) {
	w, later := forcedWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.started("mysql/0")
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Forced()))
	w.ok(w.unit("mysql/0").DestroySelf(w.ctx))
	w.end("mysql/0")
	w.deploy("mysql", statetest.MySQL, 1)
	w.started("mysql/1")
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: time.Hour}))
	w.clean()
	later(2 * time.Minute)
	w.clean()
	if life := w.unit("mysql/1").Life(); life != entity.Dying {
		t.Errorf("mysql/1 is %s, want dying for an hour", life)
	}
	later(time.Hour)
	w.clean()
	_, err := w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
}

// A clock that goes back does not prolong the wait for the cloud.
func TestClockGoesBackWhileWaitingForTheCloud(t *testing.T) {
	w, later := forcedWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	w.ok(w.provisioned("0").Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	w.clean()
	m, err := w.st.Machine(w.ctx, "0")
	w.ok(err)
	if m.Life() != entity.Dead {
		t.Fatalf("machine 0 is %s", m.Life())
	}
	later(-24 * time.Hour)
	// Its deadline is a day away again too, until the user forces it once more.
	w.ok(m.Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	if due := w.clean(); due > time.Minute {
		t.Errorf("next cleanup due in %v, want a minute at most", due)
	}
	later(time.Minute)
	w.clean()
	_, err = w.st.Machine(w.ctx, "0")
	w.gone("machine", "0", err)
}

// Here the name is reused while the cleaner runs: what it has read is of the
// old service.
func TestServiceNameReusedDuringCleanup(t *testing.T) {
	w, later := forcedWorld(t)
	w.related()
	r := w.relation("wordpress", "mysql")
	w.ok(mustService(w, "logging").Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	w.clean()
	w.ok(r.Destroy(w.ctx, entity.Forced()))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Forced()))
	w.clean()
	later(time.Minute)
	w.st.Before(func() {
		my := w.unit("mysql/0")
		w.ok(my.LeaveScope(w.ctx, r.ID()))
		w.ok(w.unit("wordpress/0").LeaveScope(w.ctx, r.ID()))
		w.end("mysql/0")
		w.deploy("mysql", statetest.MySQL, 1)
		w.started("mysql/1")
		w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: time.Hour}))
	})
	w.clean()
	if life := w.unit("mysql/1").Life(); life != entity.Dying {
		t.Errorf("mysql/1 is %s, want dying for an hour", life)
	}
	w.checkCounts()
}

// Cleanups of a destroyed relation do not reach the subordinates of a new
// relation with the same key, destroyed without force.
func TestForceSparesSubordinatesOfANewRelation(t *testing.T) {
	w, later := forcedWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", statetest.Logging, 0)
	my := w.started("mysql/0")
	w.ok(w.relate("mysql", "logging").Destroy(w.ctx, entity.Forced())) // its scope was empty: it is gone
	again := w.relate("mysql", "logging")
	w.ok(my.EnterScope(w.ctx, again.ID()))
	w.ok(w.started("logging/0").EnterScope(w.ctx, again.ID()))
	w.ok(again.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	later(2 * time.Minute)
	w.clean()
	if info, err := w.unit("logging/0").Info(w.ctx); err != nil || info.Life != entity.Dying ||
		info.Strength != entity.Plain {
		t.Errorf("logging/0 is %s with strength %s, %v, want dying, plain", info.Life, info.Strength, err)
	}
	w.checkCounts()
}

// The orphans cleanup of a destroyed relation spares subordinates that the next
// relation between the two services keeps.
func TestOrphansCleanupSparesANewRelation(t *testing.T) {
	for when, before := range map[string]bool{"before the cleaner comes": false, "while it is at work": true} {
		t.Run(when, func(t *testing.T) {
			w := newWorld(t)
			my, first := w.addSubordinate()
			w.started("logging/0")
			w.ok(my.LeaveScope(w.ctx, first.ID()))
			w.ok(first.Destroy(w.ctx, entity.Forced()))
			again := func() {
				second := w.relate("mysql", "logging")
				w.ok(my.EnterScope(w.ctx, second.ID()))
				w.ok(second.Destroy(w.ctx, entity.Destruction{}))
			}
			if before {
				w.st.Before(again)
			} else {
				again()
			}
			w.clean()
			w.clean()
			info, err := w.unit("logging/0").Info(w.ctx)
			w.ok(err)
			if info.Life != entity.Dying || info.Strength != entity.Plain {
				t.Errorf("the subordinate is %s, %s, want dying, plain", info.Life, info.Strength)
			}
			w.checkCounts()
		})
	}
}

// A relation is added while an earlier one between the two services ends and leaves its subordinates to the
// cleaner. They are the new relation's now, and end as strongly as that does.
func TestNewRelationTakesTheOrphansOfOneThatEndsMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("twoways", twoWays, 0)
	first := w.relate("mysql:server", "twoways:db")
	my := w.started("mysql/0")
	w.ok(my.EnterScope(w.ctx, first.ID()))
	w.started("twoways/0")
	w.ok(my.LeaveScope(w.ctx, first.ID()))
	w.st.Before(func() { w.ok(first.Destroy(w.ctx, entity.Forced())) })
	second := w.relate("mysql:juju-info", "twoways:info")
	w.ok(my.EnterScope(w.ctx, second.ID()))
	w.ok(second.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	info, err := w.unit("twoways/0").Info(w.ctx)
	w.ok(err)
	if info.Life != entity.Dying || info.Strength != entity.Plain {
		t.Errorf("the subordinate is %s, %s, want dying, plain", info.Life, info.Strength)
	}
	w.checkCounts()
}
