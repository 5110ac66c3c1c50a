package state

import (
	"context"
	"sync"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/watcher"
)

// Before calls f between the reads of the model's next transaction and its
// commit. Transactions that f runs itself are not intercepted.
func (st *State) Before(f func()) { st.BeforeNext(0, f) }

// BeforeNext is like Before, for the transaction after the next others
// transactions.
func (st *State) BeforeNext(others int, f func()) { before(st.db.Database, others, f) }

func before(db *mongo.Database, others int, f func()) {
	mongotest.HooksOf(db).Set(append(make([]mongotest.TestHook, others), mongotest.TestHook{Before: f})...)
}

// RewriteOps lets f inspect and change the operations of each of the model's
// transactions before it runs, until restore is called.
func (st *State) RewriteOps(f func([]txn.Op) []txn.Op) (restore func()) {
	return rewrite(st.db.Database, f)
}

func rewrite(db *mongo.Database, f func([]txn.Op) []txn.Op) (restore func()) {
	hooks := mongotest.HooksOf(db)
	hooks.RewriteOps(f)
	return func() { hooks.RewriteOps(nil) }
}

// FailedAsserts returns the asserts of operations on the model that do not hold
// now.
func (st *State) FailedAsserts(ctx context.Context, ops []txn.Op) ([]mongo.FailedAssert, error) {
	return st.db.FailedAsserts(ctx, ops, len(ops))
}

// Refusals returns the refused transactions that concerned a document.
func (st *State) Refusals(ctx context.Context, collection, id string) ([]mongo.Refusal, error) {
	return st.db.Refusals(ctx, collection, id)
}

// Die sets the model Dead, whatever is in it.
func (st *State) Die(ctx context.Context) error {
	return st.db.Run(ctx, func(int) ([]txn.Op, error) {
		return []txn.Op{{C: modeldb.ModelC, Id: modeldb.ModelC, Update: bson.D{{"$set", bson.D{{"life", entity.Dead}}}}}}, nil
	})
}

// Write edits a collection of the model by hand.
func (st *State) Write(ctx context.Context, collection string, f func(*mgo.Collection) error) error {
	return st.db.With(ctx, collection, f)
}

// LosableTail lets the test end the tail of the log of the model's transactions, as a lost
// connection does, so that it is opened anew. Call it before the model is watched, and lose
// while it is.
func (st *State) LosableTail() (lose func()) {
	var mu sync.Mutex
	var cancel context.CancelFunc
	tail := st.follow
	st.follow = func(ctx context.Context, hub *watcher.Hub) {
		for ctx.Err() == nil {
			mu.Lock()
			one, end := context.WithCancel(ctx)
			cancel = end
			mu.Unlock()
			tail(one, hub)
		}
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		cancel()
	}
}

// Counts returns how many documents each collection of the model holds.
func (st *State) Counts(ctx context.Context) (map[string]int, error) { return st.db.Counts(ctx) }

// LongestQueue returns the length of the longest transaction queue of the
// model's documents.
func (st *State) LongestQueue(ctx context.Context) (int, error) {
	return mongotest.LongestQueue(ctx, st.db.Database)
}
