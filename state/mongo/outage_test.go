package mongo_test

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/loggo"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// requests returns one request of each kind.
func requests(t *testing.T, store *mongo.Store, db *mongo.Database) map[string]func() error {
	return map[string]func() error{
		"a read":                  func() error { var d doc; return db.Get(t.Context(), "c", "a", &d, "doc") },
		"a read with its version": func() error { var d doc; _, err := db.Read(t.Context(), "c", "a", nil, &d); return err },
		"a list":                  func() error { var all []doc; return db.All(t.Context(), "c", nil, &all) },
		"a transaction": func() error {
			return db.Run(t.Context(), func(int) ([]txn.Op, error) {
				return []txn.Op{{C: "c", Id: "a", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
			})
		},
		"a sequence": func() error { _, err := db.Next(t.Context(), "n", 1); return err },
		"a barrier":  func() error { return store.Sync(t.Context()) },
		"counts":     func() error { _, err := db.Counts(t.Context()); return err },
		"databases":  func() error { _, err := store.Databases(t.Context()); return err },
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

// TestAnOutageIsReported to requests that have waited long enough, whatever they wait for, and to later ones
// immediately; once it is over everything continues, even without requests. It is logged once.
func TestAnOutageIsReported(t *testing.T) {
	virtually(t, func(t *testing.T) {
		set := mongotest.NewSet(t, 3)
		store, db := openSet(t, set)
		insert(t, db, doc{"a", 1})
		logged := logTo(t)
		set.Kill(-1)
		atOnce(requests(t, store, db), func(name string, err error, took time.Duration) {
			isAway(t, name, err)
			if took < 25*time.Second || took > 28*time.Second {
				t.Errorf("%s: reported after %v", name, took)
			}
		})
		time.Sleep(time.Minute)
		atOnce(requests(t, store, db), func(name string, err error, took time.Duration) {
			isAway(t, name, err)
			if took != 0 {
				t.Errorf("%s: reported after %v", name, took)
			}
		})
		isAway(t, "a write that is not retried", store.Told(db.With(t.Context(), "c", func(c *mgo.Collection) error { return c.Insert(doc{"b", 1}) })))

		set.Elect()
		time.Sleep(6 * time.Second)
		store.Sync(t.Context()) // the first finds that the primary has changed
		atOnce(requests(t, store, db), func(name string, err error, took time.Duration) {
			if err != nil || took > time.Second {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		})
		if began, ended := logged("has been unavailable since"), logged("is back after"); began != 1 || ended != 1 {
			t.Errorf("the log has its begin %d times, and its end %d times", began, ended)
		}
	})
}

var awayWords = regexp.MustCompile(`the controller's store has been unavailable since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, for \d+m?\d*s$`)

func isAway(t *testing.T, name string, err error) {
	t.Helper()
	if !errors.Is(err, entity.StoreAway) || entity.KindOf(err) != entity.Unavailable || !awayWords.MatchString(err.Error()) || entity.Hint(err) == "" {
		t.Errorf("%s: %v (kind %q, hint %q)", name, err, entity.KindOf(err), entity.Hint(err))
	}
}

// TestRequestsThatHang when an outage begins are answered like later ones, although the MongoDB keeps the connections and says
// nothing: the primary waits for a majority, or doesn't run. A change whose commit waits is reported as unknown.
func TestRequestsThatHang(t *testing.T) {
	for name, way := range map[string]struct {
		begin, end func(*mongotest.Set)
		reads      bool // reads succeed while the outage is not known
	}{
		"no majority": {(*mongotest.Set).LoseMajority, (*mongotest.Set).RegainMajority, true},
		"no response": {(*mongotest.Set).Freeze, (*mongotest.Set).Thaw, false},
	} {
		for kind, newSet := range map[string]func(testing.TB, int) *mongotest.Set{"": mongotest.NewSet, ", mgo-txn": mongotest.NewSet36} {
			t.Run(name+kind, func(t *testing.T) {
				t.Parallel()
				set := newSet(t, 3)
				// The majority has as long as a reply to mgo: neither must be what ends the wait.
				store, db := openURL(t, set.URL("wtimeoutMS=500"), mongo.Options{Dial: set.Dial, Answer: 2 * time.Second})
				insert(t, db, doc{"a", 1})
				way.begin(set)
				atOnce(requests(t, store, db), func(name string, err error, _ time.Duration) {
					if writes := name == "a transaction" || name == "a sequence" || name == "a barrier"; way.reads && !writes {
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
						return
					}
					isAway(t, name, err)
					if maybe := strings.Contains(err.Error(), "it is not known whether the change was made"); maybe != (name == "a transaction" && (way.reads || kind != "")) {
						t.Errorf("%s: %v", name, err)
					}
				})
				since := store.AwaySince()
				atOnce(requests(t, store, db), func(name string, err error, _ time.Duration) { isAway(t, name, err) })
				if now := store.AwaySince(); since.IsZero() || !now.Equal(since) {
					t.Errorf("the outage began at %v, and then at %v", since, now)
				}
				way.end(set)
				for end := time.Now().Add(verify.Patience); store.Sync(t.Context()) != nil; time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("the outage does not end")
					}
				}
				atOnce(requests(t, store, db), func(name string, err error, _ time.Duration) {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			})
		}
	}
}

// TestOpeningInAnOutage says what to check, and not that a role is missing.
func TestOpeningInAnOutage(t *testing.T) {
	for set, leaves := range map[*mongotest.Set]bool{mongotest.NewSet(t, 3): false, mongotest.NewSet36(t, 3): true} {
		store, _ := openSet(t, set)
		if got := store.LeavesTransactions(); got != leaves {
			t.Errorf("transactions are left: %v, want %v", got, leaves)
		}
		set.LoseMajority()
		u, err := mongo.ParseURL(set.URL("wtimeoutMS=100"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = mongo.OpenURL(t.Context(), u, mongo.Options{Dial: set.Dial, Answer: 200 * time.Millisecond})
		if !errors.Is(err, entity.StoreAway) || !strings.Contains(entity.Hint(err), "a majority of the MongoDB's members") {
			t.Errorf("%v (%s)", err, entity.Hint(err))
		}
		set.RegainMajority()
	}
}

// logTo collects what is logged until the test ends, and returns a function that counts the lines with a text.
func logTo(t *testing.T) (count func(text string) int) {
	var log loggo.TestWriter
	if err := loggo.RegisterWriter(t.Name(), &log); err != nil {
		t.Fatal(err)
	}
	logger := loggo.GetLogger("juju.state.mongo")
	was := logger.LogLevel()
	logger.SetLogLevel(loggo.INFO)
	t.Cleanup(func() {
		logger.SetLogLevel(was)
		loggo.RemoveWriter(t.Name())
	})
	return func(text string) (n int) {
		for _, e := range log.Log() {
			if strings.Contains(e.Message, text) {
				n++
			}
		}
		return n
	}
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
