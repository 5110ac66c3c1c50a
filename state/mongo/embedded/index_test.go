package embedded_test

import (
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded"
)

// examined returns how many documents the server has read so far.
func examined(c *client) int64 {
	return number(c.must(d{{Key: "serverStatus", Value: 1}}), "metrics", "queryExecutor", "scannedObjects")
}

// TestExamined checks that queries with a suitable index read no more documents than they find.
func TestExamined(t *testing.T) {
	s := open(t, embedded.Options{})
	c := connect(t, s)
	docs := bson.A{}
	for i := range 10_000 {
		docs = append(docs, d{{Key: "_id", Value: i}, {Key: "ten", Value: i / 10}, {Key: "odd", Value: i % 2}, {Key: "tags", Value: bson.A{i, i + 1}}, {Key: "name", Value: "unit#" + string(rune('a'+i%26))}})
	}
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}})
	c.must(d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{
		d{{Key: "name", Value: "ten"}, {Key: "key", Value: d{{Key: "ten", Value: 1}, {Key: "odd", Value: 1}}}},
		d{{Key: "name", Value: "tags"}, {Key: "key", Value: d{{Key: "tags", Value: 1}}}},
		d{{Key: "name", Value: "name"}, {Key: "key", Value: d{{Key: "name", Value: 1}}}},
	}}})
	gt := func(n int) d { return d{{Key: "$gt", Value: n}} }
	for _, test := range []struct {
		about string
		query d
		found int64
		most  int64
	}{
		{"by _id", d{{Key: "_id", Value: 77}}, 1, 1},
		{"by _id, no match", d{{Key: "_id", Value: -1}}, 0, 1},
		{"by _id, of another numeric type", d{{Key: "_id", Value: 77.0}}, 1, 1},
		{"by some _ids", d{{Key: "_id", Value: d{{Key: "$in", Value: bson.A{1, 2, 3}}}}}, 3, 3},
		{"by a range of _ids", d{{Key: "_id", Value: gt(9989)}}, 10, 10},
		{"equality", d{{Key: "ten", Value: 5}}, 10, 10},
		{"both fields", d{{Key: "ten", Value: 5}, {Key: "odd", Value: 1}}, 5, 5},
		{"equality and a range", d{{Key: "ten", Value: 5}, {Key: "odd", Value: gt(0)}}, 5, 5},
		{"$in", d{{Key: "ten", Value: d{{Key: "$in", Value: bson.A{5, 7, 5000}}}}}, 20, 20},
		{"a range", d{{Key: "ten", Value: d{{Key: "$gte", Value: 990}, {Key: "$lt", Value: 992}}}}, 20, 20},
		{"an array element", d{{Key: "tags", Value: 500}}, 2, 2},
		{"a prefix", d{{Key: "name", Value: d{{Key: "$regex", Value: "^unit#b"}}}}, 385, 385},
		{"$or", d{{Key: "$or", Value: bson.A{d{{Key: "ten", Value: 1}}, d{{Key: "_id", Value: 3000}}}}}, 11, 11},
		{"no index", d{{Key: "odd", Value: 1}}, 5000, 10_000},
	} {
		before := examined(c)
		if n := number(c.must(d{{Key: "count", Value: "c"}, {Key: "query", Value: test.query}}), "n"); n != test.found {
			t.Errorf("%s: found %d, want %d", test.about, n, test.found)
		}
		if n := examined(c) - before; n > test.most {
			t.Errorf("%s: examined %d documents, want at most %d", test.about, n, test.most)
		}
	}
	before := examined(c)
	c.must(d{{Key: "find", Value: "c"}, {Key: "sort", Value: d{{Key: "_id", Value: -1}}}, {Key: "limit", Value: 5}})
	c.must(d{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: d{{Key: "_id", Value: 7}, {Key: "odd", Value: 1}}}, {Key: "u", Value: d{{Key: "$set", Value: d{{Key: "odd", Value: 3}}}}}}}}})
	c.must(d{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: d{{Key: "ten", Value: 5}}}, {Key: "sort", Value: d{{Key: "odd", Value: 1}}}, {Key: "remove", Value: true}})
	if n := examined(c) - before; n > 7 {
		t.Errorf("a sorted find of 5 documents, an update and a removal examined %d documents, want at most 7", n)
	}
}

// TestIndexesComeAndGo runs queries while the index that they use is created and dropped. Each query must
// find all matches, or report that its index was dropped.
func TestIndexesComeAndGo(t *testing.T) {
	s := open(t, embedded.Options{})
	c := connect(t, s)
	docs := bson.A{}
	for i := range 500 {
		docs = append(docs, d{{Key: "_id", Value: i}, {Key: "k", Value: i % 5}})
	}
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			c := connect(t, s)
			for {
				select {
				case <-stop:
					return
				default:
				}
				doc := c.command(d{{Key: "count", Value: "c"}, {Key: "query", Value: d{{Key: "k", Value: 3}}}})
				if code, err := doc.LookupErr("code"); err == nil && code.Int32() == 175 {
					continue
				}
				if n := number(doc, "n"); n != 100 {
					t.Errorf("found %d, want 100: %v", n, doc)
					return
				}
			}
		})
	}
	for range 100 {
		c.must(d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{d{{Key: "name", Value: "k"}, {Key: "key", Value: d{{Key: "k", Value: 1}}}}}}})
		c.must(d{{Key: "dropIndexes", Value: "c"}, {Key: "index", Value: "k"}})
	}
	close(stop)
	wg.Wait()
}
