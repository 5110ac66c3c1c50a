package state_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// Concurrent changes might look like damage at any moment, and must not be
// reported. Real damage is found all the same.
func TestCheckUnderLoad(t *testing.T) {
	w := newWorld(t)
	seed := testSeed(t)
	charms := map[string]string{}
	for name, meta := range map[string]string{"mysql": statetest.MySQL, "wordpress": statetest.Wordpress,
		"riak": statetest.Riak, "logging": statetest.Logging} {
		charms[name] = statetest.Charm(t, w.st, meta)
	}
	checks := 40
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		checks = 300
	case testing.Short():
		checks = 10
	}
	working, stop := context.WithCancel(w.ctx)
	var actors sync.WaitGroup
	end := func() { stop(); actors.Wait() }
	t.Cleanup(end)
	for actor := range 6 {
		rnd := rand.New(rand.NewPCG(seed, uint64(actor)))
		actors.Go(func() {
			for working.Err() == nil {
				names := []string{"mysql", "wordpress", "riak", "logging"}
				err := w.something(rnd, names, charms)
				if rnd.IntN(20) == 0 {
					err = w.force(names[rnd.IntN(len(names))])
				}
				if err != nil && entity.KindOf(err) == "" && working.Err() == nil {
					t.Errorf("an error of no kind: %v", err)
				}
			}
		})
	}
	for i := range checks {
		for _, f := range w.check(i%2 == 1) {
			t.Errorf("check %d: false alarm: %+v", i, f)
		}
	}
	// Add a status that belongs to no entity.
	w.ok(w.st.Write(t.Context(), "statuses", func(c *mgo.Collection) error { return c.Insert(bson.M{"_id": "m#1000000"}) }))
	found := w.check(true)
	if len(found) != 1 || found[0].Where != "statuses m#1000000" || !found[0].Done {
		t.Errorf("found %s", statetest.Lines(found))
	}
	end()
	w.checkClean()
	w.checkCounts()
}

// force destroys a service, or a machine for "logging", with force.
func (w *world) force(service string) error {
	now := entity.Destruction{Strength: entity.Force}
	if service == "logging" {
		machines, err := w.st.Machines(w.ctx)
		if err != nil || len(machines) == 0 {
			return err
		}
		return machines[0].Destroy(w.ctx, now)
	}
	s, err := w.st.Service(w.ctx, service)
	if err != nil {
		return err
	}
	return s.Destroy(w.ctx, now)
}

// loseTransaction makes a document wait for a transaction that is lost.
func (w *world) loseTransaction(collection, id string) {
	w.Helper()
	w.ok(w.st.Write(w.ctx, collection, func(c *mgo.Collection) error {
		var doc struct {
			Queue []string `bson:"txn-queue"`
		}
		if err := c.FindId(id).One(&doc); err != nil {
			return err
		}
		if len(doc.Queue) == 0 {
			return errors.New("the document has no queued transaction")
		}
		return c.Database.C("txns").RemoveId(bson.ObjectIdHex(doc.Queue[len(doc.Queue)-1][:24]))
	}))
}

// A document that waits for a lost transaction refuses changes to itself, and
// only those, until it is repaired.
func TestLostTransactionBlocksOnlyItsDocuments(t *testing.T) {
	t.Setenv(statetest.StoreVariable, "standalone") // only mgo/txn has queues
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 3)
	w.deploy("wordpress", statetest.Wordpress, 1)
	r := w.relate("wordpress", "mysql")
	for _, name := range []string{"mysql/0", "mysql/1", "mysql/2", "wordpress/0"} {
		w.started(name)
	}
	w.loseTransaction("units", "mysql/1")
	refused := func(err error) {
		t.Helper()
		w.refused(err, entity.Unavailable, "cannot change units mysql/1: it waits for a lost transaction")
		if hint := entity.Hint(err); hint != "To repair it: juju check --repair" {
			t.Errorf("the hint is %q", hint)
		}
	}
	sick := w.unit("mysql/1")
	for range 2 {
		refused(sick.EnterScope(w.ctx, r.ID()))
		refused(sick.Destroy(w.ctx, entity.Destruction{}))
	}
	// Its neighbours, service, machine and model are not affected.
	w.ok(w.unit("mysql/0").EnterScope(w.ctx, r.ID()))
	w.ok(w.unit("wordpress/0").EnterScope(w.ctx, r.ID()))
	_, err := mustService(w, "mysql").AddUnits(w.ctx, 2, statetest.To("1", "0"))
	w.ok(err)
	w.ok(mustService(w, "mysql").Expose(w.ctx, nil))
	w.deploy("riak", statetest.Riak, 1)
	w.ok(w.st.Transactions().ResumeTransactions(w.ctx))
	// It does not hold up entities destroyed with it either, even with all agents
	// away.
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	left, _, err := w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	if life := w.unit("mysql/2").Life(); life == entity.Alive || left != 1 {
		t.Errorf("mysql/2 is %v, %d cleanups left", life, left)
	}

	for _, repair := range []bool{false, true} {
		found := w.check(repair)
		if len(found) != 2 || found[0].Where != "statuses u#mysql/1" || found[1].Where != "units mysql/1" {
			t.Fatalf("check found %+v", found)
		}
		for _, f := range found {
			if !strings.Contains(f.What, "which is lost") || f.Repair != "remove it from the queue" || f.Done != repair {
				t.Errorf("check found %+v", f)
			}
		}
	}
	w.checkClean()
	w.ok(sick.Destroy(w.ctx, entity.Destruction{}))
	if left, _, err = w.st.Cleaner().Cleanup(w.ctx); err != nil || left > 0 {
		t.Errorf("%d cleanups left (%v)", left, err)
	}
	w.checkCounts()
}

