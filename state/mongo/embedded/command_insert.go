package embedded

import (
	"errors"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
	"juju/state/mongo/embedded/wire"
)

func (r *request) insert() error {
	w, err := r.writing("documents")
	if err != nil {
		return err
	}
	n := int32(0)
	err = r.writeEach(w, func(_ int, doc bsoncore.Document) error {
		err := r.insertOne(w.collection, doc)
		if err == nil {
			n++
		}
		return err
	})
	if err != nil || r.unacknowledged {
		return err
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", n)
	r.appendWriteErrors(w)
	return nil
}

func (r *request) insertOne(collection string, doc []byte) error {
	if err := checkInsert(doc); err != nil {
		return err
	}
	doc = withID(doc)
	return r.unlessDropped(collection, func() error {
		coll, err := r.ensure(collection)
		if err != nil {
			return err
		}
		return coll.Insert(r.ctx, r.tx, doc)
	})
}

// unlessDropped calls f, and calls it again if the collection that it found has been dropped meanwhile.
func (r *request) unlessDropped(collection string, f func() error) error {
	for range attempts {
		if err := f(); !errors.Is(err, storage.ErrDropped) {
			return err
		}
	}
	return mongoerr.New(mongoerr.WriteConflict, "collection %s.%s keeps being dropped", r.db, collection)
}

// ensure returns a collection, and creates it outside transactions if necessary.
func (r *request) ensure(collection string) (*storage.Collection, error) {
	if coll := r.s.store.Collection(r.db, collection); coll != nil {
		return coll, nil
	}
	if r.inTxn {
		return nil, mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Cannot create namespace %s.%s in multi-document transaction.", r.db, collection)
	}
	return r.s.store.Ensure(r.db, collection)
}

func checkInsert(doc []byte) error {
	if len(doc) > int(wire.MaxDocument) {
		return mongoerr.New(mongoerr.ObjectTooLarge, "object to insert too large. size in bytes: %d, max size: %d",
			len(doc), wire.MaxDocument)
	}
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if len(e.Key) > 0 && e.Key[0] == '$' {
			return mongoerr.New(mongoerr.BadValue, "Document can't have $ prefixed field names: %s", e.Key)
		}
	}
	return nil
}
