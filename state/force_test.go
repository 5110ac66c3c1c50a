package state_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/statetest"
)

// forcedWorld returns a world whose clock the test advances with later; else it advances a millisecond with each look at
// it, however long the test takes.
func forcedWorld(t *testing.T) (w *world, later func(time.Duration)) {
	var ahead atomic.Int64
	began := time.Now()
	ctrl, st := statetest.ControllerWith(t, controller.Options{Now: func() time.Time { return began.Add(time.Duration(ahead.Add(int64(time.Millisecond)))) }})
	return &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st}, func(d time.Duration) { ahead.Add(int64(d)) }
}

// clean runs the cleaner until only cleanups that are due later are left, and
// returns when the next is due.
func (w *world) clean() (due time.Duration) {
	w.Helper()
	for range 10 {
		left, due, err := w.st.Cleaner().Cleanup(w.ctx)
		w.ok(err)
		counts, err := w.st.Counts(w.ctx)
		w.ok(err)
		if left == 0 && (due > 0 || counts["cleanups"] == 0) {
			return due
		}
	}
	w.Fatal("cleanups never end")
	return 0
}

// related deploys a principal with a subordinate, and a service related to it;
// all agents are up and in scope.
func (w *world) related() {
	w.Helper()
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("logging", statetest.Logging, 0)
	info, db := w.relate("mysql", "logging"), w.relate("mysql", "wordpress")
	my := w.started("mysql/0")
	w.ok(my.EnterScope(w.ctx, info.ID()))
	w.ok(my.EnterScope(w.ctx, db.ID()))
	w.ok(w.started("logging/0").EnterScope(w.ctx, info.ID()))
	w.ok(w.started("wordpress/0").EnterScope(w.ctx, db.ID()))
}

func (w *world) provisioned(id string) *state.Machine {
	w.Helper()
	m, err := w.st.Machine(w.ctx, id)
	w.ok(err)
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-" + id, Nonce: "n"}))
	return m
}

func TestForceRemovesUnitAfterItsTimeout(t *testing.T) {
	w, later := forcedWorld(t)
	w.related()
	u := w.unit("mysql/0")
	w.ok(u.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	// Force also applies to what is Dying already, and propagates at once.
	w.ok(u.Destroy(w.ctx, entity.Forced()))
	if due := w.clean(); due <= 50*time.Second || due > time.Minute {
		t.Errorf("next cleanup due in %v, want a minute", due)
	}
	for _, name := range []string{"mysql/0", "logging/0"} {
		info, err := w.unit(name).Info(w.ctx)
		w.ok(err)
		if info.Strength != entity.Force || info.Life != entity.Dying {
			t.Errorf("%s is %s with strength %s, want dying with force", name, info.Life, info.Strength)
		}
	}
	// A second force with a shorter timeout brings the deadline forward; a longer
	// timeout does not move it back, not even one that begins before.
	w.st.Before(func() {
		w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: 10 * time.Second}))
	})
	w.ok(u.Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: 30 * time.Second}))
	w.ok(u.Destroy(w.ctx, entity.Forced()))
	w.ok(u.Destroy(w.ctx, entity.Destruction{Strength: entity.Lenient}))
	if due := w.clean(); due > 10*time.Second {
		t.Errorf("next cleanup due in %v, want ten seconds", due)
	}
	later(11 * time.Second)
	w.clean()
	for _, name := range []string{"mysql/0", "logging/0"} {
		_, err := w.st.Unit(w.ctx, name)
		w.gone("unit", name, err)
	}
	w.checkCounts()
	for _, name := range []string{"mysql", "wordpress", "logging"} {
		w.ok(mustService(w, name).Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	}
	w.clean()
	for _, id := range []string{"0", "1"} {
		m, err := w.st.Machine(w.ctx, id)
		w.ok(err)
		w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	}
	w.empty()
}

func TestForceOnServiceRemovesItsUnitsAndRelations(t *testing.T) {
	w, later := forcedWorld(t)
	w.related()
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Forced()))
	w.clean()
	w.checkCounts()
	later(time.Minute)
	w.clean()
	w.checkCounts()
	_, err := w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	if n := len(mustService(w, "wordpress").Name()); n == 0 {
		t.Error("wordpress is gone too")
	}
	// The name is free, and leftover cleanups do not touch a new service that takes
	// it.
	w.deploy("mysql", statetest.MySQL, 1)
	later(time.Hour)
	w.clean()
	if life := w.unit("mysql/1").Life(); life != entity.Alive {
		t.Errorf("the new unit is %s", life)
	}
}

