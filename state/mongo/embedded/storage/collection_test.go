package storage_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/storage"
)

func TestBuildIndex(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	c := create(t, s, "c", storage.CollectionOptions{})
	for i := range 100 {
		insert(t, c, bson.D{id(i), {Key: "k", Value: i / 2}, {Key: "l", Value: bson.A{i, i + 1}}})
	}
	_, err := c.CreateIndex(t.Context(), &storage.Index{Name: "k", Fields: []query.Field{{Path: "k"}}, Unique: true})
	if !mongoerr.Is(err, mongoerr.DuplicateKey) {
		t.Errorf("a unique index on duplicate values: %v", err)
	}
	index(t, c, &storage.Index{Name: "k", Fields: []query.Field{{Path: "k"}}})
	index(t, c, &storage.Index{Name: "l", Fields: []query.Field{{Path: "l"}}})
	if made, err := c.CreateIndex(t.Context(), &storage.Index{Name: "k", Fields: []query.Field{{Path: "k"}}}); made || err != nil {
		t.Errorf("the same index again: %v, %v", made, err)
	}
	_, err = c.CreateIndex(t.Context(), &storage.Index{Name: "k2", Fields: []query.Field{{Path: "k"}}})
	if !mongoerr.Is(err, mongoerr.IndexOptionsConflict) {
		t.Errorf("the same keys under another name: %v", err)
	}
	_, err = c.CreateIndex(t.Context(), &storage.Index{Name: "k", Fields: []query.Field{{Path: "k2"}}})
	if !mongoerr.Is(err, mongoerr.IndexKeySpecsConflict) {
		t.Errorf("other keys under the same name: %v", err)
	}
	check(t, s)
	shut(t, s)

	s = open(t, fs)
	defer func() { shut(t, s) }()
	c = s.Collection("db", "c")
	if n := len(c.Indexes()); n != 3 {
		t.Errorf("%d indexes after reopening, want 3", n)
	}
	if multi := c.PlanIndexes(nil, c.Indexes())[2].Multi; !multi {
		t.Error("the index lost its multikey flag")
	}
	check(t, s)
	if n, err := c.DropIndexes(t.Context(), func(*storage.Index) bool { return true }); n != 2 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	check(t, s)
}

func TestCapped(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	c := create(t, s, "log", storage.CollectionOptions{Capped: true, Size: 1 << 20, Max: 10})
	index(t, c, &storage.Index{Name: "k", Fields: []query.Field{{Path: "k"}}})
	for i := range 25 {
		insert(t, c, bson.D{id(100 - i), {Key: "k", Value: i}})
	}
	if err := c.Insert(t.Context(), nil, bsontest.RawDocument(bson.D{id(76)})); !mongoerr.Is(err, mongoerr.DuplicateKey) {
		t.Errorf("a duplicate _id: %v", err)
	}
	insert(t, c, bson.D{id(100), {Key: "k", Value: 25}}) // the first one has been evicted
	want := []string{}
	for i := 16; i < 25; i++ {
		want = append(want, bsontest.Raw(int32(100-i)).String())
	}
	want = append(want, bsontest.Raw(int32(100)).String())
	all := compile(t, bson.D{})
	if got := found(t, c, all, everything, false); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	check(t, s)
	shut(t, s)

	s = open(t, fs)
	defer func() { shut(t, s) }()
	c = s.Collection("db", "log")
	insert(t, c, bson.D{id("next")})
	if got := found(t, c, all, everything, true); len(got) != 10 || got[9] != bsontest.Raw("next").String() {
		t.Errorf("after reopening: %v", got)
	}
	byID := compile(t, bson.D{id(80)})
	p := plan.Choose(byID, query.Sort{}, c.PlanIndexes(nil, c.Indexes()), -1)
	if got := found(t, c, byID, p, false); len(got) != 1 || !p.Scans[0].Ranges[0].Point {
		t.Errorf("by _id: found %v with plan %+v", got, p)
	}
	check(t, s)

	bySize := create(t, s, "small", storage.CollectionOptions{Capped: true, Size: 1000})
	for i := range 50 {
		insert(t, bySize, bson.D{id(i), {Key: "x", Value: string(make([]byte, 80))}})
	}
	st, err := bySize.Stats()
	if err != nil || st.Bytes > 1000 || st.Bytes < 800 {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestDrop(t *testing.T) {
	s := fresh(t)
	c := create(t, s, "c", storage.CollectionOptions{})
	index(t, c, kinds[0])
	insert(t, c, bson.D{id(1)})
	if _, err := s.Create("db", "c", storage.CollectionOptions{}); !mongoerr.Is(err, mongoerr.NamespaceExists) {
		t.Errorf("second Create: %v", err)
	}
	if ok, err := s.Drop(t.Context(), "db", "c"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := s.Drop(t.Context(), "db", "c"); ok || err != nil {
		t.Errorf("second Drop: %v, %v", ok, err)
	}
	if err := c.Insert(t.Context(), nil, bsontest.RawDocument(bson.D{id(2)})); !errors.Is(err, storage.ErrDropped) {
		t.Errorf("Insert into a dropped collection: %v", err)
	}
	if _, err := c.CreateIndex(t.Context(), kinds[1]); !errors.Is(err, storage.ErrDropped) {
		t.Errorf("CreateIndex on a dropped collection: %v", err)
	}
	again := create(t, s, "c", storage.CollectionOptions{})
	if n, err := again.Count(); n != 0 || err != nil {
		t.Errorf("a recreated collection has %d documents, %v", n, err)
	}
	if got := s.Databases(); !slices.Equal(got, []string{"db"}) {
		t.Errorf("databases %v", got)
	}
	if err := s.DropDatabase(t.Context(), "db"); err != nil || len(s.Databases()) != 0 {
		t.Errorf("databases %v, %v", s.Databases(), err)
	}
}
