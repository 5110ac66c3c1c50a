package embedded_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"gopkg.in/mgo.v2"

	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

// TestOnlyMsg uses a server that accepts no messages older than OP_MSG, except for the handshake. mgo alone
// can't connect to it.
func TestOnlyMsg(t *testing.T) {
	s := open(t, embedded.Options{OnlyMsg: true})
	info := dialInfo(s)
	info.FailFast = true
	if _, err := mgo.DialWithInfo(info); err == nil {
		t.Error("mgo connected")
	}
	ping := bsontest.RawDocument(d{{Key: "ping", Value: 1}})
	for _, test := range []struct {
		name   string
		sent   []byte
		answer bool
		code   int64
	}{
		{"greeting", wire.AppendQuery(nil, 1, wire.Query{Collection: "admin.$cmd", Query: bsontest.RawDocument(d{{Key: "isMaster", Value: 1}})}), true, 0},
		{"command", wire.AppendQuery(nil, 1, wire.Query{Collection: "admin.$cmd", Query: ping}), true, 352},
		{"wrapped command", wire.AppendQuery(nil, 1, wire.Query{Collection: "admin.$cmd", Query: bsontest.RawDocument(d{{Key: "$query", Value: bson.D{{Key: "ping", Value: 1}}}})}), true, 352},
		{"query", wire.AppendQuery(nil, 1, wire.Query{Collection: "db.c", Query: ping}), false, 0},
		{"get more", wiretest.AppendGetMore(nil, 1, wire.GetMore{Collection: "db.c", Cursor: 1}), false, 0},
		{"kill cursors", wiretest.AppendKillCursors(nil, 1, wire.KillCursors{Cursors: []int64{1}}), false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, s)
			c.send(test.sent)
			_, answer, err := wire.ReadAnswer(c.conn, wire.MaxMessage)
			if answered := err == nil; answered != test.answer {
				t.Fatalf("reply %v, %v", answer, err)
			}
			if !test.answer {
				return
			}
			v, _ := raw.Get(answer.(*wire.Reply).Documents[0], "code")
			if code, _ := raw.Int(v); code != test.code {
				t.Errorf("code %d, want %d", code, test.code)
			}
		})
	}
	connect(t, s).must(d{{Key: "ping", Value: 1}})
}
