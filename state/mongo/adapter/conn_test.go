package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/adapter"
	"juju/state/mongo/embedded/link"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

// TestOrder sends several requests at once, not all of which reach the server. The
// replies arrive in the order of the requests, each for its own request.
func TestOrder(t *testing.T) {
	_, client, server := connect(t, modern)
	client.send(slices.Concat(
		query(t, 11, "admin.$cmd", d{{"getnonce", 1}}), // mgo's first request
		query(t, 12, "db.$cmd", d{{"first", 1}}),
		query(t, 13, "admin.$cmd", d{{"getnonce", 1}}),
		query(t, 14, "db.c", d{{"$query", d{}}, {"$frob", 1}}), // rejected by the adapter
		query(t, 0, "admin.$cmd", d{{"logout", 1}}),            // mgo expects no reply
		query(t, 15, "admin.$cmd", d{{"getnonce", 1}}),
	))
	for range 2 {
		head, m := server.request()
		server.answer(head, d{{"n", int32(head.RequestID)}, {"ok", 1.0}})
		if name := firstKey(m.Body); name != "first" && name != "logout" {
			t.Errorf("the server is asked %s", name)
		}
	}
	var got []int32
	for range 6 {
		head, reply := client.reply()
		got = append(got, head.ResponseTo)
		nonce, is := raw.Get(reply.Documents[0], "nonce")
		if asked := slices.Contains([]int32{11, 13, 15}, head.ResponseTo); asked != is || is && len(raw.Text(nonce)) != 16 {
			t.Errorf("the reply to %d is %s", head.ResponseTo, reply.Documents[0])
		}
	}
	if want := []int32{11, 12, 13, 14, 0, 15}; !slices.Equal(got, want) {
		t.Errorf("replies to %v, want %v", got, want)
	}
}

func firstKey(doc []byte) string {
	it := raw.Elements(doc)
	e, _ := it.Next()
	return string(e.Key)
}

// TestCursorsAreKilledFromAnywhere kills cursors that another connection opened, in each
// of the three ways to open one. Unknown and exhausted cursors cause no message.
func TestCursorsAreKilledFromAnywhere(t *testing.T) {
	f := newFake(t, modern)
	ad := adapter.New(adapter.Options{Dial: f.dial, Logf: t.Logf})
	t.Cleanup(ad.Close)
	one, server := f.connect(ad)
	open := func(sent []byte, batch string, id int64, ns string) {
		t.Helper()
		one.send(sent)
		head, _ := server.request()
		server.answer(head, d{{"cursor", d{{"id", id}, {"ns", ns}, {batch, a{d{{"_id", 1}}}}}}, {"ok", 1.0}})
		one.reply()
	}
	open(wire.AppendQuery(nil, 1, wire.Query{Collection: "db.log", Query: doc(t, d{})}), "firstBatch", 21, "db.log")
	open(query(t, 2, "db.$cmd", d{{"find", "c"}}), "firstBatch", 22, "db.c")
	open(query(t, 3, "db.$cmd", d{{"listCollections", 1}}), "firstBatch", 23, "db.$cmd.listCollections")
	open(query(t, 4, "db.$cmd", d{{"find", "c"}}), "firstBatch", 24, "db.c")
	open(query(t, 5, "db.$cmd", d{{"find", "c"}}), "firstBatch", 25, "db.c")
	open(query(t, 6, "db.$cmd", d{{"getMore", int64(24)}, {"collection", "c"}}), "nextBatch", 0, "db.c")
	open(wiretest.AppendGetMore(nil, 7, wire.GetMore{Collection: "db.c", Cursor: 25}), "nextBatch", 0, "db.c")
	open(wiretest.AppendGetMore(nil, 8, wire.GetMore{Collection: "db.log", Cursor: 21}), "nextBatch", 21, "db.log")

	two, other := f.connect(ad)
	two.send(wiretest.AppendKillCursors(nil, 9, wire.KillCursors{Cursors: []int64{21, 22, 23, 24, 25, 99}}))
	killed := map[string]string{}
	for range 3 {
		head, m := other.request()
		var cmd struct {
			Collection string  `bson:"killCursors"`
			Cursors    []int64 `bson:"cursors"`
			DB         string  `bson:"$db"`
		}
		if err := bson.Unmarshal(m.Body, &cmd); err != nil {
			t.Fatal(err)
		}
		killed[cmd.DB+"."+cmd.Collection] = fmt.Sprint(cmd.Cursors)
		other.answer(head, d{{"cursorsKilled", cmd.Cursors}, {"ok", 1.0}})
	}
	if want := "map[db.$cmd.listCollections:[23] db.c:[22] db.log:[21]]"; fmt.Sprint(killed) != want {
		t.Errorf("killed %v, want %v", killed, want)
	}
	// That had no reply, and a second time nothing is left to kill.
	two.send(wiretest.AppendKillCursors(nil, 10, wire.KillCursors{Cursors: []int64{21, 22, 23}}))
	two.send(query(t, 11, "db.$cmd", d{{"ping", 1}}))
	head, m := other.request()
	if name := firstKey(m.Body); name != "ping" {
		t.Errorf("the server is asked %s", name)
	}
	other.answer(head, d{{"ok", 1.0}})
	if head, _ := two.reply(); head.ResponseTo != 11 {
		t.Errorf("got a reply to %d", head.ResponseTo)
	}
}

