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

// Before calls f between the reads of the model's next transaction and its
// commit. Transactions that f runs itself are not intercepted.
func (st *State) Before(f func()) { st.BeforeNext(0, f) }

// BeforeNext is like Before, for the transaction after the next others
// transactions.
func (st *State) BeforeNext(others int, f func()) { before(st.db, others, f) }

// Before is like State.Before, for the controller's own database.
func (c *Controller) Before(f func()) { c.BeforeNext(0, f) }

// BeforeNext is like State.BeforeNext, for the controller's own database.
func (c *Controller) BeforeNext(others int, f func()) { before(c.db, others, f) }

func before(db *mongo.Database, others int, f func()) {
	mongotest.HooksOf(db).Set(append(make([]mongotest.TestHook, others), mongotest.TestHook{Before: f})...)
}

// RewriteOps lets f inspect and change the operations of each of the model's
// transactions before it runs, until restore is called.
func (st *State) RewriteOps(f func([]txn.Op) []txn.Op) (restore func()) { return rewrite(st.db, f) }

// RewriteOps is like State.RewriteOps, for the controller's own database.
func (c *Controller) RewriteOps(f func([]txn.Op) []txn.Op) (restore func()) { return rewrite(c.db, f) }

func rewrite(db *mongo.Database, f func([]txn.Op) []txn.Op) (restore func()) {
	hooks := mongotest.HooksOf(db)
	hooks.RewriteOps(f)
	return func() { hooks.RewriteOps(nil) }
}

// FailedAsserts returns the asserts of operations on the model that do not hold
// now.
func (st *State) FailedAsserts(ops []txn.Op) ([]mongo.FailedAssert, error) {
	return st.db.FailedAsserts(ops, len(ops))
}

// Refusals returns the refused transactions that concerned a document.
func (st *State) Refusals(collection, id string) ([]mongo.Refusal, error) {
	return st.db.Refusals(collection, id)
}

// An UpgradeStep is a step of an upgrade, for tests.
type UpgradeStep = upgradeStep

// NewUpgradeStep returns a step; run is given the database to upgrade.
func NewUpgradeStep(about string, run func(context.Context, *mongo.Database) error) UpgradeStep {
	return upgradeStep{about, func(ctx context.Context, _ *Controller, db *mongo.Database) error { return run(ctx, db) }}
}

// WithSteps returns the options of a program with further upgrade steps.
func (o Options) WithSteps(controller, model []UpgradeStep) Options {
	o.controllerSteps = append(slices.Clone(controllerSteps), controller...)
	o.modelSteps = append(slices.Clone(modelSteps), model...)
	return o
}

// ShareStore makes the controller assume that other processes have its store
// open too.
func (c *Controller) ShareStore() { c.alone = false }

// Die sets the model Dead, whatever is in it.
func (st *State) Die(ctx context.Context) error {
	return st.db.Run(ctx, func(int) ([]txn.Op, error) {
		return []txn.Op{{C: modelC, Id: modelC, Update: bson.D{{"$set", bson.D{{"life", entity.Dead}}}}}}, nil
	})
}

// Write edits a collection of the model by hand.
func (st *State) Write(collection string, f func(*mgo.Collection) error) error {
	return st.db.With(collection, f)
}

// Write edits a collection of the controller's own database by hand.
func (c *Controller) Write(collection string, f func(*mgo.Collection) error) error {
	return c.db.With(collection, f)
}

// Make creates an empty database, like that of a model without a record.
func (c *Controller) Make(name string) error { return c.store.Make(name, c.modelForm().schema) }

// Checked returns the collections that the rules of the check cover, and why
// the others are not covered, for models and the controller.
func Checked() (ruled []string, unruledBecause map[string]string) {
	return slices.Concat(slices.Collect(maps.Keys(modelFields)), slices.Collect(maps.Keys(controllerFields))), unruled
}

// CleanupKinds are the kinds of cleanup that the check knows.
var CleanupKinds = cleanupKinds

// LoseTail ends the tail of the log of the model's transactions, as a lost
// connection does, so that it is opened anew. A watch of the model must be
// running.
func (st *State) LoseTail() {
	t := st.tails
	t.cancel()
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(context.Background())
	t.group.Go(func() { watcher.Tail(ctx, st.db.Tail, st.controller.store.Barrier, t.hub) })
}

// EscapeKey and UnescapeKey convert keys chosen by users and agents to and from
// their stored form.
var (
	EscapeKey   = escapeKey
	UnescapeKey = unescapeKey
)

// Counts returns how many documents each collection of the model holds.
func (st *State) Counts() (map[string]int, error) { return st.db.Counts() }

// LongestQueue returns the length of the longest transaction queue of the
// model's documents.
func (st *State) LongestQueue() (int, error) { return mongotest.LongestQueue(st.db) }

// HoldOpening keeps Model from opening a model that it has found ready: reached returns
// when it has, and release lets it go on.
func (c *Controller) HoldOpening(uuid string) (reached, release func()) {
	held := make(chan struct{})
	set := func(do func()) {
		c.mu.Lock()
		defer c.mu.Unlock()
		do()
	}
	set(func() { c.opening[uuid] = held })
	// A waiting Model receives this, and waits again.
	return func() { held <- struct{}{} }, func() {
		set(func() { delete(c.opening, uuid) })
		close(held)
	}
}
