package arith

import (
	"math"
	"math/big"
	"strconv"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// Add returns a + b. ok is false if 64-bit integers overflow, or if decimals have no exact result.
func Add(a, b bsoncore.Value) (sum bsoncore.Value, ok bool) {
	return compute(a, b, func(a, b int64) (int64, bool) {
		sum := a + b
		return sum, (sum > a) == (b > 0)
	}, func(a, b float64) float64 { return a + b }, addDecimals)
}

// Subtract returns a - b; ok is as in Add.
func Subtract(a, b bsoncore.Value) (difference bsoncore.Value, ok bool) {
	return compute(a, b, func(a, b int64) (int64, bool) {
		difference := a - b
		return difference, (difference < a) == (b > 0)
	}, func(a, b float64) float64 { return a - b }, func(a, b number) number {
		if b.n != nil {
			b.n = new(big.Int).Neg(b.n)
		}
		return addDecimals(a, b)
	})
}

// Multiply returns a × b; ok is as in Add.
func Multiply(a, b bsoncore.Value) (product bsoncore.Value, ok bool) {
	return compute(a, b, func(a, b int64) (int64, bool) {
		product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		return product.Int64(), product.IsInt64()
	}, func(a, b float64) float64 { return a * b }, multiplyDecimals)
}

// compute applies one of three functions, for the wider type of two numbers.
func compute(a, b bsoncore.Value, whole func(a, b int64) (int64, bool), float func(a, b float64) float64,
	decimal func(a, b number) number) (bsoncore.Value, bool) {
	switch {
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		return fromNumber(decimal(toNumber(a), toNumber(b)))
	case a.Type == bson.TypeDouble || b.Type == bson.TypeDouble:
		x, _ := raw.Number(a)
		y, _ := raw.Number(b)
		return Double(float(x, y)), true
	}
	x, _ := raw.Int(a)
	y, _ := raw.Int(b)
	n, ok := whole(x, y)
	if a.Type == bson.TypeInt32 && b.Type == bson.TypeInt32 && n == int64(int32(n)) {
		return raw.Int32(int32(n)), ok
	}
	return Long(n), ok
}

// Double returns a floating-point number as a value.
func Double(f float64) bsoncore.Value {
	return bsoncore.Value{Type: bson.TypeDouble, Data: bsoncore.AppendDouble(nil, f)}
}

// Long returns a 64-bit integer as a value.
func Long(n int64) bsoncore.Value {
	return bsoncore.Value{Type: bson.TypeInt64, Data: bsoncore.AppendInt64(nil, n)}
}

// A number is a decomposed decimal, n × 10^exp; n is nil if it is not finite.
type number struct {
	n   *big.Int
	exp int
}

func toNumber(v bsoncore.Value) number {
	switch v.Type {
	case bson.TypeDecimal128:
		n, exp, err := v.Decimal128().BigInt()
		if err != nil {
			return number{}
		}
		return number{n, exp}
	case bson.TypeDouble:
		d, err := primitive.ParseDecimal128(strconv.FormatFloat(v.Double(), 'g', 15, 64))
		if err != nil || math.IsNaN(v.Double()) || math.IsInf(v.Double(), 0) {
			return number{}
		}
		return toNumber(bsoncore.Value{Type: bson.TypeDecimal128, Data: bsoncore.AppendDecimal128(nil, d)})
	}
	n, _ := raw.Int(v)
	return number{big.NewInt(n), 0}
}

func fromNumber(n number) (bsoncore.Value, bool) {
	if n.n == nil {
		return bsoncore.Value{}, false
	}
	d, ok := primitive.ParseDecimal128FromBigInt(n.n, n.exp)
	return bsoncore.Value{Type: bson.TypeDecimal128, Data: bsoncore.AppendDecimal128(nil, d)}, ok
}

func addDecimals(a, b number) number {
	if a.n == nil || b.n == nil || a.exp-b.exp > 10000 || b.exp-a.exp > 10000 {
		return number{}
	}
	if a.exp < b.exp {
		a, b = b, a
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(a.exp-b.exp)), nil)
	return number{new(big.Int).Add(scale.Mul(scale, a.n), b.n), b.exp}
}

func multiplyDecimals(a, b number) number {
	if a.n == nil || b.n == nil {
		return number{}
	}
	return number{new(big.Int).Mul(a.n, b.n), a.exp + b.exp}
}
