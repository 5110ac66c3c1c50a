package adapter

import (
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// A refusal is the adapter's reply to a request that it can't translate, with one of MongoDB's codes.
type refusal struct {
	code int32
	text string
}

// Error returns the text of the reply.
func (r *refusal) Error() string { return r.text }

// The codes of refusals: BadValue, FailedToParse, CommandNotFound, InvalidNamespace.
const (
	codeBadValue         = 2
	codeFailedToParse    = 9
	codeCommandNotFound  = 59
	codeInvalidNamespace = 73
)

func refuse(code int32, format string, args ...any) *refusal {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// wrapped is a query or command with the options of its wrapper.
type wrapped struct {
	query   bsoncore.Document
	options []raw.Elem // without their $
	prefer  bsoncore.Value
}

// unwrap unwraps {$query: …, $orderby: …}; other queries stay unchanged. known maps the options to their names in
// commands, or to "" for hints that servers no longer accept.
func unwrap(doc bsoncore.Document, known map[string]string) (w wrapped, err error) {
	w.query = doc
	it := raw.Elements(doc)
	first, ok := it.Next()
	if !ok || string(first.Key) != "$query" || first.Value.Type != bson.TypeEmbeddedDocument {
		return w, nil
	}
	w.query = first.Value.Data
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		key := string(e.Key)
		if key == "$readPreference" {
			w.prefer = e.Value
			continue
		}
		name, ok := known[key]
		if !ok {
			return w, refuse(codeFailedToParse, "unsupported query option %s", key)
		}
		if name != "" {
			w.options = append(w.options, raw.Elem{Key: []byte(name), Value: e.Value})
		}
	}
	return w, nil
}

var (
	commandOptions = map[string]string{"$maxTimeMS": "maxTimeMS", "$comment": "comment"}
	findOptions    = map[string]string{
		"$orderby": "sort", "$hint": "hint", "$maxTimeMS": "maxTimeMS", "$comment": "comment", "$min": "min", "$max": "max",
		"$returnKey": "returnKey", "$showDiskLoc": "showRecordId", "$snapshot": "", "$maxScan": "",
	}
)

// command translates a command, the body of an OP_QUERY on database.$cmd, to the body of an OP_MSG, which it appends to
// dst. hello is set if the server supports the command hello.
func command(dst []byte, db string, q *wire.Query, hello bool) (body []byte, a awaited, err error) {
	w, err := unwrap(q.Query, commandOptions)
	if err != nil {
		return nil, a, err
	}
	it := raw.Elements(w.query)
	first, ok := it.Next()
	if !ok {
		return nil, a, refuse(codeCommandNotFound, "no such command: ''")
	}
	a.kind = aCommand
	start, dst := bsoncore.ReserveLength(dst)
	skip := ""
	switch name := string(first.Key); name {
	case "getnonce":
		a.kind = aLocal
		return nil, a, nil
	case "ismaster", "isMaster", "hello":
		// All other fields belong to the greeting, or request a stream of replies.
		if name == "hello" || hello {
			name = "hello"
		} else {
			name = "isMaster"
		}
		a.kind = aHello
		dst = bsoncore.AppendInt32Element(dst, name, 1)
		return finish(dst, start, db, wrapped{}, 0), a, nil
	case "getMore":
		a.cursor, _ = raw.Int(first.Value)
	case "saslContinue":
		skip = "mechanism" // mgo repeats it, and current servers reject it
	}
	it = raw.Elements(w.query)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch key := string(e.Key); key {
		case "$db", skip:
		case "$readPreference":
			w.prefer = e.Value
		default:
			dst = raw.AppendElem(dst, e.Key, e.Value)
		}
	}
	return finish(dst, start, db, w, q.Flags), a, nil
}

