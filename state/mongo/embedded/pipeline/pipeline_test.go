package pipeline_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/pipeline"
)

// documents parses a list of documents in MongoDB's extended JSON.
func documents(t testing.TB, text string) []bsoncore.Document {
	t.Helper()
	var all struct{ L []bson.Raw }
	if err := bson.UnmarshalExtJSON([]byte(`{"l": [`+text+`]}`), false, &all); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var list []bsoncore.Document
	for _, doc := range all.L {
		list = append(list, bsoncore.Document(doc))
	}
	return list
}

// from returns a source of documents that, as a store's, are valid only until the next call.
func from(list []bsoncore.Document) pipeline.Source {
	var buf []byte
	return func() ([]byte, error) {
		if len(list) == 0 {
			return nil, nil
		}
		clear(buf)
		buf = append(buf[:0], list[0]...)
		list = list[1:]
		return buf, nil
	}
}

var free = pipeline.Control{Check: func() error { return nil }, Keep: func(int) error { return nil }}

// result runs stages on documents and returns the result as text.
func result(docs, stages []bsoncore.Document) (string, error) {
	p, err := pipeline.Compile(stages, false)
	if err != nil {
		return "", err
	}
	source := from(docs)
	var read []byte
	next := p.Run(func() (_ []byte, err error) {
		read, err = source()
		return read, err
	}, free)
	var out []string
	for {
		doc, err := next()
		if err != nil || doc == nil {
			return strings.Join(out, ", "), err
		}
		if err := bsoncore.Document(doc).Validate(); err != nil {
			return "", fmt.Errorf("the result is no document: %w", err)
		}
		text, err := bson.MarshalExtJSON(bson.Raw(doc), false, false)
		if err != nil {
			return "", err
		}
		out = append(out, string(text))
		clear(read) // as the end of a batch does
	}
}

