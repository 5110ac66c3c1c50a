package query

import (
	"math"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// An Op is the comparison of a Predicate.
type Op int

// The comparisons. Prefix is for a string's beginning.
const (
	Eq Op = iota
	In
	Gt
	Gte
	Lt
	Lte
	Prefix
)

// A Predicate is a condition on the values of one path. Values is for In.
type Predicate struct {
	Path   string
	Op     Op
	Value  bsoncore.Value
	Values []bsoncore.Value
}

// equal tests for one value; null also matches a missing one.
type equal struct {
	v    bsoncore.Value
	null bool
}

func newEqual(v bsoncore.Value) equal {
	return equal{v, v.Type == bson.TypeNull || v.Type == bson.TypeUndefined}
}

func (t *equal) holds(v bsoncore.Value, exists bool) bool {
	if t.null {
		return isNull(v, exists)
	}
	return exists && keys.Compare(v, t.v) == 0
}

func isNull(v bsoncore.Value, exists bool) bool {
	return !exists || v.Type == bson.TypeNull || v.Type == bson.TypeUndefined
}

// compared tests for values greater or smaller than a given one; it holds only for values of the same class.
type compared struct {
	op Op
	v  bsoncore.Value
}

func (t compared) holds(v bsoncore.Value, exists bool) bool {
	if t.v.Type == bson.TypeNull || t.v.Type == bson.TypeUndefined {
		return (t.op == Gte || t.op == Lte) && isNull(v, exists)
	}
	if !exists {
		return false
	}
	if a, b := keys.ClassOf(v.Type), keys.ClassOf(t.v.Type); a != b {
		// MinKey and MaxKey compare with everything.
		return b == keys.MinKey && (t.op == Gt || t.op == Gte) || b == keys.MaxKey && (t.op == Lt || t.op == Lte)
	}
	if isNaN(v) != isNaN(t.v) {
		return false
	}
	c := keys.Compare(v, t.v)
	switch t.op {
	case Gt:
		return c > 0
	case Gte:
		return c >= 0
	case Lt:
		return c < 0
	}
	return c <= 0
}

func isNaN(v bsoncore.Value) bool {
	switch v.Type {
	case bson.TypeDouble:
		return math.IsNaN(v.Double())
	case bson.TypeDecimal128:
		return v.Decimal128().IsNaN()
	}
	return false
}

// in tests for any of several values and patterns.
type in struct {
	values   []equal
	encoded  map[string]bool // replaces values if there are many
	null     bool
	patterns []*pattern
}

// manyValues is the number of values above which a set is used.
const manyValues = 8

func newIn(v bsoncore.Value) (*in, []bsoncore.Value, error) {
	if v.Type != bson.TypeArray {
		return nil, nil, mongoerr.New(mongoerr.BadValue, "$in needs an array")
	}
	t := &in{}
	var values []bsoncore.Value
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if e.Value.Type == bson.TypeRegex {
			p, err := newPattern(e.Value, bsoncore.Value{})
			if err != nil {
				return nil, nil, err
			}
			t.patterns = append(t.patterns, p)
			continue
		}
		if e.Value.Type == bson.TypeEmbeddedDocument && isOperators(e.Value.Data) {
			return nil, nil, mongoerr.New(mongoerr.BadValue, "cannot nest $ under $in")
		}
		values = append(values, e.Value)
		one := newEqual(e.Value)
		t.null = t.null || one.null
		t.values = append(t.values, one)
	}
	if len(t.values) >= manyValues {
		t.encoded = make(map[string]bool, len(t.values))
		for _, one := range t.values {
			t.encoded[string(keys.Append(nil, one.v))] = true
		}
		t.values = nil
	}
	return t, values, nil
}

func (t *in) holds(v bsoncore.Value, exists bool) bool {
	if t.null && isNull(v, exists) {
		return true
	}
	if !exists {
		return false
	}
	if t.encoded != nil {
		var buf [64]byte
		if t.encoded[string(keys.Append(buf[:0], v))] {
			return true
		}
	}
	for i := range t.values {
		if t.values[i].holds(v, exists) {
			return true
		}
	}
	for _, p := range t.patterns {
		if p.holds(v, exists) {
			return true
		}
	}
	return false
}

type exists struct{}

func (exists) holds(_ bsoncore.Value, exists bool) bool { return exists }

type size int64

func (t size) holds(v bsoncore.Value, exists bool) bool {
	return exists && v.Type == bson.TypeArray && int64(raw.Len(v.Data)) == int64(t)
}

// newTest creates the tests that depend only on their operand.
func newTest(op string, v bsoncore.Value) (t test, whole bool, err error) {
	switch op {
	case "$size":
		n, ok := raw.Int(v)
		if !ok || n < 0 {
			return nil, false, mongoerr.New(mongoerr.BadValue, "$size needs a non-negative integer")
		}
		return size(n), true, nil
	case "$type":
		t, err := newTypes(v)
		return t, false, err
	}
	return nil, false, mongoerr.New(mongoerr.BadValue, "unknown operator: %s", op)
}

// elemMatch tests for an array with an element that satisfies all conditions.
type elemMatch struct {
	doc   *Filter // for elements that are documents
	value all     // for any element, as the document {"": element}
	at    *int
	buf   []byte
}

func newElemMatch(v bsoncore.Value) (*elemMatch, error) {
	if v.Type != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "$elemMatch needs an Object")
	}
	t := &elemMatch{}
	if isOperators(v.Data) && !isLogical(v.Data) {
		f := &Filter{}
		err := f.operators(&t.value, "", v.Data, false)
		return t, err
	}
	f, err := Compile(v.Data)
	t.doc = f
	return t, err
}

func isLogical(doc []byte) bool {
	it := raw.Elements(doc)
	e, _ := it.Next()
	switch string(e.Key) {
	case "$and", "$or", "$nor":
		return true
	}
	return false
}

func (t *elemMatch) holds(v bsoncore.Value, exists bool) bool {
	if !exists || v.Type != bson.TypeArray {
		return false
	}
	it := raw.Elements(v.Data)
	for i := 0; ; i++ {
		e, ok := it.Next()
		if !ok {
			return false
		}
		if t.element(e.Value) {
			if t.at != nil {
				*t.at = i
			}
			return true
		}
	}
}

// element reports whether a single value, from an array or not, passes.
func (t *elemMatch) element(v bsoncore.Value) bool {
	if t.doc != nil {
		return (v.Type == bson.TypeEmbeddedDocument || v.Type == bson.TypeArray) && t.doc.Match(v.Data)
	}
	start, buf := bsoncore.ReserveLength(t.buf[:0])
	buf = raw.AppendElem(buf, nil, v)
	buf, _ = bsoncore.AppendDocumentEnd(buf, start)
	t.buf = buf
	return t.value.match(buf)
}

// An Element is a condition on single values, such as that of $pull.
type Element struct {
	t elemMatch
	// one is the test for a value or a pattern, if the condition isn't a document.
	one test
}

// CompileElement compiles the condition of a $pull: operators, a query for elements that are documents, a
// regular expression, or a value.
func CompileElement(v bsoncore.Value) (*Element, error) {
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		t, err := newElemMatch(v)
		if err != nil {
			return nil, err
		}
		return &Element{t: *t}, nil
	case bson.TypeRegex:
		p, err := newPattern(v, bsoncore.Value{})
		return &Element{one: p}, err
	}
	one := newEqual(v)
	return &Element{one: &one}, nil
}

// Match reports whether v passes.
func (e *Element) Match(v bsoncore.Value) bool {
	if e.one != nil {
		return e.one.holds(v, true)
	}
	return e.t.element(v)
}
