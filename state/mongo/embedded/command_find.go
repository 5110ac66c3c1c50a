package embedded

import (
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
	"juju/state/mongo/embedded/wire"
)

// A find is a parsed query, which arrived as a find command or as a legacy OP_QUERY.
type find struct {
	filter, show, order bsoncore.Document
	hint                bsoncore.Value
	skip, limit         int64
	batch               int64 // documents in the first batch
	single              bool  // close the cursor after the first batch
	tailable, await     bool
	forever             bool
	session             string        // that it belongs to, or ""
	tx                  *storage.Txn  // that reads, or nil
	time                time.Duration // of an OP_QUERY, at most; 0 for no limit
}

// firstBatch is the default size of the first batch in documents.
const firstBatch = 101

// open plans a find. It returns a nil cursor if the collection doesn't exist.
func (f *find) open(c *conn, db, collection string, late func() error) (*cursor, error) {
	filter, err := query.Compile(f.filter)
	if err != nil {
		return nil, err
	}
	show, err := query.CompileProjection(f.show)
	if err != nil {
		return nil, err
	}
	order, err := query.CompileSort(f.order)
	if err != nil {
		return nil, err
	}
	coll := c.s.store.Collection(db, collection)
	if coll == nil {
		return nil, nil
	}
	cur := &cursor{namespace: coll.Namespace(), session: f.session, tx: f.tx, show: show, skip: f.skip, left: -1, await: f.await, forever: f.forever}
	if f.limit > 0 {
		cur.left = f.limit
	}
	if f.tailable {
		if f.tx != nil {
			return nil, mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot use tailable cursors in a transaction")
		}
		cur.tail, err = newTail(coll, filter, order)
		return cur, err
	}
	cur.mem = c.s.ledger(cur)
	ch := choice{tx: f.tx, filter: filter, order: order, hint: f.hint, conn: c, ledger: cur.mem}
	if f.limit > 0 {
		ch.limit = f.skip + f.limit
	}
	if cur.sel, err = newSelection(coll, ch, late); err != nil {
		cur.mem.close()
	}
	return cur, err
}

func (r *request) find() error {
	var f find // it stays on the stack
	name, err := r.finding(&f)
	if err != nil {
		return err
	}
	cur, err := f.open(r.conn, r.db, name, r.late)
	if err != nil {
		return err
	}
	b := r.conn.emptyBatch()
	var id int64
	if cur != nil {
		cur.durable = r.durable
		if id, err = r.conn.begin(cur, b, f.batch, f.single); err != nil {
			return err
		}
	}
	r.appendCursor(id, r.db+"."+name, "firstBatch", b)
	return nil
}

// finding parses a find command into f, and returns the collection's name.
func (r *request) finding(f *find) (string, error) {
	name, err := r.collection()
	if err != nil {
		return "", err
	}
	f.batch, f.session, f.tx = -1, r.lsid, r.tx
	if err := r.fields(f.field); err != nil {
		return "", err
	}
	if f.limit < 0 {
		f.limit, f.single = -f.limit, true
	}
	if f.single && f.batch > 0 && f.limit == 0 {
		f.limit = f.batch
	}
	if f.batch < 0 {
		f.batch = firstBatch
	}
	return name, nil
}

// field parses one field of a find command.
func (f *find) field(key string, v bsoncore.Value) (known bool, err error) {
	known = true
	switch key {
	case "filter":
		f.filter, err = wantDocument(key, v)
	case "projection":
		f.show, err = wantDocument(key, v)
	case "sort":
		f.order, err = wantDocument(key, v)
	case "hint":
		f.hint = v
		if v.Type == bson.TypeEmbeddedDocument && raw.IsEmpty(v.Data) {
			f.hint = bsoncore.Value{}
		}
	case "skip":
		if f.skip, err = wantInt(key, v); err == nil && f.skip < 0 {
			err = mongoerr.New(mongoerr.BadValue, "Skip value must be non-negative, but received: %d", f.skip)
		}
	case "limit":
		f.limit, err = wantInt(key, v)
	case "batchSize":
		if f.batch, err = wantInt(key, v); err == nil && f.batch < 0 {
			err = mongoerr.New(mongoerr.BadValue, "BatchSize value must be non-negative, but received: %d", f.batch)
		}
	case "singleBatch":
		f.single = raw.Truthy(v)
	case "tailable":
		f.tailable = raw.Truthy(v)
	case "awaitData":
		f.await = raw.Truthy(v)
	case "noCursorTimeout":
		f.forever = raw.Truthy(v)
	case "oplogReplay", "allowPartialResults", "allowDiskUse", "snapshot", "maxScan":
		// These are the default behaviour, or only hints.
	case "min", "max", "returnKey", "showRecordId":
		if raw.Truthy(v) && !(v.Type == bson.TypeEmbeddedDocument && raw.IsEmpty(v.Data)) {
			err = mongoerr.New(mongoerr.BadValue, "find does not support '%s'", key)
		}
	default:
		known = false
	}
	return known, err
}

