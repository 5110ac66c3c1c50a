package state

import (
	"context"
	"errors"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// ops collects the operations of one transaction on a model. All that concerns the counts of an
// entity becomes a single operation, because mgo/txn checks the asserts of all operations
// on a document before it applies any.
type ops struct {
	mongo.Ops
	counts map[string]*countOp
	order  []string // the keys of counts, in order of their first use
	// moving has the keys of the entities that the transaction itself moves. Dropping a
	// reference to one of them does not check whether it was the last.
	moving map[string]bool
	pools  map[string]bool // that the transaction uses
}

type countOp struct {
	assert map[string]any // by count; the last condition is the strongest
	inc    map[string]int
	insert bool
	remove bool
}

func newOps() *ops {
	return &ops{counts: map[string]*countOp{}, moving: map[string]bool{}, pools: map[string]bool{}}
}

// change runs a transaction on the model: see mongo.Runner.Change.
func (st *State) change(ctx context.Context, build func(*ops) error) error {
	return st.db.Run(ctx, func(int) ([]txn.Op, error) {
		o := newOps()
		if err := build(o); err != nil {
			return nil, err
		}
		o.addCounts()
		return o.List()
	})
}

// assertLife asserts an entity's life.
func (o *ops) assertLife(collection, id string, life entity.Life) {
	o.Assert(collection, id, bson.D{{"life", life}})
}

// assertModelAlive is part of every transaction that adds an entity.
func (o *ops) assertModelAlive() { o.assertLife(modeldb.ModelC, modeldb.ModelC, entity.Alive) }

func (o *ops) count(key string) *countOp {
	c := o.counts[key]
	if c == nil {
		c = &countOp{assert: map[string]any{}, inc: map[string]int{}}
		o.counts[key] = c
		o.order = append(o.order, key)
	}
	return c
}

// newCounts inserts the counts of a new entity, all 0: one for each reference to its
// kind.
func (o *ops) newCounts(key string, kind lifecycle.Kind) {
	c := o.count(key)
	c.insert = true
	for _, ref := range lifecycle.RefsTo(kind) {
		if ref.IsCounted() {
			c.inc[ref.Name] += 0
		}
	}
}

// dropCounts removes the counts of an entity that is removed.
func (o *ops) dropCounts(key string) { o.count(key).remove = true }

// inc adds n to one of an entity's counts.
func (o *ops) inc(key, name string, n int) { o.count(key).inc[name] += n }

// expect asserts a condition on one of an entity's counts.
func (o *ops) expect(key, name string, condition any) {
	o.count(key).assert[name] = condition
}

// taken returns how many sources of a reference to an entity the transaction removes.
func (o *ops) taken(key, name string) int {
	if c := o.counts[key]; c != nil {
		return -c.inc[name]
	}
	return 0
}

// expectStep asserts the counts that a step was planned from. gone is how many sources of
// each reference this transaction removes.
func (o *ops) expectStep(key string, step lifecycle.Step, gone map[string]int) {
	for _, ref := range step.None {
		if ref.IsCounted() {
			o.expect(key, ref.Name, gone[ref.Name])
		}
	}
	for _, ref := range step.Some {
		if ref.IsCounted() {
			o.expect(key, ref.Name, bson.D{{"$gt", gone[ref.Name]}})
		}
	}
}

// addCounts adds the operations on counts, once everything that concerns them is known.
func (o *ops) addCounts() {
	for _, key := range o.order {
		c := o.counts[key]
		op := txn.Op{C: modeldb.CountsC, Id: key, Assert: txn.DocExists}
		if len(c.assert) > 0 {
			op.Assert = bson.M(c.assert)
		}
		switch {
		case c.remove:
			op.Remove = true
		case c.insert:
			doc := bson.M{}
			for name, n := range c.inc {
				doc[name] = n
			}
			op.Assert, op.Insert = txn.DocMissing, doc
		case len(c.inc) > 0:
			inc := bson.M{}
			for name, n := range c.inc {
				inc[name] = n
			}
			op.Update = bson.D{{"$inc", inc}}
		}
		o.Add(op)
	}
}

// counts reads the counts of an entity; an empty map if it is gone.
func (st *State) counts(key string) (map[string]int, error) {
	var doc map[string]any
	err := st.db.Get(modeldb.CountsC, key, &doc, "counts of "+key)
	if errors.Is(err, entity.NotFound) {
		return map[string]int{}, nil
	}
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for name, v := range doc {
		switch n := v.(type) { // whatever type the store returns, or an edit by hand left
		case int:
			counts[name] = n
		case int64:
			counts[name] = int(n)
		case float64:
			counts[name] = int(n)
		}
	}
	return counts, nil
}

// isAlive, notDead and exists are the most common asserts.
var (
	isAlive = bson.D{{"life", entity.Alive}}
	notDead = bson.D{{"life", bson.D{{"$ne", entity.Dead}}}}
)

const exists = txn.DocExists
