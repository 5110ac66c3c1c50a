package state_test

import (
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A cleaner that was away finds what the destruction of a service has left to do
// when another of that name is on its way out too, and is given more time.
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
	w.cleaned()
	later(2 * time.Minute)
	w.cleaned()
	if life := w.unit("mysql/1").Life(); life != entity.Dying {
		t.Errorf("mysql/1 is %s, want dying for an hour", life)
	}
	later(time.Hour)
	w.cleaned()
	_, err := w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
}

// A clock that goes back does not have the cloud waited for until it has caught up.
func TestClockGoesBackWhileWaitingForTheCloud(t *testing.T) {
	w, later := forcedWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	w.ok(w.provisioned("0").Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	w.cleaned()
	m, err := w.st.Machine(w.ctx, "0")
	w.ok(err)
	if m.Life() != entity.Dead {
		t.Fatalf("machine 0 is %s", m.Life())
	}
	later(-24 * time.Hour)
	// Its deadline, too, is a day off again; the user asks once more.
	w.ok(m.Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	if due := w.cleaned(); due > time.Minute {
		t.Errorf("the next is due in %v, want a minute at the most", due)
	}
	later(time.Minute)
	w.cleaned()
	_, err = w.st.Machine(w.ctx, "0")
	w.gone("machine", "0", err)
}

// The same while the cleaner is at it: what it has read is of the one that has gone.
func TestServiceNameReusedDuringCleanup(t *testing.T) {
	w, later := forcedWorld(t)
	w.related()
	r := w.relation("wordpress", "mysql")
	w.ok(mustService(w, "logging").Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	w.cleaned()
	w.ok(r.Destroy(w.ctx, entity.Forced()))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Forced()))
	w.cleaned()
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
	w.cleaned()
	if life := w.unit("mysql/1").Life(); life != entity.Dying {
		t.Errorf("mysql/1 is %s, want dying for an hour", life)
	}
	w.truth()
}

// What the destruction of a relation has left to do for subordinates is not done to
// those of another relation of its key, which goes without force.
func TestForceSparesSubordinatesOfANewRelation(t *testing.T) {
	w, later := forcedWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", statetest.Logging, 0)
	my := w.started("mysql/0")
	w.ok(w.relate("mysql", "logging").Destroy(w.ctx, entity.Forced())) // nobody was in it: it is gone
	again := w.relate("mysql", "logging")
	w.ok(my.EnterScope(w.ctx, again.ID()))
	w.ok(w.started("logging/0").EnterScope(w.ctx, again.ID()))
	w.ok(again.Destroy(w.ctx, entity.Destruction{}))
	w.cleaned()
	later(2 * time.Minute)
	w.cleaned()
	if info, err := w.unit("logging/0").Info(w.ctx); err != nil || info.Life != entity.Dying || info.Strength != entity.Plain {
		t.Errorf("logging/0 is %s with strength %s, %v, want dying, plain", info.Life, info.Strength, err)
	}
	w.truth()
}

// What a relation has left for the cleaner to do with its orphans is not done to those
// that count for the next relation between the two.
func TestOrphansCleanupSparesANewRelation(t *testing.T) {
	for when, before := range map[string]bool{"before the cleaner comes": false, "while it is at work": true} {
		t.Run(when, func(t *testing.T) {
			w := newWorld(t)
			my, first := w.accompanied()
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
			w.cleaned()
			w.cleaned()
			info, err := w.unit("logging/0").Info(w.ctx)
			w.ok(err)
			if info.Life != entity.Dying || info.Strength != entity.Plain {
				t.Errorf("the subordinate is %s, %s, want dying, plain", info.Life, info.Strength)
			}
			w.truth()
		})
	}
}
