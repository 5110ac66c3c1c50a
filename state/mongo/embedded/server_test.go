package embedded_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
	"gopkg.in/mgo.v2"
	mgobson "gopkg.in/mgo.v2/bson"

	"juju/doc/tools/verify"
	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

type d = bson.D

// open opens an in-memory store for the duration of a test.
func open(t testing.TB, opts embedded.Options) *embedded.Server {
	t.Helper()
	if opts.FS == nil {
		opts.FS = vfs.NewMem()
	}
	opts.Logger = testLog{t}
	s, err := embedded.Open("store", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// testLog fails the test when the server logs an error, such as a recovered panic.
type testLog struct{ t testing.TB }

func (l testLog) Infof(string, ...any)              {}
func (l testLog) Errorf(format string, args ...any) { l.t.Errorf(format, args...) }

// dial opens an mgo session on a server for the duration of a test.
func dial(t testing.TB, s *embedded.Server) *mgo.Session {
	t.Helper()
	session, err := mgo.DialWithInfo(dialInfo(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func dialInfo(s *embedded.Server) *mgo.DialInfo {
	return &mgo.DialInfo{
		Addrs:      []string{"127.0.0.1:1"}, // needs no DNS lookup
		Direct:     true,
		Timeout:    verify.Patience,
		Database:   "test",
		DialServer: func(*mgo.ServerAddr) (net.Conn, error) { return s.Dial() },
	}
}

// A client sends messages that the test has encoded.
type client struct {
	t    testing.TB
	conn net.Conn
	id   int32
}

func connect(t testing.TB, s *embedded.Server) *client {
	t.Helper()
	conn, err := s.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{t: t, conn: conn}
}

func (c *client) send(msg []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(msg); err != nil {
		c.t.Fatal(err)
	}
}

// command runs a command on database db and returns its reply.
func (c *client) command(cmd d) bsoncore.Document {
	c.t.Helper()
	c.id++
	c.send(wire.AppendMsg(nil, c.id, 0, bsontest.RawDocument(append(cmd, bson.E{Key: "$db", Value: "db"}))))
	head, msg, err := wire.ReadAnswer(c.conn, wire.MaxMessage)
	if err != nil {
		c.t.Fatal(err)
	}
	if head.ResponseTo != c.id {
		c.t.Fatalf("reply to %d, want %d", head.ResponseTo, c.id)
	}
	return msg.(*wire.Msg).Body
}

// must runs a command that must succeed.
func (c *client) must(cmd d) bsoncore.Document {
	c.t.Helper()
	doc := c.command(cmd)
	if ok, _ := raw.Get(doc, "ok"); !raw.Truthy(ok) {
		c.t.Fatalf("%v: %v", cmd, doc)
	}
	return doc
}

// code runs a command and returns its error code, 0 for none.
func (c *client) code(cmd d) int {
	c.t.Helper()
	v, _ := raw.Get(c.command(cmd), "code")
	n, _ := raw.Int(v)
	return int(n)
}

func number(doc bsoncore.Document, path ...string) int64 {
	n, _ := raw.Int(doc.Lookup(path...))
	return n
}

func TestMgoSession(t *testing.T) {
	c := dial(t, open(t, embedded.Options{})).DB("test").C("things")
	if err := c.Insert(mgobson.M{"_id": 1, "a": "x"}, mgobson.M{"_id": 2, "a": "y"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Insert(mgobson.M{"_id": 1.0}); !mgo.IsDup(err) {
		t.Errorf("_id 1.0 must be a duplicate of 1: %v", err)
	}
	if err := c.Update(mgobson.M{"a": "y"}, mgobson.M{"$set": mgobson.M{"b": 7}}); err != nil {
		t.Fatal(err)
	}
	var doc mgobson.M
	info, err := c.FindId(2).Apply(mgo.Change{Update: mgobson.M{"$inc": mgobson.M{"b": 1}}, ReturnNew: true}, &doc)
	if err != nil || info.Updated != 1 || doc["b"] != 8 {
		t.Errorf("got %v, %v, %v", info, doc, err)
	}
	if err := c.RemoveId(1); err != nil {
		t.Error(err)
	}
	var all []mgobson.M
	if err := c.Find(nil).All(&all); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}

// TestRefusals checks that the server rejects what it doesn't support.
func TestRefusals(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: 1}}}}})
	for _, test := range []struct {
		cmd  d
		want int
	}{
		{d{{Key: "mapReduce", Value: "c"}}, 59},
		{d{{Key: "find", Value: "c"}, {Key: "filter", Value: d{{Key: "a", Value: d{{Key: "$near", Value: 1}}}}}}, 2},
		{d{{Key: "find", Value: "c"}, {Key: "filter", Value: d{{Key: "$where", Value: "1"}}}}, 2},
		{d{{Key: "find", Value: "c"}, {Key: "filter", Value: 1}}, 14},
		{d{{Key: "find", Value: "c"}, {Key: "collation", Value: d{{Key: "locale", Value: "de"}}}}, 2},
		{d{{Key: "find", Value: "c"}, {Key: "surprise", Value: 1}}, 9},
		{d{{Key: "find", Value: "c"}, {Key: "hint", Value: "none"}}, 2},
		{d{{Key: "find", Value: "c"}, {Key: "tailable", Value: true}}, 2},
		{d{{Key: "find", Value: "$x"}}, 73},
		{d{{Key: "find", Value: 1}}, 2},
		{d{{Key: "getMore", Value: int64(7)}, {Key: "collection", Value: "c"}}, 43},
		{d{{Key: "drop", Value: "none"}}, 26},
		{d{{Key: "create", Value: "c"}}, 48},
		{d{{Key: "create", Value: "k"}, {Key: "capped", Value: true}}, 72},
		{d{{Key: "create", Value: "k"}, {Key: "validator", Value: d{}}}, 9},
		{d{{Key: "listIndexes", Value: "none"}}, 26},
		{d{{Key: "dropIndexes", Value: "c"}, {Key: "index", Value: "none"}}, 27},
		{d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{d{{Key: "name", Value: "t"}, {Key: "key", Value: d{{Key: "t", Value: "text"}}}}}}}, 67},
		{d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{d{{Key: "name", Value: "t"}, {Key: "key", Value: d{{Key: "t", Value: 1}}}, {Key: "expireAfterSeconds", Value: 5}}}}}, 67},
		{d{{Key: "findAndModify", Value: "c"}}, 9},
		{d{{Key: "findAndModify", Value: "c"}, {Key: "update", Value: d{{Key: "$foo", Value: d{{Key: "a", Value: 1}}}}}}, 9},
		{d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{}}}, {Key: "writeConcern", Value: d{{Key: "w", Value: 3}}}}, 2},
		{d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{}}}, {Key: "txnNumber", Value: int64(1)}}, 72},
		{d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{}}}, 16},
	} {
		if got := c.code(test.cmd); got != test.want {
			t.Errorf("%v: got code %d, want %d", test.cmd, got, test.want)
		}
	}
}

