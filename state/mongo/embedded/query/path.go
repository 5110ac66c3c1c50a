package query

import (
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// A visitor is called with the values of a path. It returns true to end the walk.
type visitor interface {
	visit(v bsoncore.Value, exists bool) bool
}

// splitPath splits a dotted path.
func splitPath(path string) []string {
	if strings.IndexByte(path, '.') < 0 {
		return []string{path}
	}
	return strings.Split(path, ".")
}

// walk calls to with every value of path in doc. In an array along the path, it follows each document, and
// the element at a position if the path names one; for a document without the field, it calls to with a
// missing value. It passes an array at the end of the path as a whole. If to ends the walk, at, unless nil,
// is set to the position in the outermost array.
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

// position parses a path's step as a position in an array.
func position(step string) (int, bool) {
	if step == "" || step[0] < '0' || step[0] > '9' || len(step) > 9 || step[0] == '0' && len(step) > 1 {
		return 0, false
	}
	n, err := strconv.Atoi(step)
	return n, err == nil
}

// Values collects the values of path in doc as an index sees them: each element of an array separately, and an empty
// array as undefined. A missing field has none. multi is set if there was an array.
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
		// In an array, a document without the field matches a query for null, even next to one that has it.
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

// Distinct collects the values of path in doc, each element of an array separately.
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
