package storage

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// shell formats a value as MongoDB's shell does, which is also the form in its error messages.
func shell(v bsoncore.Value) string {
	switch v.Type {
	case bson.TypeDouble:
		f := v.Double()
		if f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	case bson.TypeString:
		return quoted(string(raw.Text(v)))
	case bson.TypeSymbol:
		return quoted(v.Symbol())
	case bson.TypeEmbeddedDocument:
		return "{" + elements(v.Data, true) + " }"
	case bson.TypeArray:
		return "[" + elements(v.Data, false) + " ]"
	case bson.TypeBinary:
		subtype, data := v.Binary()
		return fmt.Sprintf("BinData(%d, %s)", subtype, strings.ToUpper(hex.EncodeToString(data)))
	case bson.TypeUndefined:
		return "undefined"
	case bson.TypeObjectID:
		return fmt.Sprintf("ObjectId('%s')", v.ObjectID().Hex())
	case bson.TypeBoolean:
		return strconv.FormatBool(v.Boolean())
	case bson.TypeDateTime:
		return fmt.Sprintf("new Date(%d)", v.DateTime())
	case bson.TypeNull:
		return "null"
	case bson.TypeRegex:
		pattern, options := v.Regex()
		return "/" + pattern + "/" + options
	case bson.TypeInt32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case bson.TypeInt64:
		return strconv.FormatInt(v.Int64(), 10)
	case bson.TypeTimestamp:
		t, i := v.Timestamp()
		return fmt.Sprintf("Timestamp(%d, %d)", t, i)
	case bson.TypeDecimal128:
		return fmt.Sprintf("NumberDecimal(%q)", v.Decimal128())
	case bson.TypeMinKey:
		return "MinKey"
	case bson.TypeMaxKey:
		return "MaxKey"
	}
	return v.String()
}

// quoted escapes only quotes, backslashes and control characters.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString("\\n")
		case c == '\r':
			b.WriteString("\\r")
		case c == '\t':
			b.WriteString("\\t")
		case c < ' ':
			fmt.Fprintf(&b, "\\x%02x", c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func elements(doc []byte, named bool) string {
	var list []string
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		one := " " + shell(e.Value)
		if named {
			one = " " + string(e.Key) + ":" + one
		}
		list = append(list, one)
	}
	return strings.Join(list, ",")
}
