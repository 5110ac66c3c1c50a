package keys

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// A Class is a group of types that are compared with one another by value; its number is the first byte of their
// encodings.
type Class byte

// The classes, in order.
const (
	end         Class = 0x04 // terminates documents and arrays; sorts below all classes
	MinKey      Class = 0x08
	Undefined   Class = 0x10
	Null        Class = 0x18
	Number      Class = 0x20
	String      Class = 0x28
	Object      Class = 0x30
	Array       Class = 0x38
	Binary      Class = 0x40
	ObjectID    Class = 0x48
	Boolean     Class = 0x50
	Date        Class = 0x58
	Timestamp   Class = 0x60
	Regex       Class = 0x68
	DBPointer   Class = 0x70
	Code        Class = 0x78
	CodeInScope Class = 0x80
	MaxKey      Class = 0xf0
)

var classes = [256]Class{
	bson.TypeMinKey:           MinKey,
	bson.TypeUndefined:        Undefined,
	bson.TypeNull:             Null,
	bson.TypeInt32:            Number,
	bson.TypeInt64:            Number,
	bson.TypeDouble:           Number,
	bson.TypeDecimal128:       Number,
	bson.TypeString:           String,
	bson.TypeSymbol:           String,
	bson.TypeEmbeddedDocument: Object,
	bson.TypeArray:            Array,
	bson.TypeBinary:           Binary,
	bson.TypeObjectID:         ObjectID,
	bson.TypeBoolean:          Boolean,
	bson.TypeDateTime:         Date,
	bson.TypeTimestamp:        Timestamp,
	bson.TypeRegex:            Regex,
	bson.TypeDBPointer:        DBPointer,
	bson.TypeJavaScript:       Code,
	bson.TypeCodeWithScope:    CodeInScope,
	bson.TypeMaxKey:           MaxKey,
}

// ClassOf returns the class of a BSON type.
func ClassOf(t bsontype.Type) Class { return classes[t] }

// Append appends the encoding of v to dst.
func Append(dst []byte, v bsoncore.Value) []byte {
	return appendPayload(append(dst, byte(classes[v.Type])), v)
}

// Invert inverts an encoding in place, so that it sorts in reverse: indexes use it for descending
// fields.
func Invert(encoded []byte) {
	for i := range encoded {
		encoded[i] = ^encoded[i]
	}
}

// After returns the smallest key that follows all keys with a prefix. It may modify and return prefix.
func After(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			prefix[i]++
			return prefix[:i+1]
		}
	}
	return nil
}

func appendPayload(dst []byte, v bsoncore.Value) []byte {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := raw.Int(v)
		return appendInt(dst, n)
	case bson.TypeDouble:
		return appendFloat(dst, v.Double())
	case bson.TypeDecimal128:
		return appendDecimal(dst, v)
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		return appendText(dst, raw.Text(v))
	case bson.TypeEmbeddedDocument:
		return appendObject(dst, v.Data)
	case bson.TypeArray:
		it := raw.Elements(v.Data)
		for e, ok := it.Next(); ok; e, ok = it.Next() {
			dst = Append(dst, e.Value)
		}
		return append(dst, byte(end))
	case bson.TypeBinary:
		n := binary.LittleEndian.Uint32(v.Data)
		dst = binary.BigEndian.AppendUint32(dst, n)
		return append(dst, v.Data[4:]...)
	case bson.TypeDateTime:
		n := binary.LittleEndian.Uint64(v.Data)
		return binary.BigEndian.AppendUint64(dst, n^1<<63)
	case bson.TypeTimestamp:
		return binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(v.Data))
	case bson.TypeObjectID, bson.TypeBoolean, bson.TypeRegex:
		return append(dst, v.Data...)
	case bson.TypeDBPointer:
		n := len(v.Data) - 12
		dst = appendText(dst, v.Data[4:n-1])
		return append(dst, v.Data[n:]...)
	case bson.TypeCodeWithScope:
		code, scope := splitScope(v.Data)
		return appendObject(appendText(dst, code), scope)
	}
	return dst // MinKey, undefined, null, MaxKey
}

func appendObject(dst, doc []byte) []byte {
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		dst = append(dst, byte(classes[e.Value.Type]))
		dst = append(dst, e.Key...)
		dst = append(dst, 0)
		dst = appendPayload(dst, e.Value)
	}
	return append(dst, byte(end))
}

// splitScope splits code with scope.
func splitScope(data []byte) (code, scope []byte) {
	n := binary.LittleEndian.Uint32(data[4:])
	return data[8 : 8+n-1], data[8+n:]
}