// TestMoreForTheLastTime requests one last batch, with a negative limit.
func TestMoreForTheLastTime(t *testing.T) {
	_, client, server := connect(t, modern)
	client.send(wiretest.AppendGetMore(nil, 7, wire.GetMore{Collection: "db.c", Cursor: 5, Limit: -3}))
	more, m := server.request()
	if n, _ := raw.Get(m.Body, "batchSize"); n.Int64() != 3 {
		t.Errorf("the server gets %s", m.Body)
	}
	kill, m := server.request()
	if firstKey(m.Body) != "killCursors" {
		t.Errorf("the server gets %s", m.Body)
	}
	server.answer(more, d{{"cursor", d{{"id", int64(5)}, {"ns", "db.c"}, {"nextBatch", a{d{{"_id", 1}}}}}}, {"ok", 1.0}})
	server.answer(kill, d{{"ok", 1.0}})
	if _, reply := client.reply(); reply.Cursor != 0 || len(reply.Documents) != 1 {
		t.Errorf("the reply is %+v", reply)
	}
}

// TestAStepDownEndsTheConnection: the reply is still delivered, then the connection ends.
// Other failures don't end it.
func TestAStepDownEndsTheConnection(t *testing.T) {
	for _, code := range []int32{91, 189, 10058, 10107, 11600, 11602, 13435, 13436, 11000, 64, 43, 0} {
		for where, answer := range map[string]d{
			"answer":        {{"ok", 0.0}, {"errmsg", "why"}, {"code", code}},
			"write concern": {{"ok", 1.0}, {"n", 1}, {"writeConcernError", d{{"code", code}, {"errmsg", "why"}}}},
			"one write":     {{"ok", 1.0}, {"n", 0}, {"writeErrors", a{d{{"index", 0}, {"code", int32(1)}}, d{{"index", 1}, {"code", code}}}}},
			"success":       {{"ok", 1.0}, {"code", code}},
		} {
			t.Run(fmt.Sprintf("%d in the %s", code, where), func(t *testing.T) {
				_, client, server := connect(t, modern)
				client.send(query(t, 7, "db.$cmd", d{{"insert", "c"}}))
				head, _ := server.request()
				server.answer(head, answer)
				if head, reply := client.reply(); head.ResponseTo != 7 || reply.Documents[0].String() != doc(t, answer).String() {
					t.Errorf("the reply is to %d, %s", head.ResponseTo, reply.Documents)
				}
				if where != "success" && code != 11000 && code != 64 && code != 43 && code != 0 {
					client.ended()
					server.ended()
					return
				}
				client.send(query(t, 8, "db.$cmd", d{{"ping", 1}}))
				head, _ = server.request()
				server.answer(head, d{{"ok", 1.0}})
				client.reply()
			})
		}
	}
}

