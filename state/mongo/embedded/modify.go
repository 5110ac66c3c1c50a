package embedded

import (
	"bytes"
	"errors"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
	"juju/state/mongo/embedded/update"
	"juju/state/mongo/embedded/wire"
)

// A modification is a change to the documents that match a query.
type modification struct {
	filter *query.Filter
	order  query.Sort
	hint   bsoncore.Value
	// update is the change; nil removes the documents.
	update *update.Update
	upsert bool
	// result is called with the old and the new document, either of which may be nil, and the position at
	// which the query matched. It must not retain them.
	result func(old, new []byte, position int) error
}

// An outcome is the result of a modification.
type outcome struct {
	matched, modified int
	upserted          bsoncore.Value // the _id of an inserted document
}

// attempts limits how often a modification is tried when it conflicts with concurrent changes: an upsert
// found nothing, but its document was inserted in the meantime; or the collection was dropped.
const attempts = 10

// modify changes one document, or all that match.
func (r *request) modify(collection string, m *modification, multi bool) (o outcome, err error) {
	for i := 0; i < attempts; i++ {
		coll := r.s.store.Collection(r.db, collection)
		if coll == nil && m.upsert {
			if coll, err = r.ensure(collection); err != nil {
				return o, err
			}
		}
		if coll == nil {
			return o, nil
		}
		if m.update == nil && coll.Options().Capped {
			return o, mongoerr.New(mongoerr.IllegalOperation, "cannot remove from a capped collection: %s", coll.Namespace())
		}
		if multi {
			o, err = r.modifyAll(coll, m)
		} else {
			o, err = r.modifyOne(coll, m)
		}
		if errors.Is(err, storage.ErrDropped) || r.tx == nil && m.upsert &&
			mongoerr.Is(err, mongoerr.DuplicateKey) && o.matched == 0 {
			continue
		}
		return o, err
	}
	if errors.Is(err, storage.ErrDropped) {
		err = mongoerr.New(mongoerr.WriteConflict, "collection %s.%s keeps being dropped", r.db, collection)
	}
	return o, err
}

// modifyOne changes the first document that matches.
func (r *request) modifyOne(coll *storage.Collection, m *modification) (o outcome, err error) {
	mem := r.s.ledger(nil)
	defer mem.close()
	sel, err := newSelection(coll, choice{tx: r.tx, filter: m.filter, order: m.order, hint: m.hint, ledger: mem}, r.late)
	if err != nil {
		return o, err
	}
	if sel.byID != nil {
		coll.Examined(1)
		err = r.change(coll, m, sel.byID, m.upsert, &o)
		return o, err
	}
	defer sel.pause()
	for o.matched == 0 {
		record, doc, err := sel.next()
		if err != nil {
			return o, err
		}
		if doc == nil {
			break
		}
		// It matched when it was read, but may have changed since.
		if err := r.change(coll, m, record, false, &o); err != nil {
			return o, err
		}
	}
	if o.matched == 0 && m.upsert {
		err = r.insertNew(coll, m, &o)
	}
	return o, err
}

// modifyAll changes every document that matches. It collects their keys first, because a change that moves a
// document in an index could otherwise be applied to it twice.
func (r *request) modifyAll(coll *storage.Collection, m *modification) (o outcome, err error) {
	sel, err := newSelection(coll, choice{tx: r.tx, filter: m.filter, hint: m.hint}, r.late)
	if err != nil {
		return o, err
	}
	defer sel.pause()
	var records [][]byte
	for {
		record, doc, err := sel.next()
		if err != nil {
			return o, err
		}
		if doc == nil {
			break
		}
		records = append(records, bytes.Clone(record))
	}
	for _, record := range records {
		if err := r.change(coll, m, record, false, &o); err != nil {
			return o, err
		}
	}
	if o.matched == 0 && m.upsert {
		err = r.insertNew(coll, m, &o)
	}
	return o, err
}

