package embedded

import (
	"encoding/binary"
	"encoding/hex"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// A changeStream reads the store's events, waits at the end for new ones, and ends after the collection it watches was
// dropped. The store keeps its latest events in memory only, so a stream can't be resumed after a restart of the
// server, or after very many changes: the client gets ChangeStreamHistoryLost.
type changeStream struct {
	store      *storage.Store
	run        uint64 // which run of the server the numbers belong to
	events     *storage.Follower
	db         string // "" for all databases
	collection string // "" for all collections
	look       bool   // updates come with the current document
	filter     *query.Filter
	show       *query.Projection
	invalid    bool // the collection was dropped, and the client was told
}

// watch opens a change stream: $changeStream, then perhaps a $match, then perhaps a $project.
func (r *request) watch(a *aggregation) (*cursor, error) {
	if r.inTxn {
		return nil, mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Operation not permitted in transaction :: caused by :: $changeStream is not allowed")
	}
	st := &changeStream{store: r.s.store, run: r.s.run, db: r.db, collection: a.collection}
	if err := r.compileStream(st, a); err != nil {
		if st.events != nil {
			st.events.Close()
		}
		return nil, err
	}
	return &cursor{namespace: a.namespace, session: r.lsid, stream: st, left: -1, await: true}, nil
}

func (r *request) compileStream(st *changeStream, a *aggregation) error {
	for i, stage := range a.stages {
		it := raw.Elements(stage)
		e, _ := it.Next()
		var err error
		switch name := string(e.Key); {
		case i == 0:
			err = r.openStream(st, e.Value)
		case name == "$match" && st.filter == nil && st.show == nil:
			st.filter, err = compileFilter(name, e.Value)
		case name == "$project" && st.show == nil:
			var doc bsoncore.Document
			if doc, err = wantDocument(name, e.Value); err == nil {
				st.show, err = query.CompileProjection(doc)
			}
		default:
			err = mongoerr.New(mongoerr.IllegalOperation, "%s is not permitted in a $changeStream pipeline, or not there", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openStream parses the options of $changeStream, and positions the stream.
func (r *request) openStream(st *changeStream, v bsoncore.Value) error {
	options, err := wantDocument("$changeStream", v)
	if err != nil {
		return err
	}
	if r.s.opts.Standalone {
		return mongoerr.New(mongoerr.ChangeStreamNotSupported, "The $changeStream stage is only supported on replica sets")
	}
	st.events = st.store.Follow()
	it := raw.Elements(options)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch name := string(e.Key); name {
		case "fullDocument":
			switch text, _ := e.Value.StringValueOK(); text {
			case "default":
			case "updateLookup":
				st.look = true
			default:
				return mongoerr.New(mongoerr.BadValue, "unrecognized value for the 'fullDocument' option to the $changeStream stage")
			}
		case "resumeAfter", "startAfter":
			token, err := wantDocument(name, e.Value)
			if err != nil {
				return err
			}
			if err := st.resume(token); err != nil {
				return err
			}
		case "allChangesForCluster":
			if raw.Truthy(e.Value) {
				st.db = ""
			}
		default:
			return mongoerr.New(mongoerr.UnknownField, "BSON field '$changeStream.%s' is an unknown field.", name)
		}
	}
	return nil
}

// resume positions the stream after the event with the given token, {_data: hex}.
func (st *changeStream) resume(token bsoncore.Document) error {
	v, _ := raw.Get(token, "_data")
	var data []byte
	if v.Type == bson.TypeString {
		data, _ = hex.DecodeString(string(raw.Text(v)))
	}
	if len(data) != 16 {
		return mongoerr.New(mongoerr.FailedToParse, "invalid resume token")
	}
	if binary.BigEndian.Uint64(data) != st.run {
		return errHistoryLost
	}
	from, ok := st.store.FollowFrom(binary.BigEndian.Uint64(data[8:]) + 1)
	if !ok {
		return errHistoryLost
	}
	st.events.Close()
	st.events = from
	return nil
}

var errHistoryLost = mongoerr.New(mongoerr.ChangeStreamHistoryLost,
	"Resume of change stream was not possible, as the resume point may no longer be in the oplog.")

func (st *changeStream) token(number uint64) bsoncore.Document {
	data := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, st.run), number)
	return bsoncore.NewDocumentBuilder().AppendString("_data", hex.EncodeToString(data)).Build()
}

// read adds up to n events to b, or as many as fit if n is 0. They are kept until the reply has been sent; if its client
// is so slow that they can't be, the connection ends.
func (st *changeStream) read(c *conn, b *batch, n int64) error {
	if !st.events.Send(func() { c.nc.Close() }) {
		return errHistoryLost
	}
	for size := 0; (n == 0 || int64(b.len()) < n) && size < maxBatch && !st.invalid && !c.full; {
		e, number, ok := st.events.Read()
		if !ok {
			return errHistoryLost
		}
		if e == nil {
			break
		}
		if st.db != "" && e.DB != st.db || st.collection != "" && e.Collection != st.collection {
			continue
		}
		doc, err := st.form(number, e)
		if err != nil {
			return err
		}
		if st.filter != nil && !st.filter.Match(doc) {
			continue
		}
		if size, err = st.add(c, b, doc, size); err != nil {
			return err
		}
		if e.Kind == storage.Dropped && st.collection != "" {
			st.invalid = true
			if _, err = st.add(c, b, st.invalidate(number), size); err != nil {
				return err
			}
		}
	}
	if b.len() == 0 {
		st.events.Done() // with those that it does not want
	}
	return nil
}

// add adds a document to b. It is shared with other streams unless this one has a projection.
func (st *changeStream) add(c *conn, b *batch, doc []byte, size int) (int, error) {
	if st.show == nil {
		b.shared = append(b.shared, doc)
		return size + len(doc), nil
	}
	before := len(b.data)
	var err error
	if b.data, err = st.show.Append(b.data, doc, -1); err != nil {
		return size, err
	}
	b.ends = append(b.ends, len(b.data))
	if c.room(len(b.data)-before) != nil {
		err = errHistoryLost
	}
	return len(b.data), err
}

var operations = map[storage.Kind]string{
	storage.Inserted: "insert", storage.Updated: "update", storage.Replaced: "replace", storage.Deleted: "delete", storage.Dropped: "drop",
}

// form returns the document that describes an event to this and other streams.
func (st *changeStream) form(number uint64, e *storage.Event) ([]byte, error) {
	form := 0
	if st.look && e.Kind == storage.Updated {
		form = 1
	}
	return st.events.Form(e, form, func() ([]byte, error) {
		var now bsoncore.Value
		if form == 1 {
			found, err := st.now(e)
			if err != nil {
				return nil, err
			}
			now = found
		}
		return st.describe(number, e, now), nil
	})
}

// now returns the document that an event has changed, as it is now, or null.
func (st *changeStream) now(e *storage.Event) (bsoncore.Value, error) {
	if coll := st.store.Collection(e.DB, e.Collection); coll != nil {
		found, ok, err := coll.Get(nil, nil, coll.Record(e.ID), nil)
		if err != nil {
			return bsoncore.Value{}, err
		}
		if ok {
			return bsoncore.Value{Type: bson.TypeEmbeddedDocument, Data: found}, nil
		}
	}
	return bsoncore.Value{Type: bson.TypeNull}, nil
}

// describe returns the document of an event. now, if it has a type, is the document that an update has changed.
func (st *changeStream) describe(number uint64, e *storage.Event, now bsoncore.Value) bsoncore.Document {
	dst := make([]byte, 4, 512+len(e.ID.Data)+len(e.New)+len(e.Change)+len(now.Data))
	dst = bsoncore.AppendDocumentElement(dst, "_id", st.token(number))
	dst = bsoncore.AppendStringElement(dst, "operationType", operations[e.Kind])
	dst = bsoncore.AppendTimestampElement(dst, "clusterTime", uint32(e.At.Unix()), uint32(number))
	dst = bsoncore.AppendDateTimeElement(dst, "wallTime", e.At.UnixMilli())
	if e.New != nil {
		dst = bsoncore.AppendDocumentElement(dst, "fullDocument", e.New)
	}
	if now.Type != 0 {
		dst = bsoncore.AppendValueElement(dst, "fullDocument", now)
	}
	dst = bsoncore.AppendDocumentElement(dst, "ns", bsoncore.NewDocumentBuilder().AppendString("db",
		e.DB).AppendString("coll", e.Collection).Build())
	if e.ID.Type != 0 {
		dst = bsoncore.AppendDocumentElement(dst, "documentKey",
			bsoncore.NewDocumentBuilder().AppendValue("_id", e.ID).Build())
	}
	if e.Change != nil {
		dst = bsoncore.AppendDocumentElement(dst, "updateDescription", e.Change)
	}
	if e.By.Session != nil {
		dst = bsoncore.AppendDocumentElement(dst, "lsid", bsoncore.NewDocumentBuilder().AppendBinary("id",
			bson.TypeBinaryUUID, e.By.Session).Build())
		dst = bsoncore.AppendInt64Element(dst, "txnNumber", e.By.Number)
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, 0)
	return dst
}

func (st *changeStream) invalidate(number uint64) bsoncore.Document {
	return bsoncore.NewDocumentBuilder().AppendDocument("_id",
		st.token(number)).AppendString("operationType", "invalidate").
		AppendTimestamp("clusterTime", uint32(time.Now().Unix()), uint32(number)).Build()
}

// wait is read, but waits up to d if there are no events.
func (st *changeStream) wait(c *conn, cur *cursor, b *batch, n int64, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		if err := st.read(c, b, n); err != nil || b.len() > 0 || st.invalid {
			return err
		}
		changed := st.events.Changed()
		if more, err := cur.waitFor(c, changed, timer.C); !more {
			return err
		}
	}
}