// finish appends the fields common to all commands and closes the document.
func finish(dst []byte, start int32, db string, w wrapped, flags int32) []byte {
	for _, o := range w.options {
		dst = raw.AppendElem(dst, o.Key, o.Value)
	}
	dst = bsoncore.AppendStringElement(dst, "$db", db)
	switch {
	case w.prefer.Type != 0:
		dst = raw.AppendElem(dst, []byte("$readPreference"), w.prefer)
	case flags&wire.QuerySlaveOK != 0:
		var at int32
		at, dst = bsoncore.AppendDocumentElementStart(dst, "$readPreference")
		dst = bsoncore.AppendStringElement(dst, "mode", "secondaryPreferred")
		dst, _ = bsoncore.AppendDocumentEnd(dst, at)
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}

// find translates a query that isn't a command; mgo's tails are such queries.
func find(dst []byte, db, collection string, q *wire.Query) (body []byte, a awaited, err error) {
	a.kind = aFind
	if q.Flags&wire.QueryExhaust != 0 {
		return nil, a, refuse(codeBadValue, "exhaust cursors are not supported")
	}
	if q.Skip < 0 {
		return nil, a, refuse(codeBadValue, "bad skip value in query: %d", q.Skip)
	}
	w, err := unwrap(q.Query, findOptions)
	if err != nil {
		return nil, a, err
	}
	start, dst := bsoncore.ReserveLength(dst)
	dst = bsoncore.AppendStringElement(dst, "find", collection)
	dst = bsoncore.AppendDocumentElement(dst, "filter", w.query)
	if len(q.Fields) > 0 {
		dst = bsoncore.AppendDocumentElement(dst, "projection", q.Fields)
	}
	if q.Skip > 0 {
		dst = bsoncore.AppendInt64Element(dst, "skip", int64(q.Skip))
	}
	switch n := int64(q.Limit); {
	case n < 0 || n == 1: // by OP_QUERY's definition: exactly that many
		n = max(n, -n)
		dst = bsoncore.AppendInt64Element(dst, "limit", n)
		dst = bsoncore.AppendInt64Element(dst, "batchSize", n)
		dst = bsoncore.AppendBooleanElement(dst, "singleBatch", true)
	case n > 0:
		dst = bsoncore.AppendInt64Element(dst, "batchSize", n)
	}
	for _, f := range []struct {
		flag int32
		name string
	}{
		{wire.QueryTailable, "tailable"}, {wire.QueryAwaitData, "awaitData"},
		{wire.QueryNoCursorTimeout, "noCursorTimeout"}, {wire.QueryPartial, "allowPartialResults"},
	} {
		if q.Flags&f.flag != 0 {
			dst = bsoncore.AppendBooleanElement(dst, f.name, true)
		}
	}
	return finish(dst, start, db, w, q.Flags), a, nil
}

// getMore translates an OP_GET_MORE. After one with a negative limit the caller must close the cursor.
func getMore(dst []byte, g *wire.GetMore) (body []byte, a awaited, err error) {
	a = awaited{kind: aGetMore, cursor: g.Cursor, last: g.Limit < 0}
	db, collection, err := split(g.Collection)
	if err != nil {
		return nil, a, err
	}
	start, dst := bsoncore.ReserveLength(dst)
	dst = bsoncore.AppendInt64Element(dst, "getMore", g.Cursor)
	dst = bsoncore.AppendStringElement(dst, "collection", collection)
	if n := int64(g.Limit); n != 0 {
		dst = bsoncore.AppendInt64Element(dst, "batchSize", max(n, -n))
	}
	return finish(dst, start, db, wrapped{}, 0), a, nil
}

// killCursors builds the command that closes cursors of one collection.
func killCursors(dst []byte, namespace string, ids []int64) (body []byte, a awaited, err error) {
	a.kind = aDiscard
	db, collection, err := split(namespace)
	if err != nil {
		return nil, a, err
	}
	start, dst := bsoncore.ReserveLength(dst)
	dst = bsoncore.AppendStringElement(dst, "killCursors", collection)
	var list int32
	list, dst = bsoncore.AppendArrayElementStart(dst, "cursors")
	for i, id := range ids {
		dst = bsoncore.AppendInt64Element(dst, strconv.Itoa(i), id)
	}
	dst, _ = bsoncore.AppendArrayEnd(dst, list)
	return finish(dst, start, db, wrapped{}, 0), a, nil
}

// split splits database.collection.
func split(namespace string) (db, collection string, err error) {
	db, collection, _ = strings.Cut(namespace, ".")
	if db == "" || collection == "" {
		return "", "", refuse(codeInvalidNamespace, "Invalid namespace specified '%s'", namespace)
	}
	return db, collection, nil
}
