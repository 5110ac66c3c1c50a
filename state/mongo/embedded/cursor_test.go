package embedded_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

// inBubble runs a test and its server in a synctest bubble.
func inBubble(t *testing.T, opts embedded.Options, test func(t *testing.T, s *embedded.Server)) {
	synctest.Test(t, func(t *testing.T) {
		opts.FS = vfs.NewMem()
		opts.Logger = testLog{t}
		s, err := embedded.Open("store", opts)
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func many(n int) bson.A {
	docs := bson.A{}
	for i := range n {
		docs = append(docs, d{{Key: "_id", Value: i}})
	}
	return docs
}

func open5(c *client) int64 {
	c.t.Helper()
	id := number(c.must(d{{Key: "find", Value: "c"}, {Key: "batchSize", Value: 5}}), "cursor", "id")
	if id == 0 {
		c.t.Fatal("find left no cursor open")
	}
	return id
}

func more(id int64) d {
	return d{{Key: "getMore", Value: id}, {Key: "collection", Value: "c"}, {Key: "batchSize", Value: 5}}
}

func openCursors(c *client) int64 {
	return number(c.must(d{{Key: "serverStatus", Value: 1}}), "metrics", "cursor", "open", "total")
}

func TestCursorsTimeOut(t *testing.T) {
	inBubble(t, embedded.Options{CursorTimeout: time.Minute}, func(t *testing.T, s *embedded.Server) {
		c := connect(t, s)
		c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: many(100)}})
		used, idle := open5(c), open5(c)
		for range 5 {
			time.Sleep(40 * time.Second)
			c.must(more(used))
		}
		if code := c.code(more(idle)); code != 43 {
			t.Errorf("getMore on an expired cursor: code %d, want 43", code)
		}
		c.must(more(used))
		time.Sleep(2 * time.Minute)
		if n := openCursors(c); n != 0 {
			t.Errorf("%d cursors are still open", n)
		}
		keep := number(c.must(d{{Key: "find", Value: "c"}, {Key: "batchSize", Value: 5}, {Key: "noCursorTimeout", Value: true}}), "cursor", "id")
		time.Sleep(time.Hour)
		c.must(more(keep))
		c.conn.Close()
	})
}

func TestCursorsAreBounded(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: many(100)}})
	first := open5(c)
	for range 10_000 {
		open5(c)
	}
	if n := openCursors(c); n != 10_000 {
		t.Errorf("%d cursors are open, want 10,000", n)
	}
	if code := c.code(more(first)); code != 43 {
		t.Errorf("getMore on the oldest cursor: code %d, want 43", code)
	}
}

// A negative limit asks for one batch: whoever sends it expects no cursor, and closes none.
func TestANegativeLimitLeavesNoCursor(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: many(100)}})
	reply := c.must(d{{Key: "find", Value: "c"}, {Key: "limit", Value: -5}, {Key: "batchSize", Value: 2}})
	batch, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if id := number(reply, "cursor", "id"); err != nil || len(batch) != 2 || id != 0 {
		t.Errorf("find: %d documents, cursor %d, %v", len(batch), id, err)
	}
	legacy := func(what string, msg []byte, want int) {
		c.send(msg)
		_, answer, err := wire.ReadAnswer(c.conn, wire.MaxMessage)
		if err != nil {
			t.Fatal(err)
		}
		if r := answer.(*wire.Reply); len(r.Documents) != want || r.Cursor != 0 {
			t.Errorf("%s: %d documents, cursor %d", what, len(r.Documents), r.Cursor)
		}
	}
	legacy("OP_QUERY", wire.AppendQuery(nil, 1, wire.Query{Collection: "db.c", Limit: -5, Query: bsontest.RawDocument(d{})}), 5)
	legacy("OP_GET_MORE", wiretest.AppendGetMore(nil, 2, wire.GetMore{Collection: "db.c", Limit: -3, Cursor: open5(c)}), 3)
	if n := openCursors(c); n != 0 {
		t.Errorf("%d cursors are open", n)
	}
}

