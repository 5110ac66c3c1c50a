package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/watcher"
)

// A bank has accounts, and workers that move money between them and record each transfer in the
// same transaction.
type bank struct {
	db       *mongo.Database
	accounts int
	done     atomic.Int64 // transfers that reported success
	// elects is set if an election may outlast the search for a transaction's outcome.
	elects bool
	unsure atomic.Int64 // transfers that reported an unknown outcome
}

const deposit = 1000

func newBank(t *testing.T, db *mongo.Database, accounts int) *bank {
	t.Helper()
	for i := range accounts {
		insert(t, db, doc{fmt.Sprint(i), deposit})
	}
	return &bank{db: db, accounts: accounts}
}

var errNoFunds = errors.New("no funds")

// transfer moves an amount and records it under an id.
func (b *bank) transfer(ctx context.Context, id string) error {
	from := rand.IntN(b.accounts)
	to := (from + 1 + rand.IntN(b.accounts-1)) % b.accounts
	amount := 1 + rand.IntN(deposit/3)
	err := b.db.Run(ctx, func(int) ([]txn.Op, error) {
		var a, other doc
		if err := b.db.Get(ctx, "c", fmt.Sprint(from), &a, "account"); err != nil {
			return nil, err
		}
		if err := b.db.Get(ctx, "c", fmt.Sprint(to), &other, "account"); err != nil {
			return nil, err
		}
		if a.N < amount {
			return nil, errNoFunds
		}
		return []txn.Op{
			{C: "c", Id: a.ID, Assert: bson.D{{"n", a.N}}, Update: bson.D{{"$inc", bson.D{{"n", -amount}}}}},
			{C: "c", Id: other.ID, Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", amount}}}}},
			{C: "transfers", Id: id, Assert: txn.DocMissing, Insert: bson.D{{"from", a.ID}, {"to", other.ID}, {"n", amount}}},
		}, nil
	})
	switch {
	case err == nil:
		b.done.Add(1)
	case b.elects && entity.KindOf(err) == entity.Unavailable:
		b.unsure.Add(1)
		return nil
	}
	return err
}

// audit compares the accounts with the reported transfers.
func (b *bank) audit(t *testing.T) {
	t.Helper()
	var transfers []struct {
		From, To string
		N        int
	}
	var accounts []doc
	if err := b.db.All(t.Context(), "transfers", nil, &transfers); err != nil {
		t.Fatal(err)
	}
	if err := b.db.All(t.Context(), "c", nil, &accounts); err != nil {
		t.Fatal(err)
	}
	done, unsure, are := b.done.Load(), b.unsure.Load(), int64(len(transfers))
	if are < done || are > done+unsure {
		t.Errorf("%d transfers reported success and %d an unknown outcome, but %d were made", done, unsure, are)
	}
	want := map[string]int{}
	for _, x := range transfers {
		want[x.From] -= x.N
		want[x.To] += x.N
	}
	for _, a := range accounts {
		if a.N != deposit+want[a.ID] || a.N < 0 {
			t.Errorf("account %s has %d, want %d by its transfers", a.ID, a.N, deposit+want[a.ID])
		}
	}
	if n, err := b.db.Count(t.Context(), mongo.TxnsC, bson.D{{"s", bson.D{{"$lt", 5}}}}); n != 0 || err != nil {
		t.Errorf("%d transactions are unfinished, %v", n, err)
	}
}

// work starts workers that make transfers until stop is called. The only allowed failure is a
// lack of funds.
func (b *bank) work(t *testing.T, workers int) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				// Each runs to completion; if cancelled, its outcome would be unknown.
				if err := b.transfer(context.Background(), fmt.Sprintf("%d-%d", w, i)); err != nil && !errors.Is(err, errNoFunds) {
					t.Errorf("worker %d: %v", w, err)
					return
				}
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// progress waits until this many more transfers have succeeded.
func (b *bank) progress(t *testing.T, more int64) {
	t.Helper()
	deadline := time.Now().Add(verify.Patience)
	for goal := b.done.Load() + more; b.done.Load() < goal; time.Sleep(time.Millisecond) {
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("no progress: %d of %d transfers", b.done.Load(), goal)
		}
	}
}

// TestStepDowns loses the primary repeatedly during the work, in every way: the write at which
// it happens is executed, isn't, or is executed much later; and the client gets an error code,
// or finds its connections closed. The work continues, and exactly the reported transfers are
// made.
func TestStepDowns(t *testing.T) {
	t.Run("transactions", func(t *testing.T) {
		steps := []string{"update c", "insert transfers", "commitTransaction"}
		fates := []mongotest.Fate{
			{At: "update c", Told: 10107}, {At: "insert transfers", Done: true}, {At: "commitTransaction", Done: true},
			{At: "commitTransaction", Done: true, Told: 11602}, {At: "commitTransaction"}, {At: "commitTransaction", Late: true},
		}
		if !testing.Short() {
			fates = append(fates, mongotest.Fate{At: "insert transfers", Late: true}, mongotest.Fate{Done: true, Told: 189},
				mongotest.Fate{At: "commitTransaction", Told: 91})
		}
		stepDowns(t, mongotest.NewSet(t, 3), steps, fates)
	})
	t.Run("mgo-txn", func(t *testing.T) {
		// A transaction is inserted, put into its documents' queues, prepared, applied and logged.
		steps := []string{"insert txns", "findAndModify c", "update txns", "update c", "insert txns.log"}
		fates := []mongotest.Fate{
			{At: "insert txns", Late: true}, {At: "findAndModify c", Done: true, Told: 11602}, {At: "update txns", Done: true}, {At: "update c", Told: 10107},
		}
		if !testing.Short() {
			fates = append(fates, mongotest.Fate{At: "update txns", Late: true}, mongotest.Fate{Done: true, Told: 189}, mongotest.Fate{Told: 91})
		}
		stepDowns(t, mongotest.NewSet36(t, 3), steps, fates)
	})
}

