package embedded

import (
	"bytes"
	"container/heap"
	"encoding/binary"
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
	late   func() error // called periodically

	scan  *storage.Scan
	count int

	// byID is the record key if the query fixes the _id; scan is then nil.
	byID []byte
	done bool
	mem  *[]byte // buffer for that document

	// The documents, if they had to be sorted in memory.
	sorted []picked
	at     int
	place  int // position of the last document
}

// A picked document has been read and waits to be returned in order.
type picked struct {
	key, record, doc []byte
	position         int
}

// maxSorted limits the size in bytes of documents that are sorted in memory.
const maxSorted = 100 << 20

// choice holds the parameters of a selection.
type choice struct {
	tx     *storage.Txn // that reads, or nil
	filter *query.Filter
	order  query.Sort
	hint   bsoncore.Value
	// limit is how many documents will be read; 0 means all.
	limit int64
	// mem, if not nil, is a buffer to read into, valid for the request.
	mem *[]byte
}

// newSelection plans a query. The caller must call pause on the selection when done.
func newSelection(coll *storage.Collection, ch choice, late func() error) (*selection, error) {
	sel := &selection{coll: coll, tx: ch.tx, filter: ch.filter, late: late}
	if ch.tx != nil {
		if err := ch.tx.Check(coll); err != nil {
			return nil, err
		}
	}
	if id, ok := idOf(ch.filter); ok && !coll.Options().Capped && ch.hint.Type == 0 {
		sel.byID, sel.mem = coll.Record(id), ch.mem
		return sel, nil
	}
	var few [8]plan.Index
	list := coll.Indexes()
	indexes := coll.PlanIndexes(few[:0], list)
	hint, err := findHint(indexes, ch.hint, &ch.order)
	if err != nil {
		return nil, err
	}
	p := plan.Choose(ch.filter, ch.order, indexes, hint)
	sel.scan = coll.Scan(ch.tx, p, list)
	if p.Sorted {
		return sel, nil
	}
	return sel, sel.sort(ch)
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
		sel.sorted[sel.at] = picked{} // frees it: it is returned only once
		sel.at, sel.place = sel.at+1, p.position
		return p.record, p.doc, nil
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
	doc, ok, err := sel.coll.Get(sel.tx, (*sel.mem)[:0], sel.byID)
	if err != nil || !ok {
		return nil, nil, err
	}
	*sel.mem = doc
	sel.coll.Examined(1)
	if !sel.filter.Match(doc) {
		return nil, nil, nil
	}
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
	all := &ranked{}
	size := 0
	for {
		record, doc, err := sel.match()
		if err != nil {
			return err
		}
		if doc == nil {
			break
		}
		// Equal documents keep the order in which they were read.
		key := binary.BigEndian.AppendUint64(ch.order.AppendKey(nil, doc), uint64(sel.count))
		p := picked{key: key, position: sel.filter.Position()}
		full := ch.limit > 0 && int64(len(all.list)) == ch.limit
		if full && bytes.Compare(p.key, all.list[0].key) >= 0 {
			continue
		}
		p.record, p.doc = bytes.Clone(record), bytes.Clone(doc)
		size += len(p.key) + len(p.record) + len(p.doc)
		if full {
			out := heap.Pop(all).(picked)
			size -= len(out.key) + len(out.record) + len(out.doc)
		}
		if size > maxSorted {
			return mongoerr.New(mongoerr.OperationFailed, "Sort operation used more than the maximum %d bytes of RAM. Add an index, or specify a smaller limit.", maxSorted)
		}
		if ch.limit > 0 {
			heap.Push(all, p)
		} else {
			all.list = append(all.list, p)
		}
	}
	slices.SortFunc(all.list, func(a, b picked) int { return bytes.Compare(a.key, b.key) })
	sel.sorted = all.list
	if sel.sorted == nil {
		sel.sorted = []picked{}
	}
	return sel.pause()
}

// ranked is a heap whose top is the document that sorts last.
type ranked struct{ list []picked }

func (h *ranked) Len() int           { return len(h.list) }
func (h *ranked) Less(i, j int) bool { return bytes.Compare(h.list[i].key, h.list[j].key) > 0 }
func (h *ranked) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *ranked) Push(x any)         { h.list = append(h.list, x.(picked)) }
func (h *ranked) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

// pause releases the selection's snapshot of the store; next continues.
func (sel *selection) pause() error {
	if sel.scan == nil {
		return nil
	}
	_, _, err := sel.scan.Pause()
	return err
}
