package pipeline

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/arith"
	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
)

// An operation is an operator of expressions, with the number of operands that it takes.
type operation struct {
	least, most int // most is least, or 0 if there is no limit
	make        func(args []expr) expr
}

var operators = map[string]operation{
	"$add":           {0, 0, fold("$add", 16554, raw.Int32(0), add)},
	"$multiply":      {0, 0, fold("$multiply", 16555, raw.Int32(1), multiply)},
	"$subtract":      {2, 2, two(subtract)},
	"$divide":        {2, 2, two(divide)},
	"$mod":           {2, 2, two(mod)},
	"$cmp":           {2, 2, two(func(a, b bsoncore.Value) (bsoncore.Value, error) { return raw.Int32(int32(compare(a, b))), nil })},
	"$eq":            {2, 2, compared(func(c int) bool { return c == 0 })},
	"$ne":            {2, 2, compared(func(c int) bool { return c != 0 })},
	"$gt":            {2, 2, compared(func(c int) bool { return c > 0 })},
	"$gte":           {2, 2, compared(func(c int) bool { return c >= 0 })},
	"$lt":            {2, 2, compared(func(c int) bool { return c < 0 })},
	"$lte":           {2, 2, compared(func(c int) bool { return c <= 0 })},
	"$and":           {0, 0, until(false)},
	"$or":            {0, 0, until(true)},
	"$not":           {1, 1, single(func(v bsoncore.Value) (bsoncore.Value, error) { return boolean(!raw.Truthy(v)), nil })},
	"$cond":          {3, 3, cond},
	"$ifNull":        {2, 0, ifNull},
	"$concat":        {0, 0, concat},
	"$toLower":       {1, 1, single(func(v bsoncore.Value) (bsoncore.Value, error) { return inCase(v, 'A', 'Z') })},
	"$toUpper":       {1, 1, single(func(v bsoncore.Value) (bsoncore.Value, error) { return inCase(v, 'a', 'z') })},
	"$substr":        {3, 3, substring(byBytes)},
	"$substrBytes":   {3, 3, substring(byBytes)},
	"$substrCP":      {3, 3, substring(byRunes)},
	"$toString":      {1, 1, single(toString)},
	"$type":          {1, 1, single(typeOf)},
	"$size":          {1, 1, single(sizeOf)},
	"$isArray":       {1, 1, single(func(v bsoncore.Value) (bsoncore.Value, error) { return boolean(v.Type == bson.TypeArray), nil })},
	"$arrayElemAt":   {2, 2, two(elementAt)},
	"$first":         {1, 1, single(func(v bsoncore.Value) (bsoncore.Value, error) { return elementAt(v, raw.Int32(0)) })},
	"$last":          {1, 1, single(func(v bsoncore.Value) (bsoncore.Value, error) { return elementAt(v, raw.Int32(-1)) })},
	"$in":            {2, 2, two(contains)},
	"$objectToArray": {1, 1, single(objectToArray)},
}

// single makes an operator with one operand.
func single(do func(bsoncore.Value) (bsoncore.Value, error)) func([]expr) expr {
	return func(args []expr) expr {
		return func(doc []byte) (bsoncore.Value, error) {
			v, err := args[0](doc)
			if err != nil {
				return v, err
			}
			return do(v)
		}
	}
}

// two makes an operator with two operands.
func two(do func(a, b bsoncore.Value) (bsoncore.Value, error)) func([]expr) expr {
	return func(args []expr) expr {
		return func(doc []byte) (bsoncore.Value, error) {
			a, err := args[0](doc)
			if err != nil {
				return a, err
			}
			b, err := args[1](doc)
			if err != nil {
				return b, err
			}
			return do(a, b)
		}
	}
}

// compared makes an operator that compares.
func compared(holds func(c int) bool) func([]expr) expr {
	return two(func(a, b bsoncore.Value) (bsoncore.Value, error) { return boolean(holds(compare(a, b))), nil })
}

// compare orders values; a missing one is before all except MinKey.
func compare(a, b bsoncore.Value) int {
	switch {
	case a.Type == 0 && b.Type == 0:
		return 0
	case a.Type == 0 && b.Type != bson.TypeMinKey, b.Type == 0 && a.Type == bson.TypeMinKey:
		return -1
	case a.Type == 0 || b.Type == 0:
		return 1
	}
	return keys.Compare(a, b)
}

