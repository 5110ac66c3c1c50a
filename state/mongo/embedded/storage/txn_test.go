package storage_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// txnModel is what a store should contain: for each _id the value of u, which is unique.
type txnModel map[int32]int32

// openTxn is a transaction and what it should see.
type openTxn struct {
	tx      *storage.Txn
	sees    txnModel
	began   txnModel // the store when it began
	written map[int32]bool
	keys    map[int32]bool // the values of u that it has added or removed
}

// Several transactions and writes outside them, interleaved at random, see and change exactly what a model of snapshot
// isolation in which the first writer wins says.
func TestTransactionsMatchAModel(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for round := range rounds {
		seed := rand.Uint64()
		if !t.Run(strconv.Itoa(round), func(t *testing.T) { interleave(t, seed) }) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func interleave(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	index(t, c, &storage.Index{Name: "u", Fields: []query.Field{{Path: "u"}}, Unique: true})
	index(t, c, &storage.Index{Name: "ten", Fields: []query.Field{{Path: "ten", Desc: true}}})
	store := txnModel{}
	var open []*openTxn
	end := func(i int) { open = slices.Delete(open, i, i+1) }
	for range 150 {
		n := r.IntN(len(open) + 1)
		if n == len(open) && len(open) < 4 && r.IntN(3) == 0 {
			open = append(open, &openTxn{s.Begin(nil), maps.Clone(store), maps.Clone(store), map[int32]bool{}, map[int32]bool{}})
			continue
		}
		id, u := int32(r.IntN(8)), int32(r.IntN(8))
		remove := r.IntN(4) == 0
		if n == len(open) { // outside transactions
			if held(open, store, id, u, remove) {
				continue // it would wait
			}
			err := set(c, nil, id, u, remove)
			if clash(store, id, u, remove) {
				if !mongoerr.Is(err, mongoerr.DuplicateKey) {
					t.Fatalf("%d: %d outside: %v, want a duplicate key", id, u, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%d: %d outside: %v", id, u, err)
			}
			apply(store, id, u, remove)
			compareModel(t, c, nil, store)
			continue
		}
		one := open[n]
		switch r.IntN(8) {
		case 0:
			if err := one.tx.Commit(nil); err != nil {
				t.Fatal(err)
			}
			for id := range one.written {
				if u, ok := one.sees[id]; ok {
					store[id] = u
				} else {
					delete(store, id)
				}
			}
			end(n)
			compareModel(t, c, nil, store)
		case 1:
			one.tx.Abort()
			end(n)
			compareModel(t, c, nil, store)
		case 2, 3:
			compareModel(t, c, one.tx, one.sees)
		default:
			conflicts := one.conflicts(open, store, id, u, remove)
			err := set(c, one.tx, id, u, remove)
			switch {
			case clash(one.sees, id, u, remove) && mongoerr.Is(err, mongoerr.DuplicateKey):
				// Either error is right if it also conflicts, and the server aborts the transaction.
				one.tx.Abort()
				end(n)
			case clash(one.sees, id, u, remove) && !conflicts:
				t.Fatalf("%d: %d: %v, want a duplicate key", id, u, err)
			case conflicts:
				if !mongoerr.Is(err, mongoerr.WriteConflict) {
					t.Fatalf("%d: %d: %v, want a conflict", id, u, err)
				}
				one.tx.Abort()
				end(n)
			case err != nil:
				t.Fatalf("%d: %d: %v", id, u, err)
			default:
				one.write(id, u, remove)
				compareModel(t, c, one.tx, one.sees)
			}
		}
	}
	for _, one := range open {
		one.tx.Abort()
	}
	compareModel(t, c, nil, store)
	check(t, s)
}

// set sets u of a document, or removes it.
func set(c *storage.Collection, tx *storage.Txn, id, u int32, remove bool) error {
	return c.Modify(context.Background(), tx, c.Record(bsontest.Raw(id)), func(old []byte) (storage.Change, error) {
		if remove {
			return storage.Change{Delete: old != nil}, nil
		}
		return storage.Change{New: bsontest.RawDocument(bson.D{{Key: "_id", Value: id}, {Key: "u", Value: u}, {Key: "ten", Value: u / 3}})}, nil
	})
}

func apply(m txnModel, id, u int32, remove bool) {
	if delete(m, id); !remove {
		m[id] = u
	}
}

// clash reports whether another document has u.
func clash(m txnModel, id, u int32, remove bool) bool {
	if remove {
		return false
	}
	for other, has := range m {
		if other != id && has == u {
			return true
		}
	}
	return false
}

// touched returns the values of u that a write adds or removes.
func touched(m txnModel, id, u int32, remove bool) (keys []int32) {
	old, had := m[id]
	if had && (remove || old != u) {
		keys = append(keys, old)
	}
	if !remove && (!had || old != u) {
		keys = append(keys, u)
	}
	return keys
}

func (o *openTxn) write(id, u int32, remove bool) {
	if _, had := o.sees[id]; !had && remove {
		return
	}
	o.written[id] = true
	for _, key := range touched(o.sees, id, u, remove) {
		o.keys[key] = true
	}
	apply(o.sees, id, u, remove)
}

// conflicts reports whether another transaction or a later commit has changed what a write changes.
func (o *openTxn) conflicts(open []*openTxn, store txnModel, id, u int32, remove bool) bool {
	if _, had := o.sees[id]; !had && remove {
		return false // it changes nothing
	}
	if changed(o.began, store, id) && !o.written[id] {
		return true
	}
	keys := touched(o.sees, id, u, remove)
	for _, other := range open {
		if other == o {
			continue
		}
		if other.written[id] {
			return true
		}
		for _, key := range keys {
			if other.keys[key] {
				return true
			}
		}
	}
	for _, key := range keys {
		if !o.keys[key] && owner(o.began, key) != owner(store, key) {
			return true
		}
	}
	return false
}

func changed(was, is txnModel, id int32) bool {
	a, hadA := was[id]
	b, hadB := is[id]
	return hadA != hadB || a != b
}

// owner returns the document that has a value of u, or -1.
func owner(m txnModel, u int32) int32 {
	for id, has := range m {
		if has == u {
			return id
		}
	}
	return -1
}

// held reports whether a write outside transactions would wait for one.
func held(open []*openTxn, store txnModel, id, u int32, remove bool) bool {
	for _, one := range open {
		if one.written[id] {
			return true
		}
		for _, key := range touched(store, id, u, remove) {
			if one.keys[key] {
				return true
			}
		}
	}
	return false
}

// compareModel reads what a transaction sees by _id, in storage order, and by an index in both directions.
func compareModel(t *testing.T, c *storage.Collection, tx *storage.Txn, want txnModel) {
	t.Helper()
	for id := range int32(8) {
		doc, ok, err := c.Get(tx, nil, c.Record(bsontest.Raw(id)), nil)
		u, has := want[id]
		if err != nil || ok != has || ok && field32(doc, "u") != u {
			t.Fatalf("_id %d: found %v (%v), want %d (%v), %v", id, doc, ok, u, has, err)
		}
	}
	for _, index := range []int{0, 2} {
		for _, reverse := range []bool{false, true} {
			p := plan.Plan{Scans: []plan.Scan{{Index: index, Ranges: []plan.Range{{}}}}, Reverse: reverse}
			scan := c.Scan(tx, p, c.Indexes())
			got, last := txnModel{}, int32(0)
			for first := true; ; first = false {
				_, doc, err := scan.Next()
				if err != nil {
					t.Fatal(err)
				}
				if doc == nil {
					break
				}
				field := map[int]string{0: "_id", 2: "ten"}[index]
				at := field32(doc, field)
				if backward := reverse == (index == 0); !first && (backward && at > last || !backward && at < last) {
					t.Fatalf("index %d, reverse %v: %s %d after %d", index, reverse, field, at, last)
				}
				last = at
				got[field32(doc, "_id")] = field32(doc, "u")
			}
			if _, _, err := scan.Pause(); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got, want) {
				t.Fatalf("index %d, reverse %v: found %v, want %v", index, reverse, got, want)
			}
		}
	}
}

func field32(doc []byte, field string) int32 {
	v, _ := raw.Get(doc, field)
	return v.Int32()
}

// A write outside transactions waits for the transaction that holds its document, and then changes what that has left.
func TestWritesWaitForATransaction(t *testing.T) {
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	insert(t, c, bson.D{id(int32(1)), {Key: "u", Value: int32(0)}})
	tx := s.Begin(nil)
	if err := set(c, tx, 1, 10, false); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() {
		waited <- c.Modify(t.Context(), nil, c.Record(bsontest.Raw(int32(1))), func(old []byte) (storage.Change, error) {
			return storage.Change{New: bsontest.RawDocument(bson.D{id(int32(1)), {Key: "u", Value: field32(old, "u") + 1}})}, nil
		})
	}()
	if err := tx.Commit(nil); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if doc, _, _ := c.Get(nil, nil, c.Record(bsontest.Raw(int32(1))), nil); field32(doc, "u") != 11 {
		t.Errorf("u is %d, want 11", field32(doc, "u"))
	}
}

// After a power loss a transaction's changes and the record of its session are all there or none is; if a barrier has
// followed it, they are there.
func TestPowerLossLeavesWholeTransactions(t *testing.T) {
	const docs = 5
	runs := 40
	if testing.Short() {
		runs = 10
	}
	for run := range runs {
		fs := vfs.NewCrashableMem()
		s := open(t, fs)
		c := create(t, s, "c", storage.CollectionOptions{})
		index(t, c, &storage.Index{Name: "u", Fields: []query.Field{{Path: "u"}}})
		synced := 0
		for n := 1; n <= 6; n++ {
			tx := s.Begin(nil)
			for id := range int32(docs) {
				if err := set(c, tx, id, int32(n), false); err != nil {
					t.Fatal(err)
				}
			}
			if err := tx.Commit(&storage.SessionRecord{Session: []byte("s"), Number: int64(n)}); err != nil {
				t.Fatal(err)
			}
			if rand.IntN(3) == 0 {
				if err := s.Barrier(context.Background()); err != nil {
					t.Fatal(err)
				}
				synced = n
			}
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rand.IntN(101), RNG: rand.New(rand.NewPCG(uint64(run), 1))})
		shut(t, s)
		s = open(t, crashed)
		record, err := s.Session([]byte("s"))
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		if record != nil {
			number = int(record.Number)
		}
		if number < synced {
			t.Errorf("run %d: transaction %d is remembered, but %d was on disk", run, number, synced)
		}
		if c = s.Collection("db", "c"); c != nil {
			for id := range int32(docs) {
				doc, ok, err := c.Get(nil, nil, c.Record(bsontest.Raw(id)), nil)
				if err != nil || ok != (number > 0) || ok && int(field32(doc, "u")) != number {
					t.Errorf("run %d: _id %d is %v (%v), want %d, %v", run, id, doc, ok, number, err)
				}
			}
		} else if synced > 0 {
			t.Errorf("run %d: no collection", run)
		}
		check(t, s)
		shut(t, s)
	}
}

// A transaction refuses what it can't do.
func TestTransactionsRefuse(t *testing.T) {
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	log := create(t, s, "log", storage.CollectionOptions{Capped: true, Size: 1 << 20})
	for _, test := range []struct {
		about string
		want  mongoerr.Code
		do    func(tx *storage.Txn) error
	}{
		{"a capped collection", mongoerr.OperationNotSupportedInTransaction, func(tx *storage.Txn) error {
			return log.Insert(t.Context(), tx, bsontest.RawDocument(bson.D{id(1)}))
		}},
		{"a collection that is newer than its snapshot", mongoerr.SnapshotUnavailable, func(tx *storage.Txn) error {
			return create(t, s, "newer", storage.CollectionOptions{}).Insert(t.Context(), tx, bsontest.RawDocument(bson.D{id(1)}))
		}},
		{"an index that is newer than its snapshot", mongoerr.SnapshotUnavailable, func(tx *storage.Txn) error {
			index(t, c, &storage.Index{Name: "n", Fields: []query.Field{{Path: "n"}}})
			return tx.Check(c)
		}},
		{"too much", mongoerr.TransactionTooLarge, func(tx *storage.Txn) error {
			for i := range 20 {
				big := bson.D{id(fmt.Sprint("big", i)), {Key: "x", Value: string(make([]byte, 1<<20))}}
				if err := c.Insert(t.Context(), tx, bsontest.RawDocument(big)); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		tx := s.Begin(nil)
		if err := test.do(tx); !mongoerr.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.about, err, test.want)
		}
		tx.Abort()
	}
}

// An index is built only once no transaction has uncommitted changes in the collection. Other writes don't wait for
// that, nor does the index beyond its own time.
func TestIndexesWaitForTransactions(t *testing.T) {
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	tx := s.Begin(nil)
	if err := set(c, tx, 1, 1, false); err != nil {
		t.Fatal(err)
	}
	build := func(ctx context.Context) error {
		_, err := c.CreateIndex(ctx, &storage.Index{Name: "u", Fields: []query.Field{{Path: "u"}}})
		return err
	}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	gaveUp, built := make(chan error), make(chan error)
	go func() { gaveUp <- build(ctx) }()
	go func() { built <- build(t.Context()) }()
	for waited := false; !waited; { // until an index has asked for the collection
		other := s.Begin(nil)
		err := set(c, other, 2, 2, false)
		other.Abort()
		if waited = mongoerr.Is(err, mongoerr.LockTimeout); err != nil && !waited {
			t.Fatal(err)
		}
	}
	for i := range int32(100) {
		if err := set(c, nil, 3, i, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create("db", "another", storage.CollectionOptions{}); err != nil {
		t.Fatal(err)
	}
	cancel(over)
	if err := <-gaveUp; err != over {
		t.Errorf("an index whose time is over: %v", err)
	}
	if err := tx.Commit(nil); err != nil {
		t.Fatal(err)
	}
	if err := <-built; err != nil {
		t.Fatal(err)
	}
	check(t, s)
}