// TestPipelined sends many requests before it reads any reply; the replies must arrive in order.
func TestPipelined(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	for i := range int32(100) {
		c.send(wire.AppendMsg(nil, i, 0, bsontest.RawDocument(d{{Key: "ping", Value: 1}, {Key: "$db", Value: "db"}})))
	}
	for i := range int32(100) {
		head, _, err := wire.ReadAnswer(c.conn, wire.MaxMessage)
		if err != nil || head.ResponseTo != i {
			t.Fatalf("reply %d is to %d, %v", i, head.ResponseTo, err)
		}
	}
}

// TestMalformed sends malformed messages. The server replies with an error if it can, and closes the
// connection; other clients are unaffected.
func TestMalformed(t *testing.T) {
	s := open(t, embedded.Options{})
	other := connect(t, s)
	bad := bsontest.RawDocument(d{{Key: "ping", Value: "text"}})
	bad[len(bad)-2] = 'x' // the string isn't terminated
	for name, msg := range map[string][]byte{
		"no BSON":       wire.AppendMsg(nil, 1, 0, bad),
		"an old insert": binary.LittleEndian.AppendUint32([]byte{16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, 2002),
		"too long":      {0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0, 0, 0, 0, 0, 0xd4, 7, 0, 0},
		"too short":     {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xd4, 7, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, s)
			c.send(msg)
			if err := c.conn.SetReadDeadline(time.Now().Add(verify.Patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(c.conn); err != nil {
				t.Errorf("the connection was not closed: %v", err)
			}
			other.must(d{{Key: "ping", Value: 1}})
		})
	}
}

// TestUnacknowledged sends a write that asks for no reply.
func TestUnacknowledged(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	c.send(wire.AppendSections(nil, 1, 0, wire.Msg{Flags: wire.MsgMoreToCome, Body: bsontest.RawDocument(d{
		{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: 1}}}}, {Key: "$db", Value: "db"},
	})}))
	if n := number(c.must(d{{Key: "count", Value: "c"}}), "n"); n != 1 {
		t.Errorf("%d documents, want 1", n)
	}
}

// TestEndsClean opens, uses and closes a server with connections in all states. It must leave no goroutine,
// and everything written must be there after reopening.
func TestEndsClean(t *testing.T) {
	before := runtime.NumGoroutine()
	fs := vfs.NewMem()
	s, err := embedded.Open("store", embedded.Options{FS: fs, Logger: testLog{t}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 2)
	go func() { served <- s.Serve(ctx, l) }()
	tcp, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	overTCP := &client{t: t, conn: tcp}
	overTCP.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: 1}}}}})
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve after its context ended: %v", err)
	}
	overTCP.must(d{{Key: "create", Value: "log"}, {Key: "capped", Value: true}, {Key: "size", Value: 1000}})

	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { served <- s.Serve(t.Context(), l) }()
	second, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	(&client{t: t, conn: second}).must(d{{Key: "ping", Value: 1}})
	waiting := connect(t, s)
	id := number(waiting.must(d{{Key: "find", Value: "log"}, {Key: "tailable", Value: true}, {Key: "awaitData", Value: true}}), "cursor", "id")
	waiting.id++
	waiting.send(wire.AppendMsg(nil, waiting.id, 0, bsontest.RawDocument(d{{Key: "getMore", Value: id}, {Key: "collection", Value: "log"}, {Key: "maxTimeMS", Value: 60_000}, {Key: "$db", Value: "db"}})))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := s.Dial(); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("Dial after Close: %v", err)
	}
	if err := s.Serve(t.Context(), noListener{}); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("Serve on a closed server: %v", err)
	}
	noneLeft(t, before)

	again := connect(t, open(t, embedded.Options{FS: fs}))
	if n := number(again.must(d{{Key: "count", Value: "c"}}), "n"); n != 1 {
		t.Errorf("%d documents after reopening, want 1", n)
	}
}

type noListener struct{ net.Listener }

func (noListener) Close() error { return nil }

// noneLeft waits for goroutines to end. Those that don't fail the test.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(verify.Patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
			stacks = slices.DeleteFunc(stacks, func(s string) bool { return strings.Contains(s, "testing.") })
			t.Fatalf("leaked goroutines:\n%s", strings.Join(stacks, "\n\n"))
		}
	}
}
