package update

import (
	"math"
	"math/big"
	"strconv"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// A modifier is an update operator: its action, and the check of its operand.
type modifier struct {
	do    operator
	check func(*op) error
}

var modifiers = map[string]modifier{
	"$set":         {do: set},
	"$setOnInsert": {do: set},
	"$unset":       {do: unset},
	"$rename":      {do: rename, check: checkRename},
	"$inc":         {do: add, check: checkNumber},
	"$mul":         {do: multiply, check: checkNumber},
	"$min":         {do: minimum},
	"$max":         {do: maximum},
	"$push":        {do: push, check: checkPush},
	"$addToSet":    {do: addToSet, check: checkAddToSet},
	"$pull":        {do: pull, check: checkPull},
	"$pullAll":     {do: pullAll, check: checkPullAll},
	"$pop":         {do: pop, check: checkPop},
}

func set(root *container, path []string, o *op, _ *Context) error {
	e, _, err := root.reach(path)
	if err == nil {
		e.set(o.v)
	}
	return err
}

func unset(root *container, path []string, _ *op, _ *Context) error {
	if in, e := root.lookup(path); e != nil {
		in.remove(e)
	}
	return nil
}

func checkRename(o *op) error {
	if o.v.Type != bson.TypeString {
		return mongoerr.New(mongoerr.BadValue, "The 'to' field for $rename must be a string: %s", o.v)
	}
	if o.dynamic {
		return mongoerr.New(mongoerr.BadValue, "The source field for $rename may not be dynamic")
	}
	var to op
	if err := to.setPath(string(raw.Text(o.v))); err != nil {
		return err
	}
	if to.dynamic {
		return mongoerr.New(mongoerr.BadValue, "The destination field for $rename may not be dynamic")
	}
	n := min(len(o.path), len(to.path))
	for i := 0; i < n; i++ {
		if o.path[i] != to.path[i] {
			return nil
		}
	}
	return mongoerr.New(mongoerr.BadValue, "The source and target field for $rename must differ and not contain one another")
}

func rename(root *container, path []string, o *op, _ *Context) error {
	in, e := root.lookup(path)
	if e == nil {
		return nil
	}
	if in.array {
		return mongoerr.New(mongoerr.BadValue, "The source field cannot be an array element")
	}
	v := e.value()
	in.remove(e)
	var to op
	if err := to.setPath(string(raw.Text(o.v))); err != nil {
		return err
	}
	e, _, err := root.reach(to.path)
	if err == nil {
		e.set(v)
	}
	return err
}

func minimum(root *container, path []string, o *op, _ *Context) error {
	e, made, err := root.reach(path)
	if err == nil && (made || keys.Compare(o.v, e.value()) < 0) {
		e.set(o.v)
	}
	return err
}

func maximum(root *container, path []string, o *op, _ *Context) error {
	e, made, err := root.reach(path)
	if err == nil && (made || keys.Compare(o.v, e.value()) > 0) {
		e.set(o.v)
	}
	return err
}

func checkNumber(o *op) error {
	if keys.ClassOf(o.v.Type) != keys.Number {
		return mongoerr.New(mongoerr.TypeMismatch, "Cannot increment with non-numeric argument: {%s: %s}", o.path[len(o.path)-1], o.v)
	}
	return nil
}

func add(root *container, path []string, o *op, _ *Context) error {
	return arithmetic(root, path, o, "$inc", func(a, b int64) (int64, bool) {
		sum := a + b
		return sum, (sum > a) == (b > 0)
	}, func(a, b float64) float64 { return a + b }, addDecimals)
}

func multiply(root *container, path []string, o *op, _ *Context) error {
	return arithmetic(root, path, o, "$mul", func(a, b int64) (int64, bool) {
		product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		return product.Int64(), product.IsInt64()
	}, func(a, b float64) float64 { return a * b }, multiplyDecimals)
}

// arithmetic computes in the wider of the two types. 32-bit integers are widened to 64 bits if necessary;
// 64-bit integers fail instead of wrapping around.
func arithmetic(root *container, path []string, o *op, name string,
	whole func(a, b int64) (int64, bool), float func(a, b float64) float64,
	decimal func(a, b number) number) error {
	e, made, err := root.reach(path)
	if err != nil {
		return err
	}
	if made {
		e.set(bsoncore.Value{Type: bson.TypeInt32, Data: make([]byte, 4)})
		if name == "$inc" {
			e.set(o.v)
			return nil
		}
	}
	a, b := e.value(), o.v
	if keys.ClassOf(a.Type) != keys.Number {
		return mongoerr.New(mongoerr.TypeMismatch,
			"Cannot apply %s to a value of non-numeric type. The field '%s' is %s", name, path[len(path)-1], a)
	}
	switch {
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		v, ok := fromNumber(decimal(toNumber(a), toNumber(b)))
		if !ok {
			return mongoerr.New(mongoerr.BadValue, "Failed to apply %s operations to current value %s: it has no exact result", name, a)
		}
		e.set(v)
	case a.Type == bson.TypeDouble || b.Type == bson.TypeDouble:
		x, _ := raw.Number(a)
		y, _ := raw.Number(b)
		e.set(bsoncore.Value{Type: bson.TypeDouble, Data: bsoncore.AppendDouble(nil, float(x, y))})
	default:
		x, _ := raw.Int(a)
		y, _ := raw.Int(b)
		n, ok := whole(x, y)
		if !ok {
			return mongoerr.New(mongoerr.BadValue, "Failed to apply %s operations to current value (%s): it overflows", name, a)
		}
		if a.Type == bson.TypeInt32 && b.Type == bson.TypeInt32 && n == int64(int32(n)) {
			e.set(raw.Int32(int32(n)))
		} else {
			e.set(bsoncore.Value{Type: bson.TypeInt64, Data: bsoncore.AppendInt64(nil, n)})
		}
	}
	return nil
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