// stepDowns plays fates, and in a soak all of them at each of the steps.
func stepDowns(t *testing.T, set *mongotest.Set, steps []string, fates []mongotest.Fate) {
	rounds := 0
	if os.Getenv("JUJU_SOAK") != "" {
		rounds = 3
	}
	for range rounds {
		for _, at := range steps {
			for _, code := range []int32{0, 91, 189, 10107, 11600, 11602} {
				fates = append(fates, mongotest.Fate{At: at, Done: true, Told: code}, mongotest.Fate{At: at, Told: code}, mongotest.Fate{At: at, Late: true})
			}
		}
	}
	_, db := openSet(t, set)
	b := newBank(t, db, 6)
	stop := b.work(t, 8)
	defer stop()
	b.progress(t, 20)
	for i, fate := range fates {
		fate.After = 1 + rand.IntN(10)
		t.Logf("%d of %d: %+v", i+1, len(fates), fate)
		select {
		case <-set.Fail(fate):
		case <-time.After(verify.Patience):
			t.Fatal("the writers have stopped")
		}
		if b.progress(t, 20); t.Failed() {
			t.FailNow()
		}
	}
	stop()
	b.audit(t)
	if n := set.Failed(); n != len(fates) {
		t.Errorf("the primary was lost %d times, want %d", n, len(fates))
	}
}

// TestTransactionsThatAreTooOld are aborted by the server between any two of their steps. They run again.
func TestTransactionsThatAreTooOld(t *testing.T) {
	set := mongotest.NewSet(t, 3)
	_, db := openSet(t, set)
	b := newBank(t, db, 6)
	stop := b.work(t, 8)
	defer stop()
	for aborted := 0; aborted < 20; {
		aborted += set.AbortTransactions()
		b.progress(t, 1)
	}
	stop()
	b.audit(t)
}

// TestARequestedStepDown: the server accepts the request, and the work continues. Another test
// does the same to a real replica set, if there is one.
func TestARequestedStepDown(t *testing.T) {
	set := mongotest.NewSet(t, 3)
	_, db := openSet(t, set)
	b := newBank(t, db, 6)
	stop := b.work(t, 4)
	defer stop()
	b.progress(t, 10)
	mongotest.StepDown(t, set.Hosts(), set.Dial)
	b.progress(t, 10)
	stop()
	b.audit(t)
	if n := set.Failed(); n != 1 {
		t.Errorf("the primary was lost %d times", n)
	}
}

// TestABarrierIsNotSure, on a MongoDB without transactions, about reads before the primary was lost: they may have been rolled
// back. If the server stays up, its replies show that a primary was elected; if it restarts,
// its closed connections show that.
func TestABarrierIsNotSure(t *testing.T) {
	for name, test := range map[string]struct {
		members int
		lose    func(*testing.T, *mongotest.Set, *mongo.Database)
	}{
		"after a step-down":                  {3, stepDown},
		"after the server was elected again": {1, stepDown},
		"after a restart":                    {1, func(_ *testing.T, set *mongotest.Set, _ *mongo.Database) { set.Restart() }},
	} {
		t.Run(name, func(t *testing.T) {
			set := mongotest.NewSet36(t, test.members)
			store, db := openSet(t, set)
			began := mongo.Began(t.Context())
			if err := store.Barrier(began); err != nil {
				t.Errorf("before: %v", err)
			}
			test.lose(t, set, db)
			if err := store.Barrier(began); !errors.Is(err, entity.StoreUnsure) {
				t.Errorf("a request that began before: %v", err)
			}
			if err := store.Barrier(mongo.Began(t.Context())); err != nil {
				t.Errorf("a request that began after: %v", err)
			}
			if err := store.Barrier(began); !errors.Is(err, entity.StoreUnsure) {
				t.Errorf("a request that began before, again: %v", err)
			}
		})
	}
}

// stepDown makes the primary step down at a write, which is retried on the next primary.
func stepDown(t *testing.T, set *mongotest.Set, db *mongo.Database) {
	failed := set.Fail(mongotest.Fate{After: 1, Told: 10107})
	insert(t, db, doc{"a", 1})
	<-failed
}

// TestATailGoesOn after each step-down: it reports later changes, or that everything must be
// reread.
func TestATailGoesOn(t *testing.T) {
	set := mongotest.NewSet(t, 3)
	store, db := openSet(t, set)
	insert(t, db, doc{"a", 1})
	hub := watcher.NewHub(nil)
	sub := hub.Subscribe(watcher.Doc("c", "a"))
	defer sub.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var tail sync.WaitGroup
	tail.Go(func() { watcher.Tail(ctx, db.Tail, store.Barrier, hub) })
	defer tail.Wait()
	defer cancel()
	// told waits for a report from the tail.
	told := func(what string) {
		t.Helper()
		select {
		case <-sub.Wake():
			sub.Take()
		case <-time.After(verify.Patience):
			t.Fatalf("the tail reports nothing %s", what)
		}
	}
	told("at its start")
	change := func() {
		t.Helper()
		err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
			return []txn.Op{{C: "c", Id: "a", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, code := range []int32{0, 10107} {
		failed := set.Fail(mongotest.Fate{At: "update c", After: 1, Told: code})
		change()
		<-failed
		told("after a step-down")
		change()
		told("after the next change")
	}
}
