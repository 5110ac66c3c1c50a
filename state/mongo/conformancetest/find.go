package conformancetest

import (
	"slices"
	"testing"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

// fruits are the documents that the queries of this file search. They are few and unusual: each differs
// from the others in one thing that a query may get wrong.
var fruits = []any{
	D{{"_id", 1}, {"n", 1}, {"s", "apple"}, {"tags", A{"red", "fruit"}}, {"d", D{{"x", 1}, {"y", 2}}},
		{"items", A{D{{"k", "a"}, {"q", 1}}, D{{"k", "b"}, {"q", 5}}}}},
	D{{"_id", 2}, {"n", int64(2)}, {"s", "banana"}, {"tags", A{}}, {"d", D{{"x", 1}}},
		{"items", A{D{{"k", "a"}, {"q", 5}}, D{{"k", "b"}, {"q", 1}}}}},
	D{{"_id", 3}, {"n", 3.5}, {"s", "Cherry"}, {"tags", A{"red"}}, {"d", D{{"y", 2}, {"x", 1}}}, {"items", A{}}},
	D{{"_id", 4}, {"n", nil}, {"s", 7}, {"tags", "red"}},
	D{{"_id", 5}, {"tags", A{"blue", A{"red", "x"}}}, {"yes", true}},
	D{{"_id", 6}, {"n", A{1, 10}}, {"at", bson.ObjectIdHex("0123456789abcdef01234567")}},
	D{{"_id", 7}, {"n", "1"}, {"s", ""}},
	D{{"_id", 8}, {"d", A{D{{"x", 1}}, D{{"x", 2}}}}, {"deep", D{{"er", D{{"est", A{1, 2, 3}}}}}}},
}

var all = []int{1, 2, 3, 4, 5, 6, 7, 8}

var queries = []struct {
	name  string
	query any
	want  []int
}{
	{"everything", D{}, all},
	{"nil", nil, all},

	{"int", D{{"n", 1}}, []int{1, 6}},
	{"the same as a float", D{{"n", 1.0}}, []int{1, 6}},
	{"the same as a long", D{{"n", int64(1)}}, []int{1, 6}},
	{"a long by int", D{{"n", 2}}, []int{2}},
	{"a float", D{{"n", 3.5}}, []int{3}},
	{"a string is no number", D{{"n", "1"}}, []int{7}},
	{"null is also what is missing", D{{"n", nil}}, []int{4, 5, 8}},
	{"an array whole", D{{"n", A{1, 10}}}, []int{6}},
	{"an array whole, in order", D{{"n", A{10, 1}}}, nil},
	{"a bool", D{{"yes", true}}, []int{5}},
	{"an object id", D{{"at", bson.ObjectIdHex("0123456789abcdef01234567")}}, []int{6}},
	{"empty string", D{{"s", ""}}, []int{7}},
	{"$eq", D{{"n", D{{"$eq", 1}}}}, []int{1, 6}},
	{"two fields", D{{"n", 1}, {"s", "apple"}}, []int{1}},
	{"two fields, one wrong", D{{"n", 1}, {"s", "banana"}}, nil},

	{"$gt", D{{"n", D{{"$gt", 1}}}}, []int{2, 3, 6}},
	{"$gte", D{{"n", D{{"$gte", 2}}}}, []int{2, 3, 6}},
	{"$lt", D{{"n", D{{"$lt", 2}}}}, []int{1, 6}},
	{"$lte", D{{"n", D{{"$lte", 2.0}}}}, []int{1, 2, 6}},
	{"a range", D{{"n", D{{"$gt", 1}, {"$lt", 3}}}}, []int{2, 6}}, // 6: one element is above 1, another below 3
	{"a range of one element", D{{"n", D{{"$elemMatch", D{{"$gt", 1}, {"$lt", 3}}}}}}, nil},
	{"a range of strings leaves out numbers", D{{"n", D{{"$lt", "2"}}}}, []int{7}},
	{"a range of strings", D{{"s", D{{"$gte", "a"}, {"$lt", "b"}}}}, []int{1}},
	{"a range only an array can be in", D{{"n", D{{"$gt", 5}, {"$lt", 4}}}}, []int{6}},
	{"$ne", D{{"n", D{{"$ne", 1}}}}, []int{2, 3, 4, 5, 7, 8}},
	{"$ne null", D{{"n", D{{"$ne", nil}}}}, []int{1, 2, 3, 6, 7}},
	{"$in", D{{"n", D{{"$in", A{1, "1"}}}}}, []int{1, 6, 7}},
	{"$in of one twice", D{{"n", D{{"$in", A{2, 2.0, int64(2)}}}}}, []int{2}},
	{"$in with null", D{{"n", D{{"$in", A{nil, 2}}}}}, []int{2, 4, 5, 8}},
	{"$in of nothing", D{{"n", D{{"$in", A{}}}}}, nil},
	{"$in with a regex", D{{"s", D{{"$in", A{bson.RegEx{Pattern: "^b"}, "apple"}}}}}, []int{1, 2}},
	{"$nin", D{{"n", D{{"$nin", A{1, nil}}}}}, []int{2, 3, 7}},
	{"$nin of nothing", D{{"n", D{{"$nin", A{}}}}}, all},
	{"$not", D{{"n", D{{"$not", D{{"$gt", 1}}}}}}, []int{1, 4, 5, 7, 8}},
	{"$not regex", D{{"s", D{{"$not", bson.RegEx{Pattern: "^a"}}}}}, []int{2, 3, 4, 5, 6, 7, 8}},
	{"$exists", D{{"n", D{{"$exists", true}}}}, []int{1, 2, 3, 4, 6, 7}},
	{"$exists 1", D{{"n", D{{"$exists", 1}}}}, []int{1, 2, 3, 4, 6, 7}},
	{"$exists false", D{{"n", D{{"$exists", false}}}}, []int{5, 8}},
	{"$exists 0", D{{"tags.0", D{{"$exists", 0}}}}, []int{2, 4, 6, 7, 8}},
	{"$exists of an element", D{{"tags.0", D{{"$exists", 1}}}}, []int{1, 3, 5}},
	{"$type by number", D{{"n", D{{"$type", 2}}}}, []int{7}},
	{"$type by name", D{{"s", D{{"$type", "string"}}}}, []int{1, 2, 3, 7}},

	{"$or", D{{"$or", A{D{{"n", 1}}, D{{"s", "banana"}}}}}, []int{1, 2, 6}},
	{"$or and a field", D{{"$or", A{D{{"n", 1}}, D{{"n", 2}}}}, {"s", "apple"}}, []int{1}},
	{"$or of one thing twice", D{{"$or", A{D{{"n", 1}}, D{{"s", "apple"}}}}}, []int{1, 6}},
	{"$and", D{{"$and", A{D{{"n", D{{"$gt", 0}}}}, D{{"n", D{{"$lt", 2}}}}}}}, []int{1, 6}},
	{"$nor", D{{"$nor", A{D{{"n", 1}}, D{{"tags", "red"}}}}}, []int{2, 5, 7, 8}},
	{"$or in $and", D{{"$and", A{D{{"$or", A{D{{"n", 1}}, D{{"n", 2}}}}}, D{{"$or", A{D{{"s", "apple"}}, D{{"s", "pear"}}}}}}}}, []int{1}},

	{"an element", D{{"tags", "red"}}, []int{1, 3, 4}},
	{"an element that is an array", D{{"tags", A{"red", "x"}}}, []int{5}},
	{"an element by position", D{{"tags.0", "red"}}, []int{1, 3}},
	{"an array by position", D{{"tags.1", A{"red", "x"}}}, []int{5}},
	{"$all", D{{"tags", D{{"$all", A{"fruit", "red"}}}}}, []int{1}},
	{"$all of one", D{{"tags", D{{"$all", A{"red"}}}}}, []int{1, 3, 4}},
	{"$all of none", D{{"tags", D{{"$all", A{}}}}}, nil},
	{"$size", D{{"tags", D{{"$size", 2}}}}, []int{1, 5}},
	{"$size 0", D{{"tags", D{{"$size", 0}}}}, []int{2}},
	{"$elemMatch", D{{"items", D{{"$elemMatch", D{{"k", "a"}, {"q", 5}}}}}}, []int{2}},
	{"$elemMatch with an operator", D{{"items", D{{"$elemMatch", D{{"q", D{{"$gt", 4}}}}}}}}, []int{1, 2}},
	{"$not $elemMatch", D{{"items", D{{"$not", D{{"$elemMatch", D{{"q", 5}}}}}}}}, []int{3, 4, 5, 6, 7, 8}},
	{"fields of different elements", D{{"items.k", "a"}, {"items.q", 5}}, []int{1, 2}},
	{"a field of an element by position", D{{"items.0.q", 5}}, []int{2}},

	{"a path", D{{"d.x", 1}}, []int{1, 2, 3, 8}},
	{"a path by position", D{{"d.1.x", 2}}, []int{8}},
	{"a path that ends in null", D{{"d.y", nil}}, []int{2, 4, 5, 6, 7, 8}},
	{"a path to a range", D{{"d.x", D{{"$gt", 1}}}}, []int{8}},
	{"a long path", D{{"deep.er.est", 2}}, []int{8}},
	{"a path through a string", D{{"s.x", D{{"$exists", true}}}}, nil},
	{"a document whole", D{{"d", D{{"x", 1}, {"y", 2}}}}, []int{1}},
	{"a document whole, in order", D{{"d", D{{"y", 2}, {"x", 1}}}}, []int{3}},
	{"a document that is an element", D{{"d", D{{"x", 1.0}}}}, []int{2, 8}},

	{"a regex", D{{"s", bson.RegEx{Pattern: "an"}}}, []int{2}},
	{"a regex with an anchor", D{{"s", bson.RegEx{Pattern: "^a"}}}, []int{1}},
	{"a regex in any case", D{{"s", bson.RegEx{Pattern: "^c", Options: "i"}}}, []int{3}},
	{"$regex", D{{"s", D{{"$regex", "an"}, {"$options", "i"}}}}, []int{2}},
	{"$regex of a value", D{{"s", D{{"$regex", bson.RegEx{Pattern: "rry$"}}}}}, []int{3}},
	{"$regex of an element", D{{"tags", D{{"$regex", "^fr"}}}}, []int{1}},
	{"a regex and a range", D{{"s", D{{"$regex", "a"}, {"$gt", "b"}}}}, []int{2}},

	{"one _id", D{{"_id", 3}}, []int{3}},
	{"one _id of another type", D{{"_id", 3.0}}, []int{3}},
	{"an _id and a field", D{{"_id", 3}, {"n", 1}}, nil},
	{"a range of _ids", D{{"_id", D{{"$gt", 2}, {"$lte", 4}}}}, []int{3, 4}},
	{"_ids $in", D{{"_id", D{{"$in", A{8, 1, 1, 99}}}}}, []int{1, 8}},
	{"_ids $nin", D{{"_id", D{{"$nin", A{8, 1}}}}}, []int{2, 3, 4, 5, 6, 7}},
	{"no _id", D{{"_id", "1"}}, nil},
}

func runQueries(t *testing.T, c *mgo.Collection) {
	for _, test := range queries {
		t.Run(test.name, func(t *testing.T) {
			if got := ids(t, c.Find(test.query).Sort("_id")); !slices.Equal(got, test.want) {
				t.Errorf("found %v, want %v", got, test.want)
			}
			n, err := c.Find(test.query).Count()
			if err != nil || n != len(test.want) {
				t.Errorf("count is %d, %v, want %d", n, err, len(test.want))
			}
		})
	}
}

func testFind(t *testing.T, s *store) {
	c := s.db.C("fruits")
	must(t, c.Insert(fruits...))
	runQueries(t, c)
}

// testFindWithIndex runs the same queries with indexes on all their fields: an index must not change a
// result.
func testFindWithIndex(t *testing.T, s *store) {
	for _, keys := range [][]string{
		{"n"}, {"s"}, {"tags"}, {"d"}, {"d.x"}, {"items.k"}, {"items.q"}, {"deep.er.est"}, {"-n", "s"}, {"s", "n"}, {"tags.0"},
	} {
		name := ""
		for _, k := range keys {
			name += k
		}
		t.Run(name, func(t *testing.T) {
			c := s.fresh(t)
			// Half the documents are inserted before the index is created, half after.
			must(t, c.Insert(fruits[:4]...))
			must(t, c.EnsureIndexKey(keys...))
			must(t, c.Insert(fruits[4:]...))
			runQueries(t, c)
		})
	}
}

func testFindRefusals(t *testing.T, s *store) {
	c := s.db.C("fruits")
	must(t, c.Insert(fruits...))
	for _, test := range []struct {
		name  string
		query any
		codes []int // 0 means that nothing is found
	}{
		{"unknown operator", D{{"n", D{{"$frob", 1}}}}, []int{codeBadValue}},
		{"unknown operator after a known one", D{{"n", D{{"$gt", 0}, {"$frob", 1}}}}, []int{codeBadValue}},
		{"unknown operator nothing gets to", D{{"none", 1}, {"n", D{{"$frob", 1}}}}, []int{codeBadValue}},
		{"unknown operator at the top", D{{"$frob", 1}}, []int{codeBadValue}},
		{"unknown operator within $or", D{{"$or", A{D{{"n", 1}}, D{{"n", D{{"$frob", 1}}}}}}}, []int{codeBadValue}},
		{"unknown operator beside an _id", D{{"_id", 1}, {"n", D{{"$frob", 1}}}}, []int{codeBadValue}},
		{"$in without a list", D{{"n", D{{"$in", 1}}}}, []int{codeBadValue}},
		{"$or without a list", D{{"$or", 1}}, []int{codeBadValue}},
		{"$or of nothing", D{{"$or", A{}}}, []int{codeBadValue}},
		{"$and of no documents", D{{"$and", A{1}}}, []int{codeBadValue}},
		{"$not of a value", D{{"n", D{{"$not", 1}}}}, []int{codeBadValue}},
		{"$size of a string", D{{"n", D{{"$size", "x"}}}}, []int{codeBadValue, codeFailedToParse}},
		{"$elemMatch of a value", D{{"n", D{{"$elemMatch", 1}}}}, []int{codeBadValue}},
		// 51091 from 4.2 on; before, it is accepted, and matches nothing.
		{"a regex that is none", D{{"s", D{{"$regex", "("}}}}, []int{codeBadValue, 51091, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			refused := func(err error) {
				t.Helper()
				if err == mgo.ErrNotFound {
					err = nil
				}
				if err != nil || !slices.Contains(test.codes, 0) {
					wantCode(t, err, test.codes...)
				}
			}
			refused(c.Find(test.query).One(nil))
			n, err := c.Find(test.query).Count()
			if refused(err); n != 0 {
				t.Errorf("the count is %d", n)
			}
			_, err = c.RemoveAll(test.query)
			refused(err)
			_, err = c.UpdateAll(test.query, D{{"$set", D{{"hit", true}}}})
			refused(err)
			_, err = c.Find(test.query).Apply(mgo.Change{Update: D{{"$set", D{{"hit", true}}}}}, nil)
			refused(err)
			// A rejected update changes nothing.
			if n, err := c.Find(D{{"hit", nil}}).Count(); n != len(fruits) || err != nil {
				t.Errorf("%d documents are unchanged, %v, want %d", n, err, len(fruits))
			}
		})
	}
	if err := c.Find(D{{"_id", 99}}).One(nil); err != mgo.ErrNotFound {
		t.Errorf("find of nothing: %v, want mgo.ErrNotFound", err)
	}
	if err := s.db.C("none").Find(nil).One(nil); err != mgo.ErrNotFound {
		t.Errorf("find in no collection: %v, want mgo.ErrNotFound", err)
	}
}

func testSortSkipLimit(t *testing.T, s *store) {
	c := s.db.C("c")
	for i, d := range []D{
		{{"a", 2}, {"b", "x"}}, {{"a", 1}, {"b", "y"}}, {{"a", 2}, {"b", "w"}}, {{"b", "z"}}, {{"a", 1.0}, {"b", "v"}}, {{"a", A{0, 9}}, {"b", "u"}},
	} {
		must(t, c.Insert(append(D{{"_id", i + 1}}, d...)))
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			must(t, c.EnsureIndexKey("a", "-b"))
			must(t, c.EnsureIndexKey("b"))
		}
		for _, test := range []struct {
			name string
			q    *mgo.Query
			want []int
		}{
			{"by _id, downwards", c.Find(nil).Sort("-_id"), []int{6, 5, 4, 3, 2, 1}},
			{"by a field", c.Find(nil).Sort("b"), []int{6, 5, 3, 1, 2, 4}},
			// A missing field sorts as null; an array by its least element, or its greatest in descending
			// order.
			{"by a field, then another", c.Find(nil).Sort("a", "b"), []int{4, 6, 5, 2, 3, 1}},
			{"by a field downwards, then another", c.Find(nil).Sort("-a", "b"), []int{6, 3, 1, 5, 2, 4}},
			{"mixed", c.Find(nil).Sort("a", "-b"), []int{4, 6, 2, 5, 1, 3}},
			{"skip", c.Find(nil).Sort("b").Skip(4), []int{2, 4}},
			{"skip all", c.Find(nil).Sort("b").Skip(6), nil},
			{"limit", c.Find(nil).Sort("b").Limit(2), []int{6, 5}},
			{"skip and limit", c.Find(nil).Sort("b").Skip(1).Limit(3), []int{5, 3, 1}},
			{"limit beyond the end", c.Find(nil).Sort("b").Skip(5).Limit(3), []int{4}},
			{"limit in small batches", c.Find(nil).Sort("b").Limit(5).Batch(2), []int{6, 5, 3, 1, 2}},
			{"small batches", c.Find(nil).Sort("-b").Batch(2), []int{4, 2, 1, 3, 5, 6}},
			{"of some", c.Find(D{{"a", D{{"$gte", 1}}}}).Sort("-b"), []int{2, 1, 3, 5, 6}},
			{"$natural", c.Find(nil).Sort("$natural"), []int{1, 2, 3, 4, 5, 6}},
			{"-$natural", c.Find(nil).Sort("-$natural").Limit(2), []int{6, 5}},
		} {
			t.Run(test.name, func(t *testing.T) {
				if got := ids(t, test.q); !slices.Equal(got, test.want) {
					t.Errorf("found %v, want %v (indexed: %v)", got, test.want, indexed)
				}
			})
		}
	}
}

