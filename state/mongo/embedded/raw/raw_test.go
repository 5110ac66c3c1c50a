package raw

import (
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
)

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// every has a field of each type.
func every(t *testing.T) bson.D {
	decimal, err := primitive.ParseDecimal128("12")
	if err != nil {
		t.Fatal(err)
	}
	return bson.D{{"double", 1.5}, {"string", "text"}, {"doc", bson.D{{"a", 1}}}, {"array", bson.A{1, "2"}}, {"binary", primitive.Binary{Data: []byte{1, 2}}},
		{"undefined", primitive.Undefined{}}, {"id", primitive.NewObjectID()}, {"bool", true}, {"date", primitive.DateTime(5)}, {"null", nil},
		{"regex", primitive.Regex{Pattern: "a.b", Options: "i"}}, {"pointer", primitive.DBPointer{DB: "db", Pointer: primitive.NewObjectID()}},
		{"code", primitive.JavaScript("x")}, {"symbol", primitive.Symbol("s")}, {"scope", primitive.CodeWithScope{Code: "y", Scope: bson.D{}}},
		{"int32", int32(7)}, {"timestamp", primitive.Timestamp{T: 1}}, {"int64", int64(8)}, {"decimal", decimal}, {"min", primitive.MinKey{}}, {"max", primitive.MaxKey{}},
		{"last", "end"}}
}

// Fields of all types are found, with their bytes, in order; those of inner documents are not.
func TestElements(t *testing.T) {
	d := every(t)
	doc := encode(t, d)
	it := Elements(doc)
	for _, want := range d {
		e, ok := it.Next()
		if !ok || string(e.Key) != want.Key || cap(e.Value.Data) != len(e.Value.Data) {
			t.Fatalf("got %q, %v; want %q", e.Key, ok, want.Key)
		}
		if v, ok := bsoncore.Document(doc).Lookup(want.Key), true; !v.Equal(e.Value) || !ok {
			t.Errorf("%s is %v, want %v", want.Key, e.Value, v)
		}
		if got, ok := Get(doc, want.Key); !ok || !got.Equal(e.Value) {
			t.Errorf("%s is %v, %v", want.Key, got, ok)
		}
	}
	if e, ok := it.Next(); ok {
		t.Errorf("there is one more: %s", e.Key)
	}
	if _, ok := Get(doc, "a"); ok {
		t.Error("a field of an inner document was found")
	}
	if Len(doc) != len(d) || Len(encode(t, bson.D{})) != 0 || !IsEmpty(encode(t, bson.D{})) || IsEmpty(doc) {
		t.Errorf("it has %d fields", Len(doc))
	}
	again := []byte{0, 0, 0, 0}
	it = Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		again = AppendElem(again, e.Key, e.Value)
	}
	if string(again[4:]) != string(doc[4:len(doc)-1]) {
		t.Error("the fields make another document")
	}
}

// What is cut off ends the fields, wherever it is cut.
func TestCutDocuments(t *testing.T) {
	doc := encode(t, every(t))
	for n := range len(doc) - 1 {
		it, fields := Elements(doc[:n]), 0
		for _, ok := it.Next(); ok; _, ok = it.Next() {
			fields++
		}
		if fields > Len(doc) || fields == Len(doc) && n < len(doc)-1 {
			t.Errorf("cut at %d, it has %d fields", n, fields)
		}
	}
	for name, value := range map[string][]byte{"a negative length": {0x02, 'a', 0, 0xff, 0xff, 0xff, 0xff, 0}, "a length beyond the end": {0x02, 'a', 0, 0xff, 0, 0, 0, 0},
		"an unknown type": {0x40, 'a', 0, 0}, "a regex without an end": {0x0b, 'a', 0, 'x', 0, 'y'}} {
		it := Elements(append([]byte{0, 0, 0, 0}, value...))
		if e, ok := it.Next(); ok {
			t.Errorf("%s: %v", name, e)
		}
		if _, ok := it.Next(); ok {
			t.Errorf("%s: there is another", name)
		}
	}
}

func TestNumbers(t *testing.T) {
	tiny, err := primitive.ParseDecimal128("1.5")
	if err != nil {
		t.Fatal(err)
	}
	huge, err := primitive.ParseDecimal128("99999999999999999999")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := primitive.ParseDecimal128("-3")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v      any
		number float64 // NaN for none
		whole  int64   // -1 for none
		truthy bool
	}{
		{int32(7), 7, 7, true}, {int64(8), 8, 8, true}, {2.0, 2, 2, true}, {2.5, 2.5, -1, true}, {0.0, 0, 0, false}, {int32(0), 0, 0, false}, {int64(0), 0, 0, false},
		{-float64(1 << 63), -(1 << 63), math.MinInt64, true}, {float64(1 << 63), 1 << 63, -1, true}, {math.Inf(1), math.Inf(1), -1, true},
		{"7", math.NaN(), -1, true}, {true, math.NaN(), -1, true}, {false, math.NaN(), -1, false}, {nil, math.NaN(), -1, false}, {primitive.Undefined{}, math.NaN(), -1, false},
		{tiny, math.NaN(), -1, true}, {huge, math.NaN(), -1, true}, {whole, math.NaN(), -3, true}, {bson.D{}, math.NaN(), -1, true},
	} {
		v, _ := Get(encode(t, bson.D{{"v", c.v}}), "v")
		if got, ok := Number(v); ok == math.IsNaN(c.number) || ok && got != c.number {
			t.Errorf("%v is the number %v, %v", c.v, got, ok)
		}
		if got, ok := Int(v); ok != (c.whole != -1) || ok && got != c.whole {
			t.Errorf("%v is the whole number %v, %v", c.v, got, ok)
		}
		if got := Truthy(v); got != c.truthy {
			t.Errorf("%v is %v", c.v, got)
		}
	}
	if Truthy(bsoncore.Value{}) {
		t.Error("nothing is true")
	}
	if v := Int32(-5); v.Int32() != -5 {
		t.Errorf("%v", v)
	}
	text, _ := Get(encode(t, bson.D{{"v", "text"}}), "v")
	if string(Text(text)) != "text" {
		t.Errorf("%q", Text(text))
	}
}
