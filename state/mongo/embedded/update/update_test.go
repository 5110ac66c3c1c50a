package update_test

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/update"
)

// parse parses a document in MongoDB's extended JSON.
func parse(t *testing.T, text string) bson.D {
	t.Helper()
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return doc
}

// TestUpdate covers cases that lungo doesn't support, or handles differently.
func TestUpdate(t *testing.T) {
	for _, test := range []struct {
		doc, spec, want string
		code            mongoerr.Code
	}{
		{doc: `{"_id": 1, "a": 1}`, spec: `{"b": 2}`, want: `{"_id": 1, "b": 2}`},
		{doc: `{"_id": 1, "a": 1}`, spec: `{"b": 2, "_id": 1.0}`, want: `{"_id": 1, "b": 2}`},
		{doc: `{"_id": 1}`, spec: `{}`, want: `{"_id": 1}`},
		{doc: `{"_id": 1}`, spec: `{"_id": 2}`, code: mongoerr.ImmutableField},
		{doc: `{"_id": 1}`, spec: `{"$set": {"_id": 2}}`, code: mongoerr.ImmutableField},
		{doc: `{"_id": 1}`, spec: `{"$unset": {"_id": 1}}`, code: mongoerr.ImmutableField},
		{doc: `{"_id": 1}`, spec: `{"$set": {"_id": 1, "a": 1}}`, want: `{"_id": 1, "a": 1}`},
		{doc: `{"_id": {"x": 1}}`, spec: `{"$set": {"_id.x": 2}}`, code: mongoerr.ImmutableField},
		{doc: `{}`, spec: `{"$set": {"a": 1}, "b": 1}`, code: mongoerr.FailedToParse},
		{doc: `{}`, spec: `{"a": 1, "$set": {"b": 1}}`, code: mongoerr.DollarPrefixedFieldName},
		{doc: `{}`, spec: `{"$set": {}}`, code: mongoerr.FailedToParse},
		{doc: `{}`, spec: `{"$set": 1}`, code: mongoerr.FailedToParse},
		{doc: `{}`, spec: `{"$set": {"": 1}}`, code: mongoerr.EmptyFieldName},
		{doc: `{}`, spec: `{"$set": {"a..b": 1}}`, code: mongoerr.EmptyFieldName},
		{doc: `{}`, spec: `{"$set": {"$a": 1}}`, code: mongoerr.DollarPrefixedFieldName},
		{doc: `{}`, spec: `{"$set": {"a": {"$b": 1, "c.d": 1}}}`, want: `{"a": {"$b": 1, "c.d": 1}}`},
		{doc: `{"a": 1}`, spec: `{"$set": {"a.b": 1}}`, code: mongoerr.PathNotViable},
		{doc: `{"a": [1]}`, spec: `{"$set": {"a.b": 1}}`, code: mongoerr.PathNotViable},
		{doc: `{"a": []}`, spec: `{"$set": {"a.2000000": 1}}`, code: mongoerr.BadValue},
		{doc: `{"a": [1]}`, spec: `{"$set": {"a.3": 4}}`, want: `{"a": [1, null, null, 4]}`},
		{doc: `{"a": [1, 2]}`, spec: `{"$unset": {"a.0": 1}}`, want: `{"a": [null, 2]}`},
		{doc: `{}`, spec: `{"$inc": {"a": 1}, "$set": {"a": 1}}`, code: mongoerr.ConflictingUpdateOperators},
		{doc: `{}`, spec: `{"$set": {"a": 1, "a.b": 1}}`, code: mongoerr.ConflictingUpdateOperators},
		{doc: `{}`, spec: `{"$set": {"ab": 1, "a": 1}}`, want: `{"ab": 1, "a": 1}`},
		{doc: `{"n": 2147483647}`, spec: `{"$inc": {"n": 1}}`, want: `{"n": {"$numberLong": "2147483648"}}`},
		{doc: `{"n": {"$numberLong": "9223372036854775807"}}`, spec: `{"$inc": {"n": 1}}`, code: mongoerr.BadValue},
		{doc: `{"n": {"$numberLong": "-9223372036854775808"}}`, spec: `{"$inc": {"n": -1}}`, code: mongoerr.BadValue},
		{doc: `{"n": {"$numberLong": "4611686018427387904"}}`, spec: `{"$mul": {"n": 2}}`, code: mongoerr.BadValue},
		{doc: `{"n": 1}`, spec: `{"$inc": {"n": 0.5}}`, want: `{"n": 1.5}`},
		{doc: `{"n": {"$numberDecimal": "0.1"}}`, spec: `{"$inc": {"n": {"$numberDecimal": "0.25"}}}`, want: `{"n": {"$numberDecimal": "0.35"}}`},
		{doc: `{"n": {"$numberDecimal": "1.5"}}`, spec: `{"$mul": {"n": 2}}`, want: `{"n": {"$numberDecimal": "3.0"}}`},
		{doc: `{"n": "x"}`, spec: `{"$inc": {"n": 1}}`, code: mongoerr.TypeMismatch},
		{doc: `{"n": 1}`, spec: `{"$inc": {"n": "x"}}`, code: mongoerr.TypeMismatch},
		{doc: `{}`, spec: `{"$mul": {"n": {"$numberLong": "3"}}}`, want: `{"n": {"$numberLong": "0"}}`},
		{doc: `{"n": 1}`, spec: `{"$min": {"n": null}}`, want: `{"n": null}`},
		{doc: `{"a": 1}`, spec: `{"$rename": {"a": "b.c"}}`, want: `{"b": {"c": 1}}`},
		{doc: `{"a": 1}`, spec: `{"$rename": {"a": "a.c"}}`, code: mongoerr.BadValue},
		{doc: `{"a": [1, 2, 3]}`, spec: `{"$set": {"a.$": 9}}`, want: `{"a": [1, 9, 3]}`},
		{doc: `{"a": [1, 2]}`, spec: `{"$inc": {"a.$[]": 1}}`, want: `{"a": [2, 3]}`},
		{doc: `{"a": 1}`, spec: `{"$inc": {"a.$[]": 1}}`, code: mongoerr.BadValue},
		{doc: `{"a": [{"b": [1]}, {"b": [2, 3]}]}`, spec: `{"$inc": {"a.$[].b.$[]": 1}}`, want: `{"a": [{"b": [2]}, {"b": [3, 4]}]}`},
		{doc: `{"a": [1]}`, spec: `{"$set": {"a.$[x]": 1}}`, code: mongoerr.BadValue},
		{doc: `{"a": [1]}`, spec: `{"$set": {"a.$[": 1}}`, code: mongoerr.BadValue},
		{doc: `{}`, spec: `{"$set": {"$.a": 1}}`, code: mongoerr.BadValue},
		{doc: `{"q": ["1_a", "2_b", "1_c"]}`, spec: `{"$pull": {"q": {"$regex": "^1_*"}}}`, want: `{"q": ["2_b"]}`},
		{doc: `{"q": ["1_a", "2_b", 1]}`, spec: `{"$pull": {"q": {"$regularExpression": {"pattern": "^1", "options": ""}}}}`, want: `{"q": ["2_b", 1]}`},
		{doc: `{"q": [{"x": 1, "y": 1}, {"x": 2}, 3]}`, spec: `{"$pull": {"q": {"x": 1}}}`, want: `{"q": [{"x": 2}, 3]}`},
		{doc: `{"q": [1, 5, 9]}`, spec: `{"$pull": {"q": {"$gt": 1, "$lt": 9}}}`, want: `{"q": [1, 9]}`},
		{doc: `{"q": [[1], 1]}`, spec: `{"$pull": {"q": [1]}}`, want: `{"q": [1]}`},
		{doc: `{"q": 1}`, spec: `{"$pull": {"q": 1}}`, code: mongoerr.BadValue},
		{doc: `{"q": [1, 1.0, 2]}`, spec: `{"$pullAll": {"q": [{"$numberLong": "1"}]}}`, want: `{"q": [2]}`},
		{doc: `{}`, spec: `{"$addToSet": {"q": {"$each": []}}}`, want: `{"q": []}`},
		{doc: `{"q": [{"a": 1, "b": 2}]}`, spec: `{"$addToSet": {"q": {"b": 2, "a": 1}}}`, want: `{"q": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}`},
		{doc: `{"q": "x"}`, spec: `{"$addToSet": {"q": 1}}`, code: mongoerr.BadValue},
		{doc: `{"q": [{"n": 2}, {"n": 1}]}`, spec: `{"$push": {"q": {"$each": [{"n": 3}], "$sort": {"n": -1}, "$slice": 2}}}`, want: `{"q": [{"n": 3}, {"n": 2}]}`},
		{doc: `{"q": []}`, spec: `{"$push": {"q": {"$each": 1}}}`, code: mongoerr.BadValue},
		{doc: `{"q": []}`, spec: `{"$push": {"q": {"$each": [], "$foo": 1}}}`, code: mongoerr.BadValue},
		{doc: `{"q": 1}`, spec: `{"$pop": {"q": 1}}`, code: mongoerr.TypeMismatch},
		{doc: `{"q": [1]}`, spec: `{"$pop": {"q": 2}}`, code: mongoerr.FailedToParse},
		{doc: `{}`, spec: `{"$foo": {"t": 1}}`, code: mongoerr.FailedToParse},
	} {
		got, err := run(t, test.doc, test.spec)
		switch {
		case test.code != 0:
			if !mongoerr.Is(err, test.code) {
				t.Errorf("%s by %s: got %v and error %v, want code %d", test.doc, test.spec, bson.Raw(got), err, test.code)
			}
		case err != nil:
			t.Errorf("%s by %s: %v", test.doc, test.spec, err)
		case string(got) != string(bsontest.RawDocument(parse(t, test.want))):
			t.Errorf("%s by %s: got %v, want %s", test.doc, test.spec, bson.Raw(got), test.want)
		}
	}
}