func TestForceOnRelationMakesEveryUnitLeave(t *testing.T) {
	w, later := forcedWorld(t)
	w.related()
	r, err := w.st.Relation(w.ctx, "wordpress", "mysql")
	w.ok(err)
	w.ok(r.Destroy(w.ctx, entity.Forced()))
	infos, err := w.unit("wordpress/0").Relations(w.ctx)
	w.ok(err)
	if len(infos) != 1 || infos[0].Strength != entity.Force {
		t.Errorf("the agent sees %+v, want force", infos)
	}
	later(time.Minute)
	w.clean()
	_, err = w.st.RelationByID(w.ctx, r.ID())
	w.gone("relation", r.Key(), err)
	w.checkCounts()
}

func TestForceOnMachineRemovesEverythingOnIt(t *testing.T) {
	w, later := forcedWorld(t)
	w.related()
	m := w.provisioned("0")
	c, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: statetest.At("lxd:0")})
	w.ok(err)
	if c.ID() != "0/lxd/0" {
		t.Errorf("the container is %s", c.ID())
	}
	w.refused(m.Destroy(w.ctx, entity.Destruction{}), entity.InUse, `machine 0 has unit "mysql/0" assigned`)
	w.ok(m.Destroy(w.ctx, entity.Forced()))
	w.clean()
	_, err = w.st.Machine(w.ctx, c.ID())
	w.gone("machine", c.ID(), err) // it had no instance
	later(time.Minute)
	w.clean()
	w.checkCounts()
	if m, err = w.st.Machine(w.ctx, "0"); err != nil || m.Life() != entity.Dead {
		t.Fatalf("machine 0 is %v, %v, want dead until the cloud has done its part", m.Life(), err)
	}
	w.ok(m.Remove(w.ctx))
	if left, err := w.st.Provisioning().Leftovers(w.ctx); err != nil || len(left) > 0 {
		t.Errorf("leftovers are %v, %v", left, err)
	}
	w.checkCounts()
}

func TestCloudErrorLeavesOnlyALeftover(t *testing.T) {
	w, later := forcedWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.started("mysql/0")
	m := w.provisioned("0")
	w.ok(m.Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	w.clean()
	w.ok(m.SetInstanceStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "no such region",
		Data: map[string]any{"hint": "Stop it by hand: cloud stop i-0"}}))
	w.clean()
	_, err := w.st.Machine(w.ctx, "0")
	w.gone("machine", "0", err)
	left, err := w.st.Provisioning().Leftovers(w.ctx)
	w.ok(err)
	if len(left) != 1 || left[0].What != "instance i-0 of machine 0" ||
		left[0].How != "Stop it by hand: cloud stop i-0" || left[0].Why != "no such region" {
		t.Errorf("leftovers are %+v", left)
	}
	w.ok(w.st.Provisioning().DropLeftovers(w.ctx, "i-0"))
	// A cloud that reports nothing is not waited for indefinitely.
	w.deploy("other", statetest.MySQL, 1)
	m = w.provisioned("1")
	w.ok(m.Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	later(time.Second)
	if due := w.clean(); due == 0 {
		t.Fatal("no cleanup is due for it")
	}
	later(time.Minute)
	w.clean()
	_, err = w.st.Machine(w.ctx, "1")
	w.gone("machine", "1", err)
	w.checkCounts()
}

// What the cloud can't end wakes the cleaner by a change of its cleanup: it need not wait for the
// cloud any longer.
func TestAnErrorOfTheCloudWakesTheCleaner(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	const id = "0" // it has an instance
	s.ok(s.st.Destroy(s.ctx, entity.Destruction{Strength: entity.Force, Storage: true}))
	s.cleans()
	cleanup := func(key string) (doc bson.M) {
		s.ok(s.st.Write(t.Context(), "cleanups", func(c *mgo.Collection) error { return c.FindId("force-" + key).One(&doc) }))
		return doc
	}
	failed := entity.Status{Status: entity.StatusError, Message: "no such region"}
	for key, fails := range map[string]func() error{
		"st#data/0": func() error { return s.storage("data/0").SetStatus(s.ctx, failed) },
		"m#" + id:   func() error { return s.machine(id).SetInstanceStatus(s.ctx, failed) },
	} {
		was := cleanup(key)
		s.ok(fails())
		if reflect.DeepEqual(was["woken"], cleanup(key)["woken"]) {
			t.Errorf("an error of %s does not wake the cleaner", key)
		}
	}
	s.later.Add(int64(time.Minute))
	s.cleans()
	_, err := s.st.Storage(s.ctx, "data/0")
	s.gone("storage", "data/0", err)
	_, err = s.st.Machine(s.ctx, id)
	s.gone("machine", id, err)
}

