package bsontest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
)

// Value returns a random value, nested at most depth deep, of the types that bson.Unmarshal returns.
func Value(r *rand.Rand, depth int) any {
	n := 20
	if depth <= 0 {
		n = 17
	}
	switch r.IntN(n) {
	case 0, 1, 2:
		return Number(r)
	case 3, 4, 5:
		return Text(r)
	case 6:
		return r.IntN(2) == 0
	case 7:
		return nil
	case 8:
		return primitive.DateTime(edge(r))
	case 9:
		return primitive.Timestamp{T: uint32(edge(r)), I: uint32(r.IntN(3))}
	case 10:
		return primitive.Binary{Subtype: []byte{0, 5, 0x80}[r.IntN(3)], Data: []byte(Text(r))}
	case 11:
		var id primitive.ObjectID
		id[r.IntN(12)] = byte(r.IntN(256))
		return id
	case 12:
		return primitive.Regex{Pattern: []string{"", "a", "^a", "a.*b"}[r.IntN(4)], Options: []string{"", "i"}[r.IntN(2)]}
	case 13:
		return []any{primitive.MinKey{}, primitive.MaxKey{}, primitive.Undefined{}}[r.IntN(3)]
	case 14:
		return primitive.JavaScript(Text(r))
	case 15:
		return primitive.Symbol(Text(r))
	case 16:
		return primitive.DBPointer{DB: "db." + Text(r), Pointer: primitive.ObjectID{byte(r.IntN(3))}}
	case 17:
		return primitive.CodeWithScope{Code: primitive.JavaScript(Text(r)), Scope: Document(r, depth-1)}
	case 18:
		return Document(r, depth-1)
	}
	list := bson.A{}
	for range r.IntN(4) {
		list = append(list, Value(r, depth-1))
	}
	return list
}

// Document returns a random document. It has few fields, whose names often repeat.
func Document(r *rand.Rand, depth int) bson.D {
	doc := bson.D{}
	for _, i := range r.Perm(4)[:r.IntN(4)] {
		doc = append(doc, bson.E{Key: []string{"a", "b", "ab", ""}[i], Value: Value(r, depth)})
	}
	return doc
}

func edge(r *rand.Rand) int64 {
	edges := []int64{0, 1, -1, 2, 10, 127, 128, 255, 256, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 1 << 53, 1<<53 + 1}
	n := edges[r.IntN(len(edges))]
	if r.IntN(3) == 0 {
		n += int64(r.IntN(5)) - 2
	}
	if r.IntN(4) == 0 {
		n = int64(r.Uint64() >> r.IntN(64))
	}
	return n
}

// Number returns a random number of any of the four types.
func Number(r *rand.Rand) any {
	switch r.IntN(4) {
	case 0:
		return int32(edge(r))
	case 1:
		return edge(r)
	case 2:
		return float(r)
	}
	return decimal(r)
}

func float(r *rand.Rand) float64 {
	edges := []float64{0, math.Copysign(0, -1), 0.1, 0.5, -0.5, 1.5, math.NaN(), math.Inf(1), math.Inf(-1),
		math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 1 << 63, -(1 << 63), 1e300}
	switch r.IntN(3) {
	case 0:
		return edges[r.IntN(len(edges))]
	case 1:
		return float64(edge(r))
	}
	return math.Float64frombits(r.Uint64())
}

func decimal(r *rand.Rand) primitive.Decimal128 {
	text := []string{"0", "-0", "NaN", "Infinity", "-Infinity", "0.1", "1", "1.0", "-1E-6176", "1E-6176",
		"9.999999999999999999999999999999999E6144", "0.5", "9007199254740993", "0.1000000000000000055511151231257827",
		"0.1000000000000000055511151231257828", "1E300", "18446744073709551616"}[r.IntN(17)]
	if r.IntN(2) == 0 {
		text = fmt.Sprintf("%dE%d", edge(r), r.IntN(41)-20)
	}
	d, err := primitive.ParseDecimal128(text)
	if err != nil {
		panic(err)
	}
	return d
}

// Text returns a random string.
func Text(r *rand.Rand) string {
	parts := []string{"", "a", "b", "ab", "\x00", "\x00\x01", "\x01", "é", "\U0010ffff", "longer than that"}
	s := parts[r.IntN(len(parts))]
	if r.IntN(2) == 0 {
		s += parts[r.IntN(len(parts))]
	}
	return s
}

// Raw encodes a value.
func Raw(v any) bsoncore.Value {
	return RawDocument(bson.D{{Key: "v", Value: v}}).Lookup("v")
}

// RawDocument encodes a document.
func RawDocument(doc bson.D) bsoncore.Document {
	if doc == nil {
		doc = bson.D{}
	}
	data, err := bson.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return data
}
