package raw

import (
	"bytes"
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
)

// An Elem is one field of a document; its slices alias the document.
type Elem struct {
	Key   []byte
	Value bsoncore.Value
}

// An Iter iterates over the fields of a document or an array in order.
type Iter struct{ rest []byte }

// Elements returns an Iter for doc, which may also be an array's bytes.
func Elements(doc []byte) Iter {
	if len(doc) < 5 {
		return Iter{}
	}
	return Iter{doc[4:]}
}

// Next returns the next field, or false at the end.
func (it *Iter) Next() (Elem, bool) {
	if len(it.rest) < 2 || it.rest[0] == 0 {
		return Elem{}, false
	}
	t := bsontype.Type(it.rest[0])
	end := bytes.IndexByte(it.rest[1:], 0)
	if end < 0 {
		it.rest = nil
		return Elem{}, false
	}
	key, data := it.rest[1:1+end], it.rest[end+2:]
	n := size(t, data)
	if n < 0 {
		it.rest = nil
		return Elem{}, false
	}
	it.rest = data[n:]
	return Elem{key, bsoncore.Value{Type: t, Data: data[:n:n]}}, true
}

// size returns the length of the value of type t that data begins with, or -1.
func size(t bsontype.Type, data []byte) int {
	n := -1
	switch t {
	case bson.TypeNull, bson.TypeUndefined, bson.TypeMinKey, bson.TypeMaxKey:
		n = 0
	case bson.TypeBoolean:
		n = 1
	case bson.TypeInt32:
		n = 4
	case bson.TypeDouble, bson.TypeInt64, bson.TypeDateTime, bson.TypeTimestamp:
		n = 8
	case bson.TypeObjectID:
		n = 12
	case bson.TypeDecimal128:
		n = 16
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		n = prefixed(data, 4)
	case bson.TypeEmbeddedDocument, bson.TypeArray, bson.TypeCodeWithScope:
		n = prefixed(data, 0)
	case bson.TypeBinary:
		n = prefixed(data, 5)
	case bson.TypeDBPointer:
		n = prefixed(data, 16)
	case bson.TypeRegex:
		i := bytes.IndexByte(data, 0)
		if i < 0 {
			return -1
		}
		j := bytes.IndexByte(data[i+1:], 0)
		if j < 0 {
			return -1
		}
		n = i + j + 2
	}
	if n > len(data) {
		return -1
	}
	return n
}

func prefixed(data []byte, more int) int {
	if len(data) < 4 {
		return -1
	}
	n := int(int32(binary.LittleEndian.Uint32(data)))
	if n < 0 || n > len(data) {
		return -1
	}
	return n + more
}

// Get returns the field of doc with this name; it doesn't split names with dots.
func Get(doc []byte, key string) (bsoncore.Value, bool) {
	it := Elements(doc)
	for {
		e, ok := it.Next()
		if !ok {
			return bsoncore.Value{}, false
		}
		if string(e.Key) == key {
			return e.Value, true
		}
	}
}

// IsEmpty reports whether a document or array has no fields.
func IsEmpty(doc []byte) bool { return len(doc) <= 5 }

// Len counts the fields of a document or the elements of an array.
func Len(doc []byte) int {
	n := 0
	it := Elements(doc)
	for {
		if _, ok := it.Next(); !ok {
			return n
		}
		n++
	}
}

// Text returns the bytes of a string, symbol or piece of code.
func Text(v bsoncore.Value) []byte { return v.Data[4 : len(v.Data)-1] }

// Number returns a number as a float64, or false for anything else.
func Number(v bsoncore.Value) (float64, bool) {
	switch v.Type {
	case bson.TypeInt32:
		return float64(v.Int32()), true
	case bson.TypeInt64:
		return float64(v.Int64()), true
	case bson.TypeDouble:
		return v.Double(), true
	}
	return 0, false
}

// Int returns a number as an int64, or false if it is not a number, not whole, or too large.
func Int(v bsoncore.Value) (int64, bool) {
	switch v.Type {
	case bson.TypeInt32:
		return int64(v.Int32()), true
	case bson.TypeInt64:
		return v.Int64(), true
	case bson.TypeDouble:
		f := v.Double()
		if f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 {
			return int64(f), true
		}
	case bson.TypeDecimal128:
		n, exp, err := v.Decimal128().BigInt()
		if err == nil && exp == 0 && n.IsInt64() {
			return n.Int64(), true
		}
	}
	return 0, false
}

// Truthy converts a value to a boolean as MongoDB does for options: false, null and zero are false, everything else is
// true.
func Truthy(v bsoncore.Value) bool {
	switch v.Type {
	case bson.TypeBoolean:
		return v.Boolean()
	case bson.TypeNull, bson.TypeUndefined, 0:
		return false
	}
	if f, ok := Number(v); ok {
		return f != 0
	}
	return true
}

// AppendElem appends a field to a document under construction.
func AppendElem(dst, key []byte, v bsoncore.Value) []byte {
	dst = append(dst, byte(v.Type))
	dst = append(dst, key...)
	dst = append(dst, 0)
	return append(dst, v.Data...)
}

// Int32 returns a number as a value.
func Int32(n int32) bsoncore.Value {
	return bsoncore.Value{Type: bson.TypeInt32, Data: bsoncore.AppendInt32(nil, n)}
}
