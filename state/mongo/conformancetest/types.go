package conformancetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

// values holds one value of each BSON type, in the order in which MongoDB sorts them
// ("Comparison/Sort Order" in its manual). Arrays sort by their elements and are left
// out.
func values(t testing.TB) []any {
	t.Helper()
	dec, err := bson.ParseDecimal128("1.50")
	must(t, err)
	oid := bson.ObjectIdHex("0123456789abcdef01234567")
	return []any{
		bson.MinKey,
		nil,
		math.Inf(-1), int64(math.MinInt64), math.MinInt32, -1.5, 0, 1, dec, 2.5, int64(1 << 40), math.MaxFloat64, math.Inf(1),
		"", "a", "a\x00b", "aa", "b", "é",
		D{}, D{{"a", 1}}, D{{"a", 1}, {"b", 1}}, D{{"a", 2}}, D{{"b", 0}},
		bson.Binary{Kind: 0, Data: []byte{}}, bson.Binary{Kind: 0, Data: []byte{2}}, bson.Binary{Kind: 5, Data: []byte{1}}, bson.Binary{Kind: 0, Data: []byte{0, 0}},
		oid, bson.ObjectIdHex("0123456789abcdef01234568"),
		false, true,
		time.UnixMilli(-1000).UTC(), time.UnixMilli(0).UTC(), time.UnixMilli(1000).UTC(),
		bson.MongoTimestamp(1), bson.MongoTimestamp(1<<32 | 1),
		bson.RegEx{Pattern: "a", Options: "i"}, bson.RegEx{Pattern: "b"},
		bson.DBPointer{Namespace: "a.b", Id: oid},
		bson.JavaScript{Code: "a"},
		bson.JavaScript{Code: "a", Scope: D{{"x", 1}}},
		bson.MaxKey,
	}
}

// testTypes stores a value of each type, gets the same bytes back in every way a document
// can be returned, and finds it by the value.
func testTypes(t *testing.T, s *store) {
	c := s.db.C("c")
	all := append(values(t), bson.Symbol("a"), bson.Undefined, math.NaN(), A{}, A{1, A{2, "x"}, D{}}, D{{"", ""}, {"a b", A{nil}}})
	for i, v := range all {
		doc := D{{"_id", i}, {"v", v}, {"in", A{D{{"v", v}}, v}}, {"last", true}}
		if err := c.Insert(doc); err != nil {
			t.Errorf("cannot insert %#v: %v", v, err)
			continue
		}
		wantDoc(t, c, doc)

		// Through an update that leaves it alone, and one that sets it.
		must(t, c.UpdateId(i, D{{"$set", D{{"last", false}}}}))
		doc[3].Value = false
		wantDoc(t, c, doc)
		must(t, c.UpdateId(i, D{{"$set", D{{"v", v}, {"new", v}}}}))
		doc = append(doc, E{"new", v})
		wantDoc(t, c, doc)

		var r bson.Raw
		if _, err := c.FindId(i).Apply(mgo.Change{Update: D{{"$inc", D{{"n", 1}}}}}, &r); err != nil {
			t.Errorf("findAndModify of %#v: %v", v, err)
		} else if want := raw(t, doc); string(r.Data) != string(want.Data) {
			t.Errorf("findAndModify gave %s, want %s", show(r), show(want))
		}
		must(t, c.FindId(i).Select(D{{"v", 1}, {"_id", 0}}).One(&r))
		if want := raw(t, D{{"v", v}}); string(r.Data) != string(want.Data) {
			t.Errorf("a projection gave %s, want %s", show(r), show(want))
		}
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			must(t, c.EnsureIndexKey("v"))
		}
		for i, v := range all {
			if v == bson.Undefined {
				continue // a query by it fails or finds null, depending on the release
			}
			if re, ok := v.(bson.RegEx); ok {
				v = D{{"$in", A{re}}} // as one of the strings it matches, or itself
			}
			var found []struct {
				ID int `bson:"_id"`
			}
			if err := c.Find(D{{"v", v}}).All(&found); err != nil {
				t.Errorf("cannot find by %#v: %v", v, err)
				continue
			}
			hit := false
			for _, f := range found {
				hit = hit || f.ID == i
			}
			if !hit {
				t.Errorf("a find by %#v gives %v, not %d (indexed: %v)", v, found, i, indexed)
			}
			if f, ok := v.(float64); ok && math.IsNaN(f) && len(found) != 1 {
				t.Errorf("a find by NaN gives %v", found)
			}
		}
	}
}

