package mongo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo/cursor"
	"juju/state/mongo/servertxn"
)

// RefusalsC holds the most recently abandoned transactions. It is written outside transactions, and nothing
// depends on it.
const RefusalsC = "refusals"

// refusalsSize is the size of RefusalsC in bytes, enough for about two thousand.
const refusalsSize = 1 << 20

// Secrets are the fields whose values are never shown.
var Secrets = []string{"hash", "password"}

// A FailedAssert is one condition of a transaction that doesn't hold.
type FailedAssert struct {
	Collection string
	ID         any
	// Assert is the assert that doesn't hold: a field's condition, or txn.DocExists or txn.DocMissing.
	Assert any
	// Found is the value of the field, as JSON unless it is a plain value; "" if the document or the field doesn't
	// exist.
	Found string
	words string
}

// String describes the assert, as in "units mysql/0: life is dying, not alive".
func (f FailedAssert) String() string {
	return fmt.Sprintf("%s %v: %s", f.Collection, f.ID, f.words)
}

// FailedAsserts evaluates the asserts of ops against the current documents, the way mgo/txn does, and returns
// those that don't hold, in the order of ops, at most limit of them. Other transactions may change the
// documents in the meantime.
func (r *Runner) FailedAsserts(ctx context.Context, ops []txn.Op, limit int) (failed []FailedAssert, err error) {
	err = r.with(ctx, func(db *mgo.Database) error {
		for _, op := range ops {
			if op.Assert == nil || len(failed) >= limit {
				continue
			}
			f, err := failedAssert(db.C(op.C), op)
			if err != nil {
				return fmt.Errorf("cannot check %s %v: %w", op.C, op.Id, err)
			}
			if f != nil {
				failed = append(failed, *f)
			}
		}
		return nil
	})
	return failed, err
}

// failedAssert returns nil if the assert of op holds.
func failedAssert(c *mgo.Collection, op txn.Op) (*FailedAssert, error) {
	f := &FailedAssert{Collection: op.C, ID: op.Id, Assert: op.Assert}
	holds := func(assert any) (bool, error) {
		query := bson.D{{"_id", op.Id}}
		if assert != nil {
			query = append(query, bson.DocElem{Name: "$or", Value: []any{assert}})
		}
		n, err := c.Find(query).Count()
		return n > 0, err
	}
	there, err := holds(nil)
	switch {
	case err != nil:
		return nil, err
	case op.Assert == txn.DocMissing:
		if !there {
			return nil, nil
		}
		f.words = "it already exists"
		return f, nil
	case !there:
		f.words = "it does not exist"
		return f, nil
	case op.Assert == txn.DocExists:
		return nil, nil
	}
	if all, err := holds(op.Assert); err != nil || all {
		return nil, err
	}
	conditions, err := servertxn.AsDoc(op.Assert)
	if err != nil {
		return nil, err
	}
	// All of them must hold; report the one that doesn't.
	for _, condition := range conditions {
		if one, err := holds(bson.D{condition}); err != nil {
			return nil, err
		} else if !one {
			return f, f.explain(c, condition)
		}
	}
	return nil, nil // it has changed in the meantime
}

// explain sets the value that was found and a description of the failed condition.
func (f *FailedAssert) explain(c *mgo.Collection, condition bson.DocElem) error {
	f.Assert = bson.D{condition}
	if strings.HasPrefix(condition.Name, "$") {
		f.words = show("", f.Assert) + " does not hold"
		return nil
	}
	var doc bson.M
	if err := c.FindId(f.ID).Select(bson.D{{condition.Name, 1}}).One(&doc); err != nil && !IsNotFound(err) {
		return err
	}
	field := strings.Split(condition.Name, ".")
	value, set := any(doc), doc != nil
	for _, name := range field {
		m, ok := value.(bson.M)
		if value, set = m[name]; !ok || !set {
			break
		}
	}
	is := condition.Name + " is not set"
	if set {
		f.Found = show(condition.Name, value)
		is = condition.Name + " is " + f.Found
	}
	f.words = is + wanted(condition)
	return nil
}

