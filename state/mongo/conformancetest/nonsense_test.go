package conformancetest_test

import (
	"fmt"
	"io"
	"math"
	"math/rand"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/doc/tools/verify"
	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

// faults is a Logger that records the server's internal errors.
type faults struct {
	mu   sync.Mutex
	said []string
}

func (f *faults) Infof(string, ...any) {}

func (f *faults) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// suspicious opens a store that fails the test if the server logs an internal error, as it does
// when a request makes it panic.
func suspicious(t *testing.T) *embedded.Server {
	t.Helper()
	log := &faults{}
	server, err := embedded.Open("store", embedded.Options{FS: vfs.NewMem(), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		for _, s := range log.said[:min(len(log.said), 3)] {
			t.Errorf("the server logged: %s", s)
		}
	})
	return server
}

// odd returns values that few commands expect anywhere.
func odd(t *testing.T) []any {
	dec, err := primitive.ParseDecimal128("1E+6000")
	if err != nil {
		t.Fatal(err)
	}
	return []any{
		nil, true, false, int32(0), int32(-1), int64(math.MaxInt64), int64(math.MinInt64), 0.5, -1.0, math.NaN(), math.Inf(-1), 1e300, dec,
		"", "$", "$x", "a.b", ".", "a\x00b", strings.Repeat("long.", 100), bson.D{}, bson.D{{Key: "$x", Value: 1}}, bson.D{{Key: "", Value: bson.A{}}},
		bson.A{}, bson.A{1}, bson.A{nil, bson.D{}}, bson.A{bson.D{{Key: "$gt", Value: bson.A{bson.A{}}}}}, primitive.NewObjectID(), primitive.Regex{Pattern: "("}, primitive.MinKey{}, primitive.MaxKey{},
		primitive.Undefined{}, primitive.Timestamp{T: 1}, primitive.DateTime(math.MinInt64), primitive.Binary{Subtype: 2, Data: []byte{1}},
		primitive.CodeWithScope{Code: "x", Scope: bson.D{}}, primitive.Symbol("x"), primitive.DBPointer{DB: "a"},
	}
}

// variants returns doc with each field, at any depth, replaced by each of the values, removed, or
// repeated.
func variants(doc bson.D, values []any, yield func(bson.D)) {
	for i, e := range doc {
		with := func(v any) {
			d := slices.Clone(doc)
			d[i].Value = v
			yield(d)
		}
		for _, v := range values {
			with(v)
		}
		yield(slices.Delete(slices.Clone(doc), i, i+1))
		yield(append(slices.Clone(doc), e))
		switch v := e.Value.(type) {
		case bson.D:
			variants(v, values, func(d bson.D) { with(d) })
		case bson.A:
			for j, item := range v {
				if item, ok := item.(bson.D); ok {
					variants(item, values, func(d bson.D) {
						a := slices.Clone(v)
						a[j] = d
						with(a)
					})
				}
			}
		}
	}
}

// client is a bare connection that sends commands and reads replies.
type client struct {
	t    *testing.T
	conn net.Conn
	id   int32
	buf  []byte
}

func newClient(t *testing.T, server *embedded.Server) *client {
	t.Helper()
	conn, err := server.Dial()
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, conn: conn}
}

func (c *client) run(cmd bson.D) bson.M {
	c.t.Helper()
	body, err := bson.Marshal(append(slices.Clone(cmd), bson.E{Key: "$db", Value: "db"}))
	if err != nil {
		c.t.Fatal(err)
	}
	c.id++
	c.conn.SetDeadline(time.Now().Add(verify.Patience))
	c.buf = wire.AppendMsg(c.buf[:0], c.id, 0, body)
	if _, err := c.conn.Write(c.buf); err != nil {
		c.t.Fatal(err)
	}
	head, answer, err := wire.ReadAnswer(c.conn, wire.MaxMessage)
	if err != nil {
		c.t.Fatalf("no answer to %v: %v", cmd, err)
	}
	var reply bson.M
	if err := bson.Unmarshal(answer.(*wire.Msg).Body, &reply); err != nil || head.ResponseTo != c.id {
		c.t.Fatalf("answer to %v: %+v, %v", cmd, head, err)
	}
	return reply
}