func testProjection(t *testing.T, s *store) {
	c := s.db.C("c")
	must(t, c.Insert(D{
		{"_id", 1}, {"a", 1}, {"b", D{{"x", 1}, {"y", D{{"z", 2}}}}}, {"list", A{D{{"k", 1}, {"v", 2}}, 3, D{{"k", 4}}}}, {"c", nil},
	}))
	for _, test := range []struct {
		name   string
		fields any
		want   D
	}{
		{"none", D{}, D{{"_id", 1}, {"a", 1}, {"b", D{{"x", 1}, {"y", D{{"z", 2}}}}}, {"list", A{D{{"k", 1}, {"v", 2}}, 3, D{{"k", 4}}}}, {"c", nil}}},
		{"one", D{{"a", 1}}, D{{"_id", 1}, {"a", 1}}},
		{"in the document's order", D{{"c", true}, {"a", 1.0}}, D{{"_id", 1}, {"a", 1}, {"c", nil}}},
		{"without _id", D{{"a", 1}, {"_id", 0}}, D{{"a", 1}}},
		{"only _id", D{{"_id", 1}}, D{{"_id", 1}}},
		{"what isn't there", D{{"none", 1}}, D{{"_id", 1}}},
		{"a path", D{{"b.y.z", 1}}, D{{"_id", 1}, {"b", D{{"y", D{{"z", 2}}}}}}},
		{"a path with an empty end", D{{"b.none", 1}}, D{{"_id", 1}, {"b", D{}}}},
		{"through a list", D{{"list.k", 1}}, D{{"_id", 1}, {"list", A{D{{"k", 1}}, D{{"k", 4}}}}}},
		{"all but one", D{{"list", 0}, {"b", false}}, D{{"_id", 1}, {"a", 1}, {"c", nil}}},
		{"all but a path", D{{"b.y", 0}, {"list", 0}}, D{{"_id", 1}, {"a", 1}, {"b", D{{"x", 1}}}, {"c", nil}}},
		{"all but _id", D{{"_id", 0}, {"b", 0}, {"list", 0}}, D{{"a", 1}, {"c", nil}}},
		{"all but a path through a list", D{{"b", 0}, {"list.k", 0}}, D{{"_id", 1}, {"a", 1}, {"list", A{D{{"v", 2}}, 3, D{}}}, {"c", nil}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got bson.Raw
			must(t, c.FindId(1).Select(test.fields).One(&got))
			if want := raw(t, test.want); string(got.Data) != string(want.Data) {
				t.Errorf("got  %s\nwant %s", show(got), show(want))
			}
		})
	}
	t.Run("mixed", func(t *testing.T) {
		// 2 (BadValue) up to 4.2, 31253 and 31254 since.
		wantCode(t, c.FindId(1).Select(D{{"a", 1}, {"b", 0}}).One(nil), codeBadValue, 31253, 31254)
		wantCode(t, c.FindId(1).Select(D{{"a", 0}, {"b", 1}}).One(nil), codeBadValue, 31253, 31254)
	})
}

