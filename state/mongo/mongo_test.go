package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Short names of mongotest's.
type (
	doc    = mongotest.Doc
	opener = mongotest.Opener
)

var (
	open           = mongotest.Open
	openStandalone = mongotest.OpenStandalone
	openWith       = mongotest.OpenWith
	openURL        = mongotest.OpenURL
	onBoth         = mongotest.OnBoth
	insert         = mongotest.Insert
	get            = mongotest.Get
	write          = mongotest.Write
)

func TestABuilderRunsAgainWhenItsFactsHaveChanged(t *testing.T) {
	onBoth(t, aBuilderRunsAgainWhenItsFactsHaveChanged)
}

func aBuilderRunsAgainWhenItsFactsHaveChanged(t *testing.T, open opener) {
	_, db := open(t)
	insert(t, db, doc{"a", 1})
	attempts := []int{}
	mongotest.HooksOf(db).Set(mongotest.TestHook{Before: func() {
		err := db.With(t.Context(), "c", func(c *mgo.Collection) error { return c.UpdateId("a", bson.D{{"$set", bson.D{{"n", 5}}}}) })
		if err != nil {
			t.Error(err)
		}
	}})
	err := db.Run(t.Context(), func(attempt int) ([]txn.Op, error) {
		attempts = append(attempts, attempt)
		d := get(t, db, "a")
		return []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", d.N}}, Update: bson.D{{"$set", bson.D{{"n", d.N * 10}}}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := get(t, db, "a").N; n != 50 || !slices.Equal(attempts, []int{0, 1}) {
		t.Errorf("n is %d after attempts %v, want 50 after [0 1]", n, attempts)
	}
}

func TestNothingToDoAndErrorsOfTheBuilder(t *testing.T) { onBoth(t, nothingToDoAndErrorsOfTheBuilder) }

func nothingToDoAndErrorsOfTheBuilder(t *testing.T, open opener) {
	_, db := open(t)
	if err := db.Run(t.Context(), func(int) ([]txn.Op, error) { return nil, mongo.ErrNothing }); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
	mine := errors.New("mine")
	if err := db.Run(t.Context(), func(int) ([]txn.Op, error) { return nil, mine }); !errors.Is(err, mine) {
		t.Errorf("got %v, want the builder's error", err)
	}
	if n, err := db.Count(t.Context(), mongo.TxnsC, nil); err != nil || n != 0 {
		t.Errorf("%d transactions were run (%v)", n, err)
	}
}

// A builder reads one document, others remove it and the one it refers to, and the builder
// can't find the latter: it is called again.
func TestABuilderRunsAgainWhenItFindsNothing(t *testing.T) {
	onBoth(t, aBuilderRunsAgainWhenItFindsNothing)
}

func aBuilderRunsAgainWhenItFindsNothing(t *testing.T, open opener) {
	_, db := open(t)
	missing := func(what string) error { return entity.Errorf(entity.NotFound, "%s not found", what) }
	for _, c := range []struct {
		says []error // by successive calls; the last repeats
		want string
		runs int
	}{
		{[]error{missing("service"), mongo.ErrNothing}, "", 2},
		{[]error{missing("service"), missing("unit")}, "unit not found", 3},
		{[]error{missing("unit")}, "unit not found", 2},
		{[]error{missing("service"), errors.New("mine")}, "mine", 2},
	} {
		runs := 0
		err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
			runs++
			return nil, c.says[min(runs, len(c.says))-1]
		})
		if runs != c.runs || (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%v: got %v after %d runs, want %q after %d", c.says, err, runs, c.want, c.runs)
		}
	}
}

// Many more writers than slots, all on one document: each succeeds.
func TestWritersWaitInOrder(t *testing.T) { onBoth(t, writersWaitInOrder) }