// appendText appends text in a form whose end sorts below any byte: a zero byte becomes 00 ff,
// and 00 01 is the end.
func appendText(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, 0)
		if i < 0 {
			dst = append(dst, text...)
			return append(dst, 0, 1)
		}
		dst = append(dst, text[:i]...)
		dst = append(dst, 0, 0xff)
		text = text[i+1:]
	}
}

// A number is encoded as a byte for its kind and, if it is finite and not zero, two bytes for the
// exponent of its leading bit, and then the bits below that one, seven to a byte; the last bit of
// each byte says whether more follow. These bytes are inverted for a negative number.
const (
	isNaN byte = 1 + iota
	isMinusInf
	isNegative
	isZero
	isPositive
	isPlusInf
)

const exponentBias = 1 << 15

func appendInt(dst []byte, n int64) []byte {
	switch {
	case n == 0:
		return append(dst, isZero)
	case n > 0:
		return appendBits(append(dst, isPositive), uint64(n), 0)
	}
	dst = append(dst, isNegative)
	start := len(dst)
	dst = appendBits(dst, -uint64(n), 0)
	Invert(dst[start:])
	return dst
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case f != f:
		return append(dst, isNaN)
	case f == 0:
		return append(dst, isZero)
	case math.IsInf(f, -1):
		return append(dst, isMinusInf)
	case math.IsInf(f, 1):
		return append(dst, isPlusInf)
	}
	b := math.Float64bits(f)
	frac, exp := b&(1<<52-1), int(b>>52&0x7ff)
	if exp == 0 {
		exp = 1 // subnormal: it has no implicit leading bit
	} else {
		frac |= 1 << 52
	}
	if f > 0 {
		return appendBits(append(dst, isPositive), frac, exp-1075)
	}
	dst = append(dst, isNegative)
	start := len(dst)
	dst = appendBits(dst, frac, exp-1075)
	Invert(dst[start:])
	return dst
}

// appendBits appends n × 2^exp; n isn't zero.
func appendBits(dst []byte, n uint64, exp int) []byte {
	length := bits.Len64(n)
	dst = binary.BigEndian.AppendUint16(dst, uint16(exp+length-1+exponentBias))
	n <<= 65 - length // this drops the leading bit, which is always one
	for {
		b := byte(n>>57) << 1
		n <<= 7
		if n == 0 {
			return append(dst, b)
		}
		dst = append(dst, b|1)
	}
}

// decimalBits is the number of bits of a decimal that are kept below its leading one: two different decimals of 34 digits
// differ within the first 113.
const decimalBits = 18 * 7

func appendDecimal(dst []byte, v bsoncore.Value) []byte {
	d := v.Decimal128()
	if d.IsNaN() {
		return append(dst, isNaN)
	}
	switch d.IsInf() {
	case 1:
		return append(dst, isPlusInf)
	case -1:
		return append(dst, isMinusInf)
	}
	n, exp, err := d.BigInt()
	if err != nil || n.Sign() == 0 {
		return append(dst, isZero)
	}
	kind := isPositive
	if n.Sign() < 0 {
		kind = isNegative
	}
	dst = append(dst, kind)
	start := len(dst)
	dst = appendScaled(dst, new(big.Int).Abs(n), exp)
	if kind == isNegative {
		Invert(dst[start:])
	}
	return dst
}

// appendScaled appends n × 10^exp, n above zero. A number that doesn't end within decimalBits is
// cut off and marked, so that it sorts just above the binary number that it was cut to.
func appendScaled(dst []byte, n *big.Int, exp int) []byte {
	binaryExp, inexact := 0, false
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil)
	if exp >= 0 {
		n.Mul(n, scale)
	} else {
		shift := max(0, decimalBits+2+scale.BitLen()-n.BitLen())
		rest := new(big.Int)
		n.QuoRem(n.Lsh(n, uint(shift)), scale, rest)
		binaryExp, inexact = -shift, rest.Sign() != 0
	}
	if over := n.BitLen() - 1 - decimalBits; over > 0 {
		inexact = inexact || int(n.TrailingZeroBits()) < over
		n.Rsh(n, uint(over))
		binaryExp += over
	}
	length := n.BitLen()
	dst = binary.BigEndian.AppendUint16(dst, uint16(binaryExp+length-1+exponentBias))
	n.SetBit(n, length-1, 0)
	n.Lsh(n, uint(decimalBits-(length-1)))
	for left := decimalBits; ; {
		left -= 7
		group := byte(new(big.Int).Rsh(n, uint(left)).Uint64()) << 1
		n.And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(left)), big.NewInt(1)))
		switch {
		case n.Sign() == 0 && !inexact:
			return append(dst, group)
		case left == 0:
			return append(dst, group|1, 2)
		}
		dst = append(dst, group|1)
	}
}
