package embedded

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// A selection iterates over the documents that match a query, in the query's order.
type selection struct {
	coll   *storage.Collection
	tx     *storage.Txn // that reads, or nil
	filter *query.Filter
	late   func() error          // called periodically
	room   func(bytes int) error // called before a document is copied; or nil

	scan  *storage.Scan
	count int
	tally *tally // what has been read, for explain; or nil

	// byID is the record key if the query fixes the _id; scan is then nil.
	byID []byte
	done bool
	mem  *[]byte // buffer for that document

	// The documents, if they had to be sorted in memory.
	sorted []query.Sorted
	at     int
	place  int // position of the last document
}

// choice holds the parameters of a selection.
type choice struct {
	tx     *storage.Txn // that reads, or nil
	filter *query.Filter
	order  query.Sort
	hint   bsoncore.Value
	// limit is how many documents will be read; 0 means all.
	limit int64
	// conn, if not nil, lends its buffer and memory.
	conn *conn
	// tally, if not nil, counts what is read.
	tally *tally
	// ledger, if not nil, counts the memory of documents that are sorted.
	ledger *ledger
}

// A tally counts what a selection has read: documents, index keys, and documents that match.
type tally struct{ docs, keys, matched int64 }

func (t *tally) add(docs, keys, matched int64) {
	if t != nil {
		t.docs, t.keys, t.matched = t.docs+docs, t.keys+keys, t.matched+matched
	}
}

// A path says how a selection reaches its documents: by their _id, or by a plan made for the given indexes.
type path struct {
	byID    []byte // the record key
	plan    plan.Plan
	indexes []*storage.Index
}

// path plans a query. It adopts a hint for the natural order as the query's order.
func (ch *choice) path(coll *storage.Collection) (at path, err error) {
	if id, ok := idOf(ch.filter); ok && !coll.Options().Capped && ch.hint.Type == 0 {
		at.byID = coll.Record(id)
		return at, nil
	}
	var few [8]plan.Index
	at.indexes = coll.Indexes()
	indexes := coll.PlanIndexes(few[:0], at.indexes)
	hint, err := findHint(indexes, ch.hint, &ch.order)
	if err != nil {
		return at, err
	}
	at.plan = plan.Choose(ch.filter, ch.order, indexes, hint)
	return at, nil
}

// newSelection plans a query. The caller must call pause on the selection when done.
func newSelection(coll *storage.Collection, ch choice, late func() error) (*selection, error) {
	sel := &selection{coll: coll, tx: ch.tx, filter: ch.filter, late: late, tally: ch.tally}
	if ch.tx != nil {
		if err := ch.tx.Check(coll); err != nil {
			return nil, err
		}
	}
	at, err := ch.path(coll)
	if err != nil {
		return nil, err
	}
	if at.byID != nil {
		sel.byID = at.byID
		sel.lend(ch.conn)
		return sel, nil
	}
	sel.scan = coll.Scan(ch.tx, at.plan, at.indexes)
	sel.lend(ch.conn)
	if at.plan.Sorted {
		return sel, nil
	}
	if err := sel.sort(ch); err != nil {
		return nil, errors.Join(err, sel.pause())
	}
	return sel, nil
}

// idOf returns the only _id that can match.
func idOf(f *query.Filter) (bsoncore.Value, bool) {
	for _, p := range f.Predicates() {
		if p.Op == query.Eq && p.Path == "_id" && p.Value.Type != bson.TypeArray && p.Value.Type != bson.TypeUndefined {
			return p.Value, true
		}
	}
	return bsoncore.Value{}, false
}

// findHint parses a hint: an index's name or its keys, or {$natural: 1}.
func findHint(indexes []plan.Index, hint bsoncore.Value, order *query.Sort) (int, error) {
	switch hint.Type {
	case 0, bson.TypeNull:
		return -1, nil
	case bson.TypeString:
		for i := range indexes {
			if indexes[i].Name == string(raw.Text(hint)) {
				return i, nil
			}
		}
	case bson.TypeEmbeddedDocument:
		want, err := query.CompileSort(hint.Data)
		if err != nil {
			return 0, err
		}
		if want.Natural != 0 && len(order.Fields) == 0 {
			*order = want
			return -1, nil
		}
		if want.Natural != 0 {
			return 0, nil
		}
		for i := range indexes {
			if len(want.Fields) > 0 && slices.Equal(indexes[i].Fields, want.Fields) {
				return i, nil
			}
		}
	}
	return 0, mongoerr.New(mongoerr.BadValue, "planner returned error: bad hint")
}

// lend lets the selection use a connection's buffer and memory while it makes a reply. nil takes them back, so that a cursor
// that is open doesn't keep those of its last connection.
func (sel *selection) lend(c *conn) {
	sel.mem, sel.room = nil, nil
	if c != nil {
		sel.mem, sel.room = &c.found, c.await
	}
	if sel.scan != nil {
		sel.scan.Room = sel.room
	}
}

// next returns the next document and its record key, valid until the next call. At the end the document is nil.
func (sel *selection) next() (record, doc []byte, err error) {
	if sel.byID != nil {
		return sel.single()
	}
	if sel.sorted != nil {
		if sel.at == len(sel.sorted) {
			return nil, nil, nil
		}
		p := sel.sorted[sel.at]
		sel.sorted[sel.at] = query.Sorted{} // frees it: it is returned only once
		sel.at, sel.place = sel.at+1, p.Position
		return p.Record, p.Doc, nil
	}
	return sel.match()
}

// match advances to the next document that matches.
func (sel *selection) match() (record, doc []byte, err error) {
	for {
		record, doc, err = sel.scan.Next()
		if err != nil || doc == nil {
			return nil, nil, err
		}
		if sel.count++; sel.count%256 == 0 {
			if err := sel.late(); err != nil {
				return nil, nil, err
			}
		}
		if sel.filter.Match(doc) {
			sel.tally.add(0, 0, 1)
			return record, doc, nil
		}
	}
}

func (sel *selection) single() (record, doc []byte, err error) {
	if sel.done {
		return nil, nil, nil
	}
	sel.done = true
	if sel.mem == nil {
		sel.mem = new([]byte)
	}
	doc, ok, err := sel.coll.Get(sel.tx, (*sel.mem)[:0], sel.byID, sel.room)
	if err != nil || !ok {
		return nil, nil, err
	}
	*sel.mem = doc
	sel.coll.Examined(1)
	sel.tally.add(1, 0, 0)
	if !sel.filter.Match(doc) {
		return nil, nil, nil
	}
	sel.tally.add(0, 0, 1)
	return sel.byID, doc, nil
}

// position returns the array position at which the query matched the last document returned by next.
func (sel *selection) position() int {
	if sel.sorted != nil {
		return sel.place
	}
	return sel.filter.Position()
}

// sort reads all matching documents and sorts them. With a limit it keeps only that many.
func (sel *selection) sort(ch choice) error {
	all := query.NewSorter(ch.order, ch.limit)
	if ch.ledger != nil {
		all.Keep = ch.ledger.keep
	}
	for {
		record, doc, err := sel.match()
		if err != nil {
			return err
		}
		if doc == nil {
			break
		}
		if err := all.Add(doc, record, sel.filter.Position()); err != nil {
			return err
		}
	}
	sel.sorted = all.Sorted()
	return sel.pause()
}

// pause releases the selection's snapshot of the store; next continues.
func (sel *selection) pause() error {
	if sel.scan == nil {
		return nil
	}
	docs, keys, err := sel.scan.Pause()
	sel.tally.add(docs, keys, 0)
	return err
}