func writersWaitInOrder(t *testing.T, open opener) {
	_, db := open(t)
	insert(t, db, doc{"a", 0})
	const writers, each = 64, 5
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := db.Run(context.Background(), func(int) ([]txn.Op, error) {
					return []txn.Op{{C: "c", Id: "a", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := get(t, db, "a").N; n != writers*each {
		t.Errorf("n is %d, want %d", n, writers*each)
	}
}

func TestACancelledRunGivesItsSlotBack(t *testing.T) { onBoth(t, aCancelledRunGivesItsSlotBack) }

func aCancelledRunGivesItsSlotBack(t *testing.T, open opener) {
	_, db := open(t)
	insert(t, db, doc{"a", 0})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		_ = db.Run(ctx, func(int) ([]txn.Op, error) {
			return []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", 99}}, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
		})
	}
	insert(t, db, doc{"b", 1})
}

// Transactions that a crash leaves unfinished are completed: one that was only inserted, one
// that is prepared, and one that is being applied.
func TestUnfinishedTransactionsAreResumed(t *testing.T) {
	for _, state := range []int{1, 2, 4} {
		_, db := openStandalone(t)
		insert(t, db, doc{"a", 1})
		id := bson.NewObjectIdWithTime(time.Now().Add(-time.Minute))
		err := db.With(t.Context(), mongo.TxnsC, func(c *mgo.Collection) error {
			if state == 1 {
				return c.Insert(bson.M{"_id": id, "s": 1, "o": []bson.M{{"c": "c", "d": "a", "u": bson.M{"$set": bson.M{"n": 7}}}}})
			}
			runner := txn.NewRunner(c)
			txn.SetChaos(txn.Chaos{KillChance: 1, Breakpoint: map[int]string{2: "set-applying", 4: "set-applied"}[state]})
			defer txn.SetChaos(txn.Chaos{})
			err := runner.Run([]txn.Op{{C: "c", Id: "a", Assert: txn.DocExists, Update: bson.M{"$set": bson.M{"n": 7}}}}, id, nil)
			if err != txn.ErrChaos {
				return fmt.Errorf("the transaction was not interrupted: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.ResumeTransactions(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if n := get(t, db, "a").N; n != 7 {
			t.Errorf("interrupted in state %d: n is %d, want 7", state, n)
		}
		if n, err := db.Count(t.Context(), mongo.TxnsC, bson.M{"s": bson.M{"$lt": 5}}); err != nil || n != 0 {
			t.Errorf("interrupted in state %d: %d are still unfinished (%v)", state, n, err)
		}
	}
}

func TestYoungTransactionsAreLeftToTheirRunners(t *testing.T) {
	_, db := openStandalone(t)
	insert(t, db, doc{"a", 1})
	err := db.With(t.Context(), mongo.TxnsC, func(c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": bson.NewObjectId(), "s": 1, "o": []bson.M{{"c": "c", "d": "a", "u": bson.M{"$set": bson.M{"n": 7}}}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.ResumeTransactions(t.Context(), time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n := get(t, db, "a").N; n != 1 {
		t.Errorf("n is %d", n)
	}
}

func TestAStuckTransactionHoldsUpNoOther(t *testing.T) {
	_, db := openStandalone(t)
	insert(t, db, doc{"a", 1})
	old := time.Now().Add(-time.Hour)
	err := db.With(t.Context(), mongo.TxnsC, func(c *mgo.Collection) error {
		bad := bson.M{"_id": bson.NewObjectIdWithTime(old), "s": 4, "o": []bson.M{{"c": "c", "d": "a", "u": bson.M{"$nosuch": 1}}},
			"n": "deadbeef", "r": []int{2}}
		good := bson.M{"_id": bson.NewObjectIdWithTime(old.Add(time.Minute)), "s": 1, "o": []bson.M{{"c": "c", "d": "b", "i": bson.M{"n": 3}}}}
		return c.Insert(bad, good)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.ResumeTransactions(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := get(t, db, "b").N; n != 3 {
		t.Errorf("the good one was not resumed: n is %d", n)
	}
}

func TestDeletingSkipsDocumentsInTransactions(t *testing.T) {
	_, db := openStandalone(t)
	for _, id := range []string{"a", "b", "c"} {
		insert(t, db, doc{id, 1})
	}
	unfinished := bson.NewObjectId()
	err := db.With(t.Context(), "c", func(c *mgo.Collection) error {
		return c.UpdateId("b", bson.M{"$push": bson.M{"txn-queue": unfinished.Hex() + "_12345678"}})
	})
	if err == nil {
		err = db.With(t.Context(), mongo.TxnsC, func(c *mgo.Collection) error { return c.Insert(bson.M{"_id": unfinished, "s": 2}) })
	}
	if err != nil {
		t.Fatal(err)
	}
	left, err := db.DeleteUntouched(t.Context(), "c", bson.D{{"n", 1}})
	if err != nil || left != 1 {
		t.Fatalf("%d are left (%v), want 1", left, err)
	}
	if get(t, db, "b").N != 1 {
		t.Error("the wrong one was left")
	}
}

// between is a context that calls a function each time it is asked whether it has ended.
type between struct {
	context.Context
	f func()
}

func (b between) Err() error {
	b.f()
	return b.Context.Err()
}

// A document that a transaction changes, or relies on, after it was listed for deletion is kept.
func TestDeletingSkipsDocumentsThatChange(t *testing.T) { onBoth(t, deletingSkipsDocumentsThatChange) }

func deletingSkipsDocumentsThatChange(t *testing.T, open opener) {
	_, db := open(t)
	run := func(ops ...txn.Op) {
		if err := db.Run(t.Context(), func(int) ([]txn.Op, error) { return ops, nil }); err != nil {
			t.Error(err)
		}
	}
	change := func(id string) txn.Op {
		return txn.Op{C: "c", Id: id, Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"m", 1}}}}}
	}
	relies := func(id string) txn.Op { return txn.Op{C: "c", Id: id, Assert: bson.D{{"n", 1}}} }
	for _, id := range []string{"changed", "asserted", "again", "untouched", "touched before"} {
		insert(t, db, doc{id, 1})
	}
	write(t, db, "c", func(c *mgo.Collection) error { return c.Insert(doc{"outside", 1}) })
	run(change("again"), relies("touched before"))
	asked := 0
	listed := func() {
		if asked++; asked == 2 { // the first time is before the list
			run(change("changed"), relies("asserted"), change("again"))
		}
	}
	left, err := db.DeleteUntouched(between{t.Context(), listed}, "c", bson.D{{"n", 1}})
	if err != nil || left != 3 {
		t.Errorf("%d are left (%v), want 3", left, err)
	}
	var is []string
	write(t, db, "c", func(c *mgo.Collection) error { return c.Find(nil).Sort("_id").Distinct("_id", &is) })
	if slices.Sort(is); !slices.Equal(is, []string{"again", "asserted", "changed"}) {
		t.Errorf("%v are left", is)
	}
}

func TestPruningRemovesOldFinishedTransactions(t *testing.T) {
	_, db := openStandalone(t)
	for i := range 20 {
		insert(t, db, doc{fmt.Sprint(i), i})
	}
	if n, err := db.PruneTransactions(t.Context(), time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Errorf("pruned %d young ones (%v)", n, err)
	}
	if _, err := db.PruneTransactions(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if n, err := db.Count(t.Context(), mongo.TxnsC, nil); err != nil || n != 0 {
		t.Errorf("%d transactions are left (%v)", n, err)
	}
	if longest, err := mongotest.LongestQueue(t.Context(), db); err != nil || longest != 0 {
		t.Errorf("a queue still has %d entries (%v)", longest, err)
	}
	insert(t, db, doc{"after", 1})
}

// Close waits for current users of a database; later ones get the reason.
func TestAClosingDatabaseWaitsForItsUsers(t *testing.T) { onBoth(t, aClosingDatabaseWaitsForItsUsers) }

func aClosingDatabaseWaitsForItsUsers(t *testing.T, open opener) {
	store, db := open(t)
	insert(t, db, doc{"a", 1})
	gone := entity.Errorf(entity.NotFound, "gone")
	closed := make(chan struct{})
	err := db.With(t.Context(), "c", func(c *mgo.Collection) error {
		go func() {
			defer close(closed)
			db.Close(gone)
		}()
		for db.With(t.Context(), "c", func(*mgo.Collection) error { return nil }) == nil {
			// until it has begun to close
		}
		select {
		case <-closed:
			t.Error("closed while in use")
		default:
		}
		var d doc
		return c.FindId("a").One(&d)
	})
	if err != nil {
		t.Error(err)
	}
	<-closed
	db.Close(errors.New("another reason"))
	for what, err := range map[string]error{
		"a read":        db.Get(t.Context(), "c", "a", &doc{}, "doc"),
		"a transaction": db.Run(t.Context(), func(int) ([]txn.Op, error) { return []txn.Op{{C: "c", Id: "a", Remove: true}}, nil }),
		"counts":        func() error { _, err := db.Counts(t.Context()); return err }(),
		"a sequence":    func() error { _, err := db.Next(t.Context(), "n", 1); return err }(),
	} {
		if !errors.Is(err, entity.NotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	again := store.Open("db")
	defer again.Close(gone)
	if d := get(t, again, "a"); d.N != 1 {
		t.Errorf("got %v", d)
	}
}