// run applies an update to a document that a query matched at an array's second element.
func run(t *testing.T, doc, spec string) ([]byte, error) {
	t.Helper()
	u, err := update.Compile(bsontest.RawDocument(parse(t, spec)))
	if err != nil {
		return nil, err
	}
	return u.Apply(nil, bsontest.RawDocument(parse(t, doc)), update.Context{Position: 1})
}

func TestNoPosition(t *testing.T) {
	u, err := update.Compile(bsontest.RawDocument(parse(t, `{"$set": {"a.$": 1}}`)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = u.Apply(nil, bsontest.RawDocument(parse(t, `{"a": [1]}`)), update.Context{Position: -1})
	if !mongoerr.Is(err, mongoerr.BadValue) {
		t.Errorf("got %v", err)
	}
}

// TestManyConflicts compiles an update with too many changes to compare them one by one.
func TestManyConflicts(t *testing.T) {
	set := bson.D{}
	for i := range 1000 {
		set = append(set, bson.E{Key: fmt.Sprintf("a%d.b", i), Value: i})
	}
	compile := func(more ...bson.E) error {
		_, err := update.Compile(bsontest.RawDocument(bson.D{{Key: "$set", Value: append(set, more...)}}))
		return err
	}
	if err := compile(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"a7", "a7.b", "a7.b.c"} {
		if err := compile(bson.E{Key: path, Value: 1}); !mongoerr.Is(err, mongoerr.ConflictingUpdateOperators) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSeed(t *testing.T) {
	seed, err := update.Seed([]update.SeedValue{{Path: "a.b", Value: bsontest.Raw(1)}, {Path: "c", Value: bsontest.Raw("x")}, {Path: "a.c", Value: bsontest.Raw(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := bsontest.RawDocument(parse(t, `{"a": {"b": 1, "c": null}, "c": "x"}`)); string(seed) != string(want) {
		t.Errorf("got %v", bson.Raw(seed))
	}
	for _, second := range []string{"a", "a.b"} {
		_, err := update.Seed([]update.SeedValue{{Path: "a.b", Value: bsontest.Raw(1)}, {Path: second, Value: bsontest.Raw(1)}})
		if err == nil {
			t.Errorf("a.b and %s: no error", second)
		}
	}
}

// TestDeepPaths checks that deep paths neither take long nor nest without bound.
func TestDeepPaths(t *testing.T) {
	_, err := update.Compile(bsontest.RawDocument(bson.D{{Key: "$set", Value: bson.D{{Key: strings.Repeat("a.", 1000) + "a", Value: 1}}}}))
	if !mongoerr.Is(err, mongoerr.Overflow) {
		t.Errorf("got %v", err)
	}
	_, err = update.Seed([]update.SeedValue{{Path: strings.Repeat("a.", 1000) + "a", Value: bsontest.Raw(1)}})
	if !mongoerr.Is(err, mongoerr.Overflow) {
		t.Errorf("an upsert: %v", err)
	}
}