// TestOddCommands sends every command with each of its fields wrong in every way that variants
// makes. The server may reject or accept it; it must reply, and must not log an internal error.
func TestOddCommands(t *testing.T) {
	t.Parallel()
	server := suspicious(t)
	c := newClient(t, server)
	defer c.conn.Close()
	seed := func() {
		c.run(bson.D{{Key: "create", Value: "log"}, {Key: "capped", Value: true}, {Key: "size", Value: 4096}, {Key: "max", Value: 5}})
		c.run(bson.D{{Key: "insert", Value: "log"}, {Key: "documents", Value: bson.A{bson.D{{Key: "a", Value: 1}}}}})
		c.run(bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{
			bson.D{{Key: "_id", Value: 1}, {Key: "a", Value: 1}, {Key: "l", Value: bson.A{1, bson.D{{Key: "x", Value: 1}}}}, {Key: "d", Value: bson.D{{Key: "x", Value: "s"}}}},
			bson.D{{Key: "_id", Value: 2}, {Key: "a", Value: "x"}},
		}}})
	}
	query := bson.D{
		{Key: "a", Value: bson.D{{Key: "$gte", Value: 0}, {Key: "$in", Value: bson.A{1}}, {Key: "$exists", Value: true}, {Key: "$type", Value: 16}, {Key: "$not", Value: bson.D{{Key: "$lt", Value: 0}}}}},
		{Key: "$or", Value: bson.A{bson.D{{Key: "l", Value: bson.D{{Key: "$elemMatch", Value: bson.D{{Key: "x", Value: 1}}}, {Key: "$size", Value: 2}, {Key: "$all", Value: bson.A{1}}}}}}},
		{Key: "d.x", Value: bson.D{{Key: "$regex", Value: "s"}, {Key: "$options", Value: "i"}}},
	}
	update := bson.D{
		{Key: "$set", Value: bson.D{{Key: "n.m", Value: 1}}}, {Key: "$unset", Value: bson.D{{Key: "u", Value: 1}}}, {Key: "$inc", Value: bson.D{{Key: "a", Value: 1}}},
		{Key: "$push", Value: bson.D{{Key: "p", Value: bson.D{{Key: "$each", Value: bson.A{1}}, {Key: "$slice", Value: -2}, {Key: "$position", Value: 0}, {Key: "$sort", Value: 1}}}}},
		{Key: "$pull", Value: bson.D{{Key: "l", Value: bson.D{{Key: "x", Value: 9}}}}}, {Key: "$addToSet", Value: bson.D{{Key: "s", Value: bson.D{{Key: "$each", Value: bson.A{1}}}}}},
		{Key: "$pullAll", Value: bson.D{{Key: "q", Value: bson.A{1}}}}, {Key: "$pop", Value: bson.D{{Key: "r", Value: 1}}}, {Key: "$rename", Value: bson.D{{Key: "x", Value: "y"}}},
		{Key: "$min", Value: bson.D{{Key: "mi", Value: 1}}}, {Key: "$max", Value: bson.D{{Key: "ma", Value: 1}}}, {Key: "$mul", Value: bson.D{{Key: "mu", Value: 1}}}, {Key: "$setOnInsert", Value: bson.D{{Key: "so", Value: 1}}},
	}
	all := bson.D{}
	commands := []bson.D{
		{{Key: "find", Value: "c"}, {Key: "filter", Value: query}, {Key: "sort", Value: bson.D{{Key: "a", Value: 1}, {Key: "_id", Value: -1}}}, {Key: "projection", Value: bson.D{{Key: "d.x", Value: 1}}},
			{Key: "skip", Value: 0}, {Key: "limit", Value: 5}, {Key: "batchSize", Value: 1}, {Key: "singleBatch", Value: false}, {Key: "maxTimeMS", Value: 100}, {Key: "hint", Value: "_id_"}},
		{{Key: "find", Value: "log"}, {Key: "tailable", Value: true}, {Key: "awaitData", Value: false}, {Key: "sort", Value: bson.D{{Key: "$natural", Value: 1}}}},
		{{Key: "getMore", Value: int64(42)}, {Key: "collection", Value: "c"}, {Key: "batchSize", Value: 1}},
		{{Key: "killCursors", Value: "c"}, {Key: "cursors", Value: bson.A{int64(42)}}},
		{{Key: "insert", Value: "i"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: "new"}, {Key: "a", Value: 1}}}}, {Key: "ordered", Value: false}, {Key: "writeConcern", Value: bson.D{{Key: "w", Value: 1}, {Key: "j", Value: true}}}},
		{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: query}, {Key: "u", Value: update}, {Key: "multi", Value: true}, {Key: "upsert", Value: true}}}}, {Key: "ordered", Value: true}},
		{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "u", Value: update}}}}},
		{{Key: "delete", Value: "i"}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: query}, {Key: "limit", Value: 1}}}}},
		{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: bson.D{{Key: "_id", Value: 2}}}, {Key: "update", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "z", Value: 1}}}}}, {Key: "fields", Value: bson.D{{Key: "a", Value: 1}}},
			{Key: "sort", Value: bson.D{{Key: "a", Value: 1}}}, {Key: "new", Value: true}, {Key: "upsert", Value: true}, {Key: "remove", Value: false}},
		{{Key: "count", Value: "c"}, {Key: "query", Value: bson.D{{Key: "a", Value: 1}}}, {Key: "skip", Value: 0}, {Key: "limit", Value: 1}},
		{{Key: "distinct", Value: "c"}, {Key: "key", Value: "l.x"}, {Key: "query", Value: bson.D{{Key: "a", Value: 1}}}},
		{{Key: "create", Value: "made"}, {Key: "capped", Value: true}, {Key: "size", Value: 4096}, {Key: "max", Value: 3}},
		{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "a", Value: 1}, {Key: "l.x", Value: -1}}}, {Key: "name", Value: "n"}, {Key: "unique", Value: false}, {Key: "sparse", Value: false}}}}},
		{{Key: "dropIndexes", Value: "c"}, {Key: "index", Value: "n"}},
		{{Key: "listIndexes", Value: "c"}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: 1}}}},
		{{Key: "listCollections", Value: 1}, {Key: "filter", Value: bson.D{{Key: "name", Value: "c"}}}, {Key: "nameOnly", Value: true}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: 1}}}},
		{{Key: "listDatabases", Value: 1}, {Key: "filter", Value: bson.D{{Key: "name", Value: "db"}}}, {Key: "nameOnly", Value: true}},
		{{Key: "collStats", Value: "c"}, {Key: "scale", Value: 1}},
		{{Key: "isMaster", Value: 1}, {Key: "client", Value: all}}, {{Key: "buildInfo", Value: 1}}, {{Key: "serverStatus", Value: 1}}, {{Key: "getnonce", Value: 1}}, {{Key: "ping", Value: 1}},
		{{Key: "drop", Value: "made"}}, {{Key: "dropDatabase", Value: 1}},
	}
	values := odd(t)
	sent := 0
	for _, cmd := range commands {
		seed()
		if reply := c.run(cmd); reply["ok"] != 1.0 && cmd[0].Key != "getMore" && cmd[0].Key != "update" {
			t.Errorf("%v itself is rejected: %v", cmd, reply)
		}
		variants(cmd, values, func(d bson.D) {
			if len(d) == 0 {
				return
			}
			sent++
			if reply := c.run(d); reply["code"] == int32(1) {
				t.Errorf("%v caused an internal error: %v", d, reply)
			}
		})
	}
	seed()
	t.Logf("%d odd commands were answered", sent)
}

