package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// A Replacement is the future content of a collection, with the indexes of the present one. Nobody sees it until Commit
// puts it in the old content's place, in one batch; a crash before leaves the old content. Readers of the old content
// fail with QueryPlanKilled where they would otherwise miss some of it. The caller must end a Replacement with Commit or
// Abort. It is for one goroutine at a time.
type Replacement struct {
	old     *Collection // nil if there is none
	indexes []*Index    // of old
	c       *Collection
	b       *pebble.Batch
	fresh   map[string]bool // unique keys in b
}

// Replace begins to replace the content of a collection, which need not exist.
func (s *Store) Replace(db, name string) (*Replacement, error) {
	s.ddl.Lock()
	defer s.ddl.Unlock()
	r := &Replacement{old: s.Collection(db, name), b: s.db.NewBatch(), fresh: map[string]bool{}}
	r.c = newCollection(s, db, name, s.newSpace(r.b), CollectionOptions{})
	indexes := []*Index{{Name: "_id_", Fields: idFields, Unique: true, space: r.c.space}}
	if r.old != nil {
		if r.old.opts.Capped {
			return nil, errors.Join(mongoerr.New(mongoerr.OutToCapped, "namespace '%s' is capped so it can't be used for $out",
				r.old.Namespace()), r.b.Close())
		}
		r.indexes = r.old.Indexes()
		for _, ix := range r.indexes[1:] {
			indexes = append(indexes, &Index{Name: ix.Name, Fields: ix.Fields, Unique: ix.Unique, Sparse: ix.Sparse, space: s.newSpace(r.b)})
		}
	}
	r.c.setIndexes(indexes)
	for _, ix := range indexes {
		_ = r.b.Set(binary.BigEndian.AppendUint32([]byte{keyBuilding}, ix.space), nil, nil)
	}
	return r, r.flush()
}

func (r *Replacement) flush() error {
	clear(r.fresh)
	return r.c.flush(&r.b)
}

// Add adds a document, which must have an _id.
func (r *Replacement) Add(doc []byte) error {
	id, _ := raw.Get(doc, "_id")
	if err := CheckID(id); err != nil {
		return err
	}
	record := r.c.Record(id)
	if err := r.claim(record, r.c.Indexes()[0], doc); err != nil {
		return err
	}
	for _, ix := range r.c.secondary() {
		var e entries
		multi, err := e.fill(ix, doc, record[spaceSize:])
		if err != nil {
			return err
		}
		if multi {
			ix.multi.Store(true)
		}
		for _, key := range e.list {
			if ix.Unique {
				if err := r.claim(key, ix, doc); err != nil {
					return err
				}
			}
			_ = r.b.Set(key, record[spaceSize:], nil)
		}
	}
	_ = r.b.Set(record, doc, nil)
	if r.b.Len() > 1<<20 {
		return r.flush()
	}
	return nil
}

// claim fails if another document has a unique key.
func (r *Replacement) claim(key []byte, ix *Index, doc []byte) error {
	taken := r.fresh[string(key)]
	if err := r.c.store.get(nil, key, func(v []byte) error {
		taken = taken || v != nil
		return nil
	}); err != nil {
		return err
	}
	if taken {
		return duplicate(r.c, ix, doc)
	}
	r.fresh[string(key)] = true
	return nil
}

// Commit puts the new content in the place of the old one. If the collection or its indexes have changed meanwhile, it
// fails and changes nothing. It waits like CreateIndex.
func (r *Replacement) Commit(ctx context.Context) error {
	if err := r.flush(); err != nil {
		return err
	}
	s, c := r.c.store, r.c
	old, unlock, err := s.alone(ctx, func() *Collection { return s.Collection(c.db, c.name) })
	if err != nil {
		return errors.Join(err, r.drop())
	}
	defer unlock()
	if old != r.old || r.old != nil && !slices.Equal(r.old.Indexes(), r.indexes) {
		return errors.Join(mongoerr.New(mongoerr.CommandFailed,
			"collection '%s' or its indexes changed while processing $out", c.Namespace()), r.drop())
	}
	if r.old != nil {
		r.old.dropped.Store(true)
		r.old.replaced.Store(true)
		s.clearSpace(r.b, r.old.space)
		for _, ix := range r.indexes {
			s.clearSpace(r.b, ix.space)
		}
	}
	for _, ix := range c.Indexes() {
		_ = r.b.Delete(binary.BigEndian.AppendUint32([]byte{keyBuilding}, ix.space), nil)
	}
	_ = r.b.Set(c.catalogKey(), c.encode(), nil)
	if err := s.commit(r.b); err != nil {
		return err
	}
	s.altered(c)
	if r.old != nil {
		s.altered(r.old)
	}
	s.feed.add(func() []*Event {
		return []*Event{{Kind: Renamed, DB: c.db, Collection: "tmp.agg_out." + strconv.Itoa(int(c.space)), To: c.name}}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(c)
	return nil
}

// Abort discards the new content.
func (r *Replacement) Abort() error {
	return errors.Join(r.b.Close(), r.drop())
}

func (r *Replacement) drop() error {
	b := r.c.store.db.NewBatch()
	for _, ix := range r.c.Indexes() {
		r.c.store.clearSpace(b, ix.space)
	}
	return r.c.store.commit(b)
}
