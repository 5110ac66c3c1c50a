package conformancetest

import (
	"fmt"
	"slices"
	"testing"

	"gopkg.in/mgo.v2"
)

func testIndexes(t *testing.T, s *store) {
	c := s.db.C("c")
	names := func() []string {
		t.Helper()
		indexes, err := c.Indexes()
		must(t, err)
		var names []string
		for _, i := range indexes {
			names = append(names, i.Name)
		}
		slices.Sort(names)
		return names
	}
	want := func(wanted ...string) {
		t.Helper()
		if got := names(); !slices.Equal(got, wanted) {
			t.Errorf("indexes are %q, want %q", got, wanted)
		}
	}
	must(t, c.Insert(D{{"_id", 1}, {"a", 1}, {"b", D{{"c", 1}}}}))
	want("_id_")
	must(t, c.EnsureIndexKey("a"))
	must(t, c.EnsureIndexKey("-b.c", "a"))
	must(t, c.EnsureIndex(mgo.Index{Key: []string{"d"}, Name: "mine", Unique: true, Sparse: true, Background: true}))
	want("_id_", "a_1", "b.c_-1_a_1", "mine")
	indexes, err := c.Indexes()
	must(t, err)
	for _, i := range indexes {
		switch i.Name {
		case "b.c_-1_a_1":
			if !slices.Equal(i.Key, []string{"-b.c", "a"}) || i.Unique {
				t.Errorf("listed as %+v", i)
			}
		case "mine":
			if !slices.Equal(i.Key, []string{"d"}) || !i.Unique || !i.Sparse {
				t.Errorf("listed as %+v", i)
			}
		}
	}
	// Creating it again, without mgo's index cache, does nothing.
	s.session.ResetIndexCache()
	must(t, c.EnsureIndexKey("a"))
	want("_id_", "a_1", "b.c_-1_a_1", "mine")
	// With other options, or another key under its name, it is rejected.
	s.session.ResetIndexCache()
	wantCode(t, c.EnsureIndex(mgo.Index{Key: []string{"a"}, Unique: true}), codeIndexOptions, codeIndexKeySpecs)
	s.session.ResetIndexCache()
	wantCode(t, c.EnsureIndex(mgo.Index{Key: []string{"z"}, Name: "mine"}), codeIndexOptions, codeIndexKeySpecs)
	want("_id_", "a_1", "b.c_-1_a_1", "mine")

	must(t, c.DropIndex("a"))
	must(t, c.DropIndexName("mine"))
	want("_id_", "b.c_-1_a_1")
	wantCode(t, s.db.Run(D{{"dropIndexes", "c"}, {"index", "none"}}, nil), codeIndexNotFound)
	if err := s.db.Run(D{{"dropIndexes", "c"}, {"index", "_id_"}}, nil); err == nil {
		t.Errorf("the index on _id was dropped")
	}
	must(t, s.db.Run(D{{"dropIndexes", "c"}, {"index", "*"}}, nil))
	want("_id_")

	// Indexes are dropped with their collection.
	must(t, c.EnsureIndex(mgo.Index{Key: []string{"a"}, Unique: true}))
	must(t, c.DropCollection())
	s.session.ResetIndexCache()
	must(t, c.Insert(D{{"_id", 1}, {"a", 1}}, D{{"_id", 2}, {"a", 1}}))
	want("_id_")

	t.Run("upkeep", func(t *testing.T) { testIndexUpkeep(t, s) })
}

// testIndexUpkeep changes documents in all ways, and then compares the results of an index
// with those of a full scan.
func testIndexUpkeep(t *testing.T, s *store) {
	c := s.db.C("upkeep")
	must(t, c.EnsureIndexKey("a"))
	must(t, c.EnsureIndexKey("l", "a"))
	n := load(200)
	for i := range n {
		must(t, c.Insert(D{{"_id", i}, {"a", i % 7}, {"l", A{i % 3, fmt.Sprint(i % 5)}}}))
	}
	for i := range n {
		switch i % 6 {
		case 0:
			must(t, c.RemoveId(i))
		case 1:
			must(t, c.UpdateId(i, D{{"$set", D{{"a", 3}}}}))
		case 2:
			must(t, c.UpdateId(i, D{{"$push", D{{"l", 2}}}}))
		case 3:
			must(t, c.UpdateId(i, D{{"$unset", D{{"a", 1}}}}))
		case 4:
			must(t, c.UpdateId(i, D{{"a", A{1, 2}}, {"l", "x"}}))
		}
	}
	_, err := c.UpdateAll(D{{"a", 5}}, D{{"$inc", D{{"a", 1}}}})
	must(t, err)
	for _, v := range []any{0, 1, 2, 3, 4, 5, 6, 7, "0", "x", nil} {
		for _, field := range []string{"a", "l"} {
			by := ids(t, c.Find(D{{field, v}}).Sort("_id"))
			// The embedded store has no $where; no index can answer this query.
			scan := ids(t, c.Find(D{{"$nor", A{D{{field, D{{"$ne", v}}}}}}}).Sort("_id"))
			if !slices.Equal(by, scan) {
				t.Errorf("%s %v: the index finds %v, the scan %v", field, v, by, scan)
			}
		}
	}
}

