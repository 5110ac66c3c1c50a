package adapter_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

// TestRequests sends each kind of message from the client and checks what the server receives.
func TestRequests(t *testing.T) {
	q := func(flags int32, collection string, skip, limit int32, body d, fields ...d) []byte {
		m := wire.Query{Flags: flags, Collection: collection, Skip: skip, Limit: limit, Query: doc(t, body)}
		if len(fields) > 0 {
			m.Fields = doc(t, fields[0])
		}
		return wire.AppendQuery(nil, 7, m)
	}
	old := d{{"ismaster", true}, {"maxWireVersion", int32(6)}}
	for _, test := range []struct {
		name  string
		hello d
		sent  []byte
		want  d
	}{
		{"a command", modern, q(0, "db.$cmd", 0, -1, d{{"count", "c"}, {"query", d{{"a", 1}}}}),
			d{{"count", "c"}, {"query", d{{"a", 1}}}, {"$db", "db"}}},
		{"one on a secondary", modern, q(wire.QuerySlaveOK, "db.$cmd", 0, -1, d{{"ping", 1}}),
			d{{"ping", 1}, {"$db", "db"}, {"$readPreference", d{{"mode", "secondaryPreferred"}}}}},
		{"one with its own preference", modern, q(wire.QuerySlaveOK, "db.$cmd", 0, -1, d{{"ping", 1}, {"$readPreference", d{{"mode", "nearest"}}}}),
			d{{"ping", 1}, {"$db", "db"}, {"$readPreference", d{{"mode", "nearest"}}}}},
		{"a wrapped command", modern, q(0, "db.$cmd", 0, -1, d{{"$query", d{{"count", "c"}}}, {"$maxTimeMS", int32(5)},
			{"$comment", "why"}, {"$readPreference", d{{"mode", "secondary"}}}}),
			d{{"count", "c"}, {"maxTimeMS", int32(5)}, {"comment", "why"}, {"$db", "db"}, {"$readPreference", d{{"mode", "secondary"}}}}},
		{"one that names a database", modern, q(0, "db.$cmd", 0, -1, d{{"ping", 1}, {"$db", "other"}}), d{{"ping", 1}, {"$db", "db"}}},
		{"ismaster", modern, q(wire.QuerySlaveOK, "admin.$cmd", 0, -1, d{{"ismaster", 1}}), d{{"hello", int32(1)}, {"$db", "admin"}}},
		{"ismaster on an old server", old, q(0, "admin.$cmd", 0, -1, d{{"ismaster", 1}, {"topologyVersion", d{}}, {"maxAwaitTimeMS", 1}}),
			d{{"isMaster", int32(1)}, {"$db", "admin"}}},
		{"a log-in", modern, q(0, "admin.$cmd", 0, -1, d{{"saslStart", 1}, {"mechanism", "SCRAM-SHA-1"}, {"payload", []byte("x")}}),
			d{{"saslStart", 1}, {"mechanism", "SCRAM-SHA-1"}, {"payload", []byte("x")}, {"$db", "admin"}}},
		{"its second step", modern, q(0, "admin.$cmd", 0, -1, d{{"saslContinue", 1}, {"conversationId", 1}, {"mechanism", "SCRAM-SHA-1"}, {"payload", []byte("y")}}),
			d{{"saslContinue", 1}, {"conversationId", 1}, {"payload", []byte("y")}, {"$db", "admin"}}},
		{"a tail", modern, q(wire.QueryTailable|wire.QueryAwaitData, "db.txns.log", 3, 0, d{{"$query", d{{"a", d{{"$gt", 1}}}}}, {"$orderby", d{{"$natural", 1}}}}),
			d{{"find", "txns.log"}, {"filter", d{{"a", d{{"$gt", 1}}}}}, {"skip", int64(3)}, {"tailable", true}, {"awaitData", true},
				{"sort", d{{"$natural", 1}}}, {"$db", "db"}}},
		{"a query of everything", modern, q(wire.QuerySlaveOK|wire.QueryNoCursorTimeout|wire.QueryPartial|1<<3, "db.c", 0, 50,
			d{{"$query", d{}}, {"$hint", d{{"a", 1}}}, {"$maxTimeMS", 9}, {"$comment", "c"}, {"$min", d{{"a", 1}}}, {"$max", d{{"a", 2}}},
				{"$returnKey", true}, {"$showDiskLoc", true}, {"$snapshot", true}, {"$maxScan", 3}}, d{{"a", 1}}),
			d{{"find", "c"}, {"filter", d{}}, {"projection", d{{"a", 1}}}, {"batchSize", int64(50)}, {"noCursorTimeout", true},
				{"allowPartialResults", true}, {"hint", d{{"a", 1}}}, {"maxTimeMS", 9}, {"comment", "c"}, {"min", d{{"a", 1}}}, {"max", d{{"a", 2}}},
				{"returnKey", true}, {"showRecordId", true}, {"$db", "db"}, {"$readPreference", d{{"mode", "secondaryPreferred"}}}}},
		{"a query of one", modern, q(0, "db.c", 0, -1, d{{"_id", 1}}),
			d{{"find", "c"}, {"filter", d{{"_id", 1}}}, {"limit", int64(1)}, {"batchSize", int64(1)}, {"singleBatch", true}, {"$db", "db"}}},
		{"a query of at most five", modern, q(0, "db.c", 0, -5, d{}),
			d{{"find", "c"}, {"filter", d{}}, {"limit", int64(5)}, {"batchSize", int64(5)}, {"singleBatch", true}, {"$db", "db"}}},
		{"a document called $query", modern, q(0, "db.c", 0, 0, d{{"a", d{{"$query", 1}}}}), d{{"find", "c"}, {"filter", d{{"a", d{{"$query", 1}}}}}, {"$db", "db"}}},
		{"more", modern, wiretest.AppendGetMore(nil, 7, wire.GetMore{Collection: "db.$cmd.listCollections", Limit: 4, Cursor: 99}),
			d{{"getMore", int64(99)}, {"collection", "$cmd.listCollections"}, {"batchSize", int64(4)}, {"$db", "db"}}},
		{"as much more as there is", modern, wiretest.AppendGetMore(nil, 7, wire.GetMore{Collection: "db.c", Cursor: 99}),
			d{{"getMore", int64(99)}, {"collection", "c"}, {"$db", "db"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, client, server := connect(t, test.hello)
			client.send(test.sent)
			head, m := server.request()
			if got, want := bson.Raw(m.Body).String(), bson.Raw(doc(t, test.want)).String(); got != want {
				t.Errorf("the server gets %s\nwant            %s", got, want)
			}
			server.answer(head, d{{"cursor", d{{"id", int64(0)}, {"firstBatch", a{}}, {"nextBatch", a{}}}}, {"ok", 1.0}})
			if head, _ := client.reply(); head.ResponseTo != 7 {
				t.Errorf("the reply is to %d", head.ResponseTo)
			}
		})
	}
}

// TestReplies answers from the server and checks what the client receives.
func TestReplies(t *testing.T) {
	command := query(t, 7, "db.$cmd", d{{"frob", 1}})
	isMaster := query(t, 7, "admin.$cmd", d{{"ismaster", 1}})
	tail := wire.AppendQuery(nil, 7, wire.Query{Flags: wire.QueryTailable, Collection: "db.c", Query: doc(t, d{})})
	more := wiretest.AppendGetMore(nil, 7, wire.GetMore{Collection: "db.c", Cursor: 5})
	cursor := func(id int64, batch string, docs ...any) d {
		return d{{"cursor", d{{"id", id}, {"ns", "db.c"}, {batch, append(a{}, docs...)}}}, {"ok", 1.0}}
	}
	fails := func(code int32) d { return d{{"ok", 0.0}, {"errmsg", "why"}, {"code", code}} }
	const await = wire.ReplyAwaitCapable
	for _, test := range []struct {
		name   string
		sent   []byte
		answer d
		flags  int32
		cursor int64
		want   []d
	}{
		{"of a command", command, d{{"n", 1}, {"ok", 1.0}}, await, 0, []d{{{"n", 1}, {"ok", 1.0}}}},
		{"of a command that fails", command, fails(26), await, 0, []d{fails(26)}},
		{"of a command with a cursor", command, cursor(5, "firstBatch", d{{"_id", 1}}), await, 0, []d{cursor(5, "firstBatch", d{{"_id", 1}})}},
		{"of hello", isMaster, d{{"isWritablePrimary", true}, {"hosts", a{"h:1"}}, {"ok", 1.0}}, await, 0,
			[]d{{{"isWritablePrimary", true}, {"hosts", a{"h:1"}}, {"ok", 1.0}, {"ismaster", true}}}},
		{"of hello by a secondary", isMaster, d{{"isWritablePrimary", false}, {"ok", 1.0}}, await, 0,
			[]d{{{"isWritablePrimary", false}, {"ok", 1.0}, {"ismaster", false}}}},
		{"of isMaster", isMaster, d{{"ismaster", true}, {"ok", 1.0}}, await, 0, []d{{{"ismaster", true}, {"ok", 1.0}}}},
		{"of a tail", tail, cursor(5, "firstBatch", d{{"_id", 1}}, d{{"_id", 2}}), await, 5, []d{{{"_id", 1}}, {{"_id", 2}}}},
		{"of an empty tail", tail, cursor(0, "firstBatch"), await, 0, nil},
		{"of a tail that is refused", tail, fails(2), await | wire.ReplyQueryFailure, 0, []d{{{"$err", "why"}, {"code", int32(2)}}}},
		{"of a tail that fails for no reason", tail, d{{"ok", 0.0}}, await | wire.ReplyQueryFailure, 0, []d{{{"$err", ""}, {"code", int32(1)}}}},
		{"of more", more, cursor(5, "nextBatch", d{{"_id", 3}}), await, 5, []d{{{"_id", 3}}}},
		{"of no more", more, cursor(0, "nextBatch"), await, 0, nil},
		{"of more of what is gone", more, fails(43), await | wire.ReplyCursorNotFound, 0, nil},
		{"of more of a place that is lost", more, fails(136), await | wire.ReplyCursorNotFound, 0, nil},
		{"of more of what was dropped", more, fails(175), await | wire.ReplyCursorNotFound, 0, nil},
		{"of more of what was killed", more, fails(237), await | wire.ReplyCursorNotFound, 0, nil},
		{"of more that was interrupted", more, fails(11601), await | wire.ReplyCursorNotFound, 0, nil},
		{"of more of what is another's", more, fails(13), await | wire.ReplyQueryFailure, 0, []d{{{"$err", "why"}, {"code", int32(13)}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, client, server := connect(t, modern)
			client.send(test.sent)
			head, _ := server.request()
			server.answer(head, test.answer)
			got, reply := client.reply()
			if got.ResponseTo != 7 || reply.Flags != test.flags || reply.Cursor != test.cursor {
				t.Errorf("the reply is to %d, flags %d, cursor %d; want 7, %d, %d", got.ResponseTo, reply.Flags, reply.Cursor, test.flags, test.cursor)
			}
			var want []bsoncore.Document
			for _, w := range test.want {
				want = append(want, doc(t, w))
			}
			if g, w := show(reply.Documents), show(want); g != w {
				t.Errorf("the reply holds %s\nwant            %s", g, w)
			}
		})
	}
}

func show(docs []bsoncore.Document) string {
	var out []string
	for _, d := range docs {
		out = append(out, d.String())
	}
	return strings.Join(out, "\n")
}

// TestRefusals sends messages that can't be translated: the adapter answers them, and the
// connection stays open.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name string
		sent []byte
		code int32
		want string
	}{
		{"no command", query(t, 7, "db.$cmd", d{}), 59, "no such command"},
		{"a wrapped command with more", query(t, 7, "db.$cmd", d{{"$query", d{{"ping", 1}}}, {"$explain", true}}), 9, "$explain"},
		{"a query with more", query(t, 7, "db.c", d{{"$query", d{}}, {"$frob", true}}), 9, "$frob"},
		{"exhaust", wire.AppendQuery(nil, 7, wire.Query{Flags: wire.QueryExhaust, Collection: "db.c", Query: doc(t, d{})}), 2, "exhaust"},
		{"a negative skip", wire.AppendQuery(nil, 7, wire.Query{Skip: -1, Collection: "db.c", Query: doc(t, d{})}), 2, "skip"},
		{"no collection", query(t, 7, "db", d{}), 73, "'db'"},
		{"a strange collection", query(t, 7, "db.$cmd.sys.inprog", d{}), 73, "inprog"},
		{"more of nothing", wiretest.AppendGetMore(nil, 7, wire.GetMore{Collection: "db.", Cursor: 5}), 73, "'db.'"},
		{"nonsense", append([]byte{20, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0xd4, 7, 0, 0}, 1, 2, 3, 4), 9, "malformed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, client, server := connect(t, modern)
			client.send(test.sent)
			head, reply := client.reply()
			if head.ResponseTo != 7 || len(reply.Documents) != 1 {
				t.Fatalf("the reply is to %d, with %d documents", head.ResponseTo, len(reply.Documents))
			}
			var got struct {
				Err    string `bson:"$err"`
				ErrMsg string
				Code   int32
			}
			if err := bson.Unmarshal(reply.Documents[0], &got); err != nil {
				t.Fatal(err)
			}
			if got.Code != test.code || !strings.Contains(got.Err+got.ErrMsg, test.want) {
				t.Errorf("refused with %+v, want code %d and %q", got, test.code, test.want)
			}
			client.send(query(t, 8, "db.$cmd", d{{"ping", 1}}))
			to, _ := server.request()
			server.answer(to, d{{"ok", 1.0}})
			if head, _ := client.reply(); head.ResponseTo != 8 {
				t.Errorf("the next reply is to %d", head.ResponseTo)
			}
		})
	}
}
