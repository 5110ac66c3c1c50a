package plan

import (
	"bytes"
	"slices"

	"juju/state/mongo/embedded/query"
)

// An Index describes an index to the planner. Its keys are the encodings of its fields' values, inverted for descending
// fields.
type Index struct {
	Name   string
	Fields []query.Field
	// A unique index's keys consist only of the fields' values, so that a key can be looked up; other keys
	// continue with the document's key.
	Unique bool
	// A sparse index omits documents that have none of the fields.
	Sparse bool
	// Multi is set for a multikey index: some document has several keys, for an array's elements.
	Multi bool
}

// A Range is the keys from Start up to and excluding End, or, if Point is set, only the key
// Start. A nil End is the end of the index.
type Range struct {
	Start, End []byte
	Point      bool
}

// A Scan is a list of ranges of one index, ascending and disjoint. Without ranges, it is empty.
type Scan struct {
	Index  int
	Ranges []Range
}

// A Plan is a sequence of scans.
type Plan struct {
	Scans []Scan
	// Reverse reads the scan from its end.
	Reverse bool
	// Sorted is set if the scan returns the requested order.
	Sorted bool
	// Repeats is set if a document may occur more than once.
	Repeats bool
}

// Choose makes a plan for a query. indexes[0] contains every document once; it is the default. hint, unless
// negative, is the index to use.
func Choose(f *query.Filter, order query.Sort, indexes []Index, hint int) Plan {
	if order.Natural != 0 {
		return Plan{Scans: []Scan{{Ranges: []Range{{}}}}, Reverse: order.Natural < 0, Sorted: true}
	}
	best := choose(f.Predicates(), order, indexes, hint)
	if best.rank == 0 && hint < 0 {
		if p, ok := union(f, indexes); ok {
			p.Sorted = len(order.Fields) == 0
			return p
		}
	}
	return best.plan(order, indexes)
}

// union plans each branch of an $or separately.
func union(f *query.Filter, indexes []Index) (Plan, bool) {
	var p Plan
	for _, branch := range f.Branches() {
		predicates := append(slices.Clip(f.Predicates()), branch...)
		c := choose(predicates, query.Sort{}, indexes, -1)
		if c.rank == 0 {
			return Plan{}, false
		}
		p.Scans = append(p.Scans, c.scan)
	}
	p.Repeats = true
	return p, len(p.Scans) > 0
}

// A candidate is a scan with its rank: how well its ranges fit the query.
type candidate struct {
	scan    Scan
	rank    int
	sorted  bool
	reverse bool
}

func (c candidate) plan(order query.Sort, indexes []Index) Plan {
	return Plan{
		Scans:   []Scan{c.scan},
		Sorted:  c.sorted || len(order.Fields) == 0,
		Reverse: c.reverse,
		Repeats: indexes[c.scan.Index].Multi,
	}
}

func choose(predicates []query.Predicate, order query.Sort, indexes []Index, hint int) candidate {
	var best candidate
	for i := range indexes {
		if hint >= 0 && i != hint {
			continue
		}
		c := consider(predicates, order, &indexes[i])
		c.scan.Index = i
		better := c.rank > best.rank || c.rank == best.rank && c.sorted && !best.sorted
		if i == 0 || better || hint >= 0 {
			best = c
		}
	}
	return best
}

// maxRanges limits the number of ranges that a product of several $in produces.
const maxRanges = 100_000

// consider plans with one index. The rank is two for each field with a set of values, one for a range after those, and
// a large bonus for a complete key of a unique index.
func consider(predicates []query.Predicate, order query.Sort, index *Index) candidate {
	prefixes := [][]byte{nil}
	single := 0 // fields that have a single value
	var c candidate
	fields := index.Fields
	if index.Multi && len(fields) > 1 {
		// One array element may satisfy the predicate on this field, and another one that on the next.
		fields = fields[:1]
	}
	bounded := false
	for i, field := range fields {
		b := boundsOf(predicates, field.Path, index)
		if b.points != nil && len(prefixes)*len(b.points) <= maxRanges {
			prefixes = extend(prefixes, b.points, field.Desc)
			c.rank += 2
			if len(b.points) == 1 && single == i {
				single++
			}
			continue
		}
		if len(b.intervals) > 0 && b.points == nil {
			c.rank++
			bounded = true
			for _, prefix := range prefixes {
				c.scan.Ranges = append(c.scan.Ranges, ranges(prefix, b.intervals, field.Desc)...)
			}
		}
		break
	}
	whole := len(index.Fields) > 0 && c.rank == 2*len(index.Fields)
	if whole && index.Unique {
		c.rank += 100
	}
	if !bounded {
		for _, prefix := range prefixes {
			r := Range{Start: prefix, Point: whole && index.Unique}
			if !r.Point && prefix != nil {
				r.End = after(prefix)
			}
			c.scan.Ranges = append(c.scan.Ranges, r)
		}
	}
	slices.SortFunc(c.scan.Ranges, func(a, b Range) int { return bytes.Compare(a.Start, b.Start) })
	c.scan.Ranges = slices.CompactFunc(c.scan.Ranges, func(a, b Range) bool {
		return bytes.Equal(a.Start, b.Start) && bytes.Equal(a.End, b.End)
	})
	if !index.Multi && (c.rank > 0 || !index.Sparse) {
		c.sorted, c.reverse = sorts(index, order, single)
	}
	return c
}

// sorts reports whether the index returns the order, or its reverse. The first single fields of the index
// have only one value each.
func sorts(index *Index, order query.Sort, single int) (ok, reverse bool) {
	if len(order.Fields) == 0 {
		return false, false
	}
	constant := func(path string) bool {
		return slices.ContainsFunc(index.Fields[:single], func(f query.Field) bool { return f.Path == path })
	}
	at, started := 0, false
	for _, want := range order.Fields {
		if constant(want.Path) {
			continue
		}
		for at < len(index.Fields) && at < single {
			at++
		}
		if at == len(index.Fields) || index.Fields[at].Path != want.Path {
			return false, false
		}
		turned := index.Fields[at].Desc != want.Desc
		if started && turned != reverse {
			return false, false
		}
		started, reverse = true, turned
		at++
	}
	return true, reverse
}
