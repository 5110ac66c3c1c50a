package embedded_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/wire"
)

// lsid returns the field that names session number n.
func lsid(n byte) bson.E {
	id := make([]byte, 16)
	id[0] = n
	return bson.E{Key: "lsid", Value: d{{Key: "id", Value: primitive.Binary{Subtype: 4, Data: id}}}}
}

// in makes a command part of transaction number of session 1; the first one starts it.
func in(number int64, start bool, cmd ...bson.E) d {
	cmd = append(cmd, lsid(1), bson.E{Key: "txnNumber", Value: number}, bson.E{Key: "autocommit", Value: false})
	if start {
		cmd = append(cmd, bson.E{Key: "startTransaction", Value: true})
	}
	return cmd
}

var (
	commit = bson.E{Key: "commitTransaction", Value: 1}
	abort  = bson.E{Key: "abortTransaction", Value: 1}
	find   = bson.E{Key: "find", Value: "c"}
)

func adding(id any) []bson.E {
	return []bson.E{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: id}}}}}
}

// Each misuse of sessions and transactions gets MongoDB's code.
func TestTransactionCodes(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	c.must(adding(0))
	for _, test := range []struct {
		about string
		cmd   d
		want  int
	}{
		{"no session", d{find, {Key: "txnNumber", Value: int64(1)}}, 72},
		{"a strange session", d{find, {Key: "lsid", Value: d{{Key: "id", Value: 1}}}}, 72},
		{"a negative number", in(-1, true, find), 72},
		{"a number of another type", d{find, lsid(1), {Key: "txnNumber", Value: 1}, {Key: "autocommit", Value: false}}, 72},
		{"autocommit", d{find, lsid(1), {Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: true}}, 72},
		{"a start with autocommit", d{find, lsid(1), {Key: "txnNumber", Value: int64(1)}, {Key: "startTransaction", Value: true}}, 72},
		{"a retryable find", d{find, lsid(1), {Key: "txnNumber", Value: int64(1)}}, 263},
		{"one that was not started", in(1, false, find), 251},
		{"a start with a commit", in(1, true, commit), 263},
		{"a start", in(2, true, find), 0},
		{"the same start", in(2, true, find), 117},
		{"another start", in(3, true, adding(1)...), 0},
		{"an older number", in(2, false, find), 225},
		{"a command that has no transactions", in(3, false, bson.E{Key: "count", Value: "c"}), 263},
		{"what follows that", in(3, false, commit), 251},
		{"a third start", in(4, true, adding(1)...), 0},
		{"its commit", in(4, false, commit), 0},
		{"its commit again", in(4, false, commit), 0},
		{"its abort after that", in(4, false, abort), 256},
		{"a find after that", in(4, false, find), 256},
		{"a fourth start", in(5, true, adding(2)...), 0},
		{"its abort", in(5, false, abort), 0},
		{"its commit after that", in(5, false, commit), 251},
	} {
		if got := c.code(test.cmd); got != test.want {
			t.Errorf("%s: code %d, want %d", test.about, got, test.want)
		}
	}
	if n := number(c.must(d{{Key: "count", Value: "c"}}), "n"); n != 2 {
		t.Errorf("%d documents, want those inserted by no transaction and by the one that was committed", n)
	}
}

