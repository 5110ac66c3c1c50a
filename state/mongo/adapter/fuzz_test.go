package adapter_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/adapter"
	"juju/state/mongo/embedded/link"
	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

// FuzzClient sends random bytes to a server that answers everything. The server must receive only
// valid OP_MSG, and the client only valid replies.
func FuzzClient(f *testing.F) {
	tail := wire.Query{Flags: wire.QueryTailable | wire.QueryAwaitData, Collection: "db.c", Query: doc(f, d{{"$query", d{}}, {"$orderby", d{{"a", 1}}}})}
	f.Add(query(f, 1, "db.$cmd", d{{"$query", d{{"ping", 1}}}, {"$maxTimeMS", 1}}))
	f.Add(query(f, 1, "admin.$cmd", d{{"ismaster", 1}}))
	f.Add(query(f, 1, "admin.$cmd", d{{"getnonce", 1}}))
	f.Add(query(f, 1, "admin.$cmd", d{{"saslContinue", 1}, {"mechanism", "x"}}))
	f.Add(slices.Concat(wire.AppendQuery(nil, 1, tail), wiretest.AppendGetMore(nil, 2, wire.GetMore{Collection: "db.c", Cursor: 9, Limit: -1}),
		wiretest.AppendKillCursors(nil, 3, wire.KillCursors{Cursors: []int64{9, 10}})))
	f.Add(wire.AppendMsg(nil, 1, 0, doc(f, d{{"ping", 1}})))
	f.Fuzz(func(t *testing.T, sent []byte) {
		server := func(c net.Conn) {
			for {
				head, m, err := wire.Read(c, wire.MaxMessage)
				var malformed *wire.Error
				if errors.As(err, &malformed) {
					t.Errorf("the server gets a malformed message: %v", err)
				}
				if err != nil {
					return
				}
				if msg, ok := m.(*wire.Msg); !ok || msg.Flags != 0 || len(msg.Sequences) > 0 {
					t.Errorf("the server gets %+v", m)
				}
				c.Write(wire.AppendMsg(nil, 1, head.RequestID, doc(t, d{
					{"cursor", d{{"id", int64(9)}, {"ns", "db.c"}, {"firstBatch", a{d{}}}, {"nextBatch", a{d{}}}}}, {"ok", 1.0}})))
			}
		}
		exchange(t, sent, server)
	})
}

// FuzzServer answers with random bytes. The client must receive only valid replies, and then the
// end of the connection.
func FuzzServer(f *testing.F) {
	f.Add(wire.AppendMsg(nil, 1, 2, doc(f, d{{"ok", 1.0}})))
	f.Add(wire.AppendMsg(nil, 1, 2, doc(f, d{{"ok", 0.0}, {"code", 10107}, {"errmsg", "x"}})))
	f.Add(wire.AppendSections(nil, 1, 2, wire.Msg{Flags: wire.MsgChecksum, Body: doc(f, d{{"isWritablePrimary", true}, {"ok", 1.0}})}))
	f.Add(slices.Concat(wire.AppendMsg(nil, 1, 2, doc(f, d{{"ok", 1.0}})),
		wire.AppendMsg(nil, 1, 3, doc(f, d{{"cursor", d{{"id", int64(9)}, {"ns", "db.c"}, {"firstBatch", a{d{}}}}}, {"ok", 1.0}})),
		wire.AppendMsg(nil, 1, 4, doc(f, d{{"ok", 0.0}, {"code", 43}})),
		wire.AppendMsg(nil, 1, 5, doc(f, d{{"writeErrors", a{d{{"code", 1}}}}, {"writeConcernError", d{{"code", 64}}}, {"ok", 1.0}}))))
	f.Add(wire.AppendReply(nil, 1, 2, wire.Reply{Cursor: 4}))
	sent := slices.Concat(query(f, 1, "admin.$cmd", d{{"ismaster", 1}}),
		wire.AppendQuery(nil, 2, wire.Query{Flags: wire.QueryTailable, Collection: "db.c", Query: doc(f, d{})}),
		wiretest.AppendGetMore(nil, 3, wire.GetMore{Collection: "db.c", Cursor: 9}), query(f, 4, "db.$cmd", d{{"insert", "c"}}),
		query(f, 5, "db.$cmd", d{{"getnonce", 1}}))
	f.Fuzz(func(t *testing.T, answers []byte) {
		exchange(t, sent, func(c net.Conn) {
			c.Write(answers)
			c.Close()
		})
	})
}

// exchange connects a client, sends its bytes, and plays the server. It returns once the
// connection and everything that served it have ended.
func exchange(t *testing.T, sent []byte, serve func(net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		ad := adapter.New(adapter.Options{Dial: func(context.Context, string) (net.Conn, error) {
			client, server := link.Pipe()
			go func() {
				head, _, err := wire.Read(server, wire.MaxMessage)
				if err != nil {
					t.Error(err)
					return
				}
				greeting := doc(t, append(modern, bson.E{"ok", 1.0}))
				server.Write(wire.AppendReply(nil, 1, head.RequestID, wire.Reply{Documents: []bsoncore.Document{greeting}}))
				serve(server)
			}()
			return client, nil
		}})
		defer ad.Close()
		client, err := ad.Connect("h:1")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		client.Write(sent)
		client.SetReadDeadline(time.Now().Add(time.Second)) // when neither side has more to send
		for {
			_, m, err := wire.ReadAnswer(client, wire.MaxMessage)
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			if _, ok := m.(*wire.Reply); !ok || err != nil {
				t.Fatalf("the client gets %+v, %v", m, err)
			}
		}
	})
}