// compact returns documents as result does.
func compact(t testing.TB, text string) string {
	t.Helper()
	out, err := result(documents(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	sales = `{"_id": 1, "item": "abc", "price": 10, "quantity": 2, "date": {"$date": "2014-01-01T08:00:00Z"}},
		{"_id": 2, "item": "jkl", "price": 20, "quantity": 1, "date": {"$date": "2014-02-03T09:00:00Z"}},
		{"_id": 3, "item": "xyz", "price": 5, "quantity": 5, "date": {"$date": "2014-02-03T09:05:00Z"}},
		{"_id": 4, "item": "abc", "price": 10, "quantity": 10, "date": {"$date": "2014-02-15T08:00:00Z"}},
		{"_id": 5, "item": "xyz", "price": 5, "quantity": 10, "date": {"$date": "2014-02-15T09:12:00Z"}}`
	clothing = `{"_id": 1, "item": "Shirt", "sizes": ["S", "M"]}, {"_id": 2, "item": "Shorts", "sizes": []},
		{"_id": 3, "item": "Hat", "sizes": "M"}, {"_id": 4, "item": "Gloves"}, {"_id": 5, "item": "Scarf", "sizes": null}`
	book  = `{"_id": 1, "title": "abc123", "isbn": "0001122223334", "author": {"last": "zzz", "first": "aaa"}, "copies": 5}`
	units = `{"_id": 1, "a": [{"b": 1, "c": "x"}, {"b": 2}, 3, [{"b": 4}]], "d": {"e": {"f": 7}}, "s": "Straße", "n": null}`
)

// The documents and results are those of MongoDB's manual, where it has some.
func TestStages(t *testing.T) {
	for _, test := range []struct{ about, docs, stages, want string }{
		{"$match", sales, `{"$match": {"quantity": {"$gte": 10}}}, {"$project": {"_id": 1}}`, `{"_id": 4}, {"_id": 5}`},
		{"$skip and $limit", sales, `{"$skip": 1}, {"$limit": 2}, {"$project": {"_id": 1}}`, `{"_id": 2}, {"_id": 3}`},
		{"$limit before $skip", sales, `{"$limit": 2}, {"$skip": 1}, {"$project": {"_id": 1}}`, `{"_id": 2}`},
		{"$skip of all", sales, `{"$skip": 9}`, ``},
		{"$sort", sales, `{"$sort": {"price": -1, "quantity": 1}}, {"$project": {"_id": 1}}`, `{"_id": 2}, {"_id": 1}, {"_id": 4}, {"_id": 3}, {"_id": 5}`},
		{"$sort with $skip and $limit", sales, `{"$sort": {"quantity": 1}}, {"$skip": 1}, {"$limit": 2}, {"$project": {"_id": 1}}`, `{"_id": 1}, {"_id": 3}`},
		{"$sort with $limit and then $skip", sales, `{"$sort": {"quantity": 1}}, {"$limit": 3}, {"$skip": 2}, {"$project": {"_id": 1}}`, `{"_id": 3}`},
		{"$count", sales, `{"$match": {"price": 5}}, {"$count": "cheap"}`, `{"cheap": 2}`},
		{"$count of nothing", ``, `{"$count": "n"}`, ``},

		{"$group with a count", sales, `{"$group": {"_id": null, "count": {"$sum": 1}}}`, `{"_id": null, "count": 5}`},
		{"$group of nothing", ``, `{"$group": {"_id": null, "count": {"$sum": 1}}}`, ``},
		{"$group for distinct values", sales, `{"$group": {"_id": "$item"}}`, `{"_id": "abc"}, {"_id": "jkl"}, {"_id": "xyz"}`},
		{"$group with having", sales,
			`{"$group": {"_id": "$item", "total": {"$sum": {"$multiply": ["$price", "$quantity"]}}}}, {"$match": {"total": {"$gte": 75}}}`,
			`{"_id": "abc", "total": 120}, {"_id": "xyz", "total": 75}`},
		{"$group by a document", sales, `{"$group": {"_id": {"p": "$price", "none": "$none"}, "n": {"$sum": 1}}}`,
			`{"_id": {"p": 10}, "n": 2}, {"_id": {"p": 20}, "n": 1}, {"_id": {"p": 5}, "n": 2}`},
		{"$group by numbers of several types", `{"a": 1}, {"a": 1.0}, {"a": {"$numberLong": "1"}}, {}, {"a": null}`,
			`{"$group": {"_id": "$a", "n": {"$sum": 1}}}`, `{"_id": 1, "n": 3}, {"_id": null, "n": 2}`},
		{"accumulators", sales, `{"$group": {"_id": "$item", "avg": {"$avg": "$quantity"}, "min": {"$min": "$quantity"}, "max": {"$max": "$quantity"},
			"first": {"$first": "$_id"}, "last": {"$last": "$_id"}, "all": {"$push": "$_id"}, "prices": {"$addToSet": "$price"}}}, {"$match": {"_id": "xyz"}}`,
			`{"_id": "xyz", "avg": 7.5, "min": 5, "max": 10, "first": 3, "last": 5, "all": [3, 5], "prices": [5]}`},
		{"accumulators of what is missing", `{"a": "x"}, {"a": null}`, `{"$group": {"_id": 1, "sum": {"$sum": "$z"}, "avg": {"$avg": "$a"}, "min": {"$min": "$z"},
			"first": {"$first": "$z"}, "last": {"$last": "$z"}, "all": {"$push": "$z"}, "some": {"$push": "$a"}, "set": {"$addToSet": "$z"}}}`,
			`{"_id": 1, "sum": 0, "avg": null, "min": null, "first": null, "last": null, "all": [], "some": ["x", null], "set": []}`},
		{"$push of documents", `{"t": "a", "c": 1}, {"t": "a", "c": 2}`, `{"$group": {"_id": "$t", "books": {"$push": "$$ROOT"}}}`,
			`{"_id": "a", "books": [{"t": "a", "c": 1}, {"t": "a", "c": 2}]}`},
		{"$sum beyond 32 and 64 bits", `{"a": 2147483647, "b": {"$numberLong": "9223372036854775807"}}, {"a": 1, "b": 1}`,
			`{"$group": {"_id": 0, "a": {"$sum": "$a"}, "b": {"$sum": "$b"}}}`, `{"_id": 0, "a": {"$numberLong": "2147483648"}, "b": 9223372036854775808.0}`},

		{"$unwind", clothing, `{"$unwind": "$sizes"}`, `{"_id": 1, "item": "Shirt", "sizes": "S"}, {"_id": 1, "item": "Shirt", "sizes": "M"}, {"_id": 3, "item": "Hat", "sizes": "M"}`},
		{"$unwind with positions", clothing, `{"$unwind": {"path": "$sizes", "includeArrayIndex": "at"}}`,
			`{"_id": 1, "item": "Shirt", "sizes": "S", "at": {"$numberLong": "0"}}, {"_id": 1, "item": "Shirt", "sizes": "M", "at": {"$numberLong": "1"}},
			{"_id": 3, "item": "Hat", "sizes": "M", "at": null}`},
		{"$unwind that keeps what is empty", clothing, `{"$unwind": {"path": "$sizes", "preserveNullAndEmptyArrays": true}}, {"$project": {"item": 0}}`,
			`{"_id": 1, "sizes": "S"}, {"_id": 1, "sizes": "M"}, {"_id": 2}, {"_id": 3, "sizes": "M"}, {"_id": 4}, {"_id": 5, "sizes": null}`},
		{"$unwind of a path", `{"a": {"b": [1, 2], "c": 3}}, {"a": [{"b": [1]}]}, {"a": 1}`, `{"$unwind": "$a.b"}`, `{"a": {"b": 1, "c": 3}}, {"a": {"b": 2, "c": 3}}`},

		{"$project that includes", book, `{"$project": {"title": 1, "author.last": 1}}`, `{"_id": 1, "title": "abc123", "author": {"last": "zzz"}}`},
		{"$project without _id", book, `{"$project": {"_id": 0, "title": true}}`, `{"title": "abc123"}`},
		{"$project of nested fields", book, `{"$project": {"_id": 0, "author": {"last": 1, "first": 1}}}`, `{"author": {"last": "zzz", "first": "aaa"}}`},
		{"$project that excludes", book, `{"$project": {"author.first": 0, "copies": 0, "isbn": 0}}`, `{"_id": 1, "title": "abc123", "author": {"last": "zzz"}}`},
		{"$project of _id alone", book, `{"$project": {"_id": 0}}, {"$project": {"copies": 1}}`, `{"copies": 5}`},
		{"$project that computes", book, `{"$project": {"title": 1, "isbn": {"prefix": {"$substrBytes": ["$isbn", 0, 3]}, "rest": {"$substrBytes": ["$isbn", 3, -1]}}, "lastName": "$author.last", "copiesSold": "$copies"}}`,
			`{"_id": 1, "title": "abc123", "isbn": {"prefix": "000", "rest": "1122223334"}, "lastName": "zzz", "copiesSold": 5}`},
		{"$project of computed fields alone", book, `{"$project": {"x": "$copies"}}, {"$project": {"_id": 0, "y": "$x", "z": "text", "list": ["$x", "$none"]}}`, `{"y": 5, "z": "text", "list": [5, null]}`},
		{"$project of a missing field", book, `{"$project": {"x": "$none", "y": "$$REMOVE", "_id": "$copies"}}`, `{"_id": 5}`},
		{"$project into an array", `{"a": [{"x": 1}, 2, {"x": 3}], "b": 9}`, `{"$project": {"a.y": "$b", "a.x": 1}}`, `{"a": [{"x": 1, "y": 9}, {"x": 3, "y": 9}]}`},
		{"paths through arrays", units, `{"$project": {"_id": 0, "b": "$a.b", "f": "$d.e.f", "none": "$d.x.y", "root": "$$ROOT.d.e", "current": "$$CURRENT.n"}}`,
			`{"b": [1, 2, [4]], "f": 7, "root": {"f": 7}, "current": null}`},
	} {
		t.Run(test.about, func(t *testing.T) {
			got, err := result(documents(t, test.docs), documents(t, test.stages))
			if want := compact(t, test.want); err != nil || got != want {
				t.Errorf("got  %s, %v\nwant %s", got, err, want)
			}
		})
	}
}

func TestExpressions(t *testing.T) {
	const doc = `{"i": 7, "l": {"$numberLong": "8"}, "f": 2.5, "s": "Straße", "a": [3, "x", null], "o": {"k": 1, "m": "v"}, "t": true,
		"d": {"$date": "2026-11-26T03:04:05.678Z"}, "id": {"$oid": "0102030405060708090a0b0c"}, "n": null, "dec": {"$numberDecimal": "1.5"}}`
	for _, test := range []struct{ expr, want string }{
		{`{"$literal": "$i"}`, `"$i"`},
		{`{"$add": ["$i", 1]}`, `8`},
		{`{"$add": ["$i", "$l", 0.5]}`, `15.5`},
		{`{"$add": ["$d", 1000]}`, `{"$date": "2026-11-26T03:04:06.678Z"}`},
		{`{"$add": ["$i", "$n"]}`, `null`},
		{`{"$add": [{"$literal": 2147483647}, 1]}`, `{"$numberLong": "2147483648"}`},
		{`{"$add": ["$dec", 1]}`, `{"$numberDecimal": "2.5"}`},
		{`{"$subtract": ["$i", "$f"]}`, `4.5`},
		{`{"$subtract": ["$d", "$d"]}`, `{"$numberLong": "0"}`},
		{`{"$subtract": ["$d", 678]}`, `{"$date": "2026-11-26T03:04:05Z"}`},
		{`{"$multiply": ["$i", "$f", 2]}`, `35.0`},
		{`{"$divide": ["$i", 2]}`, `3.5`},
		{`{"$mod": ["$i", 4]}`, `3`},
		{`{"$mod": ["$f", 2]}`, `0.5`},
		{`{"$cmp": ["$i", "$l"]}`, `-1`},
		{`[{"$eq": ["$i", 7.0]}, {"$ne": ["$i", 7]}, {"$gt": ["$i", "$none"]}, {"$gte": [1, 1]}, {"$lt": [1, "x"]}, {"$lte": [2, 1]}, {"$eq": ["$n", "$none"]}]`, `[true, false, true, true, true, false, false]`},
		{`[{"$and": ["$i", "$t"]}, {"$and": []}, {"$or": ["$n", 0, "$none"]}, {"$not": ["$n"]}, {"$not": "$i"}]`, `[true, true, false, true, false]`},
		{`{"$cond": [{"$gt": ["$i", 5]}, "big", "small"]}`, `"big"`},
		{`{"$cond": {"if": "$n", "then": 1, "else": {"$size": "$a"}}}`, `3`},
		{`{"$ifNull": ["$n", "$none", "x"]}`, `"x"`},
		{`{"$concat": ["a", "$s"]}`, `"aStraße"`},
		{`{"$concat": ["a", "$n"]}`, `null`},
		{`[{"$toUpper": "$s"}, {"$toLower": "$s"}, {"$toLower": "$n"}]`, `["STRAßE", "straße", ""]`},
		{`[{"$substr": ["$s", 0, 4]}, {"$substr": ["$s", 6, -1]}, {"$substr": ["$s", 99, 1]}, {"$substr": ["$i", 0, 1]}, {"$substrCP": ["$s", 4, 1]}]`, `["Stra", "e", "", "7", "ß"]`},
		{`[{"$toString": "$i"}, {"$toString": "$f"}, {"$toString": "$t"}, {"$toString": "$d"}, {"$toString": "$id"}, {"$toString": "$dec"}, {"$toString": "$n"}]`,
			`["7", "2.5", "true", "2026-11-26T03:04:05.678Z", "0102030405060708090a0b0c", "1.5", null]`},
		{`[{"$type": "$i"}, {"$type": "$none"}, {"$type": "$o"}]`, `["int", "missing", "object"]`},
		{`[{"$isArray": "$a"}, {"$isArray": ["$i"]}, {"$in": ["x", "$a"]}, {"$in": ["y", "$a"]}]`, `[true, false, true, false]`},
		{`[{"$arrayElemAt": ["$a", 1]}, {"$arrayElemAt": ["$a", -3]}, {"$arrayElemAt": ["$a", 9]}, {"$arrayElemAt": ["$a", -4]}, {"$first": "$a"}, {"$last": "$a"}]`, `["x", 3, null, null, 3, null]`},
		{`{"$objectToArray": "$o"}`, `[{"k": "k", "v": 1}, {"k": "m", "v": "v"}]`},
		{`[{"$sum": "$a"}, {"$sum": ["$i", "$l"]}, {"$avg": [1, 2]}, {"$max": ["$i", "$f"]}, {"$min": "$a"}]`, `[3, {"$numberLong": "15"}, 1.5, 7, 3]`},
		{`{"a": {"b": "$i", "none": "$none"}, "c": []}`, `{"a": {"b": 7}, "c": []}`},
	} {
		got, err := result(documents(t, doc), documents(t, `{"$project": {"_id": 0, "x": [`+test.expr+`]}}`))
		if want := compact(t, `{"x": [`+test.want+`]}`); err != nil || got != want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", test.expr, got, err, want)
		}
	}
}

// What is not there, and what is wrong, is refused by its name, with MongoDB's codes.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		stages string
		code   mongoerr.Code
		says   string
	}{
		{`{"$lookup": {}}`, 40324, "'$lookup'"},
		{`{"$match": {}}, {"$facet": {}}`, 40324, "'$facet'"},
		{`{}`, 40323, "exactly one field"},
		{`{"$match": {}, "$limit": 1}`, 40323, "exactly one field"},
		{`{"$out": "x"}`, 40324, "$out"},
		{`{"$match": {}}, {"$changeStream": {}}`, 40602, "$changeStream"},
		{`{"$match": 1}`, 15959, "match"},
		{`{"$match": {"$expr": {}}}`, 2, "$expr"},
		{`{"$limit": 0}`, 15958, "positive"},
		{`{"$limit": "x"}`, 15957, "number"},
		{`{"$skip": -1}`, 15956, "negative"},
		{`{"$sort": {}}`, 15976, "at least one"},
		{`{"$sort": 1}`, 15973, "object"},
		{`{"$count": ""}`, 40156, "non-empty"},
		{`{"$count": "a.b"}`, 16412, "'.'"},
		{`{"$unwind": "a"}`, 28818, "'$': a"},
		{`{"$unwind": {}}`, 28812, "no path"},
		{`{"$unwind": {"path": "$a", "preserve": 1}}`, 28811, "preserve"},
		{`{"$project": {}}`, 51272, "at least one"},
		{`{"$project": {"a": 1, "b": 0}}`, 31254, "field b"},
		{`{"$project": {"a": "$b", "b": 0}}`, 31254, "field b"},
		{`{"$project": {"a": 1, "a.b": 1}}`, 31250, "collision at a.b"},
		{`{"$project": {"a.b": "$x", "a": "$y"}}`, 31250, "collision at a"},
		{`{"$project": {"a": {"$frob": 1}}}`, 168, "'$frob'"},
		{`{"$project": {"a": {"$map": {}}}}`, 168, "'$map'"},
		{`{"$project": {"a": {"$add": 1, "$subtract": 2}}}`, 15983, "exactly one"},
		{`{"$project": {"a": {"$eq": [1]}}}`, 16020, "$eq takes exactly 2"},
		{`{"$project": {"a": {"$ifNull": [1]}}}`, 28667, "$ifNull"},
		{`{"$project": {"a": "$$NOW"}}`, 17276, "NOW"},
		{`{"$project": {"a": "$b..c"}}`, 15998, "empty"},
		{`{"$group": {"n": {"$sum": 1}}}`, 15955, "_id"},
		{`{"$group": {"_id": 1, "n": 1}}`, 40234, "'n'"},
		{`{"$group": {"_id": 1, "n": {"$stdDevPop": "$a"}}}`, 15952, "'$stdDevPop'"},
		{`{"$group": {"_id": 1, "a.b": {"$sum": 1}}}`, 40235, "'a.b'"},
		{`{"$group": {"_id": 1, "n": {"$sum": 1, "$max": 1}}}`, 40238, "'n'"},
		{`{"$project": {"a": {"$add": ["$s", 1]}}}`, 16554, "$add"},
		{`{"$project": {"a": {"$subtract": ["$s", 1]}}}`, 16556, "$subtract"},
		{`{"$project": {"a": {"$divide": [1, 0]}}}`, 16608, "by zero"},
		{`{"$project": {"a": {"$concat": ["$i"]}}}`, 16702, "$concat"},
		{`{"$project": {"a": {"$size": "$i"}}}`, 17124, "of type: int"},
		{`{"$project": {"a": {"$size": "$none"}}}`, 17124, "missing"},
		{`{"$project": {"a": {"$in": [1, 2]}}}`, 40081, "$in"},
		{`{"$project": {"a": {"$toString": "$o"}}}`, 241, "object"},
		{`{"$project": {"a": "$` + strings.Repeat("b.", 100) + `b"}}`, 15, "too long"},
		{`{"$project": {"` + strings.Repeat("b.", 100) + `b": "$i"}}`, 15, "too long"},
		{`{"$unwind": {"path": "$i", "includeArrayIndex": "` + strings.Repeat("b.", 100) + `b"}}`, 15, "too long"},
		{strings.Repeat(`{"$project": {"a.b.c": "$$ROOT"}}, `, 59) + `{"$limit": 1}`, 0, ""}, // 179 levels
		{strings.Repeat(`{"$project": {"a.b.c": "$$ROOT"}}, `, 60) + `{"$limit": 1}`, 15, "deeper than 180"},
		{strings.Repeat(`{"$group": {"_id": {"a": {"b": "$_id"}}}}, `, 90) + `{"$limit": 1}`, 15, "deeper than 180"},
		{strings.Repeat(`{"$limit": 1}, `, 100) + `{"$limit": 1}`, 7749501, "100 stages"},
	} {
		_, err := result(documents(t, `{"i": 1, "s": "x", "o": {}}`), documents(t, test.stages))
		if test.code == 0 && err == nil {
			continue
		}
		if !mongoerr.Is(err, test.code) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v (%d), want code %d and %q", test.stages, err, mongoerr.From(errors.Join(err)).Code, test.code, test.says)
		}
	}
}

