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

	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// heard is what users have been told of: ids of documents, by who told them, and how often each has told something.
type heard struct {
	mu   sync.Mutex
	ids  map[string]string
	told map[string]int
}

func (h *heard) note(who string, ids ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.ids[id] = who
	}
	h.told[who]++
}

// await waits until each of these has told something, n times more.
func (h *heard) await(t *testing.T, n int, who ...string) {
	t.Helper()
	count := func() (all []int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, w := range who {
			all = append(all, h.told[w])
		}
		return all
	}
	before := count()
	until(t, fmt.Sprint(who, " to tell more"), func() bool {
		for i, now := range count() {
			if now < before[i]+n {
				return false
			}
		}
		return true
	})
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(verify.Patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Two controllers write and read while primaries are lost, and with them what the majority did not have, and while one of
// the controllers reaches only a former primary. Nothing that was told, of the writes of either, is ever rolled back,
// and no reply needs a write of its own for that.
func TestNothingToldIsRolledBack(t *testing.T) {
	set := mongotest.NewReplicas(t, 3)
	stores, dbs := map[string]*mongo.Store{}, map[string]*mongo.Database{}
	for _, name := range []string{"a", "b"} {
		stores[name], dbs[name] = openURL(t, set.URL(), mongo.Options{Dial: set.DialAs(name)})
	}
	h := &heard{ids: map[string]string{}, told: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for name, db := range dbs {
		for w := range 3 {
			writer := fmt.Sprintf("writer %d of %s", w, name)
			work.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					id := ""
					err := db.Run(ctx, func(attempt int) ([]txn.Op, error) {
						id = fmt.Sprintf("%s: %d, attempt %d", writer, i, attempt)
						return []txn.Op{{C: "c", Id: id, Assert: txn.DocMissing, Insert: bson.D{}}}, nil
					})
					if err == nil {
						h.note("writers of "+name, id)
					}
				}
			})
		}
		work.Go(func() {
			for ctx.Err() == nil {
				request := mongo.Began(ctx)
				var docs []doc
				err := db.All(ctx, "c", nil, &docs)
				if err == nil {
					err = stores[name].Barrier(request)
				}
				if err != nil {
					continue
				}
				var ids []string
				for _, d := range docs {
					ids = append(ids, d.ID)
				}
				h.note("the reader of "+name, ids...)
			}
		})
	}
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		h.await(t, 2, "writers of a", "writers of b", "the reader of a", "the reader of b")
		set.Hold()
		until(t, "writes that have not reached the majority", func() bool { return set.Unsure() > 1 })
		h.await(t, 2, "the reader of a", "the reader of b")
		if round%2 == 0 {
			set.RollBack(t)
			continue
		}
		set.Split(t, "a")
		h.await(t, 2, "the reader of a", "writers of b", "the reader of b")
		set.Heal()
	}
	set.Release()
	stop()
	work.Wait()
	left := map[string]bool{}
	var docs []doc
	if err := dbs["b"].All(t.Context(), "c", nil, &docs); err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		left[d.ID] = true
	}
	for id, who := range h.ids {
		if !left[id] {
			t.Errorf("%s told of %q, which was rolled back", who, id)
		}
	}
	t.Logf("%d documents, %d were told of", len(left), len(h.ids))
}

// A read is at least as new as the writes before it, also if another member has become primary in between, which may not
// know yet that the majority has them.
func TestReadsAreAsNewAsTheWritesBefore(t *testing.T) {
	set := mongotest.NewReplicas(t, 3)
	var mu sync.Mutex
	var concern bson.M
	set.Heard = func(c mongotest.Command) {
		v, err := c.Body.LookupErr("readConcern")
		if _, in := c.Body.LookupErr("autocommit"); err != nil || in == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		concern = nil
		if err := bson.Unmarshal(v.Document(), &concern); err != nil {
			t.Error(err)
		}
	}
	_, db := openSet(t, set)
	last := bson.MongoTimestamp(0)
	for i := range 3 {
		insert(t, db, doc{fmt.Sprint(i), 0})
		get(t, db, fmt.Sprint(i))
		mu.Lock()
		at, _ := concern["afterClusterTime"].(bson.MongoTimestamp)
		if concern["level"] != "majority" || at <= last {
			t.Errorf("the read after write %d has concern %v, the one before it had time %d", i, concern, last)
		}
		last = at
		mu.Unlock()
	}
}

// While transactions wait for the majority, others run, up to a limit; later, few keep a connection.
func TestSlotsGrowAndShrink(t *testing.T) {
	set := mongotest.NewReplicas(t, 3)
	_, db := openSet(t, set)
	set.Hold()
	var work sync.WaitGroup
	for i := range 2 * mongo.RemoteSlots {
		work.Go(func() {
			if err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
				return []txn.Op{{C: "c", Id: fmt.Sprint(i), Assert: txn.DocMissing, Insert: bson.D{}}}, nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	until(t, "transactions that wait for the majority", func() bool { return set.Unsure() >= mongo.RemoteSlots })
	if all, connected := db.Slots(); all != mongo.RemoteSlots || connected != all {
		t.Errorf("there are %d slots, %d with a connection; want %d", all, connected, mongo.RemoteSlots)
	}
	set.Release()
	work.Wait()
	if all, connected := db.Slots(); all != mongo.RemoteSlots || connected != mongo.EmbeddedSlots {
		t.Errorf("afterwards there are %d slots, %d with a connection; want %d and %d", all, connected, mongo.RemoteSlots, mongo.EmbeddedSlots)
	}
	insert(t, db, doc{"again", 0})
}

// A number of a sequence is never given twice, although it is not part of a transaction.
func TestNumbersAreNotRolledBack(t *testing.T) {
	set := mongotest.NewReplicas(t, 3)
	_, db := openSet(t, set)
	next := func() int {
		n, err := db.Next(t.Context(), "n", 1)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	next()
	set.Hold()
	given := make(chan int)
	go func() { given <- next() }()
	until(t, "a number that the majority does not have", func() bool { return set.Unsure() > 0 || len(given) > 0 })
	set.RollBack(t)
	if one, other := <-given, next(); one == other {
		t.Errorf("%d was given twice", one)
	}
}

// An outage that documents which are deleted meet is told as one.
func TestDeletingMeetsAnOutage(t *testing.T) {
	set := mongotest.NewSet(t, 3)
	_, db := openSet(t, set)
	insert(t, db, doc{"a", 1})
	set.Fail(mongotest.Fate{At: "delete c", After: 1})
	if left, err := db.DeleteUntouched(t.Context(), "c", bson.D{{"n", 1}}); !errors.Is(err, entity.StoreAway) || left != 1 {
		t.Errorf("%d are left, %v", left, err)
	}
}

// A snapshot whose data the majority does not have in time is none.
func TestASnapshotIsConfirmed(t *testing.T) {
	set := mongotest.NewSet(t, 3)
	store, db := openSet(t, set, "wtimeoutMS=100")
	insert(t, db, doc{"a", 1})
	set.LoseMajority()
	defer set.RegainMajority()
	if err := store.Export(t.Context(), nil, func(string, []byte) error { return nil }); err == nil {
		t.Error("it was taken without a majority")
	}
}