func testUniqueIndexes(t *testing.T, s *store) {
	dup := func(t *testing.T, err error) {
		t.Helper()
		if !mgo.IsDup(err) {
			t.Errorf("%v, want a duplicate", err)
		}
		wantCode(t, err, codeDuplicateKey)
	}
	unique := func(keys ...string) mgo.Index { return mgo.Index{Key: keys, Unique: true} }

	t.Run("_id", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.Insert(D{{"_id", "x"}, {"n", 1}}))
		dup(t, c.Insert(D{{"_id", "x"}, {"n", 2}}))
		wantDoc(t, c, D{{"_id", "x"}, {"n", 1}})
	})
	t.Run("one field", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.EnsureIndex(unique("a")))
		must(t, c.Insert(D{{"_id", 1}, {"a", "x"}}, D{{"_id", 2}, {"a", "y"}}))
		dup(t, c.Insert(D{{"_id", 3}, {"a", "x"}}))
		dup(t, c.UpdateId(2, D{{"$set", D{{"a", "x"}, {"b", 1}}}}))
		dup(t, c.UpdateId(2, D{{"a", "x"}}))
		_, err := c.Upsert(D{{"_id", 3}}, D{{"$set", D{{"a", "x"}}}})
		dup(t, err)
		wantDoc(t, c, D{{"_id", 2}, {"a", "y"}})
		must(t, c.UpdateId(1, D{{"$set", D{{"a", "x"}, {"b", 1}}}})) // it may keep its own key
		// A key is free as soon as its document is removed or changed.
		must(t, c.UpdateId(1, D{{"$set", D{{"a", "z"}}}}))
		must(t, c.Insert(D{{"_id", 3}, {"a", "x"}}))
		must(t, c.RemoveId(2))
		must(t, c.Insert(D{{"_id", 2}, {"a", "y"}}))
	})
	t.Run("missing is one value", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.EnsureIndex(unique("a")))
		must(t, c.Insert(D{{"_id", 1}}))
		dup(t, c.Insert(D{{"_id", 2}}))
		dup(t, c.Insert(D{{"_id", 2}, {"a", nil}}))
	})
	t.Run("sparse lets many miss it", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.EnsureIndex(mgo.Index{Key: []string{"a"}, Unique: true, Sparse: true}))
		must(t, c.Insert(D{{"_id", 1}}, D{{"_id", 2}}, D{{"_id", 3}, {"a", 1}}))
		dup(t, c.Insert(D{{"_id", 4}, {"a", 1}}))
		// A query that such an index can't answer still finds all.
		if got := ids(t, c.Find(nil).Sort("a", "_id")); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("sorted by the sparse field: %v", got)
		}
		if got := ids(t, c.Find(D{{"a", nil}}).Sort("_id")); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("those without: %v", got)
		}
	})
	t.Run("compound", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.EnsureIndex(unique("a", "b")))
		must(t, c.Insert(D{{"_id", 1}, {"a", 1}, {"b", 1}}, D{{"_id", 2}, {"a", 1}, {"b", 2}}, D{{"_id", 3}, {"a", 2}, {"b", 1}}, D{{"_id", 4}, {"a", 1}}))
		dup(t, c.Insert(D{{"_id", 5}, {"b", 1.0}, {"a", int64(1)}}))
		dup(t, c.Insert(D{{"_id", 5}, {"a", 1}, {"b", nil}}))
		dup(t, c.UpdateId(3, D{{"$set", D{{"a", 1}}}}))
		must(t, c.Insert(D{{"_id", 5}, {"a", "1"}, {"b", 1}}))
	})
	t.Run("compound of strings that join alike", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.EnsureIndex(unique("a", "b")))
		must(t, c.Insert(D{{"_id", 1}, {"a", "x"}, {"b", "yz"}}, D{{"_id", 2}, {"a", "xy"}, {"b", "z"}},
			D{{"_id", 3}, {"a", "x\x00"}, {"b", "z"}}, D{{"_id", 4}, {"a", "x"}, {"b", "\x00z"}}, D{{"_id", 5}, {"a", "x\x00\xff"}, {"b", "z"}}))
	})
	t.Run("elements", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.EnsureIndex(unique("a")))
		must(t, c.Insert(D{{"_id", 1}, {"a", A{1, 2, 2}}})) // a value may repeat within one document
		dup(t, c.Insert(D{{"_id", 2}, {"a", 2}}))
		dup(t, c.Insert(D{{"_id", 2}, {"a", A{5, 1}}}))
		must(t, c.Insert(D{{"_id", 2}, {"a", A{3}}}))
		must(t, c.UpdateId(1, D{{"$pull", D{{"a", 2}}}}))
		must(t, c.UpdateId(2, D{{"$push", D{{"a", 2}}}}))
	})
	t.Run("made over duplicates", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.Insert(D{{"_id", 1}, {"a", 1}}, D{{"_id", 2}, {"a", 1}}))
		wantCode(t, c.EnsureIndex(unique("a")), codeDuplicateKey)
		indexes, err := c.Indexes()
		if err != nil || len(indexes) != 1 {
			t.Errorf("%d indexes, %v, want only the one on _id", len(indexes), err)
		}
		must(t, c.Insert(D{{"_id", 3}, {"a", 1}}))
	})
	t.Run("two lists in one key", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.EnsureIndexKey("a", "b"))
		must(t, c.Insert(D{{"_id", 1}, {"a", A{1}}, {"b", 1}}, D{{"_id", 2}, {"a", 1}, {"b", A{1}}}))
		// "Multikey Indexes" in the manual: at most one field of a document may be an array.
		wantCode(t, c.Insert(D{{"_id", 3}, {"a", A{1}}, {"b", A{1}}}), 171, 10088)
	})
}
