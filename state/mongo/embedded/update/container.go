package update

import (
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// A container is a document or array that has been decoded one level deep.
type container struct {
	elems []elem
	array bool
}

// An elem is a field in a container: its bytes, or a container once a field inside it was accessed.
type elem struct {
	key []byte
	v   bsoncore.Value
	sub *container
}

func (c *container) open(doc []byte, array bool) {
	c.elems, c.array = c.elems[:0], array
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		c.elems = append(c.elems, elem{key: e.Key, v: e.Value})
	}
}

func (c *container) find(step string) *elem {
	if c.array {
		if i, ok := index(step); ok && i < len(c.elems) {
			return &c.elems[i]
		}
		return nil
	}
	for i := range c.elems {
		if string(c.elems[i].key) == step {
			return &c.elems[i]
		}
	}
	return nil
}

// index parses a path's step as a position in an array.
func index(step string) (int, bool) {
	if step == "" || len(step) > 9 || len(step) > 1 && step[0] == '0' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(step) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// maxPadding limits the nulls that a $set far beyond an array's end adds.
const maxPadding = 1_500_000

// put returns the field named step, or adds it as null.
func (c *container) put(step string) (*elem, error) {
	if e := c.find(step); e != nil {
		return e, nil
	}
	if c.array {
		i, ok := index(step)
		if !ok {
			return nil, mongoerr.New(mongoerr.PathNotViable, "Cannot create field '%s' in an array", step)
		}
		if i-len(c.elems) > maxPadding {
			return nil, mongoerr.New(mongoerr.BadValue, "can't backfill more than %d elements", maxPadding)
		}
		for len(c.elems) < i {
			c.elems = append(c.elems, elem{v: bsoncore.Value{Type: bson.TypeNull}})
		}
	}
	c.elems = append(c.elems, elem{key: []byte(step), v: bsoncore.Value{Type: bson.TypeNull}})
	return &c.elems[len(c.elems)-1], nil
}

func (c *container) remove(e *elem) {
	for i := range c.elems {
		if &c.elems[i] != e {
			continue
		}
		if c.array {
			// The other elements keep their positions.
			c.elems[i] = elem{v: bsoncore.Value{Type: bson.TypeNull}}
		} else {
			c.elems = append(c.elems[:i], c.elems[i+1:]...)
		}
		return
	}
}

// within decodes a field that contains a document or array; it returns nil for other values.
func (e *elem) within() *container {
	if e.sub == nil && (e.v.Type == bson.TypeEmbeddedDocument || e.v.Type == bson.TypeArray) {
		e.sub = &container{}
		e.sub.open(e.v.Data, e.v.Type == bson.TypeArray)
	}
	return e.sub
}

// value returns the field's current value as bytes.
func (e *elem) value() bsoncore.Value {
	if e.sub == nil {
		return e.v
	}
	t := bson.TypeEmbeddedDocument
	if e.sub.array {
		t = bson.TypeArray
	}
	e.v, e.sub = bsoncore.Value{Type: t, Data: e.sub.append(nil)}, nil
	return e.v
}

func (e *elem) set(v bsoncore.Value) { e.v, e.sub = v, nil }

// append appends the container as BSON.
func (c *container) append(dst []byte) []byte {
	start, dst := bsoncore.ReserveLength(dst)
	for i := range c.elems {
		e := &c.elems[i]
		t := e.v.Type
		if e.sub != nil {
			t = bson.TypeEmbeddedDocument
			if e.sub.array {
				t = bson.TypeArray
			}
		}
		dst = append(dst, byte(t))
		if c.array {
			dst = strconv.AppendInt(dst, int64(i), 10)
		} else {
			dst = append(dst, e.key...)
		}
		dst = append(dst, 0)
		if e.sub != nil {
			dst = e.sub.append(dst)
		} else {
			dst = append(dst, e.v.Data...)
		}
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}

// lookup returns the field at path and its container; nil if it is missing.
func (c *container) lookup(path []string) (*container, *elem) {
	for {
		e := c.find(path[0])
		if e == nil || len(path) == 1 {
			return c, e
		}
		if c = e.within(); c == nil {
			return nil, nil
		}
		path = path[1:]
	}
}

// reach returns the field at path, adding missing fields along the way. made is set if it added the field itself, whose
// value is then null.
func (c *container) reach(path []string) (e *elem, made bool, err error) {
	for i, step := range path {
		made = made || c.find(step) == nil
		if e, err = c.put(step); err != nil {
			return nil, false, err
		}
		if i == len(path)-1 {
			break
		}
		if made {
			e.sub = &container{}
		}
		next := e.within()
		if next == nil {
			return nil, false, mongoerr.New(mongoerr.PathNotViable, "Cannot create field '%s' in element {%s: %s}",
				path[i+1], strings.Join(path[:i+1], "."), e.v)
		}
		c = next
	}
	return e, made, nil
}
