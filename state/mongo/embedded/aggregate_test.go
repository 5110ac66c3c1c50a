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
	for i, stage := range []string{`{"$collStats": {"count": {}}}`, `{"$changeStream": {}}`} {
		if code := c.code(in(int64(2+i), true, cmd(t, `{"aggregate": "c", "pipeline": [%s], "cursor": {}}`, stage)...)); code != 263 {
			t.Errorf("%s: code %d", stage, code)
		}
	}
}

// rows runs a command and returns the documents of its first batch.
func rows(t testing.TB, c *client, text string) []string {
	t.Helper()
	docs, _ := batch(t, c.must(cmd(t, "%s", text)))
	return docs
}
