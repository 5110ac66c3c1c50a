package mongo

import (
	"context"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// NewID returns a new id for a document without a natural one. Call it before building a transaction, so that each
// attempt has the same operations.
func NewID() string { return bson.NewObjectId().Hex() }

// MaxBatch is the approximate size, in bytes of documents, of a transaction that makes many similar changes: large enough
// to save round trips, and far below the 16 MB that a MongoDB before 4.2 allows.
const MaxBatch = 512 << 10

// Ops collects the operations of one transaction.
type Ops struct{ list []txn.Op }

// Add adds an operation.
func (o *Ops) Add(op txn.Op) { o.list = append(o.list, op) }

// Insert adds a document that must not exist.
func (o *Ops) Insert(collection, id string, doc any) {
	o.Add(txn.Op{C: collection, Id: id, Assert: txn.DocMissing, Insert: doc})
}

// Update changes a document for which assert holds.
func (o *Ops) Update(collection, id string, assert, update any) {
	o.Add(txn.Op{C: collection, Id: id, Assert: assert, Update: update})
}

// Remove removes a document for which assert holds; nil does not even assert that it exists.
func (o *Ops) Remove(collection, id string, assert any) {
	o.Add(txn.Op{C: collection, Id: id, Assert: assert, Remove: true})
}

// Assert requires that assert holds for a document.
func (o *Ops) Assert(collection, id string, assert any) {
	o.Add(txn.Op{C: collection, Id: id, Assert: assert})
}

// Unadvanced asserts that a number of a document, which only grows and is absent while it is 0, still has the value read.
func Unadvanced[N int | int64](field string, read N) bson.D {
	if read == 0 {
		return bson.D{{field, bson.D{{"$exists", false}}}}
	}
	return bson.D{{field, read}}
}

// Len returns the number of operations.
func (o *Ops) Len() int { return len(o.list) }

// List returns the operations, or ErrNothing if there are none.
func (o *Ops) List() ([]txn.Op, error) {
	if len(o.list) == 0 {
		return nil, ErrNothing
	}
	return o.list, nil
}

// Change runs a transaction of the operations that build adds. Like a Builder, build may be called many
// times: it must reread what it depends on, and must not use a clock or random numbers. If it adds nothing or
// returns ErrNothing, Change does nothing; any other error is returned.
func (r *Runner) Change(ctx context.Context, build func(*Ops) error) error {
	return r.Run(ctx, func(int) ([]txn.Op, error) {
		o := &Ops{}
		if err := build(o); err != nil {
			return nil, err
		}
		return o.List()
	})
}