// TestCursorOfAnother fetches from a cursor on a different connection, after the one that opened it was
// closed. Naming the wrong collection is an error.
func TestCursorOfAnother(t *testing.T) {
	s := open(t, embedded.Options{})
	a, b := connect(t, s), connect(t, s)
	a.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: many(12)}})
	id := open5(a)
	a.conn.Close()
	if code := b.code(d{{Key: "getMore", Value: id}, {Key: "collection", Value: "other"}}); code != 13 {
		t.Errorf("getMore with the wrong collection: code %d, want 13", code)
	}
	b.must(more(id))
	if n := number(b.must(more(id)), "cursor", "id"); n != 0 {
		t.Error("an exhausted cursor is still open")
	}
	if code := b.code(more(id)); code != 43 {
		t.Errorf("getMore on an exhausted cursor: code %d, want 43", code)
	}
}

// getMoreTail sends an awaiting getMore without reading the reply.
func getMoreTail(c *client, id int64, wait time.Duration) {
	c.t.Helper()
	c.id++
	c.send(wire.AppendMsg(nil, c.id, 0, bsontest.RawDocument(d{
		{Key: "getMore", Value: id}, {Key: "collection", Value: "log"}, {Key: "maxTimeMS", Value: wait.Milliseconds()}, {Key: "$db", Value: "db"},
	})))
}

// answer reads the reply to the last message: the number of documents, the cursor id, and the error code.
func answer(c *client) (n int, id, code int64) {
	c.t.Helper()
	_, msg, err := wire.ReadAnswer(c.conn, wire.MaxMessage)
	if err != nil {
		c.t.Error(err)
		return 0, 0, 0
	}
	doc := msg.(*wire.Msg).Body
	if list, err := doc.LookupErr("cursor", "nextBatch"); err == nil {
		docs, err := list.Array().Values()
		if err != nil {
			c.t.Error(err)
		}
		n = len(docs)
		id = number(doc, "cursor", "id")
	}
	if v, err := doc.LookupErr("code"); err == nil {
		code = int64(v.Int32())
	}
	return n, id, code
}

// openTail creates a capped collection of at most max documents and opens a tailable cursor on it.
func openTail(c *client, max int) int64 {
	c.t.Helper()
	c.must(d{{Key: "create", Value: "log"}, {Key: "capped", Value: true}, {Key: "size", Value: 1 << 20}, {Key: "max", Value: max}})
	return number(c.must(d{{Key: "find", Value: "log"}, {Key: "tailable", Value: true}, {Key: "awaitData", Value: true}}), "cursor", "id")
}

func add(c *client, from, to int) {
	c.t.Helper()
	docs := bson.A{}
	for i := from; i < to; i++ {
		docs = append(docs, d{{Key: "_id", Value: i}})
	}
	c.must(d{{Key: "insert", Value: "log"}, {Key: "documents", Value: docs}})
}

// TestTail tails a capped collection in a synctest bubble. An insert must wake the cursor immediately,
// without waiting for the clock.
func TestTail(t *testing.T) {
	for _, test := range []struct {
		about string
		// happen is called after 20 s of waiting.
		happen   func(s *embedded.Server, tail, other *client, id int64)
		n        int
		open     bool
		code     int64
		after    time.Duration
		withData bool
	}{
		{about: "an insert into an empty log", happen: func(_ *embedded.Server, _, other *client, _ int64) { add(other, 0, 1) }, n: 1, open: true, after: 20 * time.Second},
		{about: "nothing", happen: func(*embedded.Server, *client, *client, int64) {}, open: true, after: time.Minute},
		{about: "an insert", withData: true, happen: func(_ *embedded.Server, _, other *client, _ int64) { add(other, 10, 11) }, n: 1, open: true, after: 20 * time.Second},
		{about: "a drop", withData: true, happen: func(_ *embedded.Server, _, other *client, _ int64) { other.must(d{{Key: "drop", Value: "log"}}) }, code: 175, after: 20 * time.Second},
		{about: "a drop of the database", happen: func(_ *embedded.Server, _, other *client, _ int64) { other.must(d{{Key: "dropDatabase", Value: 1}}) }, code: 175, after: 20 * time.Second},
		{about: "its death", happen: func(_ *embedded.Server, _, other *client, id int64) {
			other.must(d{{Key: "killCursors", Value: "log"}, {Key: "cursors", Value: bson.A{id}}})
		}, code: 43, after: 20 * time.Second},
		{about: "another request on its connection", happen: func(_ *embedded.Server, tail, _ *client, _ int64) {
			tail.send(wire.AppendMsg(nil, 999, 0, bsontest.RawDocument(d{{Key: "ping", Value: 1}, {Key: "$db", Value: "db"}})))
		}, open: true, after: 20 * time.Second},
	} {
		t.Run(test.about, func(t *testing.T) {
			inBubble(t, embedded.Options{}, func(t *testing.T, s *embedded.Server) {
				tail, other := connect(t, s), connect(t, s)
				id := openTail(tail, 10)
				if test.withData {
					// Fill the collection, so that the next insert wraps.
					add(other, 0, 10)
					getMoreTail(tail, id, time.Minute)
					if n, _, _ := answer(tail); n != 10 {
						t.Fatalf("the first batch has %d documents, want 10", n)
					}
				}
				start := time.Now()
				getMoreTail(tail, id, time.Minute)
				var wg sync.WaitGroup
				wg.Go(func() {
					time.Sleep(20 * time.Second)
					test.happen(s, tail, other, id)
				})
				n, left, code := answer(tail)
				if took := time.Since(start); took != test.after {
					t.Errorf("reply after %v, want %v", took, test.after)
				}
				if n != test.n || (left != 0) != test.open || code != test.code {
					t.Errorf("got %d documents, cursor %d, code %d; want %d, %v, %d", n, left, code, test.n, test.open, test.code)
				}
				wg.Wait()
				tail.conn.Close()
				other.conn.Close()
			})
		})
	}
}

