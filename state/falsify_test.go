package state_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// An assertion is one fact that a mutator's operation asserts.
type assertion struct {
	mutator    string // its name, without how
	collection string // and the kind of entity, if documents are of several
	kind       string // insert, update, remove, or assert if the operation does nothing else
	fact       string // a field, or one of the two below
}

// Facts about the document as a whole. An assert of any field implies that the
// document exists.
const (
	missing = "(missing)"
	there   = "(there)"
)

func (a assertion) String() string {
	return fmt.Sprintf("%s: %s %s: %s", a.mutator, a.kind, a.collection, a.fact)
}

// keyed matches collections whose documents belong to several kinds of entity;
// their ids begin with the kind.
var keyed = regexp.MustCompile(`^(counts|statuses|settings|constraints|cleanups|credentials|deployments)$`)

var aKind = regexp.MustCompile(`^(?:[0-9a-f]{24}-)?([a-z]+)`)

// asserted returns the assertions of an operation, in order.
func asserted(mutator string, op txn.Op) (all []assertion) {
	if op.Assert == nil {
		return nil
	}
	a := assertion{mutator: mutator, collection: op.C, kind: "assert"}
	if id := fmt.Sprint(op.Id); keyed.MatchString(op.C) {
		a.collection += " " + aKind.FindStringSubmatch(id)[1]
	}
	switch {
	case op.Insert != nil:
		a.kind = "insert"
	case op.Update != nil:
		a.kind = "update"
	case op.Remove:
		a.kind = "remove"
	}
	if op.Assert == txn.DocMissing {
		a.fact = missing
		return []assertion{a}
	}
	a.fact = there
	all = append(all, a)
	for _, condition := range conditions(op.Assert) {
		a.fact = condition.Name
		all = append(all, a)
	}
	return all
}

// conditions returns the conditions of an assert on fields, by field name.
func conditions(assert any) bson.D {
	switch assert := assert.(type) {
	case bson.D:
		return assert
	case bson.M:
		var d bson.D
		for name, v := range assert {
			d = append(d, bson.DocElem{Name: name, Value: v})
		}
		slices.SortFunc(d, func(a, b bson.DocElem) int { return strings.Compare(a.Name, b.Name) })
		return d
	}
	return nil // only that the document exists
}

// falsify runs a transaction that makes one fact of an operation untrue, and
// returns a function that makes it true again. Everything else that the
// operation asserts stays true, unless the document is removed.
func (s *scene) falsify(ctx context.Context, db *mongo.Database, op txn.Op, fact string) (undo func()) {
	s.Helper()
	change := func(op txn.Op) {
		s.Helper()
		s.ok(db.Run(s.ctx, func(int) ([]txn.Op, error) { return []txn.Op{op}, nil }))
	}
	at := txn.Op{C: op.C, Id: op.Id}
	with := func(f func(*txn.Op)) txn.Op { o := at; f(&o); return o }
	if fact == missing {
		doc := op.Insert
		if doc == nil {
			doc = bson.D{}
		}
		change(with(func(o *txn.Op) { o.Assert, o.Insert = txn.DocMissing, doc }))
		return func() { change(with(func(o *txn.Op) { o.Assert, o.Remove = txn.DocExists, true })) }
	}
	var doc bson.D // in order: a document that is part of another one is compared as a whole
	s.ok(db.Get(ctx, op.C, op.Id, &doc, op.C))
	doc = slices.DeleteFunc(doc, func(e bson.DocElem) bool { return e.Name == "_id" || slices.Contains(mongo.TxnFields, e.Name) })
	if fact == there {
		change(with(func(o *txn.Op) { o.Assert, o.Remove = txn.DocExists, true }))
		return func() { change(with(func(o *txn.Op) { o.Assert, o.Insert = txn.DocMissing, doc })) }
	}
	field, set := fact, any(nil)
	for _, condition := range conditions(op.Assert) {
		if condition.Name == fact {
			field, set = other(condition)
		}
	}
	if fact == "txn-revno" { // asserts that the document is unchanged
		field, set = "nudged", true
	}
	was, had := lookup(doc, field)
	undone := field // what is unset again: with the document that $set made for it, if there was none
	if first, _, nested := strings.Cut(field, "."); nested {
		if _, is := lookup(doc, first); !is {
			undone = first
		}
	}
	to := func(field string, v any, unset bool) txn.Op {
		return with(func(o *txn.Op) {
			o.Update = bson.D{{"$set", bson.D{{field, v}}}}
			if unset {
				o.Update = bson.D{{"$unset", bson.D{{field, 1}}}}
			}
		})
	}
	change(to(field, set, set == nil))
	return func() { change(to(undone, was, !had)) }
}

