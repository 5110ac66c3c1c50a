package query

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// field adds the condition {path: v} to n. If top is set, n must hold for the whole query to match, so an index can answer
// the condition: it becomes a predicate.
func (f *Filter) field(n *all, path string, v bsoncore.Value, top bool) error {
	if v.Type == bson.TypeRegex {
		return f.regex(n, path, v, bsoncore.Value{}, top)
	}
	if v.Type == bson.TypeEmbeddedDocument && isOperators(v.Data) {
		return f.operators(n, path, v.Data, top)
	}
	f.equals(n, path, v)
	if top {
		f.predicates = append(f.predicates, Predicate{Path: path, Op: Eq, Value: v})
	}
	return nil
}

// isOperators distinguishes {$gt: 1} from a document to compare with; a DBRef is the latter.
func isOperators(doc []byte) bool {
	it := raw.Elements(doc)
	e, ok := it.Next()
	if !ok || len(e.Key) == 0 || e.Key[0] != '$' {
		return false
	}
	switch string(e.Key) {
	case "$ref", "$id", "$db":
		return false
	}
	return true
}

func (f *Filter) add(n *all, path string, t test, whole bool) {
	l := &leaf{test: t, at: &f.position, whole: whole}
	l.setPath(path)
	*n = append(*n, l)
}

func (f *Filter) equals(n *all, path string, v bsoncore.Value) {
	l := &leaf{at: &f.position, equal: newEqual(v)}
	l.test = &l.equal
	l.setPath(path)
	*n = append(*n, l)
}

func (n *leaf) setPath(path string) {
	if strings.IndexByte(path, '.') >= 0 {
		n.path = splitPath(path)
		return
	}
	n.step[0] = path
	n.path = n.step[:]
}

// operators adds the conditions of a document such as {$gt: 1, $lt: 3}. For an array, different elements may satisfy them:
// only $elemMatch asks for one element that satisfies all.
func (f *Filter) operators(n *all, path string, ops []byte, top bool) error {
	it := raw.Elements(ops)
	for {
		e, ok := it.Next()
		if !ok {
			return nil
		}
		if err := f.operator(n, path, string(e.Key), e.Value, ops, top); err != nil {
			return err
		}
	}
}

func (f *Filter) operator(n *all, path, op string, v bsoncore.Value, ops []byte, top bool) error {
	switch op {
	case "$eq":
		f.equals(n, path, v)
		if top && v.Type != bson.TypeRegex { // $eq compares with a regular expression as a value
			f.predicates = append(f.predicates, Predicate{Path: path, Op: Eq, Value: v})
		}
		return nil
	case "$gt", "$gte", "$lt", "$lte":
		return f.comparison(n, path, op, v, top)
	case "$in":
		return f.in(n, path, v, top)
	case "$ne", "$nin":
		// A negation also matches documents without the field, and an array only if none of its elements is the value. An
		// index can't answer it.
		var part all
		if op == "$nin" {
			if err := f.in(&part, path, v, false); err != nil {
				return err
			}
		} else {
			if v.Type == bson.TypeRegex {
				return mongoerr.New(mongoerr.BadValue, "Can't have regex as arg to $ne.")
			}
			f.equals(&part, path, v)
		}
		*n = append(*n, noneOf{part})
		return nil
	case "$not":
		return f.not(n, path, v)
	case "$exists":
		want := raw.Truthy(v)
		var part all
		f.add(&part, path, exists{}, true) // whole: an empty array exists too
		if want {
			*n = append(*n, part)
		} else {
			*n = append(*n, noneOf{part})
		}
		return nil
	case "$regex": // its $options are a field beside it, before or after
		options, _ := raw.Get(ops, "$options")
		return f.regex(n, path, v, options, top)
	case "$options":
		if _, ok := raw.Get(ops, "$regex"); !ok {
			return mongoerr.New(mongoerr.BadValue, "$options needs a $regex")
		}
		return nil
	case "$elemMatch":
		return f.elemMatch(n, path, v)
	case "$all":
		return f.all(n, path, v, top)
	}
	t, whole, err := newTest(op, v)
	if err != nil {
		return err
	}
	f.add(n, path, t, whole)
	return nil
}