// restarting returns a function that opens a store, which keeps its contents from one call to the next, for a client.
func restarting(t *testing.T) func(use func(c *client)) {
	fs := vfs.NewMem()
	return func(use func(c *client)) {
		t.Helper()
		s, err := embedded.Open("store", embedded.Options{FS: fs, Logger: testLog{t}})
		if err != nil {
			t.Fatal(err)
		}
		use(connect(t, s))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A client that has not seen the reply to a commit or to a retryable write sends it again, and it has happened once,
// even if the server was restarted in between.
func TestRepetitionsAfterARestart(t *testing.T) {
	serve := restarting(t)
	inc := func(number int64, session byte) d {
		return d{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: d{{Key: "_id", Value: 1}}},
			{Key: "u", Value: d{{Key: "$inc", Value: d{{Key: "n", Value: 1}}}}}}}}, lsid(session), {Key: "txnNumber", Value: number}}
	}
	serve(func(c *client) {
		c.must(adding(1))
		if n := number(c.must(inc(7, 2)), "nModified"); n != 1 {
			t.Errorf("modified %d", n)
		}
		if n := number(c.must(inc(7, 2)), "nModified"); n != 1 {
			t.Errorf("the repetition says %d", n)
		}
		c.must(in(9, true, inc(0, 1)[:2]...))
		c.must(in(9, false, commit))
	})
	serve(func(c *client) {
		c.must(in(9, false, commit))
		if n := number(c.must(inc(7, 2)), "nModified"); n != 1 {
			t.Errorf("the repetition after a restart says %d", n)
		}
		if got := c.code(in(10, false, commit)); got != 251 {
			t.Errorf("the commit of a transaction that never was: code %d", got)
		}
		if got := c.code(inc(6, 2)); got != 225 {
			t.Errorf("an older write: code %d", got)
		}
		reply := c.must(d{find})
		first, err := reply.LookupErr("cursor", "firstBatch", "0", "n")
		if n, ok := first.AsInt64OK(); err != nil || !ok || n != 2 {
			t.Errorf("counted to %v, %v; want 2", first, err)
		}
		c.must(inc(8, 2))
	})
}

// A transaction that its client leaves is aborted after a minute, and a write that waits for it continues.
func TestLeftTransactionsAreAborted(t *testing.T) {
	inBubble(t, embedded.Options{}, func(t *testing.T, s *embedded.Server) {
		c, other := connect(t, s), connect(t, s)
		c.must(adding(0))
		began := time.Now()
		c.must(in(1, true, adding(1)...))
		other.must(adding(1)) // it waits
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("the write waited for %v", waited)
		}
		if got := c.code(in(1, false, commit)); got != 251 {
			t.Errorf("the late commit: code %d", got)
		}
		c.must(in(2, true, find))
	})
}

// A transaction that only reads may take longer, as a backup does, but not if its client leaves it.
func TestLongReadsAreNotAborted(t *testing.T) {
	inBubble(t, embedded.Options{}, func(t *testing.T, s *embedded.Server) {
		c, other := connect(t, s), connect(t, s)
		c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: many(10)}})
		id := number(c.must(in(1, true, find, bson.E{Key: "batchSize", Value: 2})), "cursor", "id")
		next := in(1, false, bson.E{Key: "getMore", Value: id}, bson.E{Key: "collection", Value: "c"}, bson.E{Key: "batchSize", Value: 2})
		for range 3 {
			time.Sleep(50 * time.Second) // of the bubble
			other.must(d{{Key: "delete", Value: "c"}, {Key: "deletes", Value: bson.A{d{{Key: "q", Value: d{}}, {Key: "limit", Value: 0}}}}})
			if batch, err := c.must(next).Lookup("cursor", "nextBatch").Array().Values(); err != nil || len(batch) != 2 {
				t.Fatalf("read %d documents, %v", len(batch), err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := c.code(next); got != 251 {
			t.Errorf("after a minute without a read: code %d", got)
		}
	})
}

// The session of a client that has not come back since the server was restarted is forgotten in time.
func TestSessionsAreForgottenAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve := restarting(t)
		serve(func(c *client) {
			c.must(adding(0))
			c.must(in(5, true, find))
			c.must(in(5, false, commit))
		})
		serve(func(*client) { time.Sleep(2 * time.Hour) })   // of the bubble
		serve(func(c *client) { c.must(in(1, true, find)) }) // otherwise it would be older than the newest
	})
}

// A session that ends, and a server that closes, abort their transactions.
func TestEndedSessionsAbort(t *testing.T) {
	inBubble(t, embedded.Options{}, func(t *testing.T, s *embedded.Server) {
		c, other := connect(t, s), connect(t, s)
		c.must(adding(0))
		c.must(in(1, true, adding(1)...))
		c.must(d{{Key: "endSessions", Value: bson.A{lsid(1).Value}}})
		other.must(adding(1))
		c.must(in(1, true, adding(2)...)) // the server has forgotten the numbers
		waiting := append(d(adding(2)), bson.E{Key: "$db", Value: "db"})
		other.send(wire.AppendMsg(nil, 1, 0, bsontest.RawDocument(waiting)))
		synctest.Wait()
		began := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("closing took %v", took)
		}
	})
}

