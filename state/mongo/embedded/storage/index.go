package storage

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
)

// An Index is an index of a collection. The first one of every collection is _id_.
type Index struct {
	Name   string
	Fields []query.Field
	Unique bool
	Sparse bool

	space uint32
	multi atomic.Bool // multikey: some document has several keys
}

var idFields = []query.Field{{Path: "_id"}}

// Keys returns the index's specification, {field: 1 or -1, …}.
func (ix *Index) Keys() bsoncore.Document { return EncodeFields(ix.Fields) }

// EncodeFields returns {field: 1 or -1, …}.
func EncodeFields(fields []query.Field) bsoncore.Document {
	b := bsoncore.NewDocumentBuilder()
	for _, f := range fields {
		direction := int32(1)
		if f.Desc {
			direction = -1
		}
		b.AppendInt32(f.Path, direction)
	}
	return b.Build()
}

func decodeFields(spec []byte) ([]query.Field, error) {
	s, err := query.CompileSort(spec)
	return s.Fields, err
}

// MaxKey is the maximum length of an index key, in bytes.
const MaxKey = 32 << 10

// entries are the keys of one document in one index.
type entries struct {
	buf    []byte
	bounds []int // ends of the keys in buf
	list   [][]byte
	values []bsoncore.Value // scratch
}

func (e *entries) reset() { e.buf, e.bounds, e.list = e.buf[:0], e.bounds[:0], e.list[:0] }

// fill computes the keys of doc, sorted and without duplicates. record is the record key without its space. It reports
// whether an array produced several keys.
func (e *entries) fill(ix *Index, doc, record []byte) (multi bool, err error) {
	e.reset()
	if ix.Unique {
		record = nil // not part of the key
	}
	if len(ix.Fields) == 1 {
		multi, err = e.simple(ix, doc, record)
	} else {
		multi, err = e.compound(ix, doc, record)
	}
	if err != nil {
		return false, err
	}
	start := 0
	for _, end := range e.bounds {
		e.list = append(e.list, e.buf[start:end:end])
		start = end
	}
	if len(e.list) > 1 {
		slices.SortFunc(e.list, bytes.Compare)
		e.list = slices.CompactFunc(e.list, bytes.Equal)
	}
	for _, key := range e.list {
		if n := len(key) - len(record); n > MaxKey {
			return false, mongoerr.New(mongoerr.KeyTooLong,
				"cannot index a document: a key of %d bytes for index %s is longer than %d", n, ix.Name, MaxKey)
		}
	}
	return multi, nil
}

// simple computes the keys of an index on one field.
func (e *entries) simple(ix *Index, doc, record []byte) (multi bool, err error) {
	values, multi := query.Values(e.values[:0], doc, ix.Fields[0].Path)
	e.values = values
	if len(values) == 0 {
		if ix.Sparse && !multi {
			return false, nil
		}
		values = append(values, bsoncore.Value{Type: bson.TypeNull})
	}
	for _, v := range values {
		e.buf = appendValue(spaceKey(e.buf, ix.space), v, ix.Fields[0].Desc)
		e.buf = append(e.buf, record...)
		e.bounds = append(e.bounds, len(e.buf))
	}
	return multi, nil
}

func appendValue(dst []byte, v bsoncore.Value, desc bool) []byte {
	start := len(dst)
	dst = keys.Append(dst, v)
	if desc {
		keys.Invert(dst[start:])
	}
	return dst
}

// compound computes the keys of an index on several fields: with an array, one key per element.
func (e *entries) compound(ix *Index, doc, record []byte) (multi bool, err error) {
	all := make([][]bsoncore.Value, len(ix.Fields))
	array := ""
	missing := 0
	for i, f := range ix.Fields {
		values, several := query.Values(nil, doc, f.Path)
		if several {
			root, _, _ := strings.Cut(f.Path, ".")
			if array != "" && array != root {
				return false, mongoerr.New(mongoerr.CannotIndexParallelArrays,
					"cannot index parallel arrays [%s] [%s]", root, array)
			}
			array, multi = root, true
		}
		if len(values) == 0 {
			missing++
			values = []bsoncore.Value{{Type: bson.TypeNull}}
		}
		all[i] = values
	}
	if ix.Sparse && missing == len(all) {
		return false, nil
	}
	prefixes := [][]byte{spaceKey(nil, ix.space)}
	for i, values := range all {
		var longer [][]byte
		for _, prefix := range prefixes {
			for _, v := range values {
				longer = append(longer, appendValue(slices.Clip(prefix), v, ix.Fields[i].Desc))
			}
		}
		prefixes = longer
	}
	for _, key := range prefixes {
		e.buf = append(append(e.buf, key...), record...)
		e.bounds = append(e.bounds, len(e.buf))
	}
	return multi, nil
}

// same reports whether two documents have the same keys.
func (e *entries) same(o *entries) bool { return slices.EqualFunc(e.list, o.list, bytes.Equal) }

// has reports whether key is among the entries.
func (e *entries) has(key []byte) bool {
	_, ok := slices.BinarySearchFunc(e.list, key, bytes.Compare)
	return ok
}

