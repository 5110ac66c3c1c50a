package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

func open(t testing.TB, fs vfs.FS) *storage.Store {
	t.Helper()
	return openWith(t, storage.Options{FS: fs})
}

// openWith opens a store. Unless the options say otherwise, the test fails if the store logs a message or
// fails.
func openWith(t testing.TB, o storage.Options) *storage.Store {
	t.Helper()
	if o.Logf == nil {
		o.Logf = t.Errorf
	}
	if o.Fatal == nil {
		o.Fatal = func(err error) { t.Errorf("fatal: %v", err) }
	}
	s, err := storage.Open("store", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// quiet discards log messages.
func quiet(string, ...any) {}

// fresh opens an empty store for the duration of a test.
func fresh(t testing.TB) *storage.Store {
	t.Helper()
	s := open(t, vfs.NewMem())
	t.Cleanup(func() { shut(t, s) })
	return s
}

func shut(t testing.TB, s *storage.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func check(t testing.TB, s *storage.Store) {
	t.Helper()
	if err := s.Check(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

func create(t testing.TB, s *storage.Store, name string, opts storage.CollectionOptions) *storage.Collection {
	t.Helper()
	c, err := s.Create("db", name, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func index(t testing.TB, c *storage.Collection, ix *storage.Index) {
	t.Helper()
	if _, err := c.CreateIndex(t.Context(), ix); err != nil {
		t.Fatal(err)
	}
}

func id(v any) bson.E { return bson.E{Key: "_id", Value: v} }

func insert(t testing.TB, c *storage.Collection, doc bson.D) {
	t.Helper()
	if err := c.Insert(t.Context(), nil, bsontest.RawDocument(doc)); err != nil {
		t.Fatal(err)
	}
}

// found returns the _ids of the documents that match a query, as text, in the plan's order.
func found(t testing.TB, c *storage.Collection, f *query.Filter, p plan.Plan, pause bool) []string {
	t.Helper()
	var out []string
	scan := c.Scan(nil, p, c.Indexes())
	for {
		_, doc, err := scan.Next()
		if err != nil {
			t.Fatal(err)
		}
		if doc == nil {
			break
		}
		if f.Match(doc) {
			v, _ := raw.Get(doc, "_id")
			out = append(out, v.String())
		}
		if pause {
			if _, _, err := scan.Pause(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, _, err := scan.Pause(); err != nil {
		t.Fatal(err)
	}
	return out
}

var everything = plan.Plan{Scans: []plan.Scan{{Ranges: []plan.Range{{}}}}}

func compile(t testing.TB, q bson.D) *query.Filter {
	t.Helper()
	f, err := query.Compile(bsontest.RawDocument(q))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var kinds = []*storage.Index{
	{Name: "a", Fields: []query.Field{{Path: "a"}}},
	{Name: "a-desc-b", Fields: []query.Field{{Path: "a", Desc: true}, {Path: "b"}}},
	{Name: "b", Fields: []query.Field{{Path: "b"}}, Sparse: true},
	{Name: "a.b", Fields: []query.Field{{Path: "a.b"}}},
	{Name: "b-a.0-desc", Fields: []query.Field{{Path: "b"}, {Path: "ab", Desc: true}}},
}

// TestIndexesFindTheSame runs the same queries through an index and on the whole collection. Both must find
// the same documents, and a sorted plan must return them in order.
func TestIndexesFindTheSame(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds /= 2
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(11, uint64(seed)))
		s := fresh(t)
		c := create(t, s, "c", storage.CollectionOptions{})
		for _, ix := range kinds {
			index(t, c, ix)
		}
		for i := range 60 {
			doc := append(bson.D{id(i)}, bsontest.Document(r, 2)...)
			err := c.Insert(t.Context(), nil, bsontest.RawDocument(doc))
			if err != nil && !mongoerr.Is(err, mongoerr.CannotIndexParallelArrays) {
				t.Fatal(err)
			}
		}
		check(t, s)
		for range 100 {
			compare(t, r, c)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// value picks a value from a document, or a random one.
func value(r *rand.Rand, c *storage.Collection) any {
	if r.IntN(3) == 0 {
		return bsontest.Value(r, 1)
	}
	var doc bson.D
	if data, ok, err := c.Get(nil, nil, c.Record(bsontest.Raw(int32(r.IntN(60)))), nil); err == nil && ok {
		if err := bson.Unmarshal(data, &doc); err != nil {
			panic(err)
		}
	}
	for _, e := range doc {
		if e.Key != "_id" && r.IntN(2) == 0 {
			return e.Value
		}
	}
	return nil
}

func compare(t *testing.T, r *rand.Rand, c *storage.Collection) {
	t.Helper()
	q := bson.D{}
	for range 1 + r.IntN(2) {
		path := []string{"a", "b", "a.b", "ab", "_id"}[r.IntN(5)]
		v := value(r, c)
		if path == "_id" {
			v = r.IntN(60)
		}
		switch op := []string{"", "$in", "$gt", "$gte", "$lt", "$lte", "$eq"}[r.IntN(7)]; op {
		case "":
			q = append(q, bson.E{Key: path, Value: v})
		case "$in":
			q = append(q, bson.E{Key: path, Value: bson.D{{Key: op, Value: bson.A{v, value(r, c)}}}})
		default:
			q = append(q, bson.E{Key: path, Value: bson.D{{Key: op, Value: v}}})
		}
	}
	if r.IntN(4) == 0 {
		q = bson.D{{Key: "$or", Value: bson.A{q, bson.D{{Key: "a", Value: value(r, c)}}}}}
	}
	f, err := query.Compile(bsontest.RawDocument(q))
	if err != nil {
		return // for example, an operand is a regular expression
	}
	var order query.Sort
	if r.IntN(3) == 0 {
		order.Fields = []query.Field{{Path: []string{"a", "b", "_id"}[r.IntN(3)], Desc: r.IntN(2) == 0}}
	}
	p := plan.Choose(f, order, c.PlanIndexes(nil, c.Indexes()), -1)
	want := found(t, c, f, everything, false)
	got := found(t, c, f, p, r.IntN(2) == 0)
	if p.Sorted && len(order.Fields) > 0 {
		inOrder(t, c, f, p, order)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("query %v by %+v: got %v, want %v", q, p, got, want)
	}
}

func inOrder(t *testing.T, c *storage.Collection, f *query.Filter, p plan.Plan, order query.Sort) {
	t.Helper()
	scan := c.Scan(nil, p, c.Indexes())
	defer scan.Pause()
	var last []byte
	for {
		_, doc, err := scan.Next()
		if err != nil {
			t.Fatal(err)
		}
		if doc == nil {
			return
		}
		if !f.Match(doc) {
			continue
		}
		key := order.AppendKey(nil, doc)
		if bytes.Compare(last, key) > 0 {
			t.Errorf("plan %+v does not return the order %+v", p, order)
			return
		}
		last = key
	}
}

// TestIndexesFollow changes documents concurrently. Afterwards every index must agree with the documents.
func TestIndexesFollow(t *testing.T) {
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	for _, ix := range kinds {
		index(t, c, ix)
	}
	index(t, c, &storage.Index{Name: "unique", Fields: []query.Field{{Path: "u"}}, Unique: true, Sparse: true})
	n := 2000
	if testing.Short() {
		n /= 2
	}
	var duplicates sync.Map
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(w)))
			for i := range n {
				if err := churn(r, c); mongoerr.Is(err, mongoerr.DuplicateKey) {
					duplicates.Store(i, true)
				} else if err != nil && !mongoerr.Is(err, mongoerr.CannotIndexParallelArrays) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	check(t, s)
	some := false
	duplicates.Range(func(any, any) bool { some = true; return false })
	if !some {
		t.Error("there were no duplicate keys: the test is too easy")
	}
	// No two documents have the same u.
	seen := map[string]string{}
	scan := c.Natural()
	defer scan.Pause()
	for {
		_, doc, err := scan.Next()
		if err != nil {
			t.Fatal(err)
		}
		if doc == nil {
			break
		}
		if u, ok := raw.Get(doc, "u"); ok {
			if other := seen[u.String()]; other != "" {
				t.Errorf("%s and %s have the same u", other, bsoncore.Document(doc))
			}
			seen[u.String()] = bsoncore.Document(doc).String()
		}
	}
}

func churn(r *rand.Rand, c *storage.Collection) error {
	i := r.IntN(40)
	return c.Modify(context.Background(), nil, c.Record(bsontest.Raw(i)), func(old []byte) (storage.Change, error) {
		if old != nil && r.IntN(4) == 0 {
			return storage.Change{Delete: true}, nil
		}
		doc := append(bson.D{id(i)}, bsontest.Document(r, 2)...)
		if r.IntN(3) == 0 {
			doc = append(doc, bson.E{Key: "u", Value: r.IntN(45)})
		}
		return storage.Change{New: bsontest.RawDocument(doc)}, nil
	})
}

// TestUniqueUnderRace concurrently inserts documents with the same unique key; exactly one must succeed.
func TestUniqueUnderRace(t *testing.T) {
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	index(t, c, &storage.Index{Name: "u", Fields: []query.Field{{Path: "u"}, {Path: "v"}}, Unique: true})
	for round := range 50 {
		won := make(chan int, 8)
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				err := c.Insert(t.Context(), nil, bsontest.RawDocument(bson.D{id(fmt.Sprint(round, w)), {Key: "u", Value: round}}))
				if err == nil {
					won <- w
				} else if !mongoerr.Is(err, mongoerr.DuplicateKey) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Errorf("%d inserts succeeded, want 1", len(won))
		}
	}
	check(t, s)
}

// TestReadersSeeWholeDocuments updates a document with two equal fields, one of them indexed; no reader may
// see them differ.
func TestReadersSeeWholeDocuments(t *testing.T) {
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	index(t, c, &storage.Index{Name: "n", Fields: []query.Field{{Path: "n"}}})
	record := c.Record(bsontest.Raw("x"))
	insert(t, c, bson.D{id("x"), {Key: "n", Value: 0}, {Key: "m", Value: 0}})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			doc := bsontest.RawDocument(bson.D{id("x"), {Key: "n", Value: i % 100}, {Key: "pad", Value: string(make([]byte, i%1000))}, {Key: "m", Value: i % 100}})
			if err := c.Modify(t.Context(), nil, record, func([]byte) (storage.Change, error) { return storage.Change{New: doc}, nil }); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 3000 {
		doc, ok, err := c.Get(nil, nil, record, nil)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		n, _ := raw.Get(doc, "n")
		m, _ := raw.Get(doc, "m")
		if !n.Equal(m) {
			t.Fatalf("the fields differ: %s", bsoncore.Document(doc))
		}
	}
	close(stop)
	wg.Wait()
	check(t, s)
}
