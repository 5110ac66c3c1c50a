package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

// FuzzRead reads random bytes. Read must reject them with an error, or return a message that encodes to the
// same bytes, and whose documents an independent decoder accepts too.
func FuzzRead(f *testing.F) {
	one, all := doc(f, bson.M{"ping": 1}), everyType(f)
	f.Add(wire.AppendQuery(nil, 1, wire.Query{Collection: "db.c", Query: all, Fields: one}))
	f.Add(wiretest.AppendGetMore(nil, 1, wire.GetMore{Collection: "db.c", Cursor: 9}))
	f.Add(wiretest.AppendKillCursors(nil, 1, wire.KillCursors{Cursors: []int64{1, 2}}))
	f.Add(wire.AppendMsg(nil, 1, 0, all))
	f.Add(wire.AppendSections(nil, 1, 0, wire.Msg{Flags: wire.MsgChecksum, Body: one, Sequences: []wire.Sequence{{ID: "d", Documents: []bsoncore.Document{all}}}}))
	f.Add(wire.AppendReply(nil, 1, 2, wire.Reply{Cursor: 4, Documents: []bsoncore.Document{one, all}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		const max = 1 << 20
		if head, msg, err := wire.ReadAnswer(bytes.NewReader(raw), max); err == nil {
			if reply, ok := msg.(*wire.Reply); ok {
				check(t, reply.Documents...)
				same(t, head, raw, wire.AppendReply(nil, head.RequestID, head.ResponseTo, *reply))
			}
		}
		head, msg, err := wire.Read(bytes.NewReader(raw), max)
		if err != nil {
			var malformed *wire.Error
			if errors.As(err, &malformed) && malformed.Framed && len(raw) < int(head.Length) {
				t.Fatalf("%d of %d bytes were taken for a whole message: %v", len(raw), head.Length, err)
			}
			return
		}
		switch msg := msg.(type) {
		case *wire.Query:
			check(t, msg.Query)
			if msg.Fields != nil {
				check(t, msg.Fields)
			}
			again := wire.AppendQuery(nil, head.RequestID, *msg)
			copy(again[8:12], raw[8:12])
			same(t, head, raw, again)
		case *wire.GetMore:
			again := wiretest.AppendGetMore(nil, head.RequestID, *msg)
			copy(again[8:12], raw[8:12])
			copy(again[16:20], raw[16:20]) // reserved
			same(t, head, raw, again)
		case *wire.KillCursors:
			again := wiretest.AppendKillCursors(nil, head.RequestID, *msg)
			copy(again[8:12], raw[8:12])
			copy(again[16:20], raw[16:20])
			same(t, head, raw, again)
		case *wire.Msg:
			check(t, msg.Body)
			for _, s := range msg.Sequences {
				check(t, s.Documents...)
			}
			// Sections may be in any order, so only their total length is the same.
			again := wire.AppendSections(nil, head.RequestID, head.ResponseTo, *msg)
			if len(again) != int(head.Length) {
				t.Fatalf("read %d bytes, wrote %d", head.Length, len(again))
			}
		default:
			t.Fatalf("read a %T", msg)
		}
	})
}

func check(t *testing.T, docs ...bsoncore.Document) {
	t.Helper()
	for _, d := range docs {
		if err := d.Validate(); err != nil {
			t.Fatalf("accepted %x: %v", []byte(d), err)
		}
		var decoded bson.D
		if err := bson.Unmarshal(d, &decoded); err != nil {
			t.Fatalf("accepted %x, which does not decode: %v", []byte(d), err)
		}
	}
}

func same(t *testing.T, head wire.Header, raw, again []byte) {
	t.Helper()
	if !bytes.Equal(raw[:head.Length], again) {
		t.Fatalf("read  %x\nwrote %x", raw[:head.Length], again)
	}
}
