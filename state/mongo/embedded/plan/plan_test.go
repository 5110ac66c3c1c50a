package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/query"
)

type d = bson.D

func fields(names ...string) []query.Field {
	var out []query.Field
	for _, name := range names {
		path, desc := strings.CutPrefix(name, "-")
		out = append(out, query.Field{Path: path, Desc: desc})
	}
	return out
}

var indexes = []plan.Index{
	{Name: "_id_", Fields: fields("_id"), Unique: true},
	{Name: "key", Fields: fields("key")},
	{Name: "ab", Fields: fields("a", "-b", "c")},
	{Name: "u", Fields: fields("u"), Unique: true},
	{Name: "sparse", Fields: fields("s"), Sparse: true},
	{Name: "multi", Fields: fields("m", "n"), Multi: true},
}

// describe summarises what a plan reads: index, number of ranges, and how.
func describe(p plan.Plan) string {
	var parts []string
	for _, scan := range p.Scans {
		s := indexes[scan.Index].Name
		switch {
		case len(scan.Ranges) == 1 && scan.Ranges[0].Start == nil && scan.Ranges[0].End == nil:
			s += " all"
		case len(scan.Ranges) > 0 && scan.Ranges[0].Point:
			s += fmt.Sprintf(" %d got", len(scan.Ranges))
		default:
			s += fmt.Sprintf(" %d ranges", len(scan.Ranges))
		}
		parts = append(parts, s)
	}
	s := strings.Join(parts, ", ")
	if p.Reverse {
		s += " reversed"
	}
	if !p.Sorted {
		s += ", to sort"
	}
	if p.Repeats {
		s += ", repeats"
	}
	return s
}

