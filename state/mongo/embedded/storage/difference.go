package storage

import (
	"bytes"
	"strconv"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// difference returns the description of an update, {updatedFields: {path: value, …}, removedFields: [path, …]}.
func difference(old, now []byte) []byte {
	var d differ
	at, dst := bsoncore.AppendDocumentElementStart(bsoncore.AppendInt32(nil, 0), "updatedFields")
	d.updated = dst
	d.documents("", old, now)
	dst, _ = bsoncore.AppendDocumentEnd(d.updated, at)
	at, dst = bsoncore.AppendArrayElementStart(dst, "removedFields")
	for i, path := range d.removed {
		dst = bsoncore.AppendStringElement(dst, strconv.Itoa(i), path)
	}
	dst, _ = bsoncore.AppendArrayEnd(dst, at)
	dst, _ = bsoncore.AppendDocumentEnd(dst, 0)
	return bytes.Clone(dst)
}

// A differ collects the fields in which two documents differ, by their dotted paths.
type differ struct {
	updated []byte // elements
	removed []string
}

func (d *differ) documents(prefix string, old, now []byte) {
	was := fields{doc: old, rest: raw.Elements(old)}
	it := raw.Elements(now)
	same := 0 // fields that both have
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		v, had := was.get(e.Key)
		if had {
			same++
		}
		d.value(prefix, e.Key, v, had, e.Value)
	}
	if same == length(old) {
		return
	}
	is := fields{doc: now, rest: raw.Elements(now)}
	it = raw.Elements(old)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if _, has := is.get(e.Key); !has {
			d.removed = append(d.removed, prefix+string(e.Key))
		}
	}
}

// fields finds the fields of a document, fast if they are asked for in their order.
type fields struct {
	doc  []byte
	rest raw.Iter
}

func (f *fields) get(key []byte) (bsoncore.Value, bool) {
	ahead := f.rest
	if e, ok := ahead.Next(); ok && bytes.Equal(e.Key, key) {
		f.rest = ahead
		return e.Value, true
	}
	it := raw.Elements(f.doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if bytes.Equal(e.Key, key) {
			f.rest = it
			return e.Value, true
		}
	}
	return bsoncore.Value{}, false
}

func (d *differ) value(prefix string, key []byte, was bsoncore.Value, had bool, is bsoncore.Value) {
	switch {
	case had && was.Type == is.Type && bytes.Equal(was.Data, is.Data):
	case had && was.Type == is.Type && is.Type == bson.TypeEmbeddedDocument:
		d.documents(prefix+string(key)+".", was.Data, is.Data)
	case had && was.Type == is.Type && is.Type == bson.TypeArray && length(is.Data) >= length(was.Data):
		was := raw.Elements(was.Data)
		it := raw.Elements(is.Data)
		for e, ok := it.Next(); ok; e, ok = it.Next() {
			w, h := was.Next()
			d.value(prefix+string(key)+".", e.Key, w.Value, h, e.Value)
		}
	default:
		d.updated = bsoncore.AppendValueElement(d.updated, prefix+string(key), is)
	}
}

// length returns the number of fields or elements.
func length(doc []byte) (n int) {
	it := raw.Elements(doc)
	for _, ok := it.Next(); ok; _, ok = it.Next() {
		n++
	}
	return n
}