// testTypeOrder sorts by values of every type, without an index and with one.
func testTypeOrder(t *testing.T, s *store) {
	c := s.db.C("c")
	all := values(t)
	var want []int
	for i := range all {
		want = append(want, i)
	}
	for _, i := range shuffled(len(all)) {
		must(t, c.Insert(D{{"_id", i}, {"v", all[i]}}))
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			must(t, c.EnsureIndexKey("v"))
		}
		if got := ids(t, c.Find(nil).Sort("v")); !slices.Equal(got, want) {
			t.Errorf("sorted %v (indexed: %v)", got, indexed)
		}
		down := ids(t, c.Find(nil).Sort("-v"))
		slices.Reverse(down)
		if !slices.Equal(down, want) {
			t.Errorf("sorted descending, then reversed %v (indexed: %v)", down, indexed)
		}
	}
	// _id has its own index, which may hold all but a few types.
	d := s.db.C("d")
	want = nil
	for _, i := range shuffled(len(all)) {
		if _, regex := all[i].(bson.RegEx); regex {
			continue
		}
		if err := d.Insert(D{{"_id", all[i]}, {"i", i}}); err != nil {
			t.Errorf("cannot insert with _id %#v: %v", all[i], err)
			continue
		}
		want = append(want, i)
	}
	slices.Sort(want)
	var docs []struct{ I int }
	must(t, d.Find(nil).Sort("_id").All(&docs))
	var got []int
	for _, doc := range docs {
		got = append(got, doc.I)
	}
	if !slices.Equal(got, want) {
		t.Errorf("sorted by _id: %v, want %v", got, want)
	}
	for _, i := range want {
		var doc struct{ I int }
		if err := d.FindId(all[i]).One(&doc); err != nil || doc.I != i {
			t.Errorf("by _id %#v: %+v, %v", all[i], doc, err)
		}
	}
	wantCode(t, d.Insert(D{{"_id", A{1}}}), codeInvalidIDField, codeBadValue)
	wantCode(t, d.Insert(D{{"_id", bson.RegEx{Pattern: "a"}}}), codeInvalidIDField, codeBadValue)
}

// shuffled returns 0 to n-1 in an order that is neither ascending nor descending, the
// same each time.
func shuffled(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return a*7919%101 - b*7919%101 })
	return order
}

// testNumbersAreOneKey: an int, a long and a float of one value are one key in
// every index, and values that are merely near are not.
func testNumbersAreOneKey(t *testing.T, s *store) {
	const big = 1 << 53
	dec := func(text string) any {
		d, err := bson.ParseDecimal128(text)
		must(t, err)
		return d
	}
	groups := [][]any{
		{1, int64(1), 1.0, dec("1"), dec("1.00")},
		{0, int64(0), 0.0, math.Copysign(0, -1), dec("0"), dec("-0")},
		{-7, int64(-7), -7.0},
		{0.5, dec("0.5"), dec("0.50")},
		{0.1}, {dec("0.1")}, // a float can't represent a tenth
		{int64(big), float64(big)}, {int64(big + 1)}, {int64(big + 2), float64(big + 2)}, {int64(-big - 1)}, {int64(-big), float64(-big)},
		{int64(math.MaxInt64)}, {float64(1 << 63)}, {int64(math.MinInt64), float64(-1 << 63)},
		{1e300}, {-1e300}, {5e-324}, {-5e-324},
		{math.Inf(1), dec("Infinity")}, {math.Inf(-1), dec("-Infinity")}, {math.NaN(), dec("NaN")},
	}
	byID, byField, nested := s.db.C("id"), s.db.C("field"), s.db.C("nested")
	must(t, byField.EnsureIndex(mgo.Index{Key: []string{"v"}, Unique: true}))
	for g, group := range groups {
		for i, v := range group {
			for name, err := range map[string]error{
				"_id":              byID.Insert(D{{"_id", v}, {"g", g}}),
				"a unique field":   byField.Insert(D{{"v", v}, {"g", g}}),
				"a document's _id": nested.Insert(D{{"_id", D{{"a", A{v}}, {"b", 1}}}, {"g", g}}),
			} {
				if i == 0 && err != nil {
					t.Errorf("%#v by %s: %v", v, name, err)
				}
				if i > 0 && !mgo.IsDup(err) {
					t.Errorf("%#v by %s beside %#v: %v, want a duplicate", v, name, group[0], err)
				}
			}
		}
	}
	for g, group := range groups {
		for _, v := range group {
			for name, q := range map[string]*mgo.Query{
				"_id":              byID.FindId(v),
				"a field":          byField.Find(D{{"v", v}}),
				"$in":              byField.Find(D{{"v", D{{"$in", A{v}}}}}),
				"a range":          byField.Find(D{{"v", D{{"$gte", v}, {"$lte", v}}}}),
				"a document's _id": nested.FindId(D{{"a", A{v}}, {"b", int64(1)}}),
			} {
				var docs []struct{ G int }
				if err := q.All(&docs); err != nil || len(docs) != 1 || docs[0].G != g {
					t.Errorf("by %s %#v: %v, %v, want group %d", name, v, docs, err, g)
				}
			}
		}
	}
}

