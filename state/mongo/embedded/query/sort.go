package query

import (
	"strconv"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// A Field is a path with a direction, in a sort order or an index.
type Field struct {
	Path string
	Desc bool
}

// A Sort is a sort order: by fields, or natural, 1 for storage order and -1 for its reverse.
type Sort struct {
	Fields  []Field
	Natural int
}

// CompileSort compiles a sort order; an empty one is the zero Sort.
func CompileSort(spec []byte) (Sort, error) {
	var s Sort
	it := raw.Elements(spec)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		path := string(e.Key)
		f, ok := raw.Number(e.Value)
		if !ok || f == 0 {
			return Sort{}, mongoerr.New(mongoerr.BadValue, "bad sort specification: the direction of %q is neither 1 nor -1", path)
		}
		if path == "$natural" {
			s.Natural = 1
			if f < 0 {
				s.Natural = -1
			}
			continue
		}
		if path == "" || path[0] == '$' {
			return Sort{}, mongoerr.New(mongoerr.BadValue, "bad sort specification: field %q", path)
		}
		s.Fields = append(s.Fields, Field{path, f < 0})
	}
	if s.Natural != 0 && len(s.Fields) > 0 {
		return Sort{}, mongoerr.New(mongoerr.BadValue, "cannot sort by $natural and by fields")
	}
	return s, nil
}

// AppendKey appends the sort key of doc: comparing these bytes compares the documents. An array sorts by its smallest
// element, or by its largest in descending order; a missing field sorts as null.
func (s Sort) AppendKey(dst, doc []byte) []byte {
	var buf [8]bsoncore.Value
	for _, field := range s.Fields {
		values, _ := Values(buf[:0], doc, field.Path)
		best := bsoncore.Value{Type: bson.TypeNull}
		for i, v := range values {
			if c := keys.Compare(v, best); i == 0 || field.Desc && c > 0 || !field.Desc && c < 0 {
				best = v
			}
		}
		start := len(dst)
		dst = keys.Append(dst, best)
		if field.Desc {
			keys.Invert(dst[start:])
		}
	}
	return dst
}

// arrayKey returns the name of an array's element.
func arrayKey(i int) []byte { return strconv.AppendInt(nil, int64(i), 10) }
