package state

import (
	"fmt"
	"maps"
	"slices"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
)

// A docID names a document.
type docID struct{ collection, id string }

func (d docID) String() string { return d.collection + " " + d.id }

// A row is a document as a check reads it, whatever its form.
type row map[string]any

func (r row) text(field string) string { s, _ := r[field].(string); return s }

func (r row) number(field string) int { n, _ := asNumber(r[field]); return n }

func (r row) life() entity.Life { return entity.Life(r.number("life")) }

func (r row) strength() entity.Strength { return entity.Strength(r.number("strength")) }

// docs returns the documents in a list.
func (r row) docs(field string) (all []row) {
	list, _ := r[field].([]any)
	for _, v := range list {
		if m, ok := v.(row); ok {
			all = append(all, m)
		}
	}
	return all
}

// texts returns the strings in a list.
func (r row) texts(field string) (all []string) {
	list, _ := r[field].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// asNumber reads a number of whatever type the store returns, or an edit by hand left.
func asNumber(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case float64:
		return int(n), true
	}
	return 0, false
}

// A view is the data that a check reads. A loaded view holds everything, read beforehand
// while others may go on writing: it shows what may be wrong. A live view reads each
// document when asked for it: it shows what is wrong.
type view struct {
	db     *mongo.Database
	fields map[string][]string // the fields to read, by collection; all if nil
	now    time.Time           // when the check began

	loaded map[string]*table       // by collection; nil in a live view
	listed map[string]any          // the results of remembered; loaded views only
	read   map[docID]mongo.Version // the versions of what was read; live views only
	err    error                   // the first failure to read; later reads return nothing
}

// A table is a collection of a loaded view.
type table struct {
	rows map[string]row
	by   map[string]map[any][]row // the rows by field and value; made when asked for
}

// liveView returns a view that reads what it is asked for.
func liveView(db *mongo.Database, fields map[string][]string, now time.Time) *view {
	return &view{db: db, fields: fields, now: now, read: map[docID]mongo.Version{}}
}

// loadedView reads the given fields of all collections.
func loadedView(db *mongo.Database, fields map[string][]string, now time.Time) (*view, error) {
	v := &view{db: db, fields: fields, now: now, loaded: map[string]*table{}, listed: map[string]any{}}
	for collection, names := range fields {
		t := &table{rows: map[string]row{}, by: map[string]map[any][]row{}}
		err := db.With(collection, func(c *mgo.Collection) error {
			q := c.Find(nil)
			if len(names) > 0 {
				q = q.Select(selected(names))
			}
			iter := q.Iter()
			for {
				var r row
				if !iter.Next(&r) {
					return iter.Close()
				}
				if id, ok := r["_id"].(string); ok {
					t.rows[id] = r
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", collection, err)
		}
		v.loaded[collection] = t
	}
	return v, nil
}

func selected(names []string) bson.D {
	d := bson.D{}
	for _, n := range names {
		d = append(d, bson.DocElem{Name: n, Value: 1})
	}
	return d
}

// fail keeps the first error.
func (v *view) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}

// get returns a document, or nil if it does not exist.
func (v *view) get(collection, id string) row {
	if v.loaded != nil {
		return v.loaded[collection].rows[id]
	}
	if v.err != nil {
		return nil
	}
	var r row
	version, err := v.db.Read(collection, id, v.fields[collection], &r)
	if err != nil {
		v.err = err
		return nil
	}
	v.read[docID{collection, id}] = version
	return r
}

// where returns the documents with a value in a field, sorted by id. A live view does not
// track the result: the caller must get a document that changes with it.
func (v *view) where(collection, field string, value any) []row {
	if v.loaded == nil {
		return v.find(collection, bson.D{{field, value}})
	}
	t := v.loaded[collection]
	if t.by[field] == nil {
		t.by[field] = map[any][]row{}
		for _, id := range slices.Sorted(maps.Keys(t.rows)) {
			key := t.rows[id][field]
			if n, ok := asNumber(key); ok {
				key = n
			}
			switch key.(type) {
			case int, string:
				t.by[field][key] = append(t.by[field][key], t.rows[id])
			}
		}
	}
	return t.by[field][value]
}

func (v *view) find(collection string, query bson.D) (rows []row) {
	if v.err != nil {
		return nil
	}
	v.err = v.db.Reading(collection, func(c *mgo.Collection) error {
		q := c.Find(query).Sort("_id")
		if names := v.fields[collection]; len(names) > 0 {
			q = q.Select(selected(names))
		}
		return q.All(&rows)
	})
	return rows
}

// all returns all documents of a collection. A live view does not track them.
func (v *view) all(collection string) []row {
	if v.loaded == nil {
		return v.find(collection, nil)
	}
	return slices.Collect(maps.Values(v.loaded[collection].rows))
}

// ids returns the ids of all documents of a collection in a loaded view.
func (v *view) ids(collection string) []string {
	return slices.Sorted(maps.Keys(v.loaded[collection].rows))
}

// remembered calls f once in a loaded view, because many rules ask the same, and each
// time in a live one.
func remembered[T any](v *view, what string, f func() T) T {
	if v.loaded == nil {
		return f()
	}
	if _, ok := v.listed[what]; !ok {
		v.listed[what] = f()
	}
	return v.listed[what].(T)
}

// settled reports whether no transaction is at work on anything that was read.
func (v *view) settled() (bool, error) {
	return v.db.Settled(slices.Collect(maps.Values(v.read)))
}

// asserting makes operations assert that everything that was read is unchanged.
func (v *view) asserting(ops []txn.Op) []txn.Op {
	changed := map[docID]bool{}
	for i, op := range ops {
		id, _ := op.Id.(string)
		doc := docID{op.C, id}
		changed[doc] = true
		version, ok := v.read[doc]
		if !ok || op.Insert != nil {
			version = mongo.Version{}
		}
		ops[i].Assert = version.Assert()
	}
	for doc, version := range v.read {
		if !changed[doc] {
			ops = append(ops, txn.Op{C: doc.collection, Id: doc.id, Assert: version.Assert()})
		}
	}
	return ops
}