// A cursor of a transaction can be read in it only.
func TestCursorsOfTransactions(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: many(20)}})
	id := number(c.must(in(1, true, find, bson.E{Key: "batchSize", Value: 5})), "cursor", "id")
	c.must(d{{Key: "delete", Value: "c"}, {Key: "deletes", Value: bson.A{d{{Key: "q", Value: d{{Key: "_id", Value: d{{Key: "$gt", Value: 10}}}}}, {Key: "limit", Value: 0}}}}})
	if got := c.code(more(id)); got != 50738 {
		t.Errorf("outside: code %d", got)
	}
	c.must(in(1, false, more(id)...))
	rest := c.must(in(1, false, bson.E{Key: "getMore", Value: id}, bson.E{Key: "collection", Value: "c"}))
	if batch, err := rest.Lookup("cursor", "nextBatch").Array().Values(); err != nil || len(batch) != 10 {
		t.Errorf("the rest of the snapshot has %d documents, want 10; %v", len(batch), err)
	}
	c.must(in(1, false, commit))
}

// The cursors of a transaction that was aborted, and those of a session that has ended, are closed.
func TestCursorsEndWithTheirTransaction(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: many(20)}})
	five := bson.E{Key: "batchSize", Value: 5}
	aborted := number(c.must(in(1, true, find, five)), "cursor", "id")
	c.must(in(1, false, abort))
	if got := c.code(more(aborted)); got != 43 {
		t.Errorf("a cursor of an aborted transaction: code %d", got)
	}
	ended := number(c.must(d{find, five, lsid(1)}), "cursor", "id")
	other := number(c.must(d{find, five, lsid(2)}), "cursor", "id")
	c.must(d{{Key: "endSessions", Value: bson.A{lsid(1).Value}}})
	if got := c.code(more(ended)); got != 43 {
		t.Errorf("a cursor of a session that has ended: code %d", got)
	}
	c.must(more(other))
}

// A command that waits for what a transaction holds ends when its time is over.
func TestTimeLimitsOfWaitingWrites(t *testing.T) {
	inBubble(t, embedded.Options{}, func(t *testing.T, s *embedded.Server) {
		c, other := connect(t, s), connect(t, s)
		c.must(adding(0))
		c.must(in(1, true, bson.E{Key: "update", Value: "c"}, bson.E{Key: "updates", Value: bson.A{
			d{{Key: "q", Value: d{{Key: "_id", Value: 0}}}, {Key: "u", Value: d{{Key: "$set", Value: d{{Key: "a", Value: 1}}}}}}}}))
		held := d{{Key: "_id", Value: 0}}
		set := d{{Key: "$set", Value: d{{Key: "a", Value: 2}}}}
		for _, cmd := range []d{
			{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: held}, {Key: "u", Value: set}}}}},
			{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: d{}}, {Key: "u", Value: set}, {Key: "multi", Value: true}}}}},
			{{Key: "delete", Value: "c"}, {Key: "deletes", Value: bson.A{d{{Key: "q", Value: held}, {Key: "limit", Value: 1}}}}},
			{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: held}, {Key: "update", Value: set}},
			{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: held}, {Key: "u", Value: set}}}},
				lsid(2), {Key: "txnNumber", Value: int64(1)}},
			{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{d{{Key: "key", Value: d{{Key: "a", Value: 1}}}, {Key: "name", Value: "a"}}}}},
			{{Key: "drop", Value: "c"}},
		} {
			began := time.Now()
			if got := other.code(append(cmd, bson.E{Key: "maxTimeMS", Value: 1000})); got != 50 {
				t.Errorf("%v: code %d", cmd, got)
			}
			if took := time.Since(began); took != time.Second {
				t.Errorf("%v: %v", cmd, took)
			}
		}
		c.must(in(1, false, commit))
	})
}
