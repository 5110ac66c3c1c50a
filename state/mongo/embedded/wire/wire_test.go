package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

func doc(t testing.TB, v any) bsoncore.Document {
	t.Helper()
	b, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exhaustAllowed is a flag of a Msg that a receiver may ignore.
const exhaustAllowed = 1 << 16

// everyType returns a document with a value of each BSON type, at the top level and nested.
func everyType(t testing.TB) bsoncore.Document {
	t.Helper()
	dec, err := primitive.ParseDecimal128("1.25")
	if err != nil {
		t.Fatal(err)
	}
	fields := bson.D{
		{Key: "double", Value: 1.5}, {Key: "string", Value: "s\x00tail"}, {Key: "empty", Value: ""},
		{Key: "binary", Value: primitive.Binary{Subtype: 0, Data: []byte{1, 2}}},
		{Key: "old", Value: primitive.Binary{Subtype: 2, Data: []byte{1, 2}}},
		{Key: "undefined", Value: primitive.Undefined{}}, {Key: "oid", Value: primitive.NewObjectID()},
		{Key: "bool", Value: true}, {Key: "date", Value: primitive.DateTime(5)}, {Key: "null", Value: nil},
		{Key: "regex", Value: primitive.Regex{Pattern: "^a", Options: "i"}},
		{Key: "pointer", Value: primitive.DBPointer{DB: "a.b", Pointer: primitive.NewObjectID()}},
		{Key: "js", Value: primitive.JavaScript("x")}, {Key: "symbol", Value: primitive.Symbol("x")},
		{Key: "scoped", Value: primitive.CodeWithScope{Code: "x", Scope: bson.D{{Key: "y", Value: 1}}}},
		{Key: "int", Value: int32(1)}, {Key: "stamp", Value: primitive.Timestamp{T: 1, I: 2}},
		{Key: "long", Value: int64(1)}, {Key: "decimal", Value: dec},
		{Key: "min", Value: primitive.MinKey{}}, {Key: "max", Value: primitive.MaxKey{}},
	}
	return doc(t, append(fields, bson.E{Key: "doc", Value: fields}, bson.E{Key: "list", Value: bson.A{fields, bson.A{}}}))
}

// TestAnnouncedMessages checks that a message that is only announced takes almost no memory, whatever its
// announced length.
func TestAnnouncedMessages(t *testing.T) {
	const count = 200
	var head [wire.HeaderSize]byte
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, size := range []uint32{1 << 20, uint32(wire.MaxMessage)} {
		binary.LittleEndian.PutUint32(head[:], size)
		for range count {
			if _, _, err := wire.Read(bytes.NewReader(head[:]), wire.MaxMessage); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / (2 * count); each > 64<<10 {
		t.Errorf("each announced message takes %d bytes", each)
	}
}

func TestRequestsRoundTrip(t *testing.T) {
	one, two := doc(t, bson.M{"ping": 1}), everyType(t)
	long := doc(t, bson.M{"a": strings.Repeat("x", 2<<20)}) // longer than what is allocated for a header alone
	for _, test := range []struct {
		name   string
		append func([]byte) []byte
		want   any
	}{
		{"query", func(b []byte) []byte {
			return wire.AppendQuery(b, 7, wire.Query{Flags: wire.QuerySlaveOK, Collection: "db.$cmd", Skip: 1, Limit: -1, Query: one})
		}, &wire.Query{Flags: wire.QuerySlaveOK, Collection: "db.$cmd", Skip: 1, Limit: -1, Query: one}},
		{"query with fields", func(b []byte) []byte {
			return wire.AppendQuery(b, 7, wire.Query{Collection: "db.c", Query: long, Fields: two})
		}, &wire.Query{Collection: "db.c", Query: long, Fields: two}},
		{"get more", func(b []byte) []byte {
			return wiretest.AppendGetMore(b, 7, wire.GetMore{Collection: "db.c", Limit: 3, Cursor: 1 << 40})
		}, &wire.GetMore{Collection: "db.c", Limit: 3, Cursor: 1 << 40}},
		{"kill cursors", func(b []byte) []byte {
			return wiretest.AppendKillCursors(b, 7, wire.KillCursors{Cursors: []int64{1, -2, 1 << 40}})
		}, &wire.KillCursors{Cursors: []int64{1, -2, 1 << 40}}},
		{"kill no cursors", func(b []byte) []byte {
			return wiretest.AppendKillCursors(b, 7, wire.KillCursors{})
		}, &wire.KillCursors{}},
		{"msg", func(b []byte) []byte { return wire.AppendMsg(b, 7, 0, two) }, &wire.Msg{Body: two}},
		{"msg with all", func(b []byte) []byte {
			return wire.AppendSections(b, 7, 0, wire.Msg{
				Flags: wire.MsgChecksum | wire.MsgMoreToCome | exhaustAllowed, Body: one,
				Sequences: []wire.Sequence{{ID: "documents", Documents: []bsoncore.Document{one, two}}, {ID: "none"}},
			})
		}, &wire.Msg{
			Flags: wire.MsgChecksum | wire.MsgMoreToCome | exhaustAllowed, Body: one,
			Sequences: []wire.Sequence{{ID: "documents", Documents: []bsoncore.Document{one, two}}, {ID: "none"}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			// The message is appended to other bytes, precedes another message, and arrives in pieces.
			const before = "before"
			raw := test.append([]byte(before))[len(before):]
			r := iotest.HalfReader(bytes.NewReader(wire.AppendMsg(bytes.Clone(raw), 8, 0, one)))
			head, got, err := wire.Read(r, wire.MaxMessage)
			if err != nil {
				t.Fatal(err)
			}
			if head.Length != int32(len(raw)) || head.RequestID != 7 {
				t.Errorf("header is %+v, the message has %d bytes", head, len(raw))
			}
			if !reflect.DeepEqual(got, test.want) { // cmp compares long documents byte by byte
				t.Errorf("read (-want +got):\n%s", cmp.Diff(test.want, got))
			}
			if head, _, err := wire.Read(r, wire.MaxMessage); err != nil || head.RequestID != 8 {
				t.Errorf("the next message: %+v, %v", head, err)
			}
			if _, _, err := wire.Read(r, wire.MaxMessage); err != io.EOF {
				t.Errorf("after the last message: %v, want io.EOF", err)
			}
			for cut := 1; cut < len(raw); cut += 1 + len(raw)/100 {
				if _, _, err := wire.Read(bytes.NewReader(raw[:cut]), wire.MaxMessage); err != io.ErrUnexpectedEOF {
					t.Fatalf("cut after %d bytes: %v", cut, err)
				}
			}
		})
	}
}

func TestAnswersRoundTrip(t *testing.T) {
	one, two := doc(t, bson.M{"ok": 1}), everyType(t)
	reply := wire.Reply{Flags: wire.ReplyAwaitCapable, Cursor: 9, From: 2, Documents: []bsoncore.Document{one, two}}
	raw := wire.AppendMsg(wire.AppendReply(nil, 3, 7, reply), 4, 8, two)
	r := bytes.NewReader(raw)
	head, got, err := wire.ReadAnswer(r, wire.MaxMessage)
	if err != nil || head.ResponseTo != 7 {
		t.Fatalf("%+v, %v", head, err)
	}
	if diff := cmp.Diff(&reply, got); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	head, got, err = wire.ReadAnswer(r, wire.MaxMessage)
	if err != nil || head.ResponseTo != 8 {
		t.Fatalf("%+v, %v", head, err)
	}
	if diff := cmp.Diff(&wire.Msg{Body: two}, got); diff != "" {
		t.Errorf("msg (-want +got):\n%s", diff)
	}
}

// message frames a body the way Read expects it.
func message(op int32, body ...[]byte) []byte {
	raw := make([]byte, wire.HeaderSize)
	for _, b := range body {
		raw = append(raw, b...)
	}
	binary.LittleEndian.PutUint32(raw, uint32(len(raw)))
	binary.LittleEndian.PutUint32(raw[4:], 7)
	binary.LittleEndian.PutUint32(raw[12:], uint32(op))
	return raw
}

func le(vs ...int32) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// field returns a document with one field, "a", of the given type and bytes.
func field(kind byte, value ...byte) []byte {
	b := le(int32(4 + 1 + 2 + len(value) + 1))
	return append(append(append(b, kind, 'a', 0), value...), 0)
}

// TestMalformed reads messages with a correct length and malformed content. Each must be rejected with the
// right reason, and the next message must be found.
func TestMalformed(t *testing.T) {
	ping := doc(t, bson.M{"ping": 1})
	name := []byte("db.$cmd\x00")
	body := func(raw ...byte) []byte { return message(wire.OpMsg, le(0), []byte{0}, raw) }
	summed := wire.AppendSections(nil, 7, 0, wire.Msg{Flags: wire.MsgChecksum, Body: ping})
	summed[30]++
	for _, test := range []struct {
		name, want string
		raw        []byte
	}{
		{"empty", "ends within a field", message(wire.OpQuery)},
		{"old insert", "unsupported op code 2002", message(2002, le(0), name, ping)},
		{"compressed", "unsupported op code 2012", message(2012, le(2013))},
		{"answer for a request", "unsupported op code 1", wire.AppendReply(nil, 7, 0, wire.Reply{})},
		{"name without end", "name has no end", message(wire.OpQuery, le(0), []byte("db.c"))},
		{"query without document", "within a length", message(wire.OpQuery, le(0), name, le(0, 0))},
		{"query with bad fields", "document of", message(wire.OpQuery, le(0), name, le(0, 0), ping, le(900))},
		{"query with more", "bytes too many", message(wire.OpQuery, le(0), name, le(0, 0), ping, ping, ping)},
		{"get more too long", "4 bytes too many", message(wire.OpGetMore, le(0), name, le(0, 0, 0, 0))},
		{"cursors too few", "2 cursors announced", message(wire.OpKillCursors, le(0, 2, 1, 0))},
		{"cursors negative", "-1 cursors announced", message(wire.OpKillCursors, le(0, -1))},
		{"cursors beyond memory", "cursors announced", message(wire.OpKillCursors, le(0, 1<<30))},
		{"msg without body", "no body", message(wire.OpMsg, le(0))},
		{"msg with two bodies", "two bodies", message(wire.OpMsg, le(0), []byte{0}, ping, []byte{0}, ping)},
		{"msg with unknown section", "section kind 2", message(wire.OpMsg, le(0), []byte{2})},
		{"msg with unknown flag", "required flags 0x4", message(wire.OpMsg, le(4), []byte{0}, ping)},
		{"msg with checksum cut off", "no room", message(wire.OpMsg, le(1), []byte{0})},
		{"msg with wrong checksum", "checksum is", summed},
		{"sequence too long", "a sequence of 99", message(wire.OpMsg, le(0), []byte{0}, ping, []byte{1}, le(99), []byte("d\x00"))},
		{"sequence too short", "a sequence of 3", message(wire.OpMsg, le(0), []byte{0}, ping, []byte{1}, le(3), []byte("d\x00"))},
		{"sequence twice", "two sequences", wire.AppendSections(nil, 7, 0, wire.Msg{Body: ping, Sequences: []wire.Sequence{{ID: "d"}, {ID: "d"}}})},
		{"document of no bytes", "document of 0", body(0, 0, 0, 0, 0)},
		{"document of negative length", "negative length", body(0, 0, 0, 0x80, 0)},
		{"document without end", "document has no end", body(5, 0, 0, 0, 1)},
		{"field without end", "field's name has no end", body(7, 0, 0, 0, 8, 'a', 0)},
		{"unknown type", "unknown type 0x20", body(field(0x20)...)},
		{"number cut off", `field "a" ends after`, body(field(0x01, 0, 0)...)},
		{"boolean of 2", "boolean is 2", body(field(0x08, 2)...)},
		{"string of none", "string of 0 bytes", body(field(0x02, 0, 0, 0, 0)...)},
		{"string without end", "string of 1 bytes", body(field(0x02, 1, 0, 0, 0, 'x')...)},
		{"string beyond memory", "string of 2147483647", body(field(0x02, 0xff, 0xff, 0xff, 0x7f, 0)...)},
		{"binary too long", "binary data", body(field(0x05, 9, 0, 0, 0, 0)...)},
		{"old binary in doubt", "old binary data", body(field(0x05, 4, 0, 0, 0, 2, 9, 0, 0, 0)...)},
		{"regex without end", "regular expression has no end", body(field(0x0b, 'x')...)},
		{"regex without options", "options of a regular", body(field(0x0b, 'x', 0)...)},
		{"pointer cut off", "ends after", body(field(0x0c, 1, 0, 0, 0, 0, 1)...)},
		{"scope too short", "code with scope", body(field(0x0f, 3, 0, 0, 0)...)},
		{"scope with more", "code with scope", body(field(0x0f, append(le(15), 1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0)...)...)},
		{"nested nonsense", "boolean is 2", body(field(0x04, field(0x03, field(0x08, 2)...)...)...)},
		{"too deep", "deeper than", body(nested(201)...)},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := bytes.NewReader(wire.AppendMsg(bytes.Clone(test.raw), 8, 0, ping))
			head, msg, err := wire.Read(r, wire.MaxMessage)
			var malformed *wire.Error
			if !errors.As(err, &malformed) || !malformed.Framed {
				t.Fatalf("read %v, %v", msg, err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not contain %q", err, test.want)
			}
			if head.RequestID != 7 {
				t.Errorf("header is %+v", head)
			}
			if head, _, err := wire.Read(r, wire.MaxMessage); err != nil || head.RequestID != 8 {
				t.Errorf("the next message: %+v, %v", head, err)
			}
		})
	}
	if _, _, err := wire.Read(bytes.NewReader(body(nested(200)...)), wire.MaxMessage); err != nil {
		t.Errorf("200 levels: %v", err)
	}
}

// nested returns documents nested depth deep.
func nested(depth int) []byte {
	b := []byte{5, 0, 0, 0, 0}
	for range depth - 1 {
		b = field(0x03, b...)
	}
	return b
}

// TestLength reads messages with a wrong length. Nothing after the length can be read, and it must not cause
// any allocation.
func TestLength(t *testing.T) {
	for _, length := range []int32{-1, 0, 15, 1001, 1 << 30} {
		raw := append(le(length, 7, 0, wire.OpMsg), make([]byte, 100)...)
		_, _, err := wire.Read(bytes.NewReader(raw), 1000)
		var malformed *wire.Error
		if !errors.As(err, &malformed) || malformed.Framed {
			t.Errorf("length %d: %v", length, err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := wire.Read(bytes.NewReader(le(wire.MaxMessage, 7, 0, wire.OpMsg)), wire.MaxMessage)
	runtime.ReadMemStats(&after)
	if err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("announcing 48 MB and sending none allocated %d bytes", n)
	}
}