func boolean(b bool) bsoncore.Value {
	return bsoncore.Value{Type: bson.TypeBoolean, Data: bsoncore.AppendBoolean(nil, b)}
}

func text(s string) bsoncore.Value {
	return bsoncore.Value{Type: bson.TypeString, Data: bsoncore.AppendString(nil, s)}
}

var null = bsoncore.Value{Type: bson.TypeNull}

func typeName(v bsoncore.Value) string {
	if v.Type == 0 {
		return "missing"
	}
	return query.TypeName(v.Type)
}

func typeOf(v bsoncore.Value) (bsoncore.Value, error) { return text(typeName(v)), nil }

func isNumber(v bsoncore.Value) bool { return keys.ClassOf(v.Type) == keys.Number }

// float returns a number as a floating-point one.
func float(v bsoncore.Value) float64 {
	if v.Type == bson.TypeDecimal128 {
		f, err := strconv.ParseFloat(v.Decimal128().String(), 64)
		if err != nil && f == 0 {
			return math.NaN()
		}
		return f
	}
	f, _ := raw.Number(v)
	return f
}

// orFloat computes exactly, or with floating-point numbers where there is no exact result.
func orFloat(exact func(a, b bsoncore.Value) (bsoncore.Value, bool), a, b bsoncore.Value,
	inexact func(a, b float64) float64) bsoncore.Value {
	if v, ok := exact(a, b); ok {
		return v
	}
	return arith.Double(inexact(float(a), float(b)))
}

// fold makes an operator that combines any number of numbers; null or a missing operand makes the result null.
func fold(name string, code mongoerr.Code, start bsoncore.Value,
	do func(a, b bsoncore.Value) (bsoncore.Value, bool)) func([]expr) expr {
	return func(args []expr) expr {
		return func(doc []byte) (bsoncore.Value, error) {
			total, isNil := start, false
			for _, arg := range args {
				v, err := arg(doc)
				if err != nil {
					return v, err
				}
				if isNull(v) {
					isNil = true
					continue
				}
				ok := false
				if total, ok = do(total, v); !ok {
					return v, mongoerr.New(code, "%s cannot be applied to a value of type %s here", name, typeName(v))
				}
			}
			if isNil {
				return null, nil
			}
			return total, nil
		}
	}
}

func add(a, b bsoncore.Value) (bsoncore.Value, bool) {
	switch {
	case isNumber(a) && isNumber(b):
		return plus(a, b), true
	case a.Type == bson.TypeDateTime && isNumber(b):
		return date(a.DateTime() + int64(float(b))), true
	case isNumber(a) && b.Type == bson.TypeDateTime:
		return date(b.DateTime() + int64(float(a))), true
	}
	return a, false
}

func multiply(a, b bsoncore.Value) (bsoncore.Value, bool) {
	if !isNumber(b) {
		return a, false
	}
	return orFloat(arith.Multiply, a, b, func(x, y float64) float64 { return x * y }), true
}

func date(ms int64) bsoncore.Value {
	return bsoncore.Value{Type: bson.TypeDateTime, Data: bsoncore.AppendDateTime(nil, ms)}
}

func subtract(a, b bsoncore.Value) (bsoncore.Value, error) {
	switch {
	case isNull(a) || isNull(b):
		return null, nil
	case isNumber(a) && isNumber(b):
		return orFloat(arith.Subtract, a, b, func(x, y float64) float64 { return x - y }), nil
	case a.Type == bson.TypeDateTime && b.Type == bson.TypeDateTime:
		return arith.Long(a.DateTime() - b.DateTime()), nil
	case a.Type == bson.TypeDateTime && isNumber(b):
		return date(a.DateTime() - int64(float(b))), nil
	}
	return null, mongoerr.New(16556, "cant $subtract a %s from a %s", typeName(b), typeName(a))
}

func divide(a, b bsoncore.Value) (bsoncore.Value, error) {
	switch {
	case isNull(a) || isNull(b):
		return null, nil
	case !isNumber(a) || !isNumber(b):
		return null, mongoerr.New(16609, "$divide only supports numeric types, not %s and %s", typeName(a), typeName(b))
	case float(b) == 0:
		return null, mongoerr.New(16608, "can't $divide by zero")
	}
	return arith.Double(float(a) / float(b)), nil
}