// TestNoise flips bits in valid messages. Each is sent on its own connection, which the server
// may close; others must not notice.
func TestNoise(t *testing.T) {
	t.Parallel()
	server := suspicious(t)
	witness := newClient(t, server)
	defer witness.conn.Close()
	doc := func(d bson.D) bsoncore.Document {
		b, err := bson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	witness.run(bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: 1}, {Key: "a", Value: bson.A{1, "x"}}}}}})
	find := doc(bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a", Value: bson.D{{Key: "$gt", Value: 0}}}}}, {Key: "$db", Value: "db"}})
	messages := [][]byte{
		wire.AppendMsg(nil, 1, 0, find),
		wire.AppendMsg(nil, 1, 0, doc(bson.D{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{}}, {Key: "u", Value: bson.D{{Key: "$push", Value: bson.D{{Key: "a", Value: 1.5}}}}}}}}, {Key: "$db", Value: "db"}})),
		wire.AppendSections(nil, 1, 0, wire.Msg{Body: doc(bson.D{{Key: "insert", Value: "c"}, {Key: "$db", Value: "db"}}), Sequences: []wire.Sequence{{ID: "documents", Documents: []bsoncore.Document{find, find}}}}),
		wire.AppendQuery(nil, 1, wire.Query{Collection: "db.$cmd", Limit: -1, Query: find}),
		wire.AppendQuery(nil, 1, wire.Query{Collection: "db.c", Limit: 2, Query: doc(bson.D{{Key: "$query", Value: bson.D{}}, {Key: "$orderby", Value: bson.D{{Key: "a", Value: 1}}}}), Fields: doc(bson.D{{Key: "a", Value: 1}})}),
		wiretest.AppendGetMore(nil, 1, wire.GetMore{Collection: "db.c", Cursor: 7}),
		wiretest.AppendKillCursors(nil, 1, wire.KillCursors{Cursors: []int64{1, 2}}),
	}
	rng := rand.New(rand.NewSource(time.Now().UnixNano()))
	rounds := 4000
	if testing.Short() {
		rounds /= 2
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	for range rounds {
		raw := slices.Clone(messages[rng.Intn(len(messages))])
		for range 1 + rng.Intn(4) {
			raw[rng.Intn(len(raw))] ^= 1 << rng.Intn(8)
		}
		conn, err := server.Dial()
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(verify.Patience))
		// Half of them send nothing more, half continue as if nothing were wrong.
		conn.Write(raw)
		if rng.Intn(2) == 0 {
			conn.Write(wire.AppendMsg(nil, 2, 0, find))
		}
		reading.Go(func() { io.Copy(io.Discard, conn) })
		if reply := witness.run(bson.D{{Key: "ping", Value: 1}}); reply["ok"] != 1.0 {
			t.Fatalf("after %x: %v", raw, reply)
		}
		conn.Close()
	}
	if reply := witness.run(bson.D{{Key: "count", Value: "c"}}); reply["ok"] != 1.0 {
		t.Errorf("after all of them: %v", reply)
	}
}