func TestChoose(t *testing.T) {
	one := d{{Key: "$gt", Value: 1}}
	for _, test := range []struct {
		about string
		query d
		sort  d
		want  string
	}{
		{"nothing asked for", d{}, nil, "_id_ all"},
		{"no index for it", d{{Key: "x", Value: 1}}, nil, "_id_ all"},
		{"by _id", d{{Key: "_id", Value: 1}}, nil, "_id_ 1 got"},
		{"by _id and more", d{{Key: "key", Value: 1}, {Key: "_id", Value: 1}}, nil, "_id_ 1 got"},
		{"by several _ids, one of them twice", d{{Key: "_id", Value: d{{Key: "$in", Value: bson.A{1, "x", 1.0}}}}}, nil, "_id_ 2 got"},
		{"by no _id at all", d{{Key: "_id", Value: d{{Key: "$in", Value: bson.A{}}}}}, nil, "_id_ 0 ranges"},
		{"by a range of _ids", d{{Key: "_id", Value: one}}, nil, "_id_ 1 ranges"},
		{"by a prefix of _ids", d{{Key: "_id", Value: d{{Key: "$regex", Value: "^unit#"}}}}, nil, "_id_ 2 ranges"},
		{"by a pattern that is no prefix", d{{Key: "_id", Value: d{{Key: "$regex", Value: "unit"}}}}, nil, "_id_ all"},
		{"equality", d{{Key: "key", Value: 1}}, nil, "key 1 ranges"},
		{"equality inside $and", d{{Key: "$and", Value: bson.A{d{{Key: "key", Value: 1}}}}}, nil, "key 1 ranges"},
		{"null: or undefined", d{{Key: "key", Value: nil}}, nil, "key 2 ranges"},
		{"a whole array cannot be looked up", d{{Key: "key", Value: bson.A{1}}}, nil, "_id_ all"},
		{"what is not", d{{Key: "key", Value: d{{Key: "$ne", Value: 1}}}}, nil, "_id_ all"},
		{"what is missing", d{{Key: "key", Value: d{{Key: "$exists", Value: false}}}}, nil, "_id_ all"},
		{"the first field of several", d{{Key: "a", Value: 1}}, nil, "ab 1 ranges"},
		{"the first two", d{{Key: "a", Value: 1}, {Key: "b", Value: 1}}, nil, "ab 1 ranges"},
		{"the second only", d{{Key: "b", Value: 1}}, nil, "_id_ all"},
		{"equality, then a range", d{{Key: "a", Value: 1}, {Key: "b", Value: one}}, nil, "ab 1 ranges"},
		{"$in, then a range", d{{Key: "a", Value: d{{Key: "$in", Value: bson.A{1, 2}}}}, {Key: "b", Value: one}}, nil, "ab 2 ranges"},
		{"$in times $in", d{{Key: "a", Value: d{{Key: "$in", Value: bson.A{1, 2}}}}, {Key: "b", Value: d{{Key: "$in", Value: bson.A{1, 2, 3}}}}}, nil, "ab 6 ranges"},
		{"more fields win", d{{Key: "key", Value: 1}, {Key: "a", Value: 1}, {Key: "b", Value: 1}}, nil, "ab 1 ranges"},
		{"a unique key wins", d{{Key: "u", Value: 1}, {Key: "a", Value: 1}, {Key: "b", Value: 1}}, nil, "u 1 got"},
		{"both ends of a range", d{{Key: "key", Value: d{{Key: "$gt", Value: 1}, {Key: "$lt", Value: 5}}}}, nil, "key 1 ranges"},
		{"a range with nothing in it", d{{Key: "key", Value: d{{Key: "$gt", Value: 5}, {Key: "$lt", Value: 1}}}}, nil, "key 0 ranges"},
		{"a sparse index knows what is there", d{{Key: "s", Value: 1}}, nil, "sparse 1 ranges"},
		{"and not what is missing", d{{Key: "s", Value: nil}}, nil, "_id_ all"},
		{"several keys for a document", d{{Key: "m", Value: 1}}, nil, "multi 1 ranges, repeats"},
		{"$or, each by its index", d{{Key: "$or", Value: bson.A{d{{Key: "key", Value: 1}}, d{{Key: "u", Value: 1}}}}}, nil, "key 1 ranges, u 1 got, repeats"},
		{"$or, one without", d{{Key: "$or", Value: bson.A{d{{Key: "key", Value: 1}}, d{{Key: "x", Value: 1}}}}}, nil, "_id_ all"},
		{"$or of one", d{{Key: "$or", Value: bson.A{d{{Key: "key", Value: 1}}}}}, nil, "key 1 ranges"},
		{"below $nor nothing holds", d{{Key: "$nor", Value: bson.A{d{{Key: "key", Value: 1}}}}}, nil, "_id_ all"},

		{"sorted by _id", d{}, d{{Key: "_id", Value: 1}}, "_id_ all"},
		{"and the other way", d{}, d{{Key: "_id", Value: -1}}, "_id_ all reversed"},
		{"sorted by an index", d{}, d{{Key: "key", Value: 1}}, "key all"},
		{"not by a sparse one", d{}, d{{Key: "s", Value: 1}}, "_id_ all, to sort"},
		{"nor by one with arrays", d{}, d{{Key: "m", Value: 1}}, "_id_ all, to sort"},
		{"by the fields of one", d{}, d{{Key: "a", Value: 1}, {Key: "b", Value: -1}}, "ab all"},
		{"all turned", d{}, d{{Key: "a", Value: -1}, {Key: "b", Value: 1}}, "ab all reversed"},
		{"one turned", d{}, d{{Key: "a", Value: 1}, {Key: "b", Value: 1}}, "_id_ all, to sort"},
		{"behind a field that is constant", d{{Key: "a", Value: 1}}, d{{Key: "b", Value: -1}, {Key: "c", Value: 1}}, "ab 1 ranges"},
		{"the constant one named too", d{{Key: "a", Value: 1}}, d{{Key: "a", Value: 1}, {Key: "b", Value: 1}}, "ab 1 ranges reversed"},
		{"behind one that is not", d{{Key: "a", Value: one}}, d{{Key: "b", Value: -1}}, "ab 1 ranges, to sort"},
		{"found by one, sorted by another", d{{Key: "key", Value: 1}}, d{{Key: "a", Value: 1}}, "key 1 ranges, to sort"},
		{"natural", d{{Key: "key", Value: 1}}, d{{Key: "$natural", Value: -1}}, "_id_ all reversed"},
	} {
		t.Run(test.about, func(t *testing.T) {
			f, err := query.Compile(bsontest.RawDocument(test.query))
			if err != nil {
				t.Fatal(err)
			}
			order, err := query.CompileSort(bsontest.RawDocument(test.sort))
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(plan.Choose(f, order, indexes, -1)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHint(t *testing.T) {
	f, err := query.Compile(bsontest.RawDocument(d{{Key: "key", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(plan.Choose(f, query.Sort{}, indexes, 3)); got != "u all" {
		t.Errorf("got %q", got)
	}
}