func mod(a, b bsoncore.Value) (bsoncore.Value, error) {
	switch {
	case isNull(a) || isNull(b):
		return null, nil
	case !isNumber(a) || !isNumber(b):
		return null, mongoerr.New(16611, "$mod only supports numeric types, not %s and %s", typeName(a), typeName(b))
	case float(b) == 0:
		return null, mongoerr.New(16610, "can't $mod by zero")
	}
	integer := func(v bsoncore.Value) bool { return v.Type == bson.TypeInt32 || v.Type == bson.TypeInt64 }
	if !integer(a) || !integer(b) {
		return arith.Double(math.Mod(float(a), float(b))), nil
	}
	x, _ := raw.Int(a)
	y, _ := raw.Int(b)
	rest := int64(0) // of a division by -1, which can overflow
	if y != -1 {
		rest = x % y
	}
	if a.Type == bson.TypeInt32 && b.Type == bson.TypeInt32 {
		return raw.Int32(int32(rest)), nil
	}
	return arith.Long(rest), nil
}

// until makes $or and $and, which end at the first operand that is true or false.
func until(end bool) func([]expr) expr {
	return func(args []expr) expr {
		return func(doc []byte) (bsoncore.Value, error) {
			for _, arg := range args {
				v, err := arg(doc)
				if err != nil {
					return v, err
				}
				if raw.Truthy(v) == end {
					return boolean(end), nil
				}
			}
			return boolean(!end), nil
		}
	}
}

func cond(args []expr) expr {
	return func(doc []byte) (bsoncore.Value, error) {
		v, err := args[0](doc)
		if err != nil {
			return v, err
		}
		if raw.Truthy(v) {
			return args[1](doc)
		}
		return args[2](doc)
	}
}

// ifNull returns the first operand that isn't null, or the last one.
func ifNull(args []expr) expr {
	return func(doc []byte) (v bsoncore.Value, err error) {
		for _, arg := range args {
			if v, err = arg(doc); err != nil || !isNull(v) {
				return v, err
			}
		}
		return v, nil
	}
}

func concat(args []expr) expr {
	return func(doc []byte) (bsoncore.Value, error) {
		var out []byte
		isNil := false
		for _, arg := range args {
			v, err := arg(doc)
			if err != nil {
				return v, err
			}
			switch {
			case isNull(v):
				isNil = true
			case v.Type != bson.TypeString:
				return v, mongoerr.New(16702, "$concat only supports strings, not %s", typeName(v))
			default:
				out = append(out, raw.Text(v)...)
			}
			if err := checkSize(len(out)); err != nil {
				return v, err
			}
		}
		if isNil {
			return null, nil
		}
		return text(string(out)), nil
	}
}

// inCase swaps the case of the ASCII letters between from and to.
func inCase(v bsoncore.Value, from, to byte) (bsoncore.Value, error) {
	s, err := asText(v)
	if err != nil {
		return v, err
	}
	out := []byte(s)
	for i, c := range out {
		if c >= from && c <= to {
			out[i] = c ^ ' '
		}
	}
	return text(string(out)), nil
}

// asText returns a value as the string that string operators see: numbers and dates as text, and null as the empty string.
func asText(v bsoncore.Value) (string, error) {
	if isNull(v) {
		return "", nil
	}
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol, bson.TypeDateTime:
	default:
		if !isNumber(v) {
			return "", mongoerr.New(16007, "can't convert from BSON type %s to String", typeName(v))
		}
	}
	v, err := toString(v)
	return string(raw.Text(v)), err
}

func toString(v bsoncore.Value) (bsoncore.Value, error) {
	switch v.Type {
	case 0, bson.TypeNull, bson.TypeUndefined:
		return null, nil
	case bson.TypeString:
		return v, nil
	case bson.TypeSymbol:
		return text(string(raw.Text(v))), nil
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := raw.Int(v)
		return text(strconv.FormatInt(n, 10)), nil
	case bson.TypeDouble:
		return text(strconv.FormatFloat(v.Double(), 'g', -1, 64)), nil
	case bson.TypeDecimal128:
		return text(v.Decimal128().String()), nil
	case bson.TypeBoolean:
		return text(strconv.FormatBool(v.Boolean())), nil
	case bson.TypeObjectID:
		return text(primitive.ObjectID(v.Data).Hex()), nil
	case bson.TypeDateTime:
		return text(time.UnixMilli(v.DateTime()).UTC().Format("2006-01-02T15:04:05.000Z")), nil
	}
	return v, mongoerr.New(mongoerr.ConversionFailure,
		"Unsupported conversion from %s to string in $convert with no onError value", typeName(v))
}