// lookup returns the value of a field, whose name may lead into documents: "config.key".
func lookup(doc bson.D, field string) (value any, there bool) {
	first, rest, nested := strings.Cut(field, ".")
	i := slices.IndexFunc(doc, func(e bson.DocElem) bool { return e.Name == first })
	if i < 0 {
		return nil, false
	}
	if !nested {
		return doc[i].Value, true
	}
	inner, ok := doc[i].Value.(bson.D)
	if !ok {
		return nil, false
	}
	return lookup(inner, rest)
}

// other returns a field and a value (nil to unset it) for which a condition
// does not hold.
func other(c bson.DocElem) (field string, value any) {
	if d, ok := c.Value.(bson.D); ok && len(d) == 1 {
		operand := d[0].Value
		switch d[0].Name {
		case "$ne", "$gt", "$lt":
			return c.Name, operand
		case "$eq":
			return other(bson.DocElem{Name: c.Name, Value: operand})
		case "$exists":
			if operand == true {
				return c.Name, nil
			}
			return c.Name, "something"
		case "$not":
			return c.Name, operand.(bson.D)[0].Value.(entity.Strength) + 1
		}
	}
	switch v := c.Value.(type) {
	case entity.Life:
		return c.Name, (v + 1) % (entity.Dead + 1)
	case bool:
		return c.Name, !v
	case int:
		return c.Name, v + 1000 // an unused number
	case int64:
		return c.Name, v + 1000
	case time.Duration:
		return c.Name, v + time.Hour
	case string:
		return c.Name, v + "x"
	case entity.StatusWord:
		return c.Name, v + "x"
	case entity.TaskStatus:
		return c.Name, v + "x"
	case time.Time:
		return c.Name, v.Add(time.Hour)
	case []int:
		return c.Name, append(slices.Clone(v), 1000)
	case []string:
		return c.Name, append(slices.Clone(v), "another")
	case []modeldb.Binding:
		return c.Name, append(slices.Clone(v), modeldb.Binding{Endpoint: "another", Space: "9"})
	case bson.D: // a whole document
		field, value := other(v[0])
		return c.Name, append(bson.D{{field, value}}, v[1:]...)
	}
	panic(fmt.Sprintf("no other value known for %T %v of %s", c.Value, c.Value, c.Name))
}

// refuses checks that the store refuses operations because of this one fact,
// and no other document.
func (s *scene) refuses(ctx context.Context, db *mongo.Database, ops []txn.Op, op txn.Op, fact string) error {
	failed, err := db.FailedAsserts(ctx, ops, len(ops))
	if err != nil {
		return err
	}
	seen := false
	for _, f := range failed {
		if f.Collection != op.C || f.ID != op.Id {
			return fmt.Errorf("%v fails too", f)
		}
		if d, ok := f.Assert.(bson.D); !ok || len(d) == 1 && d[0].Name == fact || fact == there || fact == missing {
			seen = true
		}
	}
	if !seen {
		return errors.New("the assert does not fail")
	}
	return nil
}

// A watch sees each try of a scene's transactions just before it is committed,
// except for the transactions that it runs itself.
type watch struct {
	*scene
	busy  bool
	tries int
}

// tries calls f with each try from now on. The function that f returns is
// called after the try.
func (s *scene) tries(f func(w *watch, db *mongo.Database, ops []txn.Op) (after func())) *watch {
	w := &watch{scene: s}
	for _, db := range s.databases() {
		mongotest.HooksOf(db).RewriteOps(func(ops []txn.Op) []txn.Op {
			if w.busy {
				return ops
			}
			w.busy, w.tries = true, w.tries+1
			after := f(w, db, ops)
			w.busy = false
			if after != nil {
				mongotest.HooksOf(db).Set(mongotest.TestHook{After: func() {
					w.busy = true
					after()
					w.busy = false
				}})
			}
			return ops
		})
	}
	return w
}

// unwatch ends a watch.
func (s *scene) unwatch() {
	for _, db := range s.databases() {
		mongotest.HooksOf(db).RewriteOps(nil)
	}
}