// appendCursor appends a cursor with a batch to the reply.
func (r *request) appendCursor(id int64, namespace, key string, b *batch) {
	var at, list int32
	at, r.out = bsoncore.AppendDocumentElementStart(r.out, "cursor")
	list, r.out = bsoncore.AppendArrayElementStart(r.out, key)
	doc := reply{buf: r.out}
	b.each(func(i int, one []byte) {
		doc.buf = append(doc.buf, byte(bson.TypeEmbeddedDocument))
		doc.buf = strconv.AppendInt(doc.buf, int64(i), 10)
		doc.buf = append(doc.buf, 0)
		if b.shared != nil {
			doc.share(one)
		} else {
			doc.buf = append(doc.buf, one...)
		}
	})
	doc.buf, _ = bsoncore.AppendArrayEnd(doc.buf, list)
	doc.widen(int(list))
	doc.buf = bsoncore.AppendInt64Element(doc.buf, "id", id)
	doc.buf = bsoncore.AppendStringElement(doc.buf, "ns", namespace)
	doc.buf, _ = bsoncore.AppendDocumentEnd(doc.buf, at)
	doc.widen(int(at))
	r.out, r.holes = doc.buf, doc.holes
}

// awaitTime is how long a getMore on a tailable cursor waits for new documents by default.
const awaitTime = time.Second

func (r *request) getMore() error {
	var collection string
	var n, wait int64
	id, err := wantInt("getMore", firstValue(r.body))
	if err != nil {
		return err
	}
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		var err error
		switch key {
		case "collection":
			if v.Type != bson.TypeString {
				return true, mongoerr.New(mongoerr.TypeMismatch, "collection must be a string")
			}
			collection = string(raw.Text(v))
		case "batchSize":
			if n, err = wantInt(key, v); err == nil && n < 0 {
				err = mongoerr.New(mongoerr.BadValue, "Batch size for getMore must be non-negative, but received: %d", n)
			}
		case "maxTimeMS":
			wait, err = wantInt(key, v)
		default:
			return false, nil
		}
		return true, err
	}); err != nil {
		return err
	}
	namespace := r.db + "." + collection
	d := awaitTime
	if wait > 0 {
		d = time.Duration(wait) * time.Millisecond
	}
	b := r.conn.emptyBatch()
	id, err = r.conn.fetch(r.tx, id, namespace, b, n, d)
	if err != nil {
		return err
	}
	r.durable = r.durable || b.durable
	r.appendCursor(id, namespace, "nextBatch", b)
	return nil
}

func firstValue(doc []byte) bsoncore.Value {
	it := raw.Elements(doc)
	e, _ := it.Next()
	return e.Value
}

// fetch reads a batch from an open cursor. It returns the cursor's id, or 0 after the last batch.
func (c *conn) fetch(tx *storage.Txn, id int64, namespace string, b *batch, n int64,
	wait time.Duration) (int64, error) {
	cur, err := c.s.cursors.take(tx, id, namespace)
	if err != nil {
		return 0, err
	}
	more := false
	defer func() { c.s.cursors.release(cur, more) }()
	b.durable, c.sending = cur.durable, cur
	if cur.stream != nil {
		err = cur.stream.wait(c, cur, b, n, wait)
		more = err == nil && !cur.stream.invalid
	} else if cur.tail != nil {
		if !cur.await {
			wait = 0
		}
		err = cur.tail.wait(c, cur, b, n, wait)
		more = err == nil && cur.left != 0
	} else {
		more, err = cur.fill(c, b, n)
	}
	if !more {
		id = 0
	}
	return id, err
}

