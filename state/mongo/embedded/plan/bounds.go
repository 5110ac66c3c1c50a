package plan

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/query"
)

// bounds are the encoded values of one field that predicates allow: some points, or some intervals. Without either
// everything is allowed.
type bounds struct {
	points    [][]byte
	intervals []interval
}

// An interval is the values whose encodings are between two prefixes; an inclusive bound includes the values that begin
// with it.
type interval struct {
	low, high     []byte
	lowIn, highIn bool
}

// boundsOf combines the predicates on path. A multikey index can use only one predicate, because no single
// element of an array has to satisfy two.
func boundsOf(predicates []query.Predicate, path string, index *Index) bounds {
	var b bounds
	for i := range predicates {
		p := &predicates[i]
		if p.Path != path {
			continue
		}
		one, ok := boundsFrom(p, index.Sparse)
		if !ok {
			continue
		}
		switch {
		case one.points != nil && (b.points == nil || len(one.points) < len(b.points)):
			b = one
		case b.points == nil && b.intervals == nil:
			b = one
		case b.points == nil && one.points == nil && !index.Multi && len(b.intervals) == 1 && len(one.intervals) == 1:
			b.intervals[0] = b.intervals[0].and(one.intervals[0])
		}
	}
	return b
}

var (
	nullKey      = []byte{byte(keys.Null)}
	undefinedKey = []byte{byte(keys.Undefined)}
)

func boundsFrom(p *query.Predicate, sparse bool) (bounds, bool) {
	switch p.Op {
	case query.Eq:
		return pointsOf([]bsoncore.Value{p.Value}, sparse)
	case query.In:
		return pointsOf(p.Values, sparse)
	case query.Prefix:
		// Without its two terminating bytes, an encoded string is a prefix of longer ones. The same pattern as a value
		// matches, too.
		low := keys.Append(nil, p.Value)
		low = low[:len(low)-2]
		regex := []byte{byte(keys.Regex)}
		return bounds{intervals: []interval{{low, low, true, true}, {regex, regex, true, true}}}, true
	}
	switch p.Value.Type {
	case bson.TypeNull, bson.TypeUndefined:
		if p.Op == query.Gte || p.Op == query.Lte {
			return pointsOf([]bsoncore.Value{p.Value}, sparse)
		}
		return bounds{}, false
	case bson.TypeMinKey, bson.TypeMaxKey, bson.TypeArray:
		return bounds{}, false
	}
	edge := keys.Append(nil, p.Value)
	class := []byte{byte(keys.ClassOf(p.Value.Type))}
	if p.Op == query.Gt || p.Op == query.Gte {
		return bounds{intervals: []interval{{edge, class, p.Op == query.Gte, true}}}, true
	}
	return bounds{intervals: []interval{{class, edge, true, p.Op == query.Lte}}}, true
}

func pointsOf(values []bsoncore.Value, sparse bool) (bounds, bool) {
	b := bounds{points: [][]byte{}}
	for _, v := range values {
		switch v.Type {
		case bson.TypeArray:
			// An array is indexed by its elements, not as a whole.
			return bounds{}, false
		case bson.TypeNull, bson.TypeUndefined:
			if sparse {
				return bounds{}, false
			}
			b.points = append(b.points, nullKey, undefinedKey)
		default:
			b.points = append(b.points, keys.Append(nil, v))
		}
	}
	slices.SortFunc(b.points, bytes.Compare)
	b.points = slices.CompactFunc(b.points, bytes.Equal)
	return b, true
}

// and returns the intersection.
func (a interval) and(b interval) interval {
	if c := bytes.Compare(b.low, a.low); c > 0 || c == 0 && !b.lowIn {
		a.low, a.lowIn = b.low, b.lowIn
	}
	// A class as the upper bound is a prefix of all its values.
	switch {
	case bytes.HasPrefix(b.high, a.high) && a.highIn && len(b.high) > len(a.high):
		a.high, a.highIn = b.high, b.highIn
	case bytes.HasPrefix(a.high, b.high) && b.highIn && len(a.high) > len(b.high):
	case bytes.Equal(a.high, b.high):
		a.highIn = a.highIn && b.highIn
	case bytes.Compare(b.high, a.high) < 0:
		a.high, a.highIn = b.high, b.highIn
	}
	return a
}

func extend(prefixes, points [][]byte, desc bool) [][]byte {
	out := make([][]byte, 0, len(prefixes)*len(points))
	for _, prefix := range prefixes {
		for _, point := range points {
			out = append(out, join(prefix, point, desc))
		}
	}
	return out
}

func join(prefix, value []byte, desc bool) []byte {
	out := make([]byte, 0, len(prefix)+len(value)+1)
	out = append(append(out, prefix...), value...)
	if desc {
		keys.Invert(out[len(prefix):])
	}
	return out
}

func after(prefix []byte) []byte { return keys.After(bytes.Clone(prefix)) }

// ranges returns intervals of a field behind a prefix.
func ranges(prefix []byte, intervals []interval, desc bool) []Range {
	var out []Range
	for _, in := range intervals {
		low, high, lowIn, highIn := in.low, in.high, in.lowIn, in.highIn
		if desc {
			low, high, lowIn, highIn = high, low, highIn, lowIn
		}
		r := Range{Start: join(prefix, low, desc), End: join(prefix, high, desc)}
		if !lowIn {
			r.Start = keys.After(r.Start)
		}
		if highIn {
			r.End = keys.After(r.End)
		}
		if bytes.Compare(r.Start, r.End) < 0 {
			out = append(out, r)
		}
	}
	return out
}
