package storage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/raw"
)

// A Collection is an open collection. Once dropped it behaves like an empty collection that rejects writes.
type Collection struct {
	store    *Store
	db, name string
	space    uint32
	opts     CollectionOptions

	// mu is read-locked by changes to documents, and locked by changes to the indexes and by Drop.
	mu      gate
	dropped atomic.Bool
	indexes atomic.Pointer[[]*Index]
	flags   sync.Mutex // held while saving the flags of indexes
	// altered is the store's count of catalog changes at the last change to this collection.
	altered atomic.Int64

	capped capped
}

// ErrDropped is returned by writes to a dropped collection.
var ErrDropped = errors.New("the collection was dropped")

func newCollection(s *Store, db, name string, space uint32, opts CollectionOptions) *Collection {
	return &Collection{store: s, db: db, name: name, space: space, opts: opts}
}

// Name returns the collection's name within its database.
func (c *Collection) Name() string { return c.name }

// Namespace returns database.collection.
func (c *Collection) Namespace() string { return c.db + "." + c.name }

// Options returns the options that the collection was created with.
func (c *Collection) Options() CollectionOptions { return c.opts }

// Dropped reports whether the collection was dropped.
func (c *Collection) Dropped() bool { return c.dropped.Load() }

// Indexes returns the collection's indexes, _id_ first. The caller must not change them.
func (c *Collection) Indexes() []*Index { return *c.indexes.Load() }

func (c *Collection) setIndexes(list []*Index) { c.indexes.Store(&list) }

// secondary returns the indexes with a separate space.
func (c *Collection) secondary() []*Index {
	if c.opts.Capped {
		return c.Indexes()
	}
	return c.Indexes()[1:]
}

// PlanIndexes describes the given indexes to the planner, in order. For a capped collection, number 0 is the
// natural order, and the indexes follow.
func (c *Collection) PlanIndexes(dst []plan.Index, indexes []*Index) []plan.Index {
	if c.opts.Capped {
		dst = append(dst, plan.Index{Name: "$natural"})
	}
	for _, ix := range indexes {
		dst = append(dst, plan.Index{Name: ix.Name, Fields: ix.Fields, Unique: ix.Unique, Sparse: ix.Sparse, Multi: ix.multi.Load()})
	}
	return dst
}

// spaceSize is the length of a key's prefix that identifies its space.
const spaceSize = 5

// Record returns the record key of the document with the given _id. It must not be used for capped collections, whose
// record keys don't depend on the _id.
func (c *Collection) Record(id bsoncore.Value) []byte {
	key := make([]byte, 0, spaceSize+len(id.Data)+8)
	return keys.Append(spaceKey(key, c.space), id)
}

// A Change is what to do with a document: nothing (the zero Change), replace or insert it, or remove it.
type Change struct {
	New    []byte
	Delete bool
	// Replaced is set if the client sent New as a whole.
	Replaced bool
}

// Modify changes or inserts the document with the given record key, in a transaction if tx is not nil. It calls decide
// with the document, or nil if there is none; the document can't change in any other way until Modify returns. A new
// document's _id must match the record key. decide must not retain the document or use the store. It is called again
// if Modify had to wait for a transaction, which ctx ends with its cause.
func (c *Collection) Modify(ctx context.Context, tx *Txn, record []byte,
	decide func(old []byte) (Change, error)) error {
	if tx != nil {
		return tx.modify(c, record, decide)
	}
	return c.store.patiently(ctx, func() error { return c.modify(record, decide) })
}

func (c *Collection) modify(record []byte, decide func(old []byte) (Change, error)) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.dropped.Load() {
		return ErrDropped
	}
	if c.opts.Capped {
		// An evicted document must not reappear.
		c.capped.mu.Lock()
		defer c.capped.mu.Unlock()
	}
	lock := &c.store.locks[c.store.stripe(record)]
	lock.Lock()
	defer lock.Unlock()
	if tx := lock.held[string(record)]; tx != nil {
		return &heldError{tx}
	}
	return c.store.get(nil, record, func(old []byte) error {
		ch, err := decide(old)
		if err != nil || ch.none() {
			return err
		}
		return c.write(record, old, ch)
	})
}