// TestPrimaryThatSteppedDown: when a server is no longer primary, all connections to it end,
// except the one that reported this. A server that never was primary keeps its
// connections.
func TestPrimaryThatSteppedDown(t *testing.T) {
	f := newFake(t, modern)
	ad := adapter.New(adapter.Options{Dial: f.dial, Logf: t.Logf})
	t.Cleanup(ad.Close)
	tail, far := f.connect(ad)
	tail.send(wiretest.AppendGetMore(nil, 1, wire.GetMore{Collection: "db.log", Cursor: 5}))
	far.request()
	asks, server := f.connect(ad)
	says := func(id int32, primary bool) {
		t.Helper()
		asks.send(query(t, id, "admin.$cmd", d{{"ismaster", 1}}))
		head, _ := server.request()
		server.answer(head, d{{"isWritablePrimary", primary}, {"ok", 1.0}})
		asks.reply()
	}
	says(2, true)
	says(3, false)
	tail.ended()
	far.ended()
	other, _ := f.connect(ad) // its greeting says primary
	says(4, false)
	other.ended()
	f.hello = d{{"ismaster", false}, {"secondary", true}, {"maxWireVersion", int32(21)}, {"helloOk", true}}
	more, third := f.connect(ad)
	says(5, false)
	more.send(query(t, 6, "db.$cmd", d{{"ping", 1}}))
	head, _ := third.request()
	third.answer(head, d{{"ok", 1.0}})
	more.reply()
}

// TestEnds ends the connection from each side, in the middle of a request or not: the
// other side sees it immediately, and no goroutine is left.
func TestEnds(t *testing.T) {
	for _, busy := range []bool{false, true} {
		for _, who := range []string{"client", "server", "adapter"} {
			t.Run(fmt.Sprintf("by the %s, busy %v", who, busy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ad, client, server := connect(t, modern)
					if busy {
						client.send(query(t, 7, "db.$cmd", d{{"ping", 1}}))
						server.request()
					}
					start := time.Now()
					switch who {
					case "client":
						client.nc.Close()
						server.ended()
					case "server":
						server.nc.Close()
						client.ended()
					case "adapter":
						ad.Close()
						client.ended()
						server.ended()
					}
					if took := time.Since(start); took != 0 {
						t.Errorf("it took %v", took)
					}
					ad.Close()
					if _, err := ad.Connect("h:1"); !errors.Is(err, adapter.ErrClosed) && !errors.Is(err, context.Canceled) {
						t.Errorf("a closed adapter connects: %v", err)
					}
				})
			})
		}
	}
}