// indexing holds the changes to all indexes caused by one change to a document.
type indexing struct {
	changes []indexChange
	n       int // changes in use
	stripes []int
	store   *Store
}

type indexChange struct {
	ix       *Index
	old, new entries
}

var indexings = sync.Pool{New: func() any { return new(indexing) }}

// prepare adds to b the index changes from old's keys to new's; either document may be nil. It fails if
// another document has one of the new keys of a unique index. Until release, or until tx ends if it is not nil, no
// other document can take one.
func (w *indexing) prepare(c *Collection, tx *Txn, b writer, indexes []*Index, record, old, new []byte) error {
	w.store, w.n, w.stripes = c.store, 0, w.stripes[:0]
	flagged := false
	for _, ix := range indexes {
		if w.n == len(w.changes) {
			w.changes = append(w.changes, indexChange{})
		}
		ch := &w.changes[w.n]
		ch.ix = ix
		ch.old.reset()
		ch.new.reset()
		if old != nil {
			if _, err := ch.old.fill(ix, old, record); err != nil {
				return err
			}
		}
		if new != nil {
			multi, err := ch.new.fill(ix, new, record)
			if err != nil {
				return err
			}
			if multi && !ix.multi.Load() {
				// Planners must know before the keys become visible.
				ix.multi.Store(true)
				flagged = true
			}
		}
		if !ch.old.same(&ch.new) {
			w.n++
		}
	}
	if flagged {
		if err := c.saveFlags(); err != nil {
			return err
		}
	}
	var err error
	if tx != nil {
		err = w.claimIn(tx, c, new)
	} else {
		err = w.claim(c, new)
	}
	if err != nil {
		return err
	}
	for i := range w.changes[:w.n] {
		w.changes[i].write(b, record)
	}
	return nil
}

// claim locks the new keys of unique indexes and checks that no other document has them. All changes take these locks
// in the same order, after the lock of their document, so there is no deadlock.
func (w *indexing) claim(c *Collection, doc []byte) error {
	for i := range w.changes[:w.n] {
		ch := &w.changes[i]
		for _, key := range ch.added() {
			w.stripes = append(w.stripes, c.store.stripe(key))
		}
	}
	if len(w.stripes) == 0 {
		return nil
	}
	slices.Sort(w.stripes)
	w.stripes = slices.Compact(w.stripes)
	for _, i := range w.stripes {
		c.store.unique[i].Lock()
	}
	for i := range w.changes[:w.n] {
		ch := &w.changes[i]
		for _, key := range ch.added() {
			if tx := c.store.unique[c.store.stripe(key)].held[string(key)]; tx != nil {
				return &heldError{tx}
			}
			if err := c.store.get(nil, key, func(v []byte) error {
				if v != nil {
					return duplicate(c, ch.ix, doc)
				}
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// claimIn is claim for a transaction, which holds the new keys of unique indexes, and the ones that it removes.
func (w *indexing) claimIn(tx *Txn, c *Collection, doc []byte) error {
	for i := range w.changes[:w.n] {
		ch := &w.changes[i]
		if !ch.ix.Unique {
			continue
		}
		for _, key := range ch.added() {
			if err := c.store.get(tx, key, func(v []byte) error {
				if v != nil {
					return duplicate(c, ch.ix, doc)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		for _, list := range [][][]byte{ch.old.list, ch.new.list} {
			for _, key := range list {
				if ch.old.has(key) && ch.new.has(key) {
					continue
				}
				if err := tx.hold(&c.store.unique, key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *indexing) release() {
	for _, i := range w.stripes {
		w.store.unique[i].Unlock()
	}
	w.stripes = w.stripes[:0]
	indexings.Put(w)
}

// added returns the keys that a change adds to a unique index.
func (ch *indexChange) added() [][]byte {
	if !ch.ix.Unique {
		return nil
	}
	if len(ch.old.list) == 0 {
		return ch.new.list
	}
	var out [][]byte
	for _, key := range ch.new.list {
		if !ch.old.has(key) {
			out = append(out, key)
		}
	}
	return out
}

func (ch *indexChange) write(b writer, record []byte) {
	for _, key := range ch.old.list {
		if !ch.new.has(key) {
			_ = b.Delete(key, nil)
		}
	}
	for _, key := range ch.new.list {
		if !ch.old.has(key) {
			_ = b.Set(key, record, nil)
		}
	}
}

func duplicate(c *Collection, ix *Index, doc []byte) error {
	var key []bsoncore.Value
	for _, f := range ix.Fields {
		values, _ := query.Values(nil, doc, f.Path)
		v := bsoncore.Value{Type: bson.TypeNull}
		if len(values) > 0 {
			v = values[0]
		}
		key = append(key, v)
	}
	return c.DuplicateKey(ix.Name, key...)
}

// DuplicateKey returns the error for a document whose key another document has in an index.
func (c *Collection) DuplicateKey(index string, key ...bsoncore.Value) error {
	var shown []string
	for _, v := range key {
		shown = append(shown, ": "+shell(v))
	}
	return mongoerr.New(mongoerr.DuplicateKey, "E11000 duplicate key error collection: %s index: %s dup key: { %s }",
		c.Namespace(), index, strings.Join(shown, ", "))
}
