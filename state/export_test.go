package state

import (
	jujutxn "github.com/juju/txn"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
)

// Before calls f between the reads of the model's next transaction and its commit;
// what f does by transactions of its own is no longer held up.
func (st *State) Before(f func()) { st.BeforeNext(0, f) }

// BeforeNext is Before for the transaction after so many others.
func (st *State) BeforeNext(others int, f func()) { before(st.db.TestHooks(), others, f) }

// Before is State.Before for the controller's own database.
func (c *Controller) Before(f func()) { before(c.db.TestHooks(), 0, f) }

func before(hooks chan []jujutxn.TestHook, others int, f func()) {
	<-hooks
	hooks <- append(make([]jujutxn.TestHook, others), jujutxn.TestHook{Before: f})
}

// RewriteOps lets f see, and change, the operations of each of the model's
// transactions before it runs, until restore is called.
func (st *State) RewriteOps(f func([]txn.Op) []txn.Op) (restore func()) { return rewrite(st.db, f) }

// RewriteOps is State.RewriteOps for the controller's own database.
func (c *Controller) RewriteOps(f func([]txn.Op) []txn.Op) (restore func()) { return rewrite(c.db, f) }

func rewrite(db *mongo.Database, f func([]txn.Op) []txn.Op) (restore func()) {
	db.RewriteOps(f)
	return func() { db.RewriteOps(nil) }
}

// FailedAsserts returns the asserts of operations on the model that do not hold now.
func (st *State) FailedAsserts(ops []txn.Op) ([]mongo.FailedAssert, error) {
	return st.db.FailedAsserts(ops)
}

// Refusals returns the transactions that were given up and concerned a document.
func (st *State) Refusals(collection, id string) ([]mongo.Refusal, error) {
	return st.db.Refusals(collection, id)
}