// TestTailLosesItsPlace overwrites documents that a tail hasn't read. The tail must get an error then, but
// not while it keeps up.
func TestTailLosesItsPlace(t *testing.T) {
	s := open(t, embedded.Options{})
	c, other := connect(t, s), connect(t, s)
	id := openTail(c, 10)
	for i := 0; i < 100; i += 10 {
		add(other, i, i+10)
		getMoreTail(c, id, time.Minute)
		if n, _, code := answer(c); n != 10 || code != 0 {
			t.Fatalf("after document %d: %d documents, code %d", i, n, code)
		}
	}
	add(other, 100, 111)
	getMoreTail(c, id, time.Minute)
	if n, _, code := answer(c); n != 0 || code != 136 {
		t.Errorf("after losing its place: %d documents, code %d; want code 136", n, code)
	}
	if n := openCursors(other); n != 0 {
		t.Errorf("%d cursors are still open", n)
	}
}

// TestTailOfAClientThatLeft disconnects a client while its getMore waits. The cursor must be released
// immediately.
func TestTailOfAClientThatLeft(t *testing.T) {
	inBubble(t, embedded.Options{}, func(t *testing.T, s *embedded.Server) {
		c, other := connect(t, s), connect(t, s)
		id := openTail(c, 10)
		getMoreTail(c, id, time.Hour)
		synctest.Wait()
		getMoreTail(other, id, time.Hour)
		if _, _, code := answer(other); code != 143 {
			t.Errorf("getMore on a cursor in use: code %d, want 143", code)
		}
		c.conn.Close()
		synctest.Wait()
		start := time.Now()
		getMoreTail(other, id, time.Second)
		if _, left, _ := answer(other); left != id || time.Since(start) != time.Second {
			t.Errorf("getMore returned cursor %d after %v", left, time.Since(start))
		}
		other.conn.Close()
	})
}

// A query that fails while it sorts leaves nothing open: the store can be closed.
func TestFailedSortsLeaveNothingOpen(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	docs := bson.A{}
	for range 3000 { // far more than a millisecond of work, also if the timer is late
		docs = append(docs, d{{Key: "a", Value: strings.Repeat("a", 1000)}})
	}
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}})
	const slow = `{"a": {"$regex": "(a|b)*c"}}`
	for _, text := range []string{
		`{"find": "c", "filter": ` + slow + `, "sort": {"a": 1}, "maxTimeMS": 1}`,
		`{"aggregate": "c", "pipeline": [{"$match": ` + slow + `}, {"$sort": {"a": 1}}], "cursor": {}, "maxTimeMS": 1}`,
		`{"explain": {"find": "c", "filter": ` + slow + `, "sort": {"a": 1}}, "verbosity": "executionStats", "maxTimeMS": 1}`,
		`{"findAndModify": "c", "query": ` + slow + `, "sort": {"a": 1}, "remove": true, "maxTimeMS": 1}`,
	} {
		if code := c.code(cmd(t, "%s", text)); code != 50 {
			t.Errorf("%s: code %d", text, code)
		}
	}
}