// The head of a pipeline is what a query can do; the rest follows.
func TestHead(t *testing.T) {
	p, err := pipeline.Compile(documents(t, `{"$match": {"a": 1}}, {"$match": {"b": 2}}, {"$sort": {"c": -1}}, {"$skip": 3}, {"$limit": 4}, {"$limit": 2}`), true)
	if err != nil {
		t.Fatal(err)
	}
	h := p.Head
	if h.Match.String() != documents(t, `{"$and": [{"a": 1}, {"b": 2}]}`)[0].String() || h.Order.String() != documents(t, `{"c": -1}`)[0].String() || h.Skip != 3 || h.Limit != 4 {
		t.Errorf("the head is %v, %v, %d, %d", h.Match, h.Order, h.Skip, h.Limit)
	}
	if len(p.Rest) != 1 {
		t.Errorf("the rest is %v", p.Rest)
	}
}

// A pipeline does not take more memory than a stage may, whatever it is asked for.
func TestMemoryIsBounded(t *testing.T) {
	large := bsontest.RawDocument(bson.D{{Key: "a", Value: strings.Repeat("x", 1<<20)}})
	// 300 MB and 130 MB, so that a stage without a limit ends.
	many := func() pipeline.Source { return from(slices.Repeat([]bsoncore.Document{large}, 300)) }
	numbers := int32(0)
	different := func() ([]byte, error) {
		if numbers++; numbers%13_000 == 0 {
			return nil, nil
		}
		return bsontest.RawDocument(bson.D{{Key: "_id", Value: fmt.Sprintf("%010000d", numbers)}}), nil
	}
	for _, test := range []struct {
		stages string
		source pipeline.Source
		code   mongoerr.Code
	}{
		{`{"$sort": {"a": 1}}`, many(), mongoerr.MemoryLimit},
		{`{"$group": {"_id": 1, "all": {"$push": "$$ROOT"}}}`, many(), mongoerr.MemoryLimit},
		{`{"$group": {"_id": "$_id"}}`, different, mongoerr.MemoryLimit},
		{`{"$group": {"_id": 1, "all": {"$addToSet": "$_id"}}}`, different, mongoerr.MemoryLimit},
		{`{"$project": {"x": {"$concat": [` + strings.TrimSuffix(strings.Repeat(`"$a",`, 20), ",") + `]}}}`, many(), mongoerr.ObjectTooLarge},
		{`{"$project": {"x": [` + strings.TrimSuffix(strings.Repeat(`"$a",`, 20), ",") + `]}}`, many(), mongoerr.ObjectTooLarge},
		{`{"$limit": 20}, {"$group": {"_id": 1, "all": {"$push": "$a"}}}`, many(), mongoerr.ObjectTooLarge},
	} {
		p, err := pipeline.Compile(documents(t, test.stages), false)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		doc, err := p.Run(test.source, free)()
		runtime.ReadMemStats(&after)
		if !mongoerr.Is(err, test.code) {
			t.Errorf("%.60s: %d bytes, %v; want code %d", test.stages, len(doc), err, test.code)
		}
		if used := int64(after.Sys) - int64(before.Sys); used > 600<<20 {
			t.Errorf("%.60s took %d bytes", test.stages, used)
		}
	}
}

// A stage that reads or makes many documents ends when its client's time is over.
func TestLongStagesAreChecked(t *testing.T) {
	over := errors.New("over")
	small := documents(t, `{"_id": 1, "a": [1, 2, 3]}`)
	for _, stages := range []string{`{"$group": {"_id": 1, "n": {"$sum": 1}}}`, `{"$count": "n"}`, `{"$sort": {"a": 1}}, {"$limit": 1}`, `{"$unwind": "$a"}, {"$match": {"a": 4}}`} {
		p, err := pipeline.Compile(documents(t, stages), false)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = p.Run(from(slices.Repeat(small, 10_000)), pipeline.Control{Keep: free.Keep, Check: func() error {
			if n++; n > 3 {
				return over
			}
			return nil
		}})()
		if !errors.Is(err, over) {
			t.Errorf("%s: %v, want that the time is over", stages, err)
		}
	}
}
