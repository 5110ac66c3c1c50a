package mongo_test

import (
	"errors"
	"regexp"
	"sync"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// requests returns one request of each kind.
func requests(t *testing.T, store *mongo.Store, db *mongo.Database) map[string]func() error {
	return map[string]func() error{
		"a read":                  func() error { var d doc; return db.Get("c", "a", &d, "doc") },
		"a read with its version": func() error { var d doc; _, err := db.Read("c", "a", nil, &d); return err },
		"a list":                  func() error { var all []doc; return db.All("c", nil, &all) },
		"a transaction": func() error {
			return db.Run(t.Context(), func(int) ([]txn.Op, error) {
				return []txn.Op{{C: "c", Id: "a", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
			})
		},
		"a sequence": func() error { _, err := db.Next(t.Context(), "n", 1); return err },
		"a barrier":  func() error { return store.Sync(t.Context()) },
		"counts":     func() error { _, err := db.Counts(); return err },
		"databases":  func() error { _, err := store.Databases(); return err },
	}
}

// atOnce makes all requests concurrently and passes their errors and durations to ended.
func atOnce(all map[string]func() error, ended func(name string, err error, took time.Duration)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for name, request := range all {
		wg.Go(func() {
			began := time.Now()
			err := request()
			mu.Lock()
			defer mu.Unlock()
			ended(name, err, time.Since(began))
		})
	}
	wg.Wait()
}

// TestRequestsWaitForAnElection, whatever their kind.
func TestRequestsWaitForAnElection(t *testing.T) {
	virtually(t, func(t *testing.T) {
		set := mongotest.NewSet(t, 3)
		store, db := openSet(t, set)
		insert(t, db, doc{"a", 1})
		for round := range 3 {
			set.Kill(15 * time.Second)
			atOnce(requests(t, store, db), func(name string, err error, took time.Duration) {
				if errors.Is(err, entity.StoreUnsure) && name == "a barrier" {
					err = nil // its reads predate the new primary
				}
				if err != nil || took < 15*time.Second || took > 20*time.Second {
					t.Errorf("round %d: %s: %v after %v", round, name, err, took)
				}
			})
		}
		if n := get(t, db, "a").N; n != 4 {
			t.Errorf("n is %d, want 4", n)
		}
	})
}

// TestAnOutageIsReported to requests that have waited long enough, and to later ones
// immediately; once it is over everything continues, even without requests.
func TestAnOutageIsReported(t *testing.T) {
	virtually(t, func(t *testing.T) {
		set := mongotest.NewSet(t, 3)
		store, db := openSet(t, set)
		insert(t, db, doc{"a", 1})
		words := regexp.MustCompile(`the controller's store has been unavailable since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, for \d+m?\d*s$`)
		check := func(name string, err error, took, minTook, maxTook time.Duration) {
			t.Helper()
			if !errors.Is(err, entity.StoreAway) || entity.KindOf(err) != entity.Unavailable || !words.MatchString(err.Error()) || entity.Hint(err) == "" {
				t.Errorf("%s: %v (kind %q, hint %q)", name, err, entity.KindOf(err), entity.Hint(err))
			}
			if took < minTook || took > maxTook {
				t.Errorf("%s: reported after %v, want %v to %v", name, took, minTook, maxTook)
			}
		}
		set.Kill(-1)
		atOnce(requests(t, store, db), func(name string, err error, took time.Duration) {
			most := 28 * time.Second
			if name == "a transaction" {
				most = 46 * time.Second // it may have begun: its outcome must be determined
			}
			check(name, err, took, 25*time.Second, most)
		})
		atOnce(requests(t, store, db), func(name string, err error, took time.Duration) {
			check(name, err, took, 0, 0)
		})
		err := store.Told(db.With("c", func(c *mgo.Collection) error { return c.Insert(doc{"b", 1}) }))
		check("a write that is not retried", err, 0, 0, 0)

		set.Elect()
		time.Sleep(6 * time.Second)
		store.Sync(t.Context()) // the first finds that the primary has changed
		atOnce(requests(t, store, db), func(name string, err error, took time.Duration) {
			if err != nil || took > time.Second {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		})
	})
}

// TestAppliedTransactionsAreReported as such although the primary has changed since the
// request began: a client that is told to try again would repeat them. Reads get StoreUnsure, where they could be rolled back.
func TestAppliedTransactionsAreReported(t *testing.T) {
	set := mongotest.NewSet36(t, 3)
	store, db := openSet(t, set)
	insert(t, db, doc{"a", 1})
	add := func() error {
		began := mongo.Began(t.Context())
		failed := set.Fail(mongotest.Fate{At: "update c", After: 1, Told: 10107})
		err := db.Run(began, func(int) ([]txn.Op, error) {
			return []txn.Op{{C: "c", Id: "a", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
		})
		<-failed
		return errors.Join(err, store.Barrier(began))
	}
	if err := add(); err != nil {
		t.Errorf("what was applied: %v", err)
	}
	began := mongo.Began(t.Context())
	if err := add(); err != nil {
		t.Errorf("what was applied: %v", err)
	}
	if err := store.Barrier(began); !errors.Is(err, entity.StoreUnsure) {
		t.Errorf("what another request applied meanwhile: %v", err)
	}
	if n := get(t, db, "a").N; n != 3 {
		t.Errorf("n is %d, want 3", n)
	}
}