func TestLenientDestructionPropagates(t *testing.T) {
	w, _ := forcedWorld(t)
	w.related()
	s := mustService(w, "mysql")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.ok(s.Destroy(w.ctx, entity.Destruction{Strength: entity.Lenient}))
	if due := w.clean(); due > 0 {
		t.Errorf("a cleanup is due in %v, although nothing is forced", due)
	}
	for _, name := range []string{"mysql/0", "logging/0"} {
		if info, err := w.unit(name).Info(w.ctx); err != nil || info.Strength != entity.Lenient {
			t.Errorf("%s: strength %s, %v", name, info.Strength, err)
		}
	}
	infos, err := w.unit("mysql/0").Relations(w.ctx)
	w.ok(err)
	for _, r := range infos {
		if r.Strength != entity.Lenient || r.Life != entity.Dying {
			t.Errorf("relation %s is %s with strength %s", r.Key, r.Life, r.Strength)
		}
	}
}

// Users cannot destroy a subordinate, but can force one that is Dying.
func TestForceOnDyingSubordinate(t *testing.T) {
	w, _ := forcedWorld(t)
	w.related()
	lg := w.unit("logging/0")
	w.refused(lg.Destroy(w.ctx, entity.Forced()), entity.Invalid, `unit "logging/0" is a subordinate`)
	r, err := w.st.Relation(w.ctx, "logging", "mysql")
	w.ok(err)
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.ok(lg.Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	w.clean()
	_, err = w.st.Unit(w.ctx, "logging/0")
	w.gone("unit", "logging/0", err)
	w.checkCounts()
}

func TestDestroyedManagerLosesItsJob(t *testing.T) {
	w := newWorld(t)
	var managers []*state.Machine
	for range 2 {
		m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Jobs: []string{modeldb.JobManageModel, modeldb.JobHostUnits}})
		w.ok(err)
		managers = append(managers, w.provisioned(m.ID()))
	}
	w.st.Before(func() { w.ok(managers[1].Destroy(w.ctx, entity.Destruction{})) })
	w.refused(managers[0].Destroy(w.ctx, entity.Destruction{}), entity.InUse, "machine 0 is required by the model")
	w.refused(managers[0].Destroy(w.ctx, entity.Forced()), entity.InUse, "machine 0 is required by the model")
	gone, err := w.st.Machine(w.ctx, managers[1].ID())
	w.ok(err)
	if gone.IsManager() || gone.Life() != entity.Dying {
		t.Errorf("machine 1 is %s, manager: %v", gone.Life(), gone.IsManager())
	}
}

// Cleanups left by a removed service are not applied to a new service of the
// same name.
func TestForceSparesANewServiceOfTheSameName(t *testing.T) {
	w, _ := forcedWorld(t)
	db := w.deploy("db", statetest.MySQL, 1)
	w.started("db/0")
	w.ok(db.Destroy(w.ctx, entity.Forced()))
	w.ok(w.unit("db/0").DestroySelf(w.ctx))
	w.end("db/0")
	db = w.deploy("db", statetest.MySQL, 2)
	w.started("db/1")
	w.started("db/2")
	w.ok(db.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	info, err := w.unit("db/1").Info(w.ctx)
	w.ok(err)
	if info.Life != entity.Dying || info.Strength != entity.Plain {
		t.Errorf("the new service's unit is %s, %s, want dying, plain", info.Life, info.Strength)
	}
}

// A unit's agent may see that the service or the principal is being destroyed with force before the cleanup reaches the
// unit. It must not begin to run hooks for its own end.
func TestUnitsGoWithForce(t *testing.T) {
	w := newWorld(t)
	principal, r := w.addSubordinate()
	w.ok(w.started("logging/0").EnterScope(w.ctx, r.ID()))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Forced()))
	w.ok(principal.DestroySelf(w.ctx))
	w.ok(w.unit("logging/0").DestroySelf(w.ctx))
	for _, name := range []string{"mysql/0", "logging/0"} {
		info, err := w.unit(name).Info(w.ctx)
		w.ok(err)
		if info.Life != entity.Dying || info.Strength != entity.Force {
			t.Errorf("%s is %s, %s, want dying, force", name, info.Life, info.Strength)
		}
	}
}