// wanted returns the end of a sentence that describes what a condition requires.
func wanted(condition bson.DocElem) string {
	one, isOp := operator(condition.Value)
	if !isOp {
		return ", not " + show(condition.Name, condition.Value)
	}
	value := show(condition.Name, one.Value)
	switch one.Name {
	case "$ne", "$exists":
		return "" // the value found is explanation enough
	case "$gt":
		return ", not more than " + value
	case "$gte":
		return ", not at least " + value
	case "$lt":
		return ", not less than " + value
	case "$lte":
		return ", not at most " + value
	}
	return ", wanted " + show(condition.Name, condition.Value)
}

// operator returns the operator of a condition that has exactly one.
func operator(condition any) (bson.DocElem, bool) {
	d, err := servertxn.AsDoc(condition)
	if err != nil || len(d) != 1 || !strings.HasPrefix(d[0].Name, "$") {
		return bson.DocElem{}, false
	}
	return d[0], true
}

// maxShown limits the text shown of one value, which may be megabytes.
const maxShown = 200

// show formats a field's value for users.
func show(field string, v any) string {
	if isSecret(field) {
		return notShown
	}
	if field == "life" {
		switch n := v.(type) {
		case int:
			return entity.Life(n).String()
		case entity.Life:
			return n.String()
		}
	}
	text := fmt.Sprint(v)
	switch v.(type) {
	case string:
		text = fmt.Sprintf("%q", v)
	case bson.D, bson.M, []any, []bson.D, []string, []int:
		text = asJSON(v)
	}
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}

const notShown = "(not shown)"

func isSecret(field string) bool {
	return slices.Contains(Secrets, field[strings.LastIndexByte(field, '.')+1:])
}

// asJSON formats a document or a list without its secrets.
func asJSON(v any) string {
	var plain struct{ V any }
	data, err := bson.Marshal(struct{ V any }{v})
	if err == nil {
		err = bson.Unmarshal(data, &plain)
	}
	if err == nil {
		data, err = json.Marshal(withoutSecrets(plain.V))
	}
	if err != nil {
		return "a value that can't be shown"
	}
	return string(data)
}

func withoutSecrets(v any) any {
	switch v := v.(type) {
	case bson.M:
		for field, value := range v {
			if v[field] = withoutSecrets(value); isSecret(field) {
				v[field] = notShown
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutSecrets(v[i])
		}
	}
	return v
}

// A Refusal is a transaction that was abandoned.
type Refusal struct {
	At time.Time `bson:"at"`
	// Docs are the documents of its operations, each as "collection#id".
	Docs []string `bson:"docs"`
	// Why describes the assert that didn't hold; "" if all of them held when they were evaluated.
	Why string `bson:"why"`
	// Found is the value found instead, if it is a single value.
	Found string `bson:"found,omitempty"`
}

// refused stores a refusal and returns it. Its own failures are only logged.
func (r *Runner) refused(ctx context.Context, ops []txn.Op) Refusal {
	refusal := Refusal{At: time.Now().UTC()}
	seen := map[string]bool{}
	for _, op := range ops {
		if key := docName(op.C, op.Id); !seen[key] {
			seen[key] = true
			refusal.Docs = append(refusal.Docs, key)
		}
	}
	failed, err := r.FailedAsserts(ctx, ops, 1)
	if err != nil {
		logger.Warningf("cannot determine why a transaction of %s was refused: %v", r.name, err)
	} else if len(failed) > 0 {
		refusal.Why, refusal.Found = failed[0].String(), failed[0].Found
	}
	err = r.with(ctx, func(db *mgo.Database) error { return db.C(RefusalsC).Insert(refusal) })
	if err != nil {
		logger.Warningf("cannot store a refusal of %s: %v", r.name, err)
	}
	return refusal
}

func docName(collection string, id any) string { return fmt.Sprintf("%s#%v", collection, id) }

// Refusals returns the latest abandoned transactions with an operation on this document, newest first.
func (d *Database) Refusals(ctx context.Context, collection string, id any) ([]Refusal, error) {
	var all []Refusal
	err := d.Reading(ctx, RefusalsC, func(c *mgo.Collection) error {
		return cursor.Find(c, bson.D{{"docs", docName(collection, id)}}).Sort("-$natural").All(&all)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", RefusalsC, err)
	}
	return all, nil
}