// testDocumentsAsKeys: a document used as a key is identified by the order of its fields
// too, which mgo/txn's stash relies on with {c, id}.
func testDocumentsAsKeys(t *testing.T, s *store) {
	c := s.db.C("c")
	keys := []any{
		D{{"a", 1}, {"b", 2}}, D{{"b", 2}, {"a", 1}}, D{{"a", 1}}, D{{"a", 1}, {"b", nil}}, D{},
		D{{"a", D{{"a", 1}}}}, D{{"a", A{1}}}, D{{"a", A{}}}, D{{"a", "1"}}, D{{"c", "units"}, {"id", "a/0"}}, D{{"c", "units"}, {"id", "a/00"}},
		D{{"c", "unit"}, {"id", "sa/0"}},
	}
	for i, k := range keys {
		must(t, c.Insert(D{{"_id", k}, {"i", i}}))
	}
	for i, k := range keys {
		var doc struct{ I int }
		if err := c.FindId(k).One(&doc); err != nil || doc.I != i {
			t.Errorf("by _id %v: %+v, %v, want %d", k, doc, err, i)
		}
		if err := c.Insert(D{{"_id", k}}); !mgo.IsDup(err) {
			t.Errorf("_id %v twice: %v", k, err)
		}
		if err := c.UpdateId(k, D{{"$set", D{{"hit", i}}}}); err != nil {
			t.Errorf("update by _id %v: %v", k, err)
		}
	}
	if n, err := c.Find(D{{"_id.c", "units"}}).Count(); n != 2 || err != nil {
		t.Errorf("%d by a field of the _id, %v, want 2", n, err)
	}
	for i, k := range keys {
		wantDoc(t, c, D{{"_id", k}, {"i", i}, {"hit", i}})
		must(t, c.RemoveId(k))
	}
}

// testStrangeFieldNames: below the first level a field may have any name, as in mgo/txn's
// documents, which hold updates of other documents.
func testStrangeFieldNames(t *testing.T, s *store) {
	c := s.db.C("c")
	ops := A{
		D{{"c", "units"}, {"d", "a/0"}, {"a", D{{"$or", A{D{{"life", 1}}, D{{"x.y", D{{"$exists", false}}}}}}}},
			{"u", D{{"$set", D{{"a.b", 1}, {"c", D{{"$inc", D{}}}}}}, {"$unset", D{{"x", nil}}}}}},
		D{{"$in", A{D{{"$$", "$"}}}}, {"", 1}, {".", 2}, {"..", 3}, {"$", 4}, {"0", 5}, {"é.\u2028", 6}},
	}
	doc := D{{"_id", 1}, {"s", 2}, {"o", ops}, {"in", D{{"a.b.c", D{{"$set", 1}}}}}}
	must(t, c.Insert(doc))
	wantDoc(t, c, doc)

	must(t, c.UpdateId(1, D{{"$set", D{{"s", 3}}}}))
	doc[1].Value = 3
	wantDoc(t, c, doc)
	// Before 5.0 MongoDB rejects putting such a name into an existing document, with
	// DollarPrefixedFieldName (storage_validation.cpp).
	for _, test := range []struct {
		update D
		want   D
	}{
		{D{{"$push", D{{"o", D{{"i", D{{"a.b", D{{"$gt", 1}}}}}}}}}},
			D{{"_id", 1}, {"s", 3}, {"o", append(ops, D{{"i", D{{"a.b", D{{"$gt", 1}}}}}})}, {"in", D{{"a.b.c", D{{"$set", 1}}}}}}},
		{D{{"_id", 1}, {"o", D{{"$set", D{{"a.b", 1}}}}}}, D{{"_id", 1}, {"o", D{{"$set", D{{"a.b", 1}}}}}}},
		{D{{"$set", D{{"p", D{{"$inc", D{{"x.y", 1}}}}}}}}, D{{"_id", 1}, {"o", D{{"$set", D{{"a.b", 1}}}}}, {"p", D{{"$inc", D{{"x.y", 1}}}}}}},
	} {
		if err := c.UpdateId(1, test.update); err != nil {
			wantCode(t, err, codeDollarPrefixed)
			break
		}
		wantDoc(t, c, test.want)
	}

	// A dotted name is no path: a query by it doesn't find what is stored under it.
	must(t, c.Insert(D{{"_id", 2}, {"in", D{{"a.b", 1}}}}, D{{"_id", 3}, {"in", D{{"a", D{{"b", 1}}}}}}))
	if got := ids(t, c.Find(D{{"in.a.b", 1}})); !slices.Equal(got, []int{3}) {
		t.Errorf("by a path: %v, want [3]", got)
	}
	must(t, c.EnsureIndexKey("in.a.b"))
	if got := ids(t, c.Find(D{{"in.a.b", 1}})); !slices.Equal(got, []int{3}) {
		t.Errorf("by an indexed path: %v, want [3]", got)
	}
	// Names may have any length; a document with many fields keeps their order.
	wide := D{{"_id", 4}, {strings.Repeat("n", 5000), 1}}
	for i := range 500 {
		wide = append(wide, E{fmt.Sprintf("f%d", (i*7)%500), i})
	}
	must(t, c.Insert(wide))
	wantDoc(t, c, wide)
	must(t, c.UpdateId(4, D{{"$inc", D{{"f77", 1}}}}))
	var doc4 bson.D
	must(t, c.FindId(4).One(&doc4))
	for i, e := range doc4 {
		if e.Name != wide[i].Name {
			t.Fatalf("field %d is %q, want %q", i, e.Name, wide[i].Name)
		}
	}
}
