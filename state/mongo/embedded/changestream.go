package embedded

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// A changeStream reads the store's events, waits at the end for new ones, and ends after the collection it watches was
// dropped or replaced. The store keeps its latest events in memory only, so a stream can't be resumed after a restart of the
// server, or after very many changes: the client gets ChangeStreamHistoryLost.
type changeStream struct {
	store      *storage.Store
	run        uint64 // which run of the server the numbers belong to
	next       uint64 // the number of the next event
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
		return nil, mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Operation not permitted in transaction :: caused by :: $changeStream is not allowed")
	}
	st := &changeStream{store: r.s.store, run: r.s.run, db: r.db, collection: a.collection}
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
			return nil, err
		}
	}
	return &cursor{namespace: a.namespace, stream: st, left: -1, await: true}, nil
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
	st.next = st.store.Follow()
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
	st.next = binary.BigEndian.Uint64(data[8:]) + 1
	if _, _, _, ok := st.store.Events(st.next); !ok || binary.BigEndian.Uint64(data) != st.run {
		return errHistoryLost
	}
	return nil
}

var errHistoryLost = mongoerr.New(mongoerr.ChangeStreamHistoryLost,
	"Resume of change stream was not possible, as the resume point may no longer be in the oplog.")

func (st *changeStream) token(number uint64) bsoncore.Document {
	data := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, st.run), number)
	return bsoncore.NewDocumentBuilder().AppendString("_data", hex.EncodeToString(data)).Build()
}

// read adds up to n events to b, or as many as fit if n is 0.
func (st *changeStream) read(b *batch, n int64) error {
	for (n == 0 || int64(len(b.ends)) < n) && len(b.data) < maxBatch && !st.invalid {
		events, _, _, ok := st.store.Events(st.next)
		if !ok {
			return errHistoryLost
		}
		if len(events) == 0 {
			return nil
		}
		for _, e := range events {
			if n > 0 && int64(len(b.ends)) >= n || len(b.data) >= maxBatch || st.invalid {
				break
			}
			number := st.next
			st.next++
			if st.db != "" && e.DB != st.db || st.collection != "" && e.Collection != st.collection && e.To != st.collection {
				continue
			}
			doc, err := st.event(number, e)
			if err != nil {
				return err
			}
			if st.filter != nil && !st.filter.Match(doc) {
				continue
			}
			if b.data, err = st.show.Append(b.data, doc, -1); err != nil {
				return err
			}
			b.ends = append(b.ends, len(b.data))
			if (e.Kind == storage.Dropped || e.Kind == storage.Renamed) && st.collection != "" {
				st.invalid = true
				b.data = append(b.data, st.invalidate(number)...)
				b.ends = append(b.ends, len(b.data))
			}
		}
	}
	return nil
}

var operations = map[storage.Kind]string{
	storage.Inserted: "insert", storage.Updated: "update", storage.Replaced: "replace", storage.Deleted: "delete", storage.Dropped: "drop",
	storage.Renamed: "rename",
}

// event returns the document that describes an event.
func (st *changeStream) event(number uint64, e storage.Event) (bsoncore.Document, error) {
	doc := bsoncore.NewDocumentBuilder().AppendDocument("_id", st.token(number)).AppendString("operationType", operations[e.Kind])
	doc.AppendTimestamp("clusterTime", uint32(time.Now().Unix()), uint32(number))
	whole := e.Kind == storage.Inserted || e.Kind == storage.Replaced
	if whole {
		doc.AppendDocument("fullDocument", e.New)
	}
	old := e.Old
	if old == nil {
		old = e.New
	}
	id, hasID := raw.Get(old, "_id")
	if e.Kind == storage.Updated && st.look {
		now := bsoncore.Value{Type: bson.TypeNull}
		if coll := st.store.Collection(e.DB, e.Collection); coll != nil && hasID {
			found, ok, err := coll.Get(nil, nil, coll.Record(id))
			if err != nil {
				return nil, err
			}
			if ok {
				now = bsoncore.Value{Type: bson.TypeEmbeddedDocument, Data: found}
			}
		}
		doc.AppendValue("fullDocument", now)
	}
	doc.AppendDocument("ns", bsoncore.NewDocumentBuilder().AppendString("db", e.DB).AppendString("coll", e.Collection).Build())
	if e.Kind == storage.Renamed {
		doc.AppendDocument("to", bsoncore.NewDocumentBuilder().AppendString("db", e.DB).AppendString("coll", e.To).Build())
	}
	if hasID {
		doc.AppendDocument("documentKey", bsoncore.NewDocumentBuilder().AppendValue("_id", id).Build())
	}
	if e.Kind == storage.Updated {
		d := difference{updated: bsoncore.NewDocumentBuilder(), removed: bsoncore.NewArrayBuilder()}
		d.documents("", e.Old, e.New)
		doc.AppendDocument("updateDescription", bsoncore.NewDocumentBuilder().
			AppendDocument("updatedFields", d.updated.Build()).
			AppendArray("removedFields", d.removed.Build()).Build())
	}
	return doc.Build(), nil
}

func (st *changeStream) invalidate(number uint64) bsoncore.Document {
	return bsoncore.NewDocumentBuilder().AppendDocument("_id", st.token(number)).AppendString("operationType", "invalidate").
		AppendTimestamp("clusterTime", uint32(time.Now().Unix()), uint32(number)).Build()
}

// A difference collects the fields in which two documents differ, by their dotted paths.
type difference struct {
	updated *bsoncore.DocumentBuilder
	removed *bsoncore.ArrayBuilder
}

func (d *difference) documents(prefix string, old, now []byte) {
	it := raw.Elements(now)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		was, had := raw.Get(old, string(e.Key))
		d.values(prefix+string(e.Key), was, had, e.Value)
	}
	it = raw.Elements(old)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if _, has := raw.Get(now, string(e.Key)); !has {
			d.removed.AppendString(prefix + string(e.Key))
		}
	}
}

func (d *difference) values(path string, was bsoncore.Value, had bool, is bsoncore.Value) {
	switch {
	case had && was.Type == is.Type && bytes.Equal(was.Data, is.Data):
	case had && was.Type == is.Type && is.Type == bson.TypeEmbeddedDocument:
		d.documents(path+".", was.Data, is.Data)
	case had && was.Type == is.Type && is.Type == bson.TypeArray && length(is.Data) >= length(was.Data):
		it := raw.Elements(is.Data)
		for i := 0; ; i++ {
			e, ok := it.Next()
			if !ok {
				return
			}
			index := strconv.Itoa(i)
			w, h := raw.Get(was.Data, index)
			d.values(path+"."+index, w, h, e.Value)
		}
	default:
		d.updated.AppendValue(path, is)
	}
}

func length(array []byte) (n int) {
	it := raw.Elements(array)
	for _, ok := it.Next(); ok; _, ok = it.Next() {
		n++
	}
	return n
}

// wait is read, but waits up to d if there are no events.
func (st *changeStream) wait(c *conn, cur *cursor, b *batch, n int64, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		if err := st.read(b, n); err != nil || len(b.ends) > 0 || st.invalid {
			return err
		}
		_, _, changed, _ := st.store.Events(st.next)
		if changed == nil {
			continue // there are new ones, or they are lost
		}
		if more, err := cur.waitFor(c, changed, timer.C); !more {
			return err
		}
	}
}
