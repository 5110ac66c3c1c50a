package embedded_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded"
)

// cmd parses a command in MongoDB's extended JSON.
func cmd(t testing.TB, format string, args ...any) d {
	t.Helper()
	var doc d
	if err := bson.UnmarshalExtJSON(fmt.Appendf(nil, format, args...), false, &doc); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return doc
}

// batch returns the documents of a reply with a cursor, and the cursor's id.
func batch(t testing.TB, reply bsoncore.Document) (docs []string, id int64) {
	t.Helper()
	list, err := reply.LookupErr("cursor", "firstBatch")
	if err != nil {
		if list, err = reply.LookupErr("cursor", "nextBatch"); err != nil {
			t.Fatalf("%v: %v", reply, err)
		}
	}
	values, err := list.Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		text, err := bson.MarshalExtJSON(bson.Raw(v.Document()), false, false)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(text))
	}
	return docs, number(reply, "cursor", "id")
}

// aggregated runs a pipeline on c and returns all it answers.
func aggregated(t testing.TB, c *client, stages string) string {
	t.Helper()
	docs, id := batch(t, c.must(cmd(t, `{"aggregate": "c", "pipeline": [%s], "cursor": {}}`, stages)))
	for id != 0 {
		var rest []string
		rest, id = batch(t, c.must(d{{Key: "getMore", Value: id}, {Key: "collection", Value: "c"}}))
		docs = append(docs, rest...)
	}
	return strings.Join(docs, " ")
}

// numbered opens a store with a collection c of n documents {_id, a: _id modulo 10}, and an index on a.
func numbered(t testing.TB, n int) *client {
	c := connect(t, open(t, embedded.Options{}))
	docs := bson.A{}
	for i := range n {
		docs = append(docs, d{{Key: "_id", Value: i}, {Key: "a", Value: i % 10}})
	}
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}})
	c.must(cmd(t, `{"createIndexes": "c", "indexes": [{"name": "a", "key": {"a": 1}}]}`))
	return c
}

// The cursors of aggregations are like those of queries.
func TestAggregationCursors(t *testing.T) {
	c := numbered(t, 1000)
	docs, id := batch(t, c.must(cmd(t, `{"aggregate": "c", "pipeline": [], "cursor": {}}`)))
	if len(docs) != 101 || id == 0 {
		t.Errorf("the first batch has %d documents, cursor %d", len(docs), id)
	}
	c.must(d{{Key: "killCursors", Value: "c"}, {Key: "cursors", Value: bson.A{id}}})
	if code := c.code(more(id)); code != 43 {
		t.Errorf("after killCursors: code %d", code)
	}
	before := examined(c)
	docs, id = batch(t, c.must(cmd(t, `{"aggregate": "c", "pipeline": [{"$group": {"_id": "$a", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}], "cursor": {"batchSize": 0}}`)))
	if len(docs) != 0 || id == 0 || examined(c) != before {
		t.Errorf("an empty first batch: %q, cursor %d, %d documents read", docs, id, examined(c)-before)
	}
	if docs, id = batch(t, c.must(more(id))); len(docs) != 5 || docs[0] != `{"_id":0,"n":100}` || id == 0 {
		t.Errorf("the next batch: %q, cursor %d", docs, id)
	}
	c.must(d{{Key: "drop", Value: "c"}})
	if docs, _ = batch(t, c.must(more(id))); len(docs) != 5 || docs[4] != `{"_id":9,"n":100}` {
		t.Errorf("the last batch: %q", docs)
	}
}

