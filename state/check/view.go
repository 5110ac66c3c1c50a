package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/cursor"
)

// A DocID identifies a document.
type DocID struct{ Collection, ID string }

func (d DocID) String() string { return d.Collection + " " + d.ID }

// A Row is a document as read by a check, whatever its form.
type Row map[string]any

func (r Row) Text(field string) string { s, _ := r[field].(string); return s }

func (r Row) Number(field string) int { n, _ := AsNumber(r[field]); return n }

func (r Row) Life() entity.Life { return entity.Life(r.Number("life")) }

func (r Row) Strength() entity.Strength { return entity.Strength(r.Number("strength")) }

// Doc returns the document in a field, or nil.
func (r Row) Doc(field string) Row {
	m, _ := r[field].(Row)
	return m
}

// Docs returns the documents in a list.
func (r Row) Docs(field string) (all []Row) {
	list, _ := r[field].([]any)
	for _, v := range list {
		if m, ok := v.(Row); ok {
			all = append(all, m)
		}
	}
	return all
}

// Texts returns the strings in a list.
func (r Row) Texts(field string) (all []string) {
	list, _ := r[field].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// AsNumber converts a number, whose type depends on the store and on manual edits.
func AsNumber(v any) (int, bool) {
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

// A View is the data that a check sees. A loaded view holds everything, read in advance while others may have been
// writing: it shows what may be inconsistent. A live view reads each document on demand: it shows what is inconsistent.
type View struct {
	ctx    context.Context // of the check that it is for, which is what reads it
	DB     *mongo.Database
	fields map[string][]string // the fields to read, by collection; all if nil
	Now    time.Time           // when the check began

	loaded map[string]*table       // by collection; nil in a live view
	listed map[string]any          // the results of Remembered; loaded views only
	read   map[DocID]mongo.Version // the versions of the documents read; live views only
	err    error                   // the first read error; later reads return nothing
}

// A table is a collection of a loaded view.
type table struct {
	rows map[string]Row
	by   map[string]map[any][]Row // the rows by field and value; built on demand
}

// liveView returns a view that reads on demand.
func liveView(ctx context.Context, db *mongo.Database, fields map[string][]string, now time.Time) *View {
	return &View{ctx: ctx, DB: db, fields: fields, Now: now, read: map[DocID]mongo.Version{}}
}

// loadedView reads the given fields of all collections.
func loadedView(ctx context.Context, db *mongo.Database, fields map[string][]string, now time.Time) (*View, error) {
	v := &View{ctx: ctx, DB: db, fields: fields, Now: now, loaded: map[string]*table{}, listed: map[string]any{}}
	for collection, names := range fields {
		t := &table{rows: map[string]Row{}, by: map[string]map[any][]Row{}}
		err := db.With(ctx, collection, func(c *mgo.Collection) error {
			q := cursor.Find(c, nil)
			if len(names) > 0 {
				q = q.Select(selected(names))
			}
			iter := q.Iter()
			for {
				var r Row
				if !iter.Next(&r) {
					return iter.Close()
				}
				if err := context.Cause(ctx); err != nil {
					return errors.Join(err, iter.Close())
				}
				mongo.Moved(ctx)
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

// Context returns the context of the check, for reads beside the view's.
func (v *View) Context() context.Context { return v.ctx }

// Fail records the first error.
func (v *View) Fail(err error) {
	if v.err == nil {
		v.err = err
	}
}

// Err returns the first read error.
func (v *View) Err() error { return v.err }

// Get returns a document, or nil if it does not exist.
func (v *View) Get(collection, id string) Row {
	if v.loaded != nil {
		return v.loaded[collection].rows[id]
	}
	if v.err != nil {
		return nil
	}
	var r Row
	version, err := v.DB.Read(v.ctx, collection, id, v.fields[collection], &r)
	if err != nil {
		v.err = err
		return nil
	}
	v.read[DocID{collection, id}] = version
	return r
}

// Where returns the documents with a value in a field, sorted by id. A live view does not track the result: the caller
// must also get a document that changes with it.
func (v *View) Where(collection, field string, value any) []Row {
	if v.loaded == nil {
		return v.find(collection, bson.D{{field, value}})
	}
	t := v.loaded[collection]
	if t.by[field] == nil {
		t.by[field] = map[any][]Row{}
		for _, id := range slices.Sorted(maps.Keys(t.rows)) {
			key := t.rows[id][field]
			if n, ok := AsNumber(key); ok {
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

func (v *View) find(collection string, query bson.D) (rows []Row) {
	if v.err != nil {
		return nil
	}
	v.err = v.DB.Reading(v.ctx, collection, func(c *mgo.Collection) error {
		q := cursor.Find(c, query).Sort("_id")
		if names := v.fields[collection]; len(names) > 0 {
			q = q.Select(selected(names))
		}
		return q.All(&rows)
	})
	return rows
}

// All returns all documents of a collection. A live view does not track them.
func (v *View) All(collection string) []Row {
	if v.loaded == nil {
		return v.find(collection, nil)
	}
	return slices.Collect(maps.Values(v.loaded[collection].rows))
}

// ids returns the ids of all documents of a collection in a loaded view.
func (v *View) ids(collection string) []string {
	return slices.Sorted(maps.Keys(v.loaded[collection].rows))
}

// Remembered returns the result of f. A loaded view calls f only once for each what, because many rules need the same
// result; a live view calls it each time.
func Remembered[T any](v *View, what string, f func() T) T {
	if v.loaded == nil {
		return f()
	}
	if _, ok := v.listed[what]; !ok {
		v.listed[what] = f()
	}
	return v.listed[what].(T)
}

// settled reports whether no transaction is in progress on any document that was read.
func (v *View) settled() (bool, error) {
	return v.DB.Settled(v.ctx, slices.Collect(maps.Values(v.read)))
}

// asserting makes operations assert that everything that was read is unchanged.
func (v *View) asserting(ops []txn.Op) []txn.Op {
	changed := map[DocID]bool{}
	for i, op := range ops {
		id, _ := op.Id.(string)
		doc := DocID{op.C, id}
		changed[doc] = true
		version, ok := v.read[doc]
		if !ok || op.Insert != nil {
			version = mongo.Version{}
		}
		ops[i].Assert = version.Assert()
	}
	for doc, version := range v.read {
		if !changed[doc] {
			ops = append(ops, txn.Op{C: doc.Collection, Id: doc.ID, Assert: version.Assert()})
		}
	}
	return ops
}
