package query_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
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

// TestMatch covers cases that lungo doesn't support, or handles differently.
func TestMatch(t *testing.T) {
	for _, test := range []struct {
		query, doc string
		want       bool
	}{
		{`{"a": {"$regex": "^x"}}`, `{"a": "xy"}`, true},
		{`{"a": {"$regex": "^x"}}`, `{"a": "yx"}`, false},
		{`{"a": {"$regex": "X", "$options": "i"}}`, `{"a": ["b", "axb"]}`, true},
		{`{"a": {"$regex": "^b", "$options": "m"}}`, `{"a": "a\nb"}`, true},
		{`{"a": {"$regex": "a b # c", "$options": "x"}}`, `{"a": "ab"}`, true},
		{`{"a": {"$regularExpression": {"pattern": "^x", "options": ""}}}`, `{"a": "xy"}`, true},
		{`{"a": {"$regularExpression": {"pattern": "^x", "options": ""}}}`, `{"a": {"$regularExpression": {"pattern": "^x", "options": ""}}}`, true},
		{`{"a": {"$in": [1, {"$regularExpression": {"pattern": "^x", "options": ""}}]}}`, `{"a": "xy"}`, true},
		{`{"a": {"$nin": [1, {"$regularExpression": {"pattern": "^x", "options": ""}}]}}`, `{"a": "xy"}`, false},
		{`{"a": {"$not": {"$regularExpression": {"pattern": "^x", "options": ""}}}}`, `{"a": "xy"}`, false},
		{`{"a.b": null}`, `{"a": [{"b": 1}, {"c": 1}]}`, true},
		{`{"a.b": null}`, `{"a": [1, 2]}`, false},
		{`{"a.b": null}`, `{"a": 1}`, true},
		{`{"a": {"$type": "null"}}`, `{}`, false},
		{`{"a": null}`, `{"a": {"$undefined": true}}`, true},
		{`{"a": {"$lt": {"b": 1}}}`, `{"a": {"c": null}}`, true}, // null before numbers, whatever the names
		{`{"a": {"$gt": {"$minKey": 1}}}`, `{"a": "x"}`, true},
		{`{"a": {"$gte": {"$numberDouble": "NaN"}}}`, `{"a": {"$numberDouble": "NaN"}}`, true},
		{`{"a": {"$lt": 5}}`, `{"a": {"$numberDouble": "NaN"}}`, false},
		{`{"a": {"$all": [{"$elemMatch": {"x": 1}}, {"$elemMatch": {"x": 2}}]}}`, `{"a": [{"x": 1}, {"x": 2}]}`, true},
		{`{"a": {"$all": [{"$elemMatch": {"x": 1}}, {"$elemMatch": {"x": 3}}]}}`, `{"a": [{"x": 1}, {"x": 2}]}`, false},
		{`{"a": {"$all": [1, 2]}}`, `{"a": [3, 2, 1]}`, true},
		{`{"a": {"$all": [[1]]}}`, `{"a": [1]}`, true},
		{`{"a": {"$all": []}}`, `{"a": []}`, false},
		{`{"a": {"$elemMatch": {"$or": [{"x": 1}, {"y": 1}]}}}`, `{"a": [{"y": 1}]}`, true},
		{`{"_id": {"a": 1, "b": 2}}`, `{"_id": {"b": 2, "a": 1}}`, false},
		{`{"a": {"$ref": "c", "$id": 1}}`, `{"a": {"$ref": "c", "$id": 1}}`, true},
		{`{"a": {"x": 1, "$gt": 2}}`, `{"a": {"x": 1, "$gt": 2}}`, true},
		{`{"a": {"$in": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}}`, `{"a": {"$numberLong": "9"}}`, true},
		{`{"a": {"$in": [0, 1, 2, 3, 4, 5, 6, 7, 8, null]}}`, `{}`, true},
		{`{"$comment": "anything"}`, `{}`, true},
	} {
		if got := match(t, parse(t, test.doc), parse(t, test.query)); got != test.want {
			t.Errorf("query %s, document %s: got %v", test.query, test.doc, got)
		}
	}
}

func TestPosition(t *testing.T) {
	for _, test := range []struct {
		query, doc string
		want       int
	}{
		{`{"a": 3}`, `{"a": [1, 2, 3]}`, 2},
		{`{"a": {"$elemMatch": {"x": 1}}}`, `{"a": [{}, {"x": 1}]}`, 1},
		{`{"a.x": 1}`, `{"a": [{}, {"x": [0, 1]}]}`, 1},
		{`{"$or": [{"a": 9}, {"a": 2}]}`, `{"a": [1, 2, 3]}`, 1},
		{`{"$or": [{"a": 9}, {"a": {"$elemMatch": {"$gt": 1}}}]}`, `{"a": [1, 2, 3]}`, 1},
		{`{"a": 1}`, `{"a": 1}`, -1},
	} {
		f, err := query.Compile(bsontest.RawDocument(parse(t, test.query)))
		if err != nil {
			t.Fatal(err)
		}
		if !f.Match(bsontest.RawDocument(parse(t, test.doc))) {
			t.Errorf("query %s, document %s: no match", test.query, test.doc)
		}
		if got := f.Position(); got != test.want {
			t.Errorf("query %s, document %s: position %d, want %d", test.query, test.doc, got, test.want)
		}
	}
}