// change changes the document of a record if it exists and matches. If make is set, it inserts a missing document.
func (r *request) change(coll *storage.Collection, m *modification, record []byte, make bool, o *outcome) error {
	before := *o
	return coll.Modify(r.ctx, r.tx, record, func(old []byte) (storage.Change, error) {
		*o = before // an earlier call was in vain
		if old == nil {
			if !make {
				return storage.Change{}, nil
			}
			doc, err := r.seeded(m)
			if err != nil {
				return storage.Change{}, err
			}
			id, _ := raw.Get(doc, "_id")
			if !bytes.Equal(coll.Record(id), record) {
				return storage.Change{}, mongoerr.New(mongoerr.ImmutableField, "the update's _id differs from the query's")
			}
			o.upserted = clone(id)
			return storage.Change{New: doc}, m.tell(nil, doc, -1)
		}
		if !m.filter.Match(old) {
			if make {
				// Inserting another document with this _id would fail.
				id, _ := idOf(m.filter)
				return storage.Change{}, coll.DuplicateKey("_id_", id)
			}
			return storage.Change{}, nil
		}
		position := m.filter.Position()
		if m.update == nil {
			o.matched++
			o.modified++
			return storage.Change{Delete: true}, m.tell(old, nil, position)
		}
		doc, err := m.update.Apply(r.conn.changed[:0], old, update.Context{Position: position})
		if err != nil {
			return storage.Change{}, err
		}
		r.conn.changed = doc
		o.matched++
		if err := m.tell(old, doc, position); err != nil {
			return storage.Change{}, err
		}
		if bytes.Equal(old, doc) {
			return storage.Change{}, nil
		}
		if err := checkGrown(coll, old, doc); err != nil {
			return storage.Change{}, err
		}
		o.modified++
		return storage.Change{New: doc, Replaced: m.update.Replaces()}, nil
	})
}

func (m *modification) tell(old, new []byte, position int) error {
	if m.result == nil {
		return nil
	}
	return m.result(old, new, position)
}

func checkGrown(coll *storage.Collection, old, doc []byte) error {
	if len(doc) > int(wire.MaxDocument) {
		return mongoerr.New(mongoerr.ResultTooLarge, "Resulting document after update is larger than %d", wire.MaxDocument)
	}
	if coll.Options().Capped && len(doc) != len(old) {
		return mongoerr.New(mongoerr.CannotGrowCapped,
			"Cannot change the size of a document in a capped collection: %d != %d", len(old), len(doc))
	}
	return nil
}

// insertNew inserts the document of an upsert.
func (r *request) insertNew(coll *storage.Collection, m *modification, o *outcome) error {
	doc, err := r.seeded(m)
	if err != nil {
		return err
	}
	if err := coll.Insert(r.ctx, r.tx, doc); err != nil {
		return err
	}
	id, _ := raw.Get(doc, "_id")
	o.upserted = clone(id)
	return m.tell(nil, doc, -1)
}

// seeded returns the document that an upsert inserts: the fields fixed by the query, changed by the update, with the
// _id first.
func (r *request) seeded(m *modification) ([]byte, error) {
	var values []update.SeedValue
	for _, p := range m.filter.Predicates() {
		if p.Op == query.Eq && (!m.update.Replaces() || p.Path == "_id") {
			values = append(values, update.SeedValue{Path: p.Path, Value: p.Value})
		}
	}
	seed, err := update.Seed(values)
	if err != nil {
		return nil, err
	}
	doc, err := m.update.Apply(nil, seed, update.Context{Position: -1, Insert: true})
	if err != nil {
		return nil, err
	}
	doc = withID(doc)
	if len(doc) > int(wire.MaxDocument) {
		return nil, mongoerr.New(mongoerr.ResultTooLarge,
			"Resulting document after update is larger than %d", wire.MaxDocument)
	}
	id, _ := raw.Get(doc, "_id")
	return doc, storage.CheckID(id)
}

// withID returns doc with its _id first. A document without an _id gets a new one.
func withID(doc []byte) []byte {
	it := raw.Elements(doc)
	first, ok := it.Next()
	if ok && string(first.Key) == "_id" {
		return doc
	}
	id, ok := raw.Get(doc, "_id")
	if !ok {
		oid := primitive.NewObjectID()
		id = bsoncore.Value{Type: bson.TypeObjectID, Data: oid[:]}
	}
	start, out := bsoncore.ReserveLength(make([]byte, 0, len(doc)+len(id.Data)+8))
	out = raw.AppendElem(out, []byte("_id"), id)
	it = raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if string(e.Key) != "_id" {
			out = raw.AppendElem(out, e.Key, e.Value)
		}
	}
	out, _ = bsoncore.AppendDocumentEnd(out, start)
	return out
}

func clone(v bsoncore.Value) bsoncore.Value {
	return bsoncore.Value{Type: v.Type, Data: bytes.Clone(v.Data)}
}
