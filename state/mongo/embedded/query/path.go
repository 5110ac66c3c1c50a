package query

import (
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// A visitor is shown the values that a path leads to. It returns true to
// end the walk.
type visitor interface {
	visit(v bsoncore.Value, exists bool) bool
}

// splitPath takes a dotted path apart.
func splitPath(path string) []string {
	if strings.IndexByte(path, '.') < 0 {
		return []string{path}
	}
	return strings.Split(path, ".")
}

// walk shows to every value that path leads to in doc. An array on the way
// is entered through each of its documents, and at a position when the path
// names one; where a document lacks the field, to is shown that. An array at
// the end of the path is shown as it is. at, when not nil, is set to the
// position taken in the outermost array if the walk was ended.
func walk(doc []byte, path []string, to visitor, at *int) bool {
	v, ok := raw.Get(doc, path[0])
	if !ok {
		return to.visit(bsoncore.Value{}, false)
	}
	return walkValue(v, path[1:], to, at)
}

func walkValue(v bsoncore.Value, path []string, to visitor, at *int) bool {
	if len(path) == 0 {
		return to.visit(v, true)
	}
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		return walk(v.Data, path, to, at)
	case bson.TypeArray:
		return walkArray(v.Data, path, to, at)
	}
	return to.visit(bsoncore.Value{}, false)
}

func walkArray(array []byte, path []string, to visitor, at *int) bool {
	position, numbered := position(path[0])
	it := raw.Elements(array)
	for i := 0; ; i++ {
		e, ok := it.Next()
		if !ok {
			return false
		}
		if numbered && i == position && walkValue(e.Value, path[1:], to, at) ||
			e.Value.Type == bson.TypeEmbeddedDocument && walk(e.Value.Data, path, to, at) {
			if at != nil {
				*at = i
			}
			return true
		}
	}
}

// position reads a path's step as a place in an array.
func position(step string) (int, bool) {
	if step == "" || step[0] < '0' || step[0] > '9' || len(step) > 9 || step[0] == '0' && len(step) > 1 {
		return 0, false
	}
	n, err := strconv.Atoi(step)
	return n, err == nil
}

// Values collects what path leads to in doc, the way an index sees it: the
// elements of an array each by itself, and an empty array as undefined. A
// missing field gives nothing. Multi says whether an array was met.
func Values(dst []bsoncore.Value, doc []byte, path string) (values []bsoncore.Value, multi bool) {
	if strings.IndexByte(path, '.') < 0 {
		v, ok := raw.Get(doc, path)
		if !ok {
			return dst, false
		}
		if v.Type != bson.TypeArray {
			return append(dst, v), false
		}
	}
	c := collector{values: dst}
	c.doc(doc, splitPath(path))
	return c.values, c.multi
}

type collector struct {
	values []bsoncore.Value
	multi  bool
}

func (c *collector) doc(doc []byte, path []string) {
	v, ok := raw.Get(doc, path[0])
	if !ok {
		// A document without the field, in an array beside one that has it,
		// is found by a query for null.
		if c.multi {
			c.values = append(c.values, bsoncore.Value{Type: bson.TypeNull})
		}
		return
	}
	c.value(v, path[1:])
}

func (c *collector) value(v bsoncore.Value, path []string) {
	switch {
	case v.Type == bson.TypeArray:
		c.array(v.Data, path)
	case len(path) == 0:
		c.values = append(c.values, v)
	case v.Type == bson.TypeEmbeddedDocument:
		c.doc(v.Data, path)
	case c.multi:
		c.values = append(c.values, bsoncore.Value{Type: bson.TypeNull})
	}
}

func (c *collector) array(array []byte, path []string) {
	c.multi = true
	if len(path) == 0 && raw.IsEmpty(array) {
		c.values = append(c.values, bsoncore.Value{Type: bson.TypeUndefined})
		return
	}
	at, numbered := 0, false
	if len(path) > 0 {
		at, numbered = position(path[0])
	}
	it := raw.Elements(array)
	for i := 0; ; i++ {
		e, ok := it.Next()
		if !ok {
			return
		}
		switch {
		case len(path) == 0:
			c.values = append(c.values, e.Value)
		case numbered && i == at:
			c.value(e.Value, path[1:])
			if e.Value.Type == bson.TypeEmbeddedDocument {
				c.doc(e.Value.Data, path)
			}
		case e.Value.Type == bson.TypeEmbeddedDocument:
			c.doc(e.Value.Data, path)
		}
	}
}

// Distinct collects the values that path leads to in doc, the elements of an
// array each by itself.
func Distinct(dst []bsoncore.Value, doc []byte, path string) []bsoncore.Value {
	d := distinct{values: dst}
	walk(doc, splitPath(path), &d, nil)
	return d.values
}

type distinct struct{ values []bsoncore.Value }

func (d *distinct) visit(v bsoncore.Value, exists bool) bool {
	if exists && v.Type == bson.TypeArray {
		it := raw.Elements(v.Data)
		for e, ok := it.Next(); ok; e, ok = it.Next() {
			d.values = append(d.values, e.Value)
		}
	} else if exists {
		d.values = append(d.values, v)
	}
	return false
}
