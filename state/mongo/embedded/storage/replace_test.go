package storage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/storage"
)

// replacing begins to replace the collection c by n documents whose field a is v.
func replacing(t testing.TB, s *storage.Store, n, v int) *storage.Replacement {
	t.Helper()
	r, err := s.Replace("db", "c")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := r.Add(bsontest.RawDocument(bson.D{id(i), {Key: "a", Value: v}, {Key: "b", Value: i}})); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// contents returns how many documents c has for each value of a.
func contents(t testing.TB, s *storage.Store) string {
	t.Helper()
	c := s.Collection("db", "c")
	if c == nil {
		return "none"
	}
	out := ""
	for v := range 3 {
		if list := found(t, c, compile(t, bson.D{{Key: "a", Value: v}}), everything, false); len(list) > 0 {
			out += fmt.Sprintf("%d×%d ", len(list), v)
		}
	}
	return out
}

func secondIndex() *storage.Index {
	return &storage.Index{Name: "b", Fields: []query.Field{{Path: "b"}}, Unique: true}
}

// A collection has its old content until its replacement is committed, and its indexes after that.
func TestReplacement(t *testing.T) {
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	insert(t, c, bson.D{id("old"), {Key: "a", Value: 0}})
	index(t, c, secondIndex())
	events := s.Follow()
	defer events.Close()

	r := replacing(t, s, 5, 1)
	if got := contents(t, s); got != "1×0 " {
		t.Errorf("before: %s", got)
	}
	if err := r.Abort(); err != nil {
		t.Fatal(err)
	}
	r = replacing(t, s, 5, 1)
	for _, twice := range []bson.D{{id(3)}, {id(77), {Key: "b", Value: 3}}} {
		if err := r.Add(bsontest.RawDocument(twice)); !mongoerr.Is(err, mongoerr.DuplicateKey) {
			t.Errorf("%v: %v, want a duplicate", twice, err)
		}
	}
	tx := s.Begin(nil)
	if err := r.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, s); got != "5×1 " {
		t.Errorf("after: %s", got)
	}
	if err := tx.Check(s.Collection("db", "c")); !mongoerr.Is(err, mongoerr.SnapshotUnavailable) {
		t.Errorf("an older transaction: %v", err)
	}
	tx.Abort()
	if names := s.Collection("db", "c").Indexes(); len(names) != 2 || !slices.Equal(names[1].Fields, secondIndex().Fields) || !names[1].Unique {
		t.Errorf("the indexes are %v", names)
	}
	check(t, s)
	if err := c.Insert(t.Context(), nil, bsontest.RawDocument(bson.D{id(9)})); err == nil {
		t.Error("the old content takes documents")
	}
	tx = s.Begin(nil)
	if err := c.Insert(t.Context(), tx, bsontest.RawDocument(bson.D{id(9)})); !mongoerr.Is(err, mongoerr.SnapshotUnavailable) {
		t.Errorf("a transaction writes to the old content: %v", err)
	}
	tx.Abort()
	if e, _, _ := events.Read(); e == nil || e.Kind != storage.Renamed || e.To != "c" {
		t.Errorf("the first event is %v", e)
	}
	if e, _, _ := events.Read(); e != nil {
		t.Errorf("the second event is %v", e)
	}
}

// Readers see the old content or the new one as a whole, or an error.
func TestReadersDuringReplacement(t *testing.T) {
	s := fresh(t)
	if err := replacing(t, s, 5, 1).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := s.Collection("db", "c")
	tx := s.Begin(nil)
	defer tx.Abort()
	scan, inTx := c.Scan(nil, everything, c.Indexes()), c.Scan(tx, everything, c.Indexes())
	next := func(scan *storage.Scan) bool {
		t.Helper()
		_, doc, err := scan.Next()
		if _, _, perr := scan.Pause(); err != nil || perr != nil {
			t.Fatal(err, perr)
		}
		return doc != nil
	}
	if !next(scan) || !next(inTx) {
		t.Fatal("there are no documents")
	}
	if err := replacing(t, s, 5, 1).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if !next(inTx) {
			t.Fatal("the transaction has lost its snapshot")
		}
	}
	if next(inTx) {
		t.Error("the transaction reads too much")
	}
	_, doc, err := scan.Next()
	if !mongoerr.Is(err, mongoerr.QueryPlanKilled) {
		t.Errorf("a scan goes on with %v, %v", doc, err)
	}
	if n, err := c.Count(); !mongoerr.Is(err, mongoerr.QueryPlanKilled) {
		t.Errorf("%d documents, %v", n, err)
	}
	if st, err := c.Stats(); !mongoerr.Is(err, mongoerr.QueryPlanKilled) {
		t.Errorf("the sizes are %v, %v", st, err)
	}
	one := c.Record(bsontest.Raw(1))
	if _, ok, err := c.Get(nil, nil, one, nil); !mongoerr.Is(err, mongoerr.QueryPlanKilled) {
		t.Errorf("document 1: %v, %v", ok, err)
	}
	if _, ok, err := c.Get(tx, nil, one, nil); !ok || err != nil {
		t.Errorf("document 1 in the transaction: %v, %v", ok, err)
	}
}

// A replacement does not undo a change to the collection or its indexes, and does not change a capped one.
func TestReplacementsRefuse(t *testing.T) {
	s := fresh(t)
	r := replacing(t, s, 2, 1)
	c := create(t, s, "c", storage.CollectionOptions{})
	if err := r.Commit(t.Context()); !mongoerr.Is(err, mongoerr.CommandFailed) {
		t.Errorf("with a new collection: %v", err)
	}
	r = replacing(t, s, 2, 1)
	index(t, c, secondIndex())
	if err := r.Commit(t.Context()); !mongoerr.Is(err, mongoerr.CommandFailed) {
		t.Errorf("with a new index: %v", err)
	}
	if got := contents(t, s); got != "" {
		t.Errorf("it changed: %s", got)
	}
	create(t, s, "log", storage.CollectionOptions{Capped: true, Size: 1000})
	if _, err := s.Replace("db", "log"); !mongoerr.Is(err, mongoerr.OutToCapped) {
		t.Errorf("a capped collection: %v", err)
	}
	check(t, s)
}

// A power loss leaves the old content or the new one, and nothing of a replacement that was not committed.
func TestPowerLossLeavesOneContent(t *testing.T) {
	for run := range 10 {
		fs := vfs.NewCrashableMem()
		s := tiny(t, crashable{fs})
		for v := range 2 {
			r := replacing(t, s, 3000, v)
			if err := r.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if v == 0 {
				if err := s.Barrier(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		replacing(t, s, 3000, 2)
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 10 * run, RNG: rand.New(rand.NewPCG(uint64(run), 1))})
		shut(t, s)
		s = open(t, crashed)
		if got := contents(t, s); got != "3000×0 " && got != "3000×1 " {
			t.Errorf("run %d: %s", run, got)
		}
		check(t, s)
		if n, err := s.Spaces(); err != nil || n != 1 {
			t.Errorf("run %d: %d spaces have keys, %v; want 1", run, n, err)
		}
		shut(t, s)
	}
}
