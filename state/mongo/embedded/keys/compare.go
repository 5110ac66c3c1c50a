package keys

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// Compare returns -1, 0 or 1 if a sorts before, with or after b.
func Compare(a, b bsoncore.Value) int {
	if c := cmp.Compare(classes[a.Type], classes[b.Type]); c != 0 {
		return c
	}
	return comparePayload(a, b)
}

// Equal reports whether a and b are the same key.
func Equal(a, b bsoncore.Value) bool { return Compare(a, b) == 0 }

func comparePayload(a, b bsoncore.Value) int {
	switch classes[a.Type] {
	case Number:
		return compareNumbers(a, b)
	case String, Code:
		return bytes.Compare(raw.Text(a), raw.Text(b))
	case Object:
		return compareFields(a.Data, b.Data, true)
	case Array:
		return compareFields(a.Data, b.Data, false)
	case Binary:
		x, y := binary.LittleEndian.Uint32(a.Data), binary.LittleEndian.Uint32(b.Data)
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
		return bytes.Compare(a.Data[4:], b.Data[4:])
	case ObjectID, Boolean, Regex:
		return bytes.Compare(a.Data, b.Data)
	case Date:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a.Data)), int64(binary.LittleEndian.Uint64(b.Data)))
	case Timestamp:
		return cmp.Compare(binary.LittleEndian.Uint64(a.Data), binary.LittleEndian.Uint64(b.Data))
	case DBPointer:
		i, j := len(a.Data)-12, len(b.Data)-12
		if c := bytes.Compare(a.Data[4:i-1], b.Data[4:j-1]); c != 0 {
			return c
		}
		return bytes.Compare(a.Data[i:], b.Data[j:])
	case CodeInScope:
		code, scope := splitScope(a.Data)
		code2, scope2 := splitScope(b.Data)
		if c := bytes.Compare(code, code2); c != 0 {
			return c
		}
		return compareFields(scope, scope2, true)
	}
	return 0 // MinKey, undefined, null, MaxKey
}

// compareFields compares the fields of objects, which are named, or the elements of arrays, whose names are numbers.
func compareFields(a, b []byte, named bool) int {
	x, y := raw.Elements(a), raw.Elements(b)
	for {
		e, more := x.Next()
		f, more2 := y.Next()
		switch {
		case !more && !more2:
			return 0
		case !more:
			return -1
		case !more2:
			return 1
		}
		if c := cmp.Compare(classes[e.Value.Type], classes[f.Value.Type]); c != 0 {
			return c
		}
		if c := bytes.Compare(e.Key, f.Key); named && c != 0 {
			return c
		}
		if c := comparePayload(e.Value, f.Value); c != 0 {
			return c
		}
	}
}

func compareNumbers(a, b bsoncore.Value) int {
	switch {
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		// This is rare; the encoding is exact.
		return bytes.Compare(appendPayload(nil, a), appendPayload(nil, b))
	case a.Type == bson.TypeDouble && b.Type == bson.TypeDouble:
		return cmp.Compare(a.Double(), b.Double())
	case a.Type == bson.TypeDouble:
		n, _ := raw.Int(b)
		return -compareIntFloat(n, a.Double())
	case b.Type == bson.TypeDouble:
		n, _ := raw.Int(a)
		return compareIntFloat(n, b.Double())
	}
	n, _ := raw.Int(a)
	m, _ := raw.Int(b)
	return cmp.Compare(n, m)
}

// compareIntFloat compares exactly; converting the whole number to a float would round it.
func compareIntFloat(n int64, f float64) int {
	switch {
	case f != f:
		return 1 // NaN sorts below all numbers
	case f >= 1<<63:
		return -1
	case f < -(1 << 63):
		return 1
	}
	whole := math.Floor(f)
	if c := cmp.Compare(n, int64(whole)); c != 0 {
		return c
	}
	if f > whole {
		return -1
	}
	return 0
}