// TestNonsenseOfTheServer ends the connection: whatever followed couldn't be trusted.
func TestNonsenseOfTheServer(t *testing.T) {
	ok := doc(t, d{{"ok", 1.0}})
	tail := wire.AppendQuery(nil, 7, wire.Query{Flags: wire.QueryTailable, Collection: "db.c", Query: doc(t, d{})})
	command := query(t, 7, "db.$cmd", d{{"ping", 1}})
	msg := func(v any) func(int32) []byte {
		return func(to int32) []byte { return wire.AppendMsg(nil, 1, to, doc(t, v)) }
	}
	for name, test := range map[string]struct {
		sent   []byte
		answer func(to int32) []byte
	}{
		"an answer to another": {command, func(to int32) []byte { return wire.AppendMsg(nil, 1, to+1, ok) }},
		"an old reply":         {command, func(to int32) []byte { return wire.AppendReply(nil, 1, to, wire.Reply{}) }},
		"bytes":                {command, func(int32) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n") }},
		"half an answer":       {command, func(to int32) []byte { return wire.AppendMsg(nil, 1, to, ok)[:20] }},
		"more to come": {command, func(to int32) []byte {
			return wire.AppendSections(nil, 1, to, wire.Msg{Flags: wire.MsgMoreToCome, Body: ok})
		}},
		"a list beside the body": {command, func(to int32) []byte {
			return wire.AppendSections(nil, 1, to, wire.Msg{Body: ok, Sequences: []wire.Sequence{{ID: "x"}}})
		}},
		"no cursor":                  {tail, msg(d{{"ok", 1.0}})},
		"a cursor that is a number":  {tail, msg(d{{"cursor", 1}, {"ok", 1.0}})},
		"no batch":                   {tail, msg(d{{"cursor", d{{"id", int64(1)}, {"nextBatch", a{}}}}, {"ok", 1.0}})},
		"a batch that is a document": {tail, msg(d{{"cursor", d{{"id", int64(1)}, {"firstBatch", d{}}}}, {"ok", 1.0}})},
		"a batch of numbers":         {tail, msg(d{{"cursor", d{{"id", int64(1)}, {"firstBatch", a{1}}}}, {"ok", 1.0}})},
	} {
		t.Run(name, func(t *testing.T) {
			_, client, server := connect(t, modern)
			client.send(test.sent)
			head, _ := server.request()
			server.send(test.answer(head.RequestID))
			if name == "half an answer" {
				server.nc.Close()
			}
			client.ended()
		})
	}
	t.Run("an answer nobody asked for", func(t *testing.T) {
		_, client, server := connect(t, modern)
		server.send(wire.AppendMsg(nil, 1, 2, ok))
		client.ended()
	})
	t.Run("a checksum is fine", func(t *testing.T) {
		_, client, server := connect(t, modern)
		client.send(command)
		head, _ := server.request()
		server.send(wire.AppendSections(nil, 1, head.RequestID, wire.Msg{Flags: wire.MsgChecksum, Body: ok}))
		client.reply()
	})
}

// TestGreetings connects to unusable servers.
func TestGreetings(t *testing.T) {
	for _, test := range []struct {
		name  string
		hello d
		want  string
	}{
		{"too old", d{{"ismaster", true}, {"maxWireVersion", int32(5)}}, "MongoDB 3.6"},
		{"silent on its version", d{{"ismaster", true}}, "MongoDB 3.6"},
		{"a router", d{{"ismaster", true}, {"maxWireVersion", int32(21)}, {"msg", "isdbgrid"}}, "sharded cluster"},
		{"of another set", d{{"ismaster", true}, {"maxWireVersion", int32(21)}, {"setName", "theirs"}}, `"theirs", not of "ours"`},
		{"of no set", d{{"ismaster", true}, {"maxWireVersion", int32(21)}}, `not a member of replica set "ours"`},
		{"unwilling", d{{"ok", 0.0}, {"errmsg", "go away"}, {"code", int32(13)}}, "go away (13)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t, test.hello)
			ad := adapter.New(adapter.Options{Dial: f.dial, Set: "ours"})
			defer ad.Close()
			_, err := ad.Connect("db.example.com:27017")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "db.example.com:27017") {
				t.Errorf("got %v, want %q", err, test.want)
			}
			newPeer(t, <-f.conns).ended()
		})
	}
	for name, answer := range map[string]func(net.Conn){
		"nothing":  func(net.Conn) {},
		"an end":   func(c net.Conn) { c.Close() },
		"nonsense": func(c net.Conn) { c.Write([]byte("220 mail.example.com ESMTP\r\n")) },
		"OP_MSG":   func(c net.Conn) { c.Write(wire.AppendMsg(nil, 1, 1, doc(t, append(modern, bson.E{"ok", 1.0})))) },
		"two":      func(c net.Conn) { c.Write(wire.AppendReply(nil, 1, 1, wire.Reply{})) },
	} {
		t.Run("a server that says "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ad := adapter.New(adapter.Options{Dial: func(context.Context, string) (net.Conn, error) {
					client, server := link.Pipe()
					answer(server)
					return client, nil
				}})
				defer ad.Close()
				start := time.Now()
				if _, err := ad.Connect("h:1"); err == nil {
					t.Error("connected")
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestClientThatReadsNoReplies is disconnected eventually.
func TestClientThatReadsNoReplies(t *testing.T) {
	ping := query(t, 7, "db.$cmd", d{{"ping", 1}})
	for name, request := range map[string][]byte{
		"the server must reply":   ping,
		"the adapter has replied": query(t, 8, "admin.$cmd", d{{"getnonce", 1}}),
	} {
		t.Run(name, func(t *testing.T) {
			_, client, _ := connect(t, modern)
			client.send(ping)
			for range 10_000 {
				if _, err := client.nc.Write(request); err != nil {
					break
				}
			}
			client.ended()
		})
	}
}