// The beginning of a pipeline uses an index, as a query does.
func TestAggregationsUseIndexes(t *testing.T) {
	c := numbered(t, 1000)
	for _, test := range []struct {
		stages, want string
		reads        int64
	}{
		{`{"$match": {"a": 3}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}`, `{"_id":1,"n":100}`, 100},
		{`{"$match": {"_id": 77}}, {"$project": {"b": "$a"}}`, `{"_id":77,"b":7}`, 1},
		{`{"$sort": {"_id": -1}}, {"$skip": 1}, {"$limit": 2}, {"$project": {"_id": 1}}`, `{"_id":998} {"_id":997}`, 3},
		{`{"$match": {"a": {"$gte": 9}}}, {"$limit": 1}`, `{"_id":9,"a":9}`, 1},
		{`{"$sort": {"a": 1, "_id": -1}}, {"$limit": 1}`, `{"_id":990,"a":0}`, 1000},
	} {
		before := examined(c)
		if got := aggregated(t, c, test.stages); got != test.want || examined(c)-before != test.reads {
			t.Errorf("%s: %s, %d documents read; want %s and %d", test.stages, got, examined(c)-before, test.want, test.reads)
		}
	}
}

// An aggregation of a transaction reads its snapshot and its own changes.
func TestAggregationsInTransactions(t *testing.T) {
	c := numbered(t, 20)
	count := cmd(t, `{"aggregate": "c", "pipeline": [{"$group": {"_id": 1, "n": {"$sum": 1}}}], "cursor": {}}`)
	c.must(in(1, true, adding("mine")...))
	c.must(adding("theirs"))
	if docs, _ := batch(t, c.must(in(1, false, count...))); !slices.Equal(docs, []string{`{"_id":1,"n":21}`}) {
		t.Errorf("the transaction counts %q", docs)
	}
	_, id := batch(t, c.must(in(1, false, cmd(t, `{"aggregate": "c", "pipeline": [{"$unwind": "$a"}], "cursor": {"batchSize": 5}}`)...)))
	c.must(cmd(t, `{"delete": "c", "deletes": [{"q": {"_id": 19}, "limit": 0}]}`))
	if docs, _ := batch(t, c.must(in(1, false, bson.E{Key: "getMore", Value: id}, bson.E{Key: "collection", Value: "c"}))); len(docs) != 15 {
		t.Errorf("its cursor returns another %d documents, want 15", len(docs))
	}
	for i, stage := range []string{`{"$out": "x"}`, `{"$collStats": {"count": {}}}`, `{"$changeStream": {}}`} {
		if code := c.code(in(int64(2+i), true, cmd(t, `{"aggregate": "c", "pipeline": [%s], "cursor": {}}`, stage)...)); code != 263 {
			t.Errorf("%s: code %d", stage, code)
		}
	}
}

// $out replaces a collection at once, with its indexes; a pipeline that fails leaves it as it was.
func TestOut(t *testing.T) {
	c := numbered(t, 20)
	c.must(cmd(t, `{"insert": "t", "documents": [{"_id": "old"}]}`))
	c.must(cmd(t, `{"createIndexes": "t", "indexes": [{"name": "k", "key": {"k": 1}, "unique": true}]}`))
	out := func(stages string) int {
		return c.code(cmd(t, `{"aggregate": "c", "pipeline": [%s], "cursor": {}, "writeConcern": {"w": "majority"}}`, stages))
	}
	names := func() int64 { return int64(len(rows(t, c, `{"listCollections": 1}`))) }
	for _, test := range []struct {
		stages string
		code   int
	}{
		{`{"$project": {"k": {"$divide": [1, {"$subtract": ["$_id", 15]}]}}}, {"$out": "t"}`, 16608},
		{`{"$project": {"k": "$a"}}, {"$out": "t"}`, 11000},
		{`{"$project": {"_id": "$a", "k": "$_id"}}, {"$out": "t"}`, 11000},
		{`{"$project": {"_id": [1, 2]}}, {"$out": "t"}`, 53},
		{`{"$out": ""}`, 73},
		{`{"$out": "$x"}`, 73},
		{`{"$out": {"db": "a b", "coll": "x"}}`, 73},
	} {
		if code := out(test.stages); code != test.code {
			t.Errorf("%s: code %d, want %d", test.stages, code, test.code)
		}
	}
	if got := rows(t, c, `{"find": "t"}`); !slices.Equal(got, []string{`{"_id":"old"}`}) || names() != 2 {
		t.Errorf("after failures: %q, %d collections", got, names())
	}
	if code := out(`{"$match": {"_id": {"$lt": 2}}}, {"$project": {"k": "$_id"}}, {"$out": "t"}`); code != 0 {
		t.Errorf("code %d", code)
	}
	if got := rows(t, c, `{"find": "t", "hint": "k"}`); !slices.Equal(got, []string{`{"_id":0,"k":0}`, `{"_id":1,"k":1}`}) {
		t.Errorf("after $out: %q", got)
	}
	if code := c.code(cmd(t, `{"aggregate": "c", "pipeline": [{"$match": {"a": 5}}, {"$out": "c"}], "cursor": {}}`)); code != 0 {
		t.Errorf("onto itself: code %d", code)
	}
	if got := rows(t, c, `{"find": "c"}`); len(got) != 2 {
		t.Errorf("onto itself: %q", got)
	}
	c.must(cmd(t, `{"aggregate": "none", "pipeline": [{"$out": "t"}], "cursor": {}}`))
	if got := rows(t, c, `{"find": "t"}`); len(got) != 0 {
		t.Errorf("of no documents: %q", got)
	}
}