// substring makes an operator with a string, a start and a length; cut does it.
func substring(cut func(s string, start, n int) (string, error)) func([]expr) expr {
	return func(args []expr) expr {
		return func(doc []byte) (bsoncore.Value, error) {
			var values [3]bsoncore.Value
			for i, arg := range args {
				var err error
				if values[i], err = arg(doc); err != nil {
					return values[i], err
				}
			}
			s, err := asText(values[0])
			if err != nil {
				return values[0], err
			}
			var numbers [2]int
			for i := range numbers {
				v := values[i+1]
				if !isNumber(v) {
					return v, mongoerr.New(mongoerr.Code(16034+i),
						"a start and a length of a substring must be numbers, not %s", typeName(v))
				}
				numbers[i] = int(max(math.MinInt32, min(math.MaxInt32, float(v))))
			}
			out, err := cut(s, numbers[0], numbers[1])
			return text(out), err
		}
	}
}

func byBytes(s string, start, n int) (string, error) {
	if start < 0 {
		return "", mongoerr.New(50752, "$substrBytes: starting index must be non-negative (got: %d)", start)
	}
	if start >= len(s) {
		return "", nil
	}
	end := len(s)
	if n >= 0 {
		end = min(end, start+n)
	}
	if !utf8.RuneStart(s[start]) {
		return "", mongoerr.New(28656, "$substrBytes: Invalid range, starting index is a UTF-8 continuation byte.")
	}
	if end < len(s) && !utf8.RuneStart(s[end]) {
		return "", mongoerr.New(28657, "$substrBytes: Invalid range, ending index is in the middle of a UTF-8 character.")
	}
	return s[start:end], nil
}

func byRunes(s string, start, n int) (string, error) {
	if start < 0 || n < 0 {
		return "", mongoerr.New(34452, "$substrCP: the start and the length must be non-negative")
	}
	runes := []rune(s)
	start = min(start, len(runes))
	return string(runes[start:min(len(runes), start+n)]), nil
}

func sizeOf(v bsoncore.Value) (bsoncore.Value, error) {
	if v.Type != bson.TypeArray {
		return v, mongoerr.New(17124, "The argument to $size must be an array, but was of type: %s", typeName(v))
	}
	return raw.Int32(int32(raw.Len(v.Data))), nil
}

// elementAt returns an element of an array; a negative position counts from the end.
func elementAt(array, position bsoncore.Value) (bsoncore.Value, error) {
	if isNull(array) || isNull(position) {
		return null, nil
	}
	if array.Type != bson.TypeArray {
		return null, mongoerr.New(28689, "$arrayElemAt's first argument must be an array, but is %s", typeName(array))
	}
	at, ok := raw.Int(position)
	if !ok {
		return null, mongoerr.New(28690, "$arrayElemAt's second argument must be a whole number, but is %s",
			typeName(position))
	}
	if at < 0 {
		at += int64(raw.Len(array.Data))
	}
	it := raw.Elements(array.Data)
	for e, ok := it.Next(); ok && at >= 0; e, ok = it.Next() {
		if at == 0 {
			return e.Value, nil
		}
		at--
	}
	return bsoncore.Value{}, nil
}

func contains(v, array bsoncore.Value) (bsoncore.Value, error) {
	if array.Type != bson.TypeArray {
		return null, mongoerr.New(40081, "$in requires an array as a second argument, found: %s", typeName(array))
	}
	it := raw.Elements(array.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if compare(e.Value, v) == 0 {
			return boolean(true), nil
		}
	}
	return boolean(false), nil
}

// objectToArray returns a document's fields as documents {k: name, v: value}.
func objectToArray(v bsoncore.Value) (bsoncore.Value, error) {
	if isNull(v) {
		return null, nil
	}
	if v.Type != bson.TypeEmbeddedDocument {
		return v, mongoerr.New(40390, "$objectToArray requires a document input, found: %s", typeName(v))
	}
	l := newList()
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		one := bsoncore.NewDocumentBuilder().AppendString("k", string(e.Key)).AppendValue("v", e.Value).Build()
		l.add(bsoncore.Value{Type: bson.TypeEmbeddedDocument, Data: one})
		if err := checkSize(len(l.data)); err != nil {
			return v, err
		}
	}
	return l.value(), nil
}
