package modeltxn

import (
	"context"
	"errors"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// Ops collects the operations of one transaction on a model. All changes and asserts on an entity's counts
// become a single operation, because mgo/txn checks the asserts of all operations on a document before it
// applies any.
type Ops struct {
	mongo.Ops
	counts map[string]*countOp
	order  []string // the keys of counts, in order of their first use
}

type countOp struct {
	assert map[string]any // by count; the last condition is the strongest
	inc    map[string]int
	insert bool
	remove bool
}

// AssertLife asserts an entity's life.
func (o *Ops) AssertLife(collection, id string, life entity.Life) {
	o.Assert(collection, id, bson.D{{"life", life}})
}

// AssertModelAlive must be part of every transaction that adds an entity.
func (o *Ops) AssertModelAlive() { o.AssertLife(modeldb.ModelC, modeldb.ModelC, entity.Alive) }

func (o *Ops) count(key string) *countOp {
	c := o.counts[key]
	if c == nil {
		c = &countOp{assert: map[string]any{}, inc: map[string]int{}}
		o.counts[key] = c
		o.order = append(o.order, key)
	}
	return c
}

// NewCounts inserts the counts of a new entity, all 0: one for each reference to its kind.
func (o *Ops) NewCounts(key string, kind lifecycle.Kind) {
	c := o.count(key)
	c.insert = true
	for _, ref := range lifecycle.RefsTo(kind) {
		if ref.IsCounted() {
			c.inc[ref.Name] += 0
		}
	}
}

// AddRefs increments the counts of everything that a new referrer of a kind refers to. targets returns the names of the entities
// that a reference names.
func (o *Ops) AddRefs(kind lifecycle.Kind, targets func(lifecycle.Ref) []string) {
	for _, ref := range lifecycle.RefsFrom(kind) {
		if !ref.IsCounted() {
			continue
		}
		for _, name := range targets(ref) {
			o.Inc(lifecycle.Key(ref.To, name), ref.Name, 1)
		}
	}
}

// AddCounts adds the counts of a new entity, and increments those of what it refers to.
func (o *Ops) AddCounts(kind lifecycle.Kind, name string, targets func(lifecycle.Ref) []string) {
	o.NewCounts(lifecycle.Key(kind, name), kind)
	o.AddRefs(kind, targets)
}

// KeepConstraints stores the constraints of a new unit or machine, if any.
func (o *Ops) KeepConstraints(key string, c constraints.Value) {
	if !c.IsEmpty() {
		o.Insert(modeldb.ConstraintsC, key, modeldb.Constraints{Key: key, Value: c.String()})
	}
}

// DropCounts removes the counts of an entity that is being removed.
func (o *Ops) DropCounts(key string) { o.count(key).remove = true }

// Inc adds n to one of an entity's counts.
func (o *Ops) Inc(key, name string, n int) { o.count(key).inc[name] += n }

// Expect asserts a condition on one of an entity's counts.
func (o *Ops) Expect(key, name string, condition any) {
	o.count(key).assert[name] = condition
}

// KeepCounts asserts that the counts of entities do not change from now on: nothing that refers to one of them is added or
// removed. Call it before reading what refers to them. Expect does not see that one source takes the place of another.
func (o *Ops) KeepCounts(ctx context.Context, db *DB, keys ...string) error {
	var docs []struct {
		Key   string `bson:"_id"`
		Revno any    `bson:"txn-revno"`
	}
	if err := db.All(ctx, modeldb.CountsC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &docs); err != nil {
		return err
	}
	for _, key := range keys {
		o.count(key)
	}
	for _, d := range docs {
		if d.Revno == nil {
			d.Revno = bson.D{{"$exists", false}}
		}
		o.Expect(d.Key, "txn-revno", d.Revno)
	}
	return nil
}

// Taken returns how many sources of a reference to an entity the transaction removes.
func (o *Ops) Taken(key, name string) int {
	if c := o.counts[key]; c != nil {
		return -c.inc[name]
	}
	return 0
}

// ExpectStep asserts the counts on which a step is based. gone is how many sources of each reference this
// transaction removes.
func (o *Ops) ExpectStep(key string, step lifecycle.Step, gone map[string]int) {
	for _, ref := range step.None {
		if ref.IsCounted() {
			o.Expect(key, ref.Name, gone[ref.Name])
		}
	}
	for _, ref := range step.Some {
		if ref.IsCounted() {
			o.Expect(key, ref.Name, bson.D{{"$gt", gone[ref.Name]}})
		}
	}
}

// addCounts adds the operations on counts, once all changes to them are known.
func (o *Ops) addCounts() {
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

// CountsOf reads the counts of an entity; an empty map if it does not exist.
func (db *DB) CountsOf(ctx context.Context, key string) (map[string]int, error) {
	var doc map[string]any
	err := db.Get(ctx, modeldb.CountsC, key, &doc, "counts of "+key)
	if errors.Is(err, entity.NotFound) {
		return map[string]int{}, nil
	}
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for name, v := range doc {
		switch n := v.(type) { // any type that the store or a manual edit may have left
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

// IsAlive, NotDead and Exists are the most common asserts.
var (
	IsAlive = bson.D{{"life", entity.Alive}}
	NotDead = bson.D{{"life", bson.D{{"$ne", entity.Dead}}}}
)

const (
	Exists  = txn.DocExists
	Missing = txn.DocMissing
)

// Cleanup adds a cleanup of a kind that is added at most once per arg.
func (o *Ops) Cleanup(kind, arg string) {
	o.Insert(modeldb.CleanupsC, kind+"-"+arg, modeldb.Cleanup{ID: kind + "-" + arg, Kind: kind, Arg: arg})
}

// WakeForce wakes the cleaner if it will remove an entity by force and the cloud failed to destroy the
// entity's resources, because the cleaner need not wait for the cloud any longer.
func (o *Ops) WakeForce(key string, l modeldb.Living, said entity.Status) {
	if l.Forced() && said.Status == entity.StatusError {
		o.Update(modeldb.CleanupsC, modeldb.ForceID(key), nil, bson.D{{"$inc", bson.D{{"woken", 1}}}})
	}
}
