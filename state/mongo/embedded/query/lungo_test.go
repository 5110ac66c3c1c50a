package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/query"
)

// lungo is another implementation of MongoDB's queries, in memory and on decoded documents. The two must
// agree on the operators that both support.

// small returns random values that are similar enough to match sometimes, of types that lungo supports.
func small(r *rand.Rand, depth int) any {
	n := 11
	if depth <= 0 {
		n = 8
	}
	switch r.IntN(n) {
	case 0:
		return int32(r.IntN(4))
	case 1:
		return int64(r.IntN(4))
	case 2:
		return float64(r.IntN(8)) / 2
	case 3, 4:
		return []string{"", "x", "y", "xy"}[r.IntN(4)]
	case 5:
		return nil
	case 6:
		return r.IntN(2) == 0
	case 7:
		return primitive.DateTime(r.IntN(3))
	case 8:
		return smallDoc(r, depth-1)
	}
	list := bson.A{}
	for range r.IntN(4) {
		list = append(list, small(r, depth-1))
	}
	return list
}

func smallDoc(r *rand.Rand, depth int) bson.D {
	doc := bson.D{}
	for _, i := range r.Perm(3)[:r.IntN(4)] {
		doc = append(doc, bson.E{Key: []string{"a", "b", "c"}[i], Value: small(r, depth)})
	}
	return doc
}

func path(r *rand.Rand) string {
	return []string{"a", "b", "c", "a.b", "b.a", "a.0", "a.b.c", "a.1.b"}[r.IntN(8)]
}

func condition(r *rand.Rand, depth int) bson.D {
	q := bson.D{}
	for range 1 + r.IntN(2) {
		q = append(q, clause(r, depth))
	}
	return q
}

func clause(r *rand.Rand, depth int) bson.E {
	if depth > 0 && r.IntN(4) == 0 {
		list := bson.A{}
		for range 1 + r.IntN(3) {
			list = append(list, condition(r, depth-1))
		}
		return bson.E{Key: []string{"$and", "$or", "$nor"}[r.IntN(3)], Value: list}
	}
	if r.IntN(3) == 0 {
		return bson.E{Key: path(r), Value: small(r, 1)}
	}
	ops := bson.D{}
	for range 1 + r.IntN(2) {
		ops = append(ops, operator(r, depth))
	}
	return bson.E{Key: path(r), Value: ops}
}

func operator(r *rand.Rand, depth int) bson.E {
	list := bson.A{}
	for range 1 + r.IntN(10) {
		list = append(list, small(r, 1))
	}
	switch r.IntN(8) {
	case 0, 1:
		return bson.E{Key: []string{"$gt", "$gte", "$lt", "$lte"}[r.IntN(4)], Value: small(r, 0)} // lungo orders documents by name before type
	case 2:
		return bson.E{Key: []string{"$in", "$nin"}[r.IntN(2)], Value: list}
	case 3:
		return bson.E{Key: []string{"$eq", "$ne"}[r.IntN(2)], Value: small(r, 1)}
	case 4:
		return bson.E{Key: "$exists", Value: r.IntN(2) == 0}
	case 5:
		return bson.E{Key: "$size", Value: int32(r.IntN(3))}
	case 6:
		return bson.E{Key: "$type", Value: []any{"string", "number", "array", "object", "int"}[r.IntN(5)]}
	}
	if depth > 0 {
		return bson.E{Key: "$not", Value: bson.D{operator(r, depth-1)}}
	}
	return bson.E{Key: "$elemMatch", Value: condition(r, 0)}
}

func TestMatchesLikeLungo(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n /= 2
	}
	matched := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(7, uint64(seed)))
		doc, q := smallDoc(r, 2), condition(r, 2)
		if disputed(q) {
			continue
		}
		got, want := match(t, doc, q), lungoMatch(t, doc, q)
		if got != want {
			t.Errorf("%d: document %v, query %v: got %v, want %v", seed, show(doc), show(q), got, want)
		}
		if want {
			matched++
		}
	}
	if matched < n/20 {
		t.Errorf("only %d of %d matched: the test is too easy", matched, n)
	}
}

// disputed reports whether a query may be one on which lungo disagrees with MongoDB and with this package: a
// document in an array counts as null for a field that it lacks, and $size doesn't count the arrays around an
// array.
func disputed(q bson.D) bool {
	text := show(q)
	return (strings.Contains(text, "null") || strings.Contains(text, "$size")) && strings.Contains(text, ".")
}

func match(t *testing.T, doc, q bson.D) bool {
	t.Helper()
	f, err := query.Compile(bsontest.RawDocument(q))
	if err != nil {
		t.Fatalf("cannot compile %v: %v", show(q), err)
	}
	return f.Match(bsontest.RawDocument(doc))
}

func lungoMatch(t *testing.T, doc, q bson.D) bool {
	t.Helper()
	ok, err := mongokit.Match(bsonkit.MustConvert(doc), bsonkit.MustConvert(q))
	if err != nil {
		t.Fatalf("lungo cannot match %v: %v", show(q), err)
	}
	return ok
}

func show(v any) string {
	text, err := bson.MarshalExtJSON(bson.D{{Key: "", Value: v}}, false, false)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text[4 : len(text)-1])
}