// write changes a document, which may be nil.
func (c *Collection) write(record, old []byte, ch Change) error {
	b := c.store.db.NewBatch()
	if indexes := c.secondary(); len(indexes) > 0 {
		w := indexings.Get().(*indexing)
		defer w.release()
		if err := w.prepare(c, nil, b, indexes, record[spaceSize:], old, ch.New); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return c.finish(b, record, old, ch)
}

func (c *Collection) finish(b *pebble.Batch, key, old []byte, ch Change) error {
	ch.write(b, key, old)
	if err := c.store.commit(b); err != nil {
		return err
	}
	c.store.feed.add(func() []*Event { return []*Event{c.event(old, ch)} })
	return nil
}

func (ch Change) none() bool { return ch.New == nil && !ch.Delete }

// write adds the change of a document to w.
func (ch Change) write(w writer, key, old []byte) {
	switch {
	case ch.New != nil:
		_ = w.Set(key, ch.New, nil)
	case old != nil:
		_ = w.Delete(key, nil)
	}
}

// saveFlags saves the multikey flags of all indexes; it is called before the change that sets one is applied.
// Concurrent calls can't lose a flag, because flags are never cleared and the last call saves them all.
func (c *Collection) saveFlags() error {
	c.flags.Lock()
	defer c.flags.Unlock()
	b := c.store.db.NewBatch()
	_ = b.Set(c.catalogKey(), c.encode(), nil)
	return c.store.commit(b)
}

// Insert inserts a document, which must have an _id, in a transaction if tx is not nil.
func (c *Collection) Insert(ctx context.Context, tx *Txn, doc []byte) error {
	id, _ := raw.Get(doc, "_id")
	if err := CheckID(id); err != nil {
		return err
	}
	if c.opts.Capped {
		if tx != nil {
			return tx.refuseCapped(c)
		}
		return c.push(doc)
	}
	return c.Modify(ctx, tx, c.Record(id), func(old []byte) (Change, error) {
		if old != nil {
			return Change{}, duplicate(c, c.Indexes()[0], doc)
		}
		return Change{New: doc}, nil
	})
}

// CheckID rejects values that can't be an _id.
func CheckID(id bsoncore.Value) error {
	switch id.Type {
	case bson.TypeArray, bson.TypeRegex, bson.TypeUndefined:
		return mongoerr.New(mongoerr.InvalidIDField, "The '_id' value cannot be of type %s", id.Type)
	}
	if id.Type == bson.TypeEmbeddedDocument {
		if err := checkNested(id.Data); err != nil {
			return err
		}
	}
	if len(id.Data) > MaxKey/2 {
		return mongoerr.New(mongoerr.KeyTooLong, "an _id of %d bytes is too long", len(id.Data))
	}
	return nil
}

// checkNested rejects field names with a $ prefix in a document within an _id, except those of a DBRef.
func checkNested(doc []byte) error {
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch string(e.Key) {
		case "$ref", "$id", "$db":
		default:
			if len(e.Key) > 0 && e.Key[0] == '$' {
				return mongoerr.New(mongoerr.DollarPrefixedFieldName,
					"The dollar ($) prefixed field '%s' in '_id' is not valid for storage.", e.Key)
			}
		}
		if e.Value.Type == bson.TypeEmbeddedDocument || e.Value.Type == bson.TypeArray {
			if err := checkNested(e.Value.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

// Get appends the document under a record key, as tx sees it, to dst. Unless room is nil, it is called before dst is
// replaced by a longer one, with the bytes of the document; its error is returned.
func (c *Collection) Get(tx *Txn, dst, record []byte, room func(bytes int) error) (doc []byte, ok bool, err error) {
	return c.store.appendGet(tx, dst, record, room)
}