// Check finds a transaction that no process completes, and a repair completes
// it.
func TestStuckTransactionIsCompleted(t *testing.T) {
	t.Setenv(statetest.StoreVariable, "standalone") // only mgo/txn has queues
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	id := bson.NewObjectIdWithTime(time.Now().Add(-time.Hour))
	ops := []txn.Op{{C: "services", Id: "mysql", Assert: txn.DocExists,
		Update: bson.D{{"$set", bson.D{{"exposed", true}}}}}}
	w.ok(w.st.Write(t.Context(), "txns", func(c *mgo.Collection) error { return c.Insert(bson.M{"_id": id, "s": 1, "o": ops}) }))
	found := w.check(false)
	if len(found) != 1 || found[0].Where != "txns "+id.Hex() ||
		!strings.Contains(found[0].What, "and holds up services mysql") {
		t.Fatalf("check found %+v", found)
	}
	if found = w.check(true); len(found) != 1 || !found[0].Done {
		t.Fatalf("repair found %+v", found)
	}
	if mustService(w, "mysql").ExposedEndpoints() == nil {
		t.Error("the transaction was not applied")
	}
	w.checkClean()
}

// A repair does nothing if the state is no longer what the check read.
func TestRepairAssertsWhatItRead(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	w.ok(w.st.Write(t.Context(), "counts", func(c *mgo.Collection) error { return c.UpdateId("s#mysql", set("units", 5)) }))
	w.st.Before(func() {
		_, err := mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
		w.ok(err)
	})
	w.check(true)
	w.checkClean()
	w.checkCounts()
}

func TestCheckStopsWhenCancelled(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := w.st.Check(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Models are created while the controller is checked.
func TestCheckAcceptsModelsBeingCreated(t *testing.T) {
	w := newWorld(t)
	var maker sync.WaitGroup
	maker.Go(func() {
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			_, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: name, Owner: statetest.Admin, Series: "jammy"})
			if err != nil {
				t.Error(err)
			}
		}
	})
	for range 20 {
		found, err := w.ctrl.Check(w.ctx, true)
		w.ok(err)
		if len(found) > 0 {
			t.Errorf("check found %s", statetest.Lines(found))
		}
	}
	maker.Wait()
}

// By the time a finished cleanup is deleted, its id might belong to a new one.
func TestCleanupReplacedUnderTheSameIDIsKept(t *testing.T) {
	w := newWorld(t)
	old := bson.M{"_id": "force-s#mysql", "kind": "force", "arg": "s#mysql", "strength": 2,
		"deadline": time.Now().Add(-time.Hour)}
	w.ok(w.st.Write(t.Context(), "cleanups", func(c *mgo.Collection) error { return c.Insert(old) }))
	w.st.Before(func() {
		w.ok(w.st.Write(t.Context(), "cleanups", func(c *mgo.Collection) error { return c.RemoveId("force-s#mysql") }))
		s := w.deploy("mysql", statetest.MySQL, 1)
		w.started("mysql/0")
		w.ok(s.Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: time.Hour}))
	})
	_, _, err := w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	w.checkClean()
}