// A command that meets a $out runs on the collection before it or on the one after it.
func TestCommandsBesideOut(t *testing.T) {
	server := open(t, embedded.Options{})
	replacer, other := connect(t, server), connect(t, server)
	replacer.must(cmd(t, `{"insert": "c", "documents": [{"_id": 1}]}`))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			// A $out refuses to replace indexes that it has not copied.
			if code := replacer.code(cmd(t, `{"aggregate": "c", "pipeline": [{"$out": "t"}], "cursor": {}}`)); code != 0 && code != 125 {
				t.Errorf("$out: code %d", code)
			}
		}
	}()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
		}
		other.must(cmd(t, `{"createIndexes": "t", "indexes": [{"name": "k%d", "key": {"k%d": 1}}]}`, i%10, i%10))
		other.must(cmd(t, `{"insert": "t", "documents": [{"_id": "new %d"}]}`, i))
		other.must(cmd(t, `{"dropIndexes": "t", "index": "k%d"}`, i%10))
	}
}

// A change stream on a collection that $out replaces says so, and ends.
func TestOutEndsChangeStreams(t *testing.T) {
	c := numbered(t, 3)
	open := func(collection string) int64 {
		_, id := batch(t, c.must(cmd(t, `{"aggregate": %s, "pipeline": [{"$changeStream": {}}, {"$project": {"operationType": 1, "to": 1}}], "cursor": {}}`, collection)))
		return id
	}
	one, all := open(`"t"`), open(`1`)
	c.must(cmd(t, `{"aggregate": "c", "pipeline": [{"$out": "t"}], "cursor": {}}`))
	events, id := batch(t, c.must(d{{Key: "getMore", Value: one}, {Key: "collection", Value: "t"}}))
	if len(events) != 2 || !strings.Contains(events[0], `"operationType":"rename","to":{"db":"db","coll":"t"}`) || !strings.Contains(events[1], `"invalidate"`) || id != 0 {
		t.Errorf("the collection's stream: %q, cursor %d", events, id)
	}
	if events, id = batch(t, c.must(d{{Key: "getMore", Value: all}, {Key: "collection", Value: "$cmd.aggregate"}})); len(events) != 1 || id == 0 {
		t.Errorf("the database's stream: %q, cursor %d", events, id)
	}
}

// rows runs a command and returns the documents of its first batch.
func rows(t testing.TB, c *client, text string) []string {
	t.Helper()
	docs, _ := batch(t, c.must(cmd(t, "%s", text)))
	return docs
}