func (r *request) killCursors() error {
	// The cursors of some commands, such as listCollections, have a namespace that can't exist.
	if v := firstValue(r.body); v.Type != bson.TypeString || !strings.HasPrefix(string(raw.Text(v)), "$cmd") {
		if _, err := r.collection(); err != nil {
			return err
		}
	}
	var ids []int64
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		if key != "cursors" || v.Type != bson.TypeArray {
			return false, nil
		}
		it := raw.Elements(v.Data)
		for e, ok := it.Next(); ok; e, ok = it.Next() {
			id, err := wantInt(key, e.Value)
			if err != nil {
				return true, err
			}
			ids = append(ids, id)
		}
		return true, nil
	}); err != nil {
		return err
	}
	killed, missing := bsoncore.NewArrayBuilder(), bsoncore.NewArrayBuilder()
	for _, id := range ids {
		if r.s.cursors.kill(id) {
			killed.AppendInt64(id)
		} else {
			missing.AppendInt64(id)
		}
	}
	r.out = bsoncore.AppendArrayElement(r.out, "cursorsKilled", killed.Build())
	r.out = bsoncore.AppendArrayElement(r.out, "cursorsNotFound", missing.Build())
	r.out = bsoncore.AppendArrayElement(r.out, "cursorsAlive", bsoncore.BuildArray(nil))
	r.out = bsoncore.AppendArrayElement(r.out, "cursorsUnknown", bsoncore.BuildArray(nil))
	return nil
}

// legacyFind executes a query that isn't a command; mgo's tailable cursors use it.
func (c *conn) legacyFind(q *wire.Query) (wire.Reply, error) {
	db, collection, _ := strings.Cut(q.Collection, ".")
	if err := checkDatabase(db); err != nil {
		return wire.Reply{}, err
	}
	if err := checkCollection(db, collection); err != nil {
		return wire.Reply{}, err
	}
	if q.Flags&wire.QueryExhaust != 0 {
		return wire.Reply{}, mongoerr.New(mongoerr.IllegalOperation, "exhaust cursors are not supported")
	}
	f := find{
		filter:   q.Query,
		show:     q.Fields,
		skip:     int64(q.Skip),
		batch:    int64(q.Limit),
		tailable: q.Flags&wire.QueryTailable != 0,
		await:    q.Flags&wire.QueryAwaitData != 0,
		forever:  q.Flags&wire.QueryNoCursorTimeout != 0,
	}
	switch {
	case q.Limit < 0:
		f.batch, f.single = -f.batch, true
		f.limit = f.batch
	case q.Limit == 1:
		f.limit, f.single = 1, true // 1 has always meant the same as -1
	case q.Limit == 0 && !f.tailable:
		f.batch = firstBatch
	}
	if err := f.wrapped(); err != nil {
		return wire.Reply{}, err
	}
	reply := wire.Reply{Flags: wire.ReplyAwaitCapable}
	r := &request{conn: c, ctx: c.ctx}
	if f.time > 0 {
		defer r.within(f.time)()
	}
	cur, err := f.open(c, db, collection, r.late)
	if err != nil || cur == nil {
		return reply, err
	}
	b := c.emptyBatch()
	if reply.Cursor, err = c.begin(cur, b, f.batch, f.single); err != nil {
		return reply, err
	}
	b.each(func(_ int, doc []byte) { reply.Documents = append(reply.Documents, doc) })
	return reply, nil
}

// wrapped parses {$query: …, $orderby: …, …}.
func (f *find) wrapped() error {
	inner := unwrapQuery(f.filter)
	if len(inner) == len(f.filter) {
		return nil
	}
	it := raw.Elements(f.filter)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		var err error
		switch string(e.Key) {
		case "$query", "$comment", "$maxScan", "$readPreference", "$snapshot":
		case "$maxTimeMS":
			f.time, err = maxTime(e.Value)
		case "$orderby":
			f.order, err = wantDocument("$orderby", e.Value)
		case "$hint":
			f.hint = e.Value
		default:
			err = mongoerr.New(mongoerr.BadValue, "unsupported query option %s", e.Key)
		}
		if err != nil {
			return err
		}
	}
	f.filter = inner
	return nil
}

// legacyGetMore executes an OP_GET_MORE. Its reply sets a flag if the cursor doesn't exist.
func (c *conn) legacyGetMore(g *wire.GetMore) (wire.Reply, error) {
	n := int64(g.Limit)
	single := n < 0
	if single {
		n = -n
	}
	b := c.emptyBatch()
	id, err := c.fetch(nil, g.Cursor, g.Collection, b, n, awaitTime)
	if mongoerr.Is(err, mongoerr.CursorNotFound) || mongoerr.Is(err, mongoerr.CappedPositionLost) ||
		mongoerr.Is(err, mongoerr.QueryPlanKilled) {
		return wire.Reply{Flags: wire.ReplyCursorNotFound | wire.ReplyAwaitCapable}, nil
	}
	if err != nil {
		return wire.Reply{}, err
	}
	if single {
		c.s.cursors.kill(id)
		id = 0
	}
	reply := wire.Reply{Flags: wire.ReplyAwaitCapable, Cursor: id}
	b.each(func(_ int, doc []byte) { reply.Documents = append(reply.Documents, doc) })
	return reply, nil
}
