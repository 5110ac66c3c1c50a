package mongo

import (
	"context"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// A fence is an assert that every transaction of a task on a database makes. It fails once the task has lost the right to
// change the database, for example because another controller has taken it over.
type fence struct {
	database string
	op       txn.Op
	lost     error
}

type fencesKey struct{}

func fencesOf(ctx context.Context) []*fence {
	all, _ := ctx.Value(fencesKey{}).([]*fence)
	return all
}

// Fenced returns a context with which each transaction of the database also asserts something about a document. If that
// no longer holds, the transaction changes nothing and fails with lost.
func (d *Database) Fenced(ctx context.Context, collection, id string, assert bson.D, lost error) context.Context {
	one := &fence{d.name, txn.Op{C: collection, Id: id, Assert: assert}, lost}
	return context.WithValue(ctx, fencesKey{}, append([]*fence{one}, fencesOf(ctx)...))
}

// KeepFences returns ctx with the fences of another context.
func KeepFences(ctx, of context.Context) context.Context {
	if all := fencesOf(of); all != nil {
		return context.WithValue(ctx, fencesKey{}, all)
	}
	return ctx
}

// fenceOf returns a context's fence for a database, or nil.
func fenceOf(ctx context.Context, database string) *fence {
	for _, f := range fencesOf(ctx) {
		if f.database == database {
			return f
		}
	}
	return nil
}

// add adds the assert to a transaction.
func (f *fence) add(ops []txn.Op) []txn.Op {
	if f == nil {
		return ops
	}
	return append(ops[:len(ops):len(ops)], f.op)
}

// check returns why the assert doesn't hold, or nil if it does.
func (f *fence) check(ctx context.Context, r *Runner) error {
	if f == nil {
		return nil
	}
	n := 0
	err := r.with(ctx, func(db *mgo.Database) (err error) {
		n, err = db.C(f.op.C).Find(bson.D{{"_id", f.op.Id}, {"$and", []any{f.op.Assert}}}).Count()
		return err
	})
	if err == nil && n == 0 {
		err = f.lost
	}
	return err
}