func TestRefusedQueries(t *testing.T) {
	for _, q := range []string{
		`{"$where": "1"}`, `{"$expr": {}}`, `{"$text": {}}`, `{"$and": []}`, `{"$or": [1]}`, `{"$nor": {}}`,
		`{"a": {"$near": 1}}`, `{"a": {"$gt": 1, "b": 2}}`, `{"a": {"$in": 1}}`, `{"a": {"$in": [{"$gt": 1}]}}`,
		`{"a": {"$not": 1}}`, `{"a": {"$not": {}}}`, `{"a": {"$size": -1}}`, `{"a": {"$size": "x"}}`,
		`{"a": {"$type": "thing"}}`, `{"a": {"$type": 99}}`, `{"a": {"$regex": "("}}`, `{"a": {"$regex": 1}}`,
		`{"a": {"$regex": "a", "$options": "q"}}`, `{"a": {"$options": "i"}}`, `{"a": {"$regex": "\u0000"}}`, `{"a": {"$elemMatch": 1}}`,
		`{"a": {"$all": 1}}`, `{"a": {"$all": [{"$gt": 1}]}}`, `{"a": {"$mod": [2, 1]}}`,
	} {
		_, err := query.Compile(bsontest.RawDocument(parse(t, q)))
		if !mongoerr.Is(err, mongoerr.BadValue) && !mongoerr.Is(err, mongoerr.FailedToParse) {
			t.Errorf("%s: %v", q, err)
		}
	}
}

func TestProject(t *testing.T) {
	doc := `{"_id": 1, "a": {"x": 1, "y": 2}, "b": [{"x": 1, "y": 2}, {"y": 3}, 4, [{"x": 5}]], "c": [1, 2, 3, 4]}`
	for _, test := range []struct{ spec, query, want string }{
		{`{}`, `{}`, doc},
		{`{"a": 1}`, `{}`, `{"_id": 1, "a": {"x": 1, "y": 2}}`},
		{`{"c": true, "a": 1}`, `{}`, `{"_id": 1, "a": {"x": 1, "y": 2}, "c": [1, 2, 3, 4]}`},
		{`{"_id": 1}`, `{}`, `{"_id": 1}`},
		{`{"_id": 0, "a.x": 1}`, `{}`, `{"a": {"x": 1}}`},
		{`{"_id": 0, "a": 0, "b": 0}`, `{}`, `{"c": [1, 2, 3, 4]}`},
		{`{"_id": 0}`, `{}`, `{"a": {"x": 1, "y": 2}, "b": [{"x": 1, "y": 2}, {"y": 3}, 4, [{"x": 5}]], "c": [1, 2, 3, 4]}`},
		{`{"_id": 0, "b.x": 1}`, `{}`, `{"b": [{"x": 1}, {}, [{"x": 5}]]}`},
		{`{"a": 0, "c": 0, "b.x": 0}`, `{}`, `{"_id": 1, "b": [{"y": 2}, {"y": 3}, 4, [{}]]}`},
		{`{"none": 1}`, `{}`, `{"_id": 1}`},
		{`{"_id": 0, "a": 1, "c": {"$slice": 2}}`, `{}`, `{"a": {"x": 1, "y": 2}, "c": [1, 2]}`},
		{`{"a": 0, "b": 0, "c": {"$slice": -1}}`, `{}`, `{"_id": 1, "c": [4]}`},
		{`{"_id": 0, "a": 1, "c": {"$slice": [1, 2]}}`, `{}`, `{"a": {"x": 1, "y": 2}, "c": [2, 3]}`},
		{`{"_id": 0, "a": 1, "c": {"$slice": [-2, 5]}}`, `{}`, `{"a": {"x": 1, "y": 2}, "c": [3, 4]}`},
		{`{"_id": 0, "b": {"$elemMatch": {"y": 3}}}`, `{}`, `{"b": [{"y": 3}]}`},
		{`{"_id": 0, "c": {"$elemMatch": {"$gt": 2}}}`, `{}`, `{"c": [3]}`},
		{`{"_id": 0, "c": {"$elemMatch": {"$gt": 9}}}`, `{}`, `{}`},
		{`{"_id": 0, "c.$": 1}`, `{"c": {"$gt": 2}}`, `{"c": [3]}`},
	} {
		p, err := query.CompileProjection(bsontest.RawDocument(parse(t, test.spec)))
		if err != nil {
			t.Errorf("%s: %v", test.spec, err)
			continue
		}
		f, err := query.Compile(bsontest.RawDocument(parse(t, test.query)))
		if err != nil {
			t.Fatal(err)
		}
		raw := bsontest.RawDocument(parse(t, doc))
		f.Match(raw)
		out, err := p.Append([]byte("before"), raw, f.Position())
		if err != nil {
			t.Errorf("%s: %v", test.spec, err)
			continue
		}
		want := bsontest.RawDocument(parse(t, test.want))
		if got := out[len("before"):]; string(got) != string(want) {
			t.Errorf("%s: got %v, want %v", test.spec, bson.Raw(got), bson.Raw(want))
		}
	}
	for _, spec := range []string{
		`{"a": 1, "b": 0}`, `{"a": {"$foo": 1}}`, `{"a": {}}`, `{"a": {"$slice": "x"}}`, `{"a": {"$slice": [1, 0]}}`, `{"a": {"$elemMatch": 1}}`,
		`{"": 1}`, `{"a.$": 0}`, `{"a.$": 1, "b.$": 1}`, `{"a": 1, "a.b": 1}`, `{"a.b": 1, "a": 1}`, `{"$a": 1}`, `{"a..b": 1}`, `{"a": {"$meta": "textScore"}}`,
	} {
		if _, err := query.CompileProjection(bsontest.RawDocument(parse(t, spec))); err == nil {
			t.Errorf("%s: no error", spec)
		}
	}
}
