package pipeline

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/arith"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// An unwind is a compiled $unwind stage: it returns a document for each element of an array.
type unwind struct {
	path  []string
	index []string // where the element's number goes, or nil
	keep  bool     // documents without an element, too
}

func compileUnwind(v bsoncore.Value) (stage, error) {
	u := &unwind{}
	path := v
	if v.Type == bson.TypeEmbeddedDocument {
		path = bsoncore.Value{}
		it := raw.Elements(v.Data)
		for e, ok := it.Next(); ok; e, ok = it.Next() {
			switch string(e.Key) {
			case "path":
				path = e.Value
			case "preserveNullAndEmptyArrays":
				if e.Value.Type != bson.TypeBoolean {
					return nil, mongoerr.New(28809, "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage")
				}
				u.keep = e.Value.Boolean()
			case "includeArrayIndex":
				text, ok := e.Value.StringValueOK()
				if !ok || text == "" {
					return nil, mongoerr.New(28810, "expected a non-empty string for the includeArrayIndex option to $unwind stage")
				}
				if text[0] == '$' {
					return nil, mongoerr.New(28822, "includeArrayIndex option to $unwind stage should not be prefixed with a '$': %s",
						text)
				}
				var err error
				if u.index, err = splitPath(text); err != nil {
					return nil, err
				}
			default:
				return nil, mongoerr.New(28811, "unrecognized option to $unwind stage: %s", e.Key)
			}
		}
		if path.Type == 0 {
			return nil, mongoerr.New(28812, "no path specified to $unwind stage")
		}
	}
	text, ok := path.StringValueOK()
	if !ok {
		return nil, mongoerr.New(28808, "expected a string as the path for $unwind stage, got %s", path.Type)
	}
	name, dollar := strings.CutPrefix(text, "$")
	if !dollar {
		return nil, mongoerr.New(28818, "path option to $unwind stage should be prefixed with a '$': %s", text)
	}
	var err error
	if u.path, err = splitPath(name); err != nil {
		return nil, err
	}
	return u.run, nil
}

func (u *unwind) run(in Source, ctl Control) Source {
	var doc []byte // whose array is being read: a copy, because that may take several batches
	var array raw.Iter
	var out, scratch []byte
	at, calls := int64(0), 0
	// put replaces the array by v, and adds its number.
	put := func(v, index bsoncore.Value) ([]byte, error) {
		out = set(out[:0], doc, u.path, v)
		if u.index != nil {
			scratch = set(scratch[:0], out, u.index, index)
			out, scratch = scratch, out
		}
		return out, checkDocument(out)
	}
	return func() ([]byte, error) {
		for {
			if calls++; calls%checkEvery == 0 {
				if err := ctl.Check(); err != nil {
					return nil, err
				}
			}
			if e, ok := array.Next(); ok {
				at++
				return put(e.Value, arith.Long(at-1))
			}
			from, err := in()
			if err != nil || from == nil {
				return nil, err
			}
			doc = append(doc[:0], from...)
			v := valueAt(doc, u.path)
			array, at = raw.Iter{}, 0
			none := bsoncore.Value{Type: bson.TypeNull}
			switch {
			case v.Type == bson.TypeArray && !raw.IsEmpty(v.Data):
				array = raw.Elements(v.Data)
			case v.Type == bson.TypeArray && u.keep:
				return put(bsoncore.Value{}, none)
			case v.Type == bson.TypeArray, isNull(v) && !u.keep:
			default:
				return put(v, none)
			}
		}
	}
}

// valueAt returns the value of a path that leads through documents only, or a missing one.
func valueAt(doc []byte, path []string) bsoncore.Value {
	v, _ := raw.Get(doc, path[0])
	if len(path) == 1 || v.Type == 0 {
		return v
	}
	if v.Type != bson.TypeEmbeddedDocument {
		return bsoncore.Value{}
	}
	return valueAt(v.Data, path[1:])
}

// set appends doc with v at a path; a missing v removes the value there. Values along the path that are not documents are
// replaced by documents.
func set(dst, doc []byte, path []string, v bsoncore.Value) []byte {
	start, dst := bsoncore.ReserveLength(dst)
	found := false
	add := func(old []byte) {
		found = true
		switch {
		case len(path) > 1:
			dst = appendHead(dst, bson.TypeEmbeddedDocument, path[0])
			dst = set(dst, old, path[1:], v)
		case v.Type != 0:
			dst = raw.AppendElem(dst, []byte(path[0]), v)
		}
	}
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch {
		case string(e.Key) != path[0]:
			dst = raw.AppendElem(dst, e.Key, e.Value)
		case e.Value.Type == bson.TypeEmbeddedDocument:
			add(e.Value.Data)
		case len(path) > 1 && v.Type == 0:
			dst = raw.AppendElem(dst, e.Key, e.Value) // there is nothing to remove
		default:
			add(nil)
		}
	}
	if !found && v.Type != 0 {
		add(nil)
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}