func testCountDistinct(t *testing.T, s *store) {
	c := s.db.C("fruits")
	must(t, c.Insert(fruits...))
	count := func(q *mgo.Query, want int) {
		t.Helper()
		if n, err := q.Count(); n != want || err != nil {
			t.Errorf("count is %d, %v, want %d", n, err, want)
		}
	}
	count(c.Find(nil), 8)
	count(c.Find(nil).Skip(3), 5)
	count(c.Find(nil).Limit(3), 3)
	count(c.Find(nil).Skip(6).Limit(3), 2)
	count(c.Find(nil).Skip(9), 0)
	count(c.Find(D{{"n", 1}}).Limit(1), 1)
	count(s.db.C("none").Find(nil), 0)

	for _, test := range []struct {
		key   string
		query any
		want  A
	}{
		{"n", D{{"_id", D{{"$lte", 3}}}}, A{1, int64(2), 3.5}},
		{"n", D{{"_id", D{{"$in", A{1, 6}}}}}, A{1, 10}}, // an array contributes its elements
		{"tags", D{{"_id", D{{"$in", A{1, 3, 4}}}}}, A{"fruit", "red"}},
		{"items.k", nil, A{"a", "b"}},
		{"d.x", nil, A{1, 2}},
		{"n", D{{"_id", 4}}, A{nil}},
		{"n", D{{"_id", 5}}, nil}, // a missing field has no value
		{"none", nil, nil},
	} {
		for _, indexed := range []bool{false, true} {
			var got A
			if err := c.Find(test.query).Distinct(test.key, &got); err != nil {
				t.Errorf("distinct %s of %v: %v", test.key, test.query, err)
			}
			// MongoDB may read the values from an index, in which a missing field is null.
			fromIndex := indexed && test.query == nil && sameSet(got, append(A{nil}, test.want...))
			if !sameSet(got, test.want) && !fromIndex {
				t.Errorf("distinct %s of %v is %v, want %v", test.key, test.query, got, test.want)
			}
			must(t, c.EnsureIndexKey(test.key))
		}
	}
	var none A
	if err := s.db.C("none").Find(nil).Distinct("a", &none); err != nil || len(none) > 0 {
		t.Errorf("distinct of no collection: %v, %v", none, err)
	}
}

// sameSet compares two lists of plain values, in any order.
func sameSet(a, b A) bool {
	if len(a) != len(b) {
		return false
	}
	for _, v := range a {
		if !slices.Contains(b, v) {
			return false
		}
	}
	return true
}