func (f *Filter) comparison(n *all, path, op string, v bsoncore.Value, top bool) error {
	if v.Type == bson.TypeRegex {
		return mongoerr.New(mongoerr.BadValue, "Can't have RegEx as arg to predicate over field '%s'.", path)
	}
	o := map[string]Op{"$gt": Gt, "$gte": Gte, "$lt": Lt, "$lte": Lte}[op]
	f.add(n, path, compared{o, v}, false)
	if top {
		f.predicates = append(f.predicates, Predicate{Path: path, Op: o, Value: v})
	}
	return nil
}

func (f *Filter) in(n *all, path string, v bsoncore.Value, top bool) error {
	t, values, err := newIn(v)
	if err != nil {
		return err
	}
	f.add(n, path, t, false)
	if top && len(t.patterns) == 0 { // an index can't look up a regular expression in the list
		f.predicates = append(f.predicates, Predicate{Path: path, Op: In, Values: values})
	}
	return nil
}

func (f *Filter) not(n *all, path string, v bsoncore.Value) error {
	var part all
	switch {
	case v.Type == bson.TypeRegex:
		if err := f.regex(&part, path, v, bsoncore.Value{}, false); err != nil {
			return err
		}
	case v.Type == bson.TypeEmbeddedDocument && isOperators(v.Data):
		if err := f.operators(&part, path, v.Data, false); err != nil {
			return err
		}
	default:
		return mongoerr.New(mongoerr.BadValue, "$not needs a regex or a document")
	}
	*n = append(*n, noneOf{part})
	return nil
}

func (f *Filter) regex(n *all, path string, v, options bsoncore.Value, top bool) error {
	t, err := newPattern(v, options)
	if err != nil {
		return err
	}
	f.add(n, path, t, false)
	if top && t.prefix != "" { // a pattern that begins with ^ and literal text
		f.predicates = append(f.predicates, Predicate{Path: path, Op: Prefix, Value: stringValue(t.prefix)})
	}
	return nil
}

func stringValue(s string) bsoncore.Value {
	return bsoncore.Value{Type: bson.TypeString, Data: bsoncore.AppendString(nil, s)}
}

// elemMatch adds the condition that an array has an element that matches a query.
func (f *Filter) elemMatch(n *all, path string, v bsoncore.Value) error {
	t, err := newElemMatch(v)
	if err != nil {
		return err
	}
	t.at = &f.position
	f.add(n, path, t, true)
	return nil
}

// all adds the condition that each of the given values is present.
func (f *Filter) all(n *all, path string, v bsoncore.Value, top bool) error {
	if v.Type != bson.TypeArray {
		return mongoerr.New(mongoerr.BadValue, "$all needs an array")
	}
	if raw.IsEmpty(v.Data) {
		*n = append(*n, anyOf{}) // matches nothing
		return nil
	}
	it := raw.Elements(v.Data)
	for {
		e, ok := it.Next()
		if !ok {
			return nil
		}
		var err error
		if sub, ok := elemMatchOf(e.Value); ok {
			err = f.elemMatch(n, path, sub)
		} else if e.Value.Type == bson.TypeEmbeddedDocument && isOperators(e.Value.Data) {
			err = mongoerr.New(mongoerr.BadValue, "no $ expressions in $all")
		} else {
			err = f.field(n, path, e.Value, top) // another element may have each value, so each is a condition of its own
		}
		if err != nil {
			return err
		}
	}
}

func elemMatchOf(v bsoncore.Value) (bsoncore.Value, bool) {
	if v.Type != bson.TypeEmbeddedDocument {
		return v, false
	}
	return raw.Get(v.Data, "$elemMatch")
}
