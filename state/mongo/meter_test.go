package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A meter notes what it is told.
type meter struct {
	mu       sync.Mutex
	ends     []string
	barriers int
	ages     chan time.Duration
}

func (m *meter) Transaction(end mongo.Outcome, attempts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ends = append(m.ends, fmt.Sprint(end, attempts))
}

func (m *meter) Barrier(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.barriers++
}

func (m *meter) Delivered(age time.Duration) { m.ages <- age }

// The meter of a store is told how each change ends, of each wait at the barrier, and how late watchers hear of a change.
func TestMeter(t *testing.T) {
	t.Parallel()
	m := &meter{ages: make(chan time.Duration, 100)}
	_, db := openWith(t, mongo.Options{Meter: m, Patience: time.Nanosecond})
	ctx, cancel := context.WithCancel(context.Background())
	hub := watcher.NewHub(nil)
	var tail sync.WaitGroup
	defer tail.Wait()
	defer cancel()
	held := make(chan struct{}) // what watchers wait for
	tail.Go(func() {
		watcher.Tail(ctx, db.Tail, func(context.Context) error { <-held; return nil }, hub)
	})
	sub := hub.Subscribe(watcher.Collection("c"))
	defer sub.Close()
	held <- struct{}{}
	<-sub.Wake() // the changes are followed

	insert(t, db, doc{ID: "a"})
	made, late := time.Now(), time.Duration(0)
	for late < 20*time.Millisecond {
		get(t, db, "a")
		late = time.Since(made)
	}
	close(held)
	if age := <-m.ages; age < late-time.Millisecond { // the store's clock is in milliseconds
		t.Errorf("the change was delivered after %v; its watchers waited %v", age, late)
	}
	run := func(err error, ops ...txn.Op) {
		_ = db.Run(ctx, func(int) ([]txn.Op, error) { return ops, err })
	}
	run(mongo.ErrNothing)
	run(entity.Errorf(entity.NotAlive, "it is dying"))
	run(errors.New("a programming error"))
	run(nil, txn.Op{C: "c", Id: "a", Assert: bson.D{{"n", 5}}})
	cancel()
	run(nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	want := "[applied1 unneeded1 refused1 failed1 contended5 cancelled0]"
	if got := fmt.Sprint(m.ends); got != want {
		t.Errorf("the changes ended %s, want %s", got, want)
	}
	if m.barriers < len(m.ends) {
		t.Errorf("%d waits at the barrier for %d changes", m.barriers, len(m.ends))
	}
}
