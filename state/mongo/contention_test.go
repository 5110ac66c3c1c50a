package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo/mongotest"
)

// virtually runs a test in a synctest bubble, whose clock advances only while all goroutines
// wait.
func virtually(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // runs last: mgo's pings end
		test(t)
	})
}

// tooQuick checks for the error of an abandoned change.
func tooQuick(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, entity.Contention) || err.Error() != "state changing too quickly; try again soon" {
		t.Errorf("got %v (kind %q)", err, entity.KindOf(err))
	}
}

// TestAFactThatNeverHolds: a transaction is retried for half a minute and then abandoned.
func TestAFactThatNeverHolds(t *testing.T) { onBoth(t, aFactThatNeverHolds) }

func aFactThatNeverHolds(t *testing.T, open opener) {
	virtually(t, func(t *testing.T) {
		_, db := open(t)
		insert(t, db, doc{"a", 1})
		attempts, began := 0, time.Now()
		err := db.Run(t.Context(), func(attempt int) ([]txn.Op, error) {
			if attempts++; attempt != attempts-1 {
				t.Errorf("attempt %d says it is %d", attempts-1, attempt)
			}
			return []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", 99}}, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
		})
		tooQuick(t, err)
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second || attempts < 100 {
			t.Errorf("%d attempts in %v", attempts, took)
		}
		if hint := entity.Hint(err); !strings.HasPrefix(hint, "It was refused because of c a: n is 1, not 99. ") {
			t.Errorf("the hint is %q", hint)
		}
	})
}

// TestEndlessContention comes from another process, so there is no queue to wait in: the
// transaction ends within the time limit, or with its context.
func TestEndlessContention(t *testing.T) { onBoth(t, endlessContention) }

func endlessContention(t *testing.T, open opener) {
	virtually(t, func(t *testing.T) {
		_, db := open(t)
		insert(t, db, doc{"a", 1})
		disturbed := func(int) ([]txn.Op, error) {
			d := get(t, db, "a")
			time.Sleep(10 * time.Millisecond) // how long a read takes on a remote store
			write(t, db, "c", func(c *mgo.Collection) error { return c.UpdateId("a", bson.D{{"$inc", bson.D{{"n", 1}}}}) })
			return []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", d.N}}, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
		}
		began := time.Now()
		tooQuick(t, db.Run(t.Context(), disturbed))
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("it was abandoned after %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began = time.Now()
		err := db.Run(ctx, disturbed)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 6*time.Second {
			t.Errorf("its context ended after 5s: got %v after %v", err, took)
		}
	})
}

// TestARefusedWriterSucceeds despite many others: what it read while it waited is out of date,
// but what it reads on the retry stays valid until it has written.
func TestARefusedWriterSucceeds(t *testing.T) { onBoth(t, aRefusedWriterSucceeds) }

func aRefusedWriterSucceeds(t *testing.T, open opener) {
	const writers = 200
	virtually(t, func(t *testing.T) {
		_, db := open(t)
		insert(t, db, doc{"a", 0})
		var all sync.WaitGroup
		began := time.Now()
		for w := range writers {
			all.Go(func() {
				refused := 0
				err := db.Run(t.Context(), func(attempt int) ([]txn.Op, error) {
					refused = attempt
					var d doc
					if err := db.Get(t.Context(), "c", "a", &d, "doc"); err != nil {
						return nil, err
					}
					time.Sleep(400 * time.Millisecond)
					return []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", d.N}}, Update: bson.D{{"$set", bson.D{{"n", d.N + 1}}}}}}, nil
				})
				if err != nil || refused > 1 {
					t.Errorf("writer %d: %v, refused %d times", w, err, refused)
				}
			})
		}
		all.Wait()
		if n := get(t, db, "a").N; n != writers {
			t.Errorf("n is %d, want %d", n, writers)
		}
		// Most of them queued for longer than their patience.
		if took := time.Since(began); took < time.Minute {
			t.Errorf("all finished in %v: the test proves nothing", took)
		}
	})
}

// TestManyWritersOfFewDocuments on a remote store: a transaction takes tens of milliseconds,
// nearly all writers want documents that another has just changed, and they spend most of their
// time queuing. None is abandoned. (It runs in real time: mgo waits for a reply with a mutex,
// which stops a bubble's clock.)
func TestManyWritersOfFewDocuments(t *testing.T) {
	const workers, accounts = 12, 2
	each := 4
	if testing.Short() {
		each = 2
	}
	set := mongotest.NewSet(t, 3)
	set.RoundTrip = time.Millisecond
	_, db := openSet(t, set)
	b := newBank(t, db, accounts)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				if err := b.transfer(t.Context(), fmt.Sprintf("%d-%d", w, i)); err != nil && !errors.Is(err, errNoFunds) {
					t.Errorf("worker %d: %v (%s)", w, err, entity.Hint(err))
					return
				}
			}
		})
	}
	all.Wait()
	b.audit(t)
}

// TestASlowAttemptIsNotTheLast: a process that stalls for longer than its patience has made only
// one attempt, and may retry.
func TestASlowAttemptIsNotTheLast(t *testing.T) { onBoth(t, aSlowAttemptIsNotTheLast) }

func aSlowAttemptIsNotTheLast(t *testing.T, open opener) {
	virtually(t, func(t *testing.T) {
		_, db := open(t)
		insert(t, db, doc{"a", 1})
		err := db.Run(t.Context(), func(attempt int) ([]txn.Op, error) {
			d := get(t, db, "a")
			if attempt == 0 {
				time.Sleep(time.Minute)
				write(t, db, "c", func(c *mgo.Collection) error { return c.UpdateId("a", bson.D{{"$inc", bson.D{{"n", 1}}}}) })
			}
			return []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", d.N}}, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
		})
		if n := get(t, db, "a").N; err != nil || n != 3 {
			t.Errorf("got %v, n is %d, want 3", err, n)
		}
	})
}
