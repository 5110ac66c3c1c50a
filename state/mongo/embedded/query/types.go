package query

import (
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// typeNames are the names in $type and in error messages.
var typeNames = map[bsontype.Type]string{
	bson.TypeDouble: "double", bson.TypeString: "string", bson.TypeEmbeddedDocument: "object",
	bson.TypeArray: "array", bson.TypeBinary: "binData", bson.TypeUndefined: "undefined",
	bson.TypeObjectID: "objectId", bson.TypeBoolean: "bool", bson.TypeDateTime: "date",
	bson.TypeNull: "null", bson.TypeRegex: "regex", bson.TypeDBPointer: "dbPointer",
	bson.TypeJavaScript: "javascript", bson.TypeSymbol: "symbol",
	bson.TypeCodeWithScope: "javascriptWithScope", bson.TypeInt32: "int",
	bson.TypeTimestamp: "timestamp", bson.TypeInt64: "long", bson.TypeDecimal128: "decimal",
	bson.TypeMinKey: "minKey", bson.TypeMaxKey: "maxKey",
}

// TypeName returns MongoDB's name of a type.
func TypeName(t bsontype.Type) string { return typeNames[t] }

// types tests for any of several types.
type types struct {
	any map[bsontype.Type]bool
}

func newTypes(v bsoncore.Value) (test, error) {
	t := types{any: map[bsontype.Type]bool{}}
	if v.Type != bson.TypeArray {
		return t, t.add(v)
	}
	if raw.IsEmpty(v.Data) {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$type must match at least one type")
	}
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if err := t.add(e.Value); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *types) add(v bsoncore.Value) error {
	if v.Type == bson.TypeString {
		name := string(raw.Text(v))
		if name == "number" {
			for _, n := range []bsontype.Type{bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128} {
				t.any[n] = true
			}
			return nil
		}
		for typ, known := range typeNames {
			if known == name {
				t.any[typ] = true
				return nil
			}
		}
		return mongoerr.New(mongoerr.BadValue, "Unknown type name alias: %s", name)
	}
	n, ok := raw.Int(v)
	if n == -1 {
		n = int64(bson.TypeMinKey)
	}
	if !ok || n < 0 || n > 255 || typeNames[bsontype.Type(n)] == "" {
		return mongoerr.New(mongoerr.BadValue, "Invalid numerical type code: %d", n)
	}
	t.any[bsontype.Type(n)] = true
	return nil
}

func (t types) holds(v bsoncore.Value, exists bool) bool { return exists && t.any[v.Type] }
