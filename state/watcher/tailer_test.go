package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/doc/tools/verify"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
	"juju/state/watcher"
)

// aLog opens a database that contains only the log that a tailer follows.
func aLog(t *testing.T) *mongo.Database {
	t.Helper()
	store, err := mongo.OpenEmbedded("store", mongo.Options{Embedded: embedded.Options{FS: vfs.NewMem()}})
	if err != nil {
		t.Fatal(err)
	}
	return database(t, store)
}

// database makes a database of a store that ends with the test.
func database(t *testing.T, store *mongo.Store) *mongo.Database {
	t.Helper()
	if err := store.Make(t.Context(), "m", mongo.Schema{LogSize: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	db := store.Open("m")
	t.Cleanup(func() {
		db.Close(errors.New("the test has ended"))
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// write adds an entry that reports a change to a document.
func write(t *testing.T, db *mongo.Database, collection, id string) {
	err := db.With(t.Context(), mongo.LogC, func(c *mgo.Collection) error {
		return c.Insert(bson.D{{"_id", bson.NewObjectId()},
			{collection, bson.D{{"d", []string{id}}, {"r", []int{2}}}}})
	})
	if err != nil {
		t.Error(err)
	}
}

func wait[T any](t *testing.T, c <-chan T, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(verify.Patience):
		t.Fatal("no " + what)
	}
}

func TestATailEndsThoughEntriesKeepComing(t *testing.T) {
	db := aLog(t)
	hub := watcher.NewHub(nil)
	sub := hub.Subscribe(watcher.Collection("c"))
	defer sub.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watcher.Tail(ctx, db.Tail, func(context.Context) error { return nil }, hub)
	}()
	var writer sync.WaitGroup
	var stop atomic.Bool
	defer writer.Wait()
	defer stop.Store(true)
	writer.Go(func() {
		for !stop.Load() {
			write(t, db, "c", "a")
		}
	})
	wait(t, sub.Wake(), "event")
	cancel()
	wait(t, ended, "end of the tail")
	for began := time.Now(); openCursors(t, db) > 0; {
		if time.Since(began) > verify.Patience {
			t.Fatal("the tail left its cursor open")
		}
	}
}

// A tail that waits for an entry, one second at a time, ends as soon as it is cancelled.
func TestWaitingTailEndsImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // runs last: mgo's pings end
		db := aLog(t)
		hub := watcher.NewHub(nil)
		sub := hub.Subscribe(watcher.Collection("c"))
		defer sub.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			watcher.Tail(ctx, db.Tail, func(context.Context) error { return nil }, hub)
		}()
		<-sub.Wake()
		synctest.Wait()
		began := time.Now()
		cancel()
		<-ended
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v to end", took)
		}
	})
}

func openCursors(t *testing.T, db *mongo.Database) int64 {
	t.Helper()
	var status struct {
		Metrics struct {
			Cursor struct {
				Open struct {
					Total int64 `bson:"total"`
				} `bson:"open"`
			} `bson:"cursor"`
		} `bson:"metrics"`
	}
	err := db.With(t.Context(), mongo.LogC, func(c *mgo.Collection) error { return c.Database.Run("serverStatus", &status) })
	if err != nil {
		t.Fatal(err)
	}
	return status.Metrics.Cursor.Open.Total
}

// follow tails a log until the test ends. It returns a subscription to the collection c, whose first event has come.
func follow(t *testing.T, db *mongo.Database, barrier func(context.Context) error) *watcher.Subscription {
	t.Helper()
	hub := watcher.NewHub(nil)
	sub := hub.Subscribe(watcher.Collection("c"))
	t.Cleanup(sub.Close)
	var tail sync.WaitGroup
	t.Cleanup(tail.Wait)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	tail.Go(func() { watcher.Tail(ctx, db.Tail, barrier, hub) })
	wait(t, sub.Wake(), "first event")
	sub.Take()
	return sub
}

// All that a transaction changes is told at once, also by a change stream, where each document is an entry of its own.
func TestATransactionIsToldAtOnce(t *testing.T) {
	set := mongotest.NewSet(t, 1)
	url, err := mongo.ParseURL(set.URL())
	if err != nil {
		t.Fatal(err)
	}
	store, err := mongo.OpenURL(t.Context(), url, mongo.Options{Dial: set.Dial})
	if err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]*mongo.Database{"log": aLog(t), "stream": database(t, store)} {
		sub := follow(t, db, func(context.Context) error { return nil })
		const many = 500
		for round := range 4 {
			var ops []txn.Op
			for i := range many {
				ops = append(ops, txn.Op{C: "c", Id: fmt.Sprint(round, " ", i), Assert: txn.DocMissing, Insert: bson.D{}})
			}
			if err := db.Run(t.Context(), func(int) ([]txn.Op, error) { return ops, nil }); err != nil {
				t.Fatal(err)
			}
			told, reset := 0, false
			for told == 0 && !reset { // a subscription may be woken once too often
				wait(t, sub.Wake(), "event")
				var changes []watcher.Change
				changes, reset = sub.Take()
				told = len(changes)
			}
			if reset || told != many {
				t.Fatalf("%s: %d changes were told at once, of %d (or all: %v)", name, told, many, reset)
			}
		}
	}
}

func TestATailBeginsAnewWhenTheBarrierFails(t *testing.T) {
	db := aLog(t)
	var fails atomic.Bool
	failed := make(chan struct{}, 1)
	barrier := func(context.Context) error {
		if !fails.Load() {
			return nil
		}
		select {
		case failed <- struct{}{}:
		default:
		}
		return errors.New("no")
	}
	sub := follow(t, db, barrier)
	fails.Store(true)
	write(t, db, "c", "a")
	wait(t, failed, "barrier")
	fails.Store(false)
	wait(t, sub.Wake(), "event after the barrier had failed")
}

// All watchers reread everything after somebody has dropped a collection, which lists no documents.
func TestADroppedCollection(t *testing.T) {
	db := aLog(t)
	if err := db.With(t.Context(), "c", func(c *mgo.Collection) error { return c.Insert(bson.D{{"_id", "a"}}) }); err != nil {
		t.Fatal(err)
	}
	sub := follow(t, db, func(context.Context) error { return nil })
	if err := db.With(t.Context(), "c", (*mgo.Collection).DropCollection); err != nil {
		t.Fatal(err)
	}
	wait(t, sub.Wake(), "event after the end of a collection")
}
