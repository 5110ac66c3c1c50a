package keys_test

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/keys"
)

// rank is the position of a value's type in the order of MongoDB's manual.
func rank(v any) int {
	switch v.(type) {
	case primitive.MinKey:
		return 0
	case primitive.Undefined:
		return 1
	case nil:
		return 2
	case int32, int64, float64, primitive.Decimal128:
		return 3
	case string, primitive.Symbol:
		return 4
	case bson.D:
		return 5
	case bson.A:
		return 6
	case primitive.Binary:
		return 7
	case primitive.ObjectID:
		return 8
	case bool:
		return 9
	case primitive.DateTime:
		return 10
	case primitive.Timestamp:
		return 11
	case primitive.Regex:
		return 12
	case primitive.DBPointer:
		return 13
	case primitive.JavaScript:
		return 14
	case primitive.CodeWithScope:
		return 15
	case primitive.MaxKey:
		return 16
	}
	panic(v)
}

// reference compares values the slow way: decoded, with numbers as fractions.
func reference(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	return sameRank(a, b)
}

func sameRank(a, b any) int {
	switch a := a.(type) {
	case int32, int64, float64, primitive.Decimal128:
		return compareNumbers(a, b)
	case string, primitive.Symbol:
		return strings.Compare(text(a), text(b))
	case bson.D:
		return compareDocs(a, b.(bson.D))
	case bson.A:
		b := b.(bson.A)
		for i := 0; i < min(len(a), len(b)); i++ {
			if c := reference(a[i], b[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a), len(b))
	case primitive.Binary:
		b := b.(primitive.Binary)
		return cmp.Or(cmp.Compare(len(a.Data), len(b.Data)), cmp.Compare(a.Subtype, b.Subtype), bytes.Compare(a.Data, b.Data))
	case primitive.ObjectID:
		b := b.(primitive.ObjectID)
		return bytes.Compare(a[:], b[:])
	case bool:
		if a == b.(bool) {
			return 0
		} else if a {
			return 1
		}
		return -1
	case primitive.DateTime:
		return cmp.Compare(a, b.(primitive.DateTime))
	case primitive.Timestamp:
		b := b.(primitive.Timestamp)
		return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.I, b.I))
	case primitive.Regex:
		b := b.(primitive.Regex)
		return cmp.Or(strings.Compare(a.Pattern, b.Pattern), strings.Compare(a.Options, b.Options))
	case primitive.DBPointer:
		b := b.(primitive.DBPointer)
		return cmp.Or(strings.Compare(a.DB, b.DB), bytes.Compare(a.Pointer[:], b.Pointer[:]))
	case primitive.JavaScript:
		return strings.Compare(string(a), string(b.(primitive.JavaScript)))
	case primitive.CodeWithScope:
		b := b.(primitive.CodeWithScope)
		return cmp.Or(strings.Compare(string(a.Code), string(b.Code)), compareDocs(a.Scope.(bson.D), b.Scope.(bson.D)))
	}
	return 0
}

func text(v any) string {
	if s, ok := v.(primitive.Symbol); ok {
		return string(s)
	}
	return v.(string)
}

// compareDocs compares type, then name, then value of each field in turn.
func compareDocs(a, b bson.D) int {
	for i := 0; i < min(len(a), len(b)); i++ {
		if c := cmp.Compare(rank(a[i].Value), rank(b[i].Value)); c != 0 {
			return c
		}
		if c := strings.Compare(a[i].Key, b[i].Key); c != 0 {
			return c
		}
		if c := sameRank(a[i].Value, b[i].Value); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareNumbers puts NaN first, then minus infinity.
func compareNumbers(a, b any) int {
	x, kindX := fraction(a)
	y, kindY := fraction(b)
	if kindX != kindY || kindX != 2 {
		return cmp.Compare(kindX, kindY)
	}
	return x.Cmp(y)
}

func fraction(v any) (r *big.Rat, kind int) {
	switch v := v.(type) {
	case int32:
		return new(big.Rat).SetInt64(int64(v)), 2
	case int64:
		return new(big.Rat).SetInt64(v), 2
	case float64:
		switch {
		case math.IsNaN(v):
			return nil, 0
		case math.IsInf(v, -1):
			return nil, 1
		case math.IsInf(v, 1):
			return nil, 3
		}
		return new(big.Rat).SetFloat64(v), 2
	}
	d := v.(primitive.Decimal128)
	switch {
	case d.IsNaN():
		return nil, 0
	case d.IsInf() < 0:
		return nil, 1
	case d.IsInf() > 0:
		return nil, 3
	}
	n, exp, err := d.BigInt()
	if err != nil {
		panic(err)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil)
	if exp < 0 {
		return new(big.Rat).SetFrac(n, scale), 2
	}
	return new(big.Rat).SetInt(scale.Mul(scale, n)), 2
}

func TestOrder(t *testing.T) {
	n := 40_000
	if testing.Short() {
		n /= 2
	}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var values []any
	for range n {
		v := bsontest.Value(r, 3)
		if r.IntN(2) == 0 {
			v = bsontest.Number(r) // the most error-prone values
		}
		values = append(values, v)
	}
	// Adjacent random values rarely have the same type.
	byRank := map[int][]any{}
	for _, v := range values {
		byRank[rank(v)] = append(byRank[rank(v)], v)
	}
	for i, a := range values {
		check(t, a, values[(i+1)%len(values)])
		same := byRank[rank(a)]
		check(t, a, same[r.IntN(len(same))])
		check(t, a, a)
		if t.Failed() {
			return
		}
	}
}

func check(t *testing.T, a, b any) {
	t.Helper()
	x, y := bsontest.Raw(a), bsontest.Raw(b)
	want := reference(a, b)
	if got := keys.Compare(x, y); got != want {
		t.Errorf("%#v and %#v compare as %d, want %d", a, b, got, want)
	}
	k, l := keys.Append(nil, x), keys.Append(nil, y)
	if got := bytes.Compare(k, l); got != want {
		t.Errorf("%#v and %#v are encoded as %x and %x, which compare as %d, want %d", a, b, k, l, got, want)
	}
	if want != 0 && (bytes.HasPrefix(k, l) || bytes.HasPrefix(l, k)) {
		t.Errorf("the encoding of one of %#v and %#v is a prefix of the other's: %x, %x", a, b, k, l)
	}
	keys.Invert(k)
	keys.Invert(l)
	if got := bytes.Compare(k, l); got != -want {
		t.Errorf("inverted, %#v and %#v compare as %d, want %d", a, b, got, -want)
	}
}

func TestOneKeyForOneNumber(t *testing.T) {
	one := keys.Append(nil, bsontest.Raw(int32(1)))
	decimal, err := primitive.ParseDecimal128("1.000")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{int64(1), 1.0, decimal} {
		if key := keys.Append(nil, bsontest.Raw(v)); !bytes.Equal(key, one) {
			t.Errorf("%T 1 is encoded as %x, int32 1 as %x", v, key, one)
		}
	}
	if len(one) > 6 {
		t.Errorf("the encoding of 1 takes %d bytes", len(one))
	}
}

func TestAfter(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "a\xff\x00": "a\xff\x01", "\xff\xff": "", "": ""} {
		if got := keys.After([]byte(prefix)); string(got) != want {
			t.Errorf("After(%q) = %q, want %q", prefix, got, want)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, v := range map[string]any{"string": "mysql/12", "int": int32(7), "document": bson.D{{Key: "c", Value: "units"}, {Key: "id", Value: "mysql/12"}}} {
		raw := bsontest.Raw(v)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = keys.Append(buf[:0], raw)
			}
		})
	}
}
