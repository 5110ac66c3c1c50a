package state

import (
	"context"
	"maps"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/watcher"
)

// Before calls f between the reads of the model's next transaction and its commit;
// what f does by transactions of its own is no longer held up.
func (st *State) Before(f func()) { st.BeforeNext(0, f) }

// BeforeNext is Before for the transaction after so many others.
func (st *State) BeforeNext(others int, f func()) { before(st.db, others, f) }

// Before is State.Before for the controller's own database.
func (c *Controller) Before(f func()) { c.BeforeNext(0, f) }

// BeforeNext is State.BeforeNext for the controller's own database.
func (c *Controller) BeforeNext(others int, f func()) { before(c.db, others, f) }

func before(db *mongo.Database, others int, f func()) {
	mongotest.HooksOf(db).Set(append(make([]mongotest.TestHook, others), mongotest.TestHook{Before: f})...)
}

// RewriteOps lets f see, and change, the operations of each of the model's
// transactions before it runs, until restore is called.
func (st *State) RewriteOps(f func([]txn.Op) []txn.Op) (restore func()) { return rewrite(st.db, f) }

// RewriteOps is State.RewriteOps for the controller's own database.
func (c *Controller) RewriteOps(f func([]txn.Op) []txn.Op) (restore func()) { return rewrite(c.db, f) }

func rewrite(db *mongo.Database, f func([]txn.Op) []txn.Op) (restore func()) {
	hooks := mongotest.HooksOf(db)
	hooks.RewriteOps(f)
	return func() { hooks.RewriteOps(nil) }
}

// FailedAsserts returns the asserts of operations on the model that do not hold now.
func (st *State) FailedAsserts(ops []txn.Op) ([]mongo.FailedAssert, error) {
	return st.db.FailedAsserts(ops)
}

// Refusals returns the transactions that were given up and concerned a document.
func (st *State) Refusals(collection, id string) ([]mongo.Refusal, error) {
	return st.db.Refusals(collection, id)
}

// An UpgradeStep is a step of an upgrade for tests.
type UpgradeStep = upgradeStep

// NewUpgradeStep makes one; it is given the database to bring forward.
func NewUpgradeStep(about string, run func(context.Context, *mongo.Database) error) UpgradeStep {
	return upgradeStep{about, func(ctx context.Context, _ *Controller, db *mongo.Database) error { return run(ctx, db) }}
}

// WithSteps makes options of a program that has further steps than this one.
func (o Options) WithSteps(controller, model []UpgradeStep) Options {
	o.controllerSteps = append(slices.Clone(controllerSteps), controller...)
	o.modelSteps = append(slices.Clone(modelSteps), model...)
	return o
}

// ShareStore has the controller believe that others may have its store open too.
func (c *Controller) ShareStore() { c.alone = false }

// Die makes the model Dead, whatever is in it.
func (st *State) Die(ctx context.Context) error {
	return st.db.Run(ctx, func(int) ([]txn.Op, error) {
		return []txn.Op{{C: modelC, Id: modelC, Update: bson.D{{"$set", bson.D{{"life", entity.Dead}}}}}}, nil
	})
}

// Write changes a collection of the model by hand.
func (st *State) Write(collection string, f func(*mgo.Collection) error) error {
	return st.db.With(collection, f)
}

// Write changes a collection of the controller's own database by hand.
func (c *Controller) Write(collection string, f func(*mgo.Collection) error) error {
	return c.db.With(collection, f)
}

// Make makes an empty database, as of a model that nobody has heard of.
func (c *Controller) Make(name string) error { return c.store.Make(name, c.modelForm().schema) }

// Checked returns the collections whose documents rules look at, those that none
// does, and why, of models and of the controller.
func Checked() (ruled []string, unruledBecause map[string]string) {
	return slices.Concat(slices.Collect(maps.Keys(modelFields)), slices.Collect(maps.Keys(controllerFields))), unruled
}

// CleanupKinds are those that a check knows.
var CleanupKinds = cleanupKinds

// LoseTail has the log of the model's transactions be followed anew, as after a
// connection was lost. Somebody must be watching the model meanwhile.
func (st *State) LoseTail() {
	t := st.tails
	t.cancel()
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(context.Background())
	t.group.Go(func() { watcher.Tail(ctx, st.db.Tail, st.controller.store.Barrier, t.hub) })
}

// EscapeKey and UnescapeKey are how keys that users and agents choose are stored.
var (
	EscapeKey   = escapeKey
	UnescapeKey = unescapeKey
)

// Counts returns how many documents each collection of the model holds.
func (st *State) Counts() (map[string]int, error) { return st.db.Counts() }

// LongestQueue returns the length of the longest queue of transactions that a
// document of the model has.
func (st *State) LongestQueue() (int, error) { return st.db.LongestQueue() }