// A principal's agent may ask for the end of its subordinates before the cleanup reaches them. It then leaves their
// relations, for which they must not begin to run hooks.
func TestSubordinatesGoWithTheForceOfTheirPrincipal(t *testing.T) {
	for _, how := range []entity.Destruction{{}, {Strength: entity.Lenient}, entity.Forced()} {
		w := newWorld(t)
		principal, r := w.addSubordinate()
		w.ok(w.started("logging/0").EnterScope(w.ctx, r.ID()))
		w.ok(principal.Destroy(w.ctx, how))
		w.ok(principal.DestroySubordinates(w.ctx))
		info, err := w.unit("logging/0").Info(w.ctx)
		w.ok(err)
		if info.Life != entity.Dying || info.Strength != how.Strength {
			t.Errorf("logging/0 is %s, %s, want dying, %s", info.Life, info.Strength, how.Strength)
		}
	}
}

func TestManagersAreNotAssignedUnits(t *testing.T) {
	w := newWorld(t)
	manager, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Jobs: []string{modeldb.JobManageModel}})
	w.ok(err)
	w.deploy("mysql", statetest.MySQL, 1)
	if on := w.unit("mysql/0").Machine(); on == manager.ID() {
		t.Errorf("the unit is on machine %s, which manages the model", on)
	}
}

func TestMachineWithContainersNeedsForce(t *testing.T) {
	w := newWorld(t)
	c, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: statetest.At("lxd")})
	w.ok(err)
	host, err := w.st.Machine(w.ctx, "0")
	w.ok(err)
	w.refused(host.Destroy(w.ctx, entity.Destruction{}), entity.InUse, `machine 0 is hosting containers "0/lxd/0"`)
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: statetest.At("lxd:0")})
	w.ok(err)
	w.checkCounts()
	again, err := w.st.Machine(w.ctx, "0/lxd/1")
	w.ok(err)
	w.ok(again.Destroy(w.ctx, entity.Destruction{}))
	w.ok(c.Destroy(w.ctx, entity.Destruction{}))
	w.ok(host.Destroy(w.ctx, entity.Destruction{}))
	w.empty()
}

// A unit that leaves meanwhile does not stop the forced removal of the rest.
func TestUnitLeavesDuringForcedRelationRemoval(t *testing.T) {
	w, _ := forcedWorld(t)
	w.related()
	r := w.relation("wordpress", "mysql")
	w.ok(w.unit("wordpress/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(r.Destroy(w.ctx, entity.Destruction{Strength: entity.Force}))
	w.st.Before(func() { // before the first of two units leaves
		w.ok(w.unit("wordpress/0").LeaveScope(w.ctx, r.ID()))
		w.end("wordpress/0")
	})
	w.clean()
	_, err := w.st.RelationByID(w.ctx, r.ID())
	w.gone("relation", r.Key(), err)
	w.checkCounts()
}

// Cleanups that never end, as on a model where users destroy something all the time, hold up neither
// the end of a model nor a forced removal.
func TestSteadyCleanupsHoldUpNothing(t *testing.T) {
	w, later := forcedWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Forced()))
	w.clean()
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	last := 0
	another := func() (id string, doc bson.M) {
		last++
		arg := fmt.Sprintf("gone/%d", last)
		return "tasks-" + arg, bson.M{"_id": "tasks-" + arg, "kind": "tasks", "arg": arg}
	}
	w.ok(w.st.Write(t.Context(), "cleanups", func(c *mgo.Collection) error {
		_, doc := another()
		return c.Insert(doc)
	}))
	ctx, cancel := context.WithTimeout(w.ctx, verify.Patience)
	defer cancel()
	restore := w.st.RewriteOps(func(ops []txn.Op) []txn.Op {
		for _, op := range ops {
			if id, _ := op.Id.(string); op.Remove && op.C == "cleanups" && strings.HasPrefix(id, "tasks-gone/") {
				id, doc := another()
				return append(ops, txn.Op{C: "cleanups", Id: id, Assert: txn.DocMissing, Insert: doc})
			}
		}
		return ops
	})
	defer restore()
	later(time.Minute)
	_, _, err := w.st.Cleaner().Cleanup(ctx)
	w.ok(err)
	_, err = w.st.Unit(w.ctx, "mysql/0")
	w.gone("unit", "mysql/0", err)
	_, err = w.st.Service(w.ctx, "wordpress")
	w.gone("service", "wordpress", err)
}
