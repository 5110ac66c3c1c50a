package adapter

import (
	"crypto/rand"
	"encoding/hex"
	"errors"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// A kind of request determines how its reply is translated.
type kind int

const (
	aCommand kind = iota // forwarded unchanged
	aHello               // gets the field ismaster
	aFind                // the documents of a first batch
	aGetMore             // the documents of a further batch
	aDiscard             // discarded
	aLocal               // answered by the adapter
)

// An awaited is a request that has had no reply yet.
type awaited struct {
	kind   kind
	client int32  // the client's id for the request, which the reply repeats; may be 0
	server int32  // the adapter's id for the message to the server
	cursor int64  // of a getMore
	last   bool   // the client wants no further batch
	told   bool   // the reply tells of what the majority has
	reply  []byte // for aLocal
}

// errNonsense is the error for a reply that does not match its request.
var errNonsense = errors.New("the server's reply is invalid")

// translate converts the server's reply to the reply for the client, and updates the map of cursors.
func translate(a awaited, body bsoncore.Document, cs *cursors) (wire.Reply, error) {
	reply := wire.Reply{Flags: wire.ReplyAwaitCapable}
	switch a.kind {
	case aHello:
		reply.Documents = []bsoncore.Document{sayIsMaster(body)}
		return reply, nil
	case aFind, aGetMore:
		return translateBatch(a, body, cs)
	}
	if a.cursor != 0 {
		cs.remove(a.cursor)
	}
	if c, ok := raw.Get(body, "cursor"); ok && c.Type == bson.TypeEmbeddedDocument {
		note(c.Data, cs)
	}
	reply.Documents = []bsoncore.Document{body}
	return reply, nil
}

// note remembers the cursor of a reply, if it is open.
func note(cursor bsoncore.Document, cs *cursors) (id int64) {
	id, _ = number(cursor, "id")
	if ns, ok := raw.Get(cursor, "ns"); ok && ns.Type == bson.TypeString && id != 0 {
		cs.add(id, string(raw.Text(ns)))
	}
	return id
}

// The codes of errors that a cursor no longer exists: CursorNotFound, CappedPositionLost, QueryPlanKilled,
// CursorKilled, and Interrupted, after an operator has killed a getMore.
var noCursor = map[int32]bool{43: true, 136: true, 175: true, 237: true, 11601: true}

// translateBatch converts the reply to a find or a getMore to an OP_REPLY with documents.
func translateBatch(a awaited, body bsoncore.Document, cs *cursors) (wire.Reply, error) {
	reply := wire.Reply{Flags: wire.ReplyAwaitCapable}
	cs.remove(a.cursor)
	if code, text := failure(body); code != 0 {
		if a.kind == aGetMore && noCursor[code] {
			reply.Flags |= wire.ReplyCursorNotFound
			return reply, nil
		}
		return failed(code, text), nil
	}
	c, ok := raw.Get(body, "cursor")
	if !ok || c.Type != bson.TypeEmbeddedDocument {
		return reply, errNonsense
	}
	batch, ok := raw.Get(c.Data, "firstBatch")
	if a.kind == aGetMore {
		batch, ok = raw.Get(c.Data, "nextBatch")
	}
	if !ok || batch.Type != bson.TypeArray {
		return reply, errNonsense
	}
	it := raw.Elements(batch.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if e.Value.Type != bson.TypeEmbeddedDocument {
			return reply, errNonsense
		}
		reply.Documents = append(reply.Documents, e.Value.Data)
	}
	if reply.Cursor = note(c.Data, cs); a.last {
		reply.Cursor = 0
	}
	return reply, nil
}

// failed returns the OP_REPLY of a failed query.
func failed(code int32, text string) wire.Reply {
	doc := bsoncore.NewDocumentBuilder().AppendString("$err", text).AppendInt32("code", code).Build()
	return wire.Reply{Flags: wire.ReplyQueryFailure | wire.ReplyAwaitCapable, Documents: []bsoncore.Document{doc}}
}

// failedCommand returns the OP_REPLY of a failed command.
func failedCommand(code int32, text string) wire.Reply {
	doc := bsoncore.NewDocumentBuilder().AppendDouble("ok", 0).AppendString("errmsg",
		text).AppendInt32("code", code).Build()
	return wire.Reply{Flags: wire.ReplyAwaitCapable, Documents: []bsoncore.Document{doc}}
}

// nonce returns a reply to getnonce. It belongs to an authentication mechanism that servers have dropped; mgo requests
// a nonce on each connection, and then doesn't use it.
func nonce() wire.Reply {
	var n [8]byte
	rand.Read(n[:])
	doc := bsoncore.NewDocumentBuilder().AppendString("nonce", hex.EncodeToString(n[:])).AppendDouble("ok", 1).Build()
	return wire.Reply{Flags: wire.ReplyAwaitCapable, Documents: []bsoncore.Document{doc}}
}

// sayIsMaster adds the field ismaster to the reply to a hello that the client sent as ismaster.
func sayIsMaster(body bsoncore.Document) bsoncore.Document {
	if _, ok := raw.Get(body, "ismaster"); ok {
		return body
	}
	start, doc := bsoncore.ReserveLength(nil)
	doc = append(doc, body[4:len(body)-1]...)
	doc = bsoncore.AppendBooleanElement(doc, "ismaster", truthy(body, "isWritablePrimary"))
	doc, _ = bsoncore.AppendDocumentEnd(doc, start)
	return doc
}

// failure returns the code and text of a reply that reports a failure, or 0.
func failure(body bsoncore.Document) (code int32, why string) {
	if truthy(body, "ok") {
		return 0, ""
	}
	n, _ := number(body, "code")
	if n == 0 || n != int64(int32(n)) {
		n = 1 // InternalError, in the absence of a code
	}
	return int32(n), text(body, "errmsg")
}

// text returns a string field, or "".
func text(doc bsoncore.Document, key string) string {
	v, ok := raw.Get(doc, key)
	if !ok || v.Type != bson.TypeString {
		return ""
	}
	return string(raw.Text(v))
}

func number(doc bsoncore.Document, key string) (int64, bool) {
	v, ok := raw.Get(doc, key)
	if !ok {
		return 0, false
	}
	return raw.Int(v)
}

// The codes of errors that a server isn't primary, or won't be for long: ShutdownInProgress, PrimarySteppedDown,
// LegacyNotPrimary, NotWritablePrimary, InterruptedAtShutdown, InterruptedDueToReplStateChange,
// NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary.
var steppedDown = map[int64]bool{91: true, 189: true, 10058: true, 10107: true, 11600: true, 11602: true, 13435: true, 13436: true}

// stepsDown reports whether any part of a reply says that the server is no longer primary.
func stepsDown(body bsoncore.Document) bool {
	if !truthy(body, "ok") {
		if code, _ := number(body, "code"); steppedDown[code] {
			return true
		}
	}
	if v, ok := raw.Get(body, "writeConcernError"); ok && v.Type == bson.TypeEmbeddedDocument {
		if code, _ := number(v.Data, "code"); steppedDown[code] {
			return true
		}
	}
	if v, ok := raw.Get(body, "writeErrors"); ok && v.Type == bson.TypeArray {
		it := raw.Elements(v.Data)
		for e, ok := it.Next(); ok; e, ok = it.Next() {
			if e.Value.Type != bson.TypeEmbeddedDocument {
				continue
			}
			if code, _ := number(e.Value.Data, "code"); steppedDown[code] {
				return true
			}
		}
	}
	return false
}
