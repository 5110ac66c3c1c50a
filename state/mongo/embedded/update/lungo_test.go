package update_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/update"
)

// As in package query, lungo must produce the same results.

func small(r *rand.Rand, depth int) any {
	n := 9
	if depth <= 0 {
		n = 6
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
		return r.IntN(2) == 0
	case 6:
		return smallDoc(r, depth-1)
	}
	return list(r, depth-1)
}

func list(r *rand.Rand, depth int) bson.A {
	out := bson.A{}
	for range r.IntN(5) {
		out = append(out, small(r, depth))
	}
	return out
}

func smallDoc(r *rand.Rand, depth int) bson.D {
	doc := bson.D{}
	for _, i := range r.Perm(3)[:r.IntN(4)] {
		doc = append(doc, bson.E{Key: []string{"a", "b", "c"}[i], Value: small(r, depth)})
	}
	return doc
}

func path(r *rand.Rand) string {
	return []string{"a", "b", "c", "d", "a.b", "b.a", "a.0", "a.b.c", "a.3", "c.d"}[r.IntN(10)]
}

func change(r *rand.Rand) bson.D {
	spec := bson.D{}
	for _, i := range r.Perm(12)[:1+r.IntN(2)] {
		name, args := "", bson.D{}
		for range 1 + r.IntN(2) {
			var arg any
			name, arg = operator(r, i)
			args = append(args, bson.E{Key: path(r), Value: arg})
		}
		spec = append(spec, bson.E{Key: name, Value: args})
	}
	return spec
}

func operator(r *rand.Rand, i int) (string, any) {
	switch i {
	case 0:
		return "$set", small(r, 1)
	case 1:
		return "$unset", 1
	case 2:
		return "$inc", int32(r.IntN(3))
	case 3:
		return "$mul", float64(r.IntN(3))
	case 4:
		return "$min", small(r, 0)
	case 5:
		return "$max", small(r, 0)
	case 6:
		return "$setOnInsert", small(r, 1)
	case 7:
		if r.IntN(2) == 0 {
			return "$push", small(r, 1)
		}
		each := bson.D{{Key: "$each", Value: list(r, 0)}}
		for _, m := range []string{"$position", "$slice"} {
			if r.IntN(2) == 0 {
				each = append(each, bson.E{Key: m, Value: int32(r.IntN(7) - 3)})
			}
		}
		if r.IntN(3) == 0 {
			each = append(each, bson.E{Key: "$sort", Value: int32(2*r.IntN(2) - 1)})
		}
		return "$push", each
	case 8:
		if r.IntN(2) == 0 {
			return "$addToSet", small(r, 1)
		}
		// An empty $each creates an empty array in a missing field, but not in lungo.
		return "$addToSet", bson.D{{Key: "$each", Value: append(list(r, 0), "x")}}
	case 9:
		if r.IntN(2) == 0 {
			return "$pull", small(r, 0)
		}
		return "$pull", bson.D{{Key: []string{"$in", "$nin"}[r.IntN(2)], Value: list(r, 0)}}
	case 10:
		return "$pullAll", list(r, 1)
	}
	return "$pop", int32(2*r.IntN(2) - 1)
}

func TestUpdatesLikeLungo(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n /= 2
	}
	changed := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(3, uint64(seed)))
		doc, spec := smallDoc(r, 3), change(r)
		insert := r.IntN(2) == 0
		got, err := apply(doc, spec, insert)
		if mongoerr.Is(err, mongoerr.ConflictingUpdateOperators) {
			continue // lungo detects a conflict only if the document exposes it
		}
		want, wantErr := lungoApply(doc, spec, insert)
		switch {
		case (err == nil) != (wantErr == nil):
			t.Errorf("%d: document %v, update %v: got error %v, want %v", seed, show(doc), show(spec), err, wantErr)
		case err == nil && !reflect.DeepEqual(got, want):
			t.Errorf("%d: document %v, update %v: got %v, want %v", seed, show(doc), show(spec), show(got), show(want))
		case err == nil && !reflect.DeepEqual(got, doc):
			changed++
		}
	}
	if changed < n/10 {
		t.Errorf("only %d of %d changed the document: the test is too easy", changed, n)
	}
}

func apply(doc, spec bson.D, insert bool) (bson.D, error) {
	u, err := update.Compile(bsontest.RawDocument(spec))
	if err != nil {
		return nil, err
	}
	raw, err := u.Apply(nil, bsontest.RawDocument(doc), update.Context{Position: -1, Insert: insert})
	if err != nil {
		return nil, err
	}
	var out bson.D
	err = bson.Unmarshal(raw, &out)
	return out, err
}

func lungoApply(doc, spec bson.D, insert bool) (bson.D, error) {
	d := bsonkit.Clone(bsonkit.MustConvert(doc))
	if _, err := mongokit.Apply(d, nil, bsonkit.MustConvert(spec), insert, nil); err != nil {
		return nil, err
	}
	// Go through bytes, so that both results have the same types.
	var out bson.D
	err := bson.Unmarshal(bsontest.RawDocument(*d), &out)
	return out, err
}

func show(v any) string {
	text, err := bson.MarshalExtJSON(bson.D{{Key: "", Value: v}}, false, false)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text[4 : len(text)-1])
}
