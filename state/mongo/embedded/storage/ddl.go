package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"juju/state/mongo/embedded/mongoerr"
)

// CreateIndex adds an index and fills it, while writes to the collection wait. It reports whether it added one: the
// same index may already exist. It first waits for the transactions that have changed the collection, until ctx ends.
func (c *Collection) CreateIndex(ctx context.Context, want *Index) (bool, error) {
	s := c.store
	_, unlock, err := s.alone(ctx, func() *Collection { return c })
	if err != nil {
		return false, err
	}
	defer unlock()
	if c.dropped.Load() {
		return false, ErrDropped
	}
	for _, ix := range c.Indexes() {
		sameKeys := slices.Equal(ix.Fields, want.Fields)
		switch {
		case sameKeys && ix.Name == want.Name && ix.Unique == want.Unique && ix.Sparse == want.Sparse,
			sameKeys && ix.Name == "_id_":
			return false, nil
		case sameKeys:
			return false, mongoerr.New(mongoerr.IndexOptionsConflict,
				"Index with pattern already exists with different options or name: %s", ix.Name)
		case ix.Name == want.Name:
			return false, mongoerr.New(mongoerr.IndexKeySpecsConflict,
				"Index must have unique name. The existing index %s has other keys", ix.Name)
		}
	}
	ix := &Index{Name: want.Name, Fields: want.Fields, Unique: want.Unique, Sparse: want.Sparse}
	b := s.db.NewBatch()
	ix.space = s.newSpace(b)
	_ = b.Set(binary.BigEndian.AppendUint32([]byte{keyBuilding}, ix.space), nil, nil)
	if err := s.commit(b); err != nil {
		return false, err
	}
	if err := c.build(ix); err != nil {
		b := s.db.NewBatch()
		s.clearSpace(b, ix.space)
		return false, errors.Join(err, s.commit(b))
	}
	old := c.Indexes()
	c.setIndexes(append(slices.Clip(old), ix))
	b = s.db.NewBatch()
	_ = b.Delete(binary.BigEndian.AppendUint32([]byte{keyBuilding}, ix.space), nil)
	_ = b.Set(c.catalogKey(), c.encode(), nil)
	err = s.commit(b)
	s.altered(c)
	return true, err
}

// build fills an index, in batches.
func (c *Collection) build(ix *Index) error {
	scan := c.Natural()
	defer scan.Pause()
	b := c.store.db.NewBatch()
	defer func() { _ = b.Close() }()
	for {
		record, doc, err := scan.Next()
		if err != nil {
			return err
		}
		if doc == nil {
			return c.flush(&b)
		}
		var e entries
		multi, err := e.fill(ix, doc, record[spaceSize:])
		if err != nil {
			return err
		}
		if multi {
			ix.multi.Store(true)
		}
		if err := c.enter(b, ix, &e, record[spaceSize:], doc); err != nil {
			return err
		}
		// The uniqueness check of the next document must see these keys.
		if ix.Unique || b.Len() > 1<<20 {
			if err := c.flush(&b); err != nil {
				return err
			}
		}
	}
}

func (c *Collection) enter(b *pebble.Batch, ix *Index, e *entries, record, doc []byte) error {
	for _, key := range e.list {
		if ix.Unique {
			if err := c.store.get(nil, key, func(v []byte) error {
				if v != nil {
					return duplicate(c, ix, doc)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		_ = b.Set(key, record, nil)
	}
	return nil
}

func (c *Collection) flush(b **pebble.Batch) error {
	err := c.store.commit(*b)
	*b = c.store.db.NewBatch()
	return err
}

// DropIndexes removes the indexes that drop selects, except for _id_. It waits like CreateIndex.
func (c *Collection) DropIndexes(ctx context.Context, drop func(*Index) bool) (int, error) {
	_, unlock, err := c.store.alone(ctx, func() *Collection { return c })
	if err != nil {
		return 0, err
	}
	defer unlock()
	if c.dropped.Load() {
		return 0, ErrDropped
	}
	b := c.store.db.NewBatch()
	var keep []*Index
	for i, ix := range c.Indexes() {
		if i == 0 || !drop(ix) {
			keep = append(keep, ix)
			continue
		}
		c.store.clearSpace(b, ix.space)
	}
	n := len(c.Indexes()) - len(keep)
	if n == 0 {
		return 0, b.Close()
	}
	c.setIndexes(keep)
	_ = b.Set(c.catalogKey(), c.encode(), nil)
	err = c.store.commit(b)
	c.store.altered(c)
	return n, err
}

// Stats are a collection's sizes, computed by a scan.
type Stats struct {
	Documents, Bytes int64
	// IndexBytes is the size of each index's keys in bytes, by index name.
	IndexBytes map[string]int64
}

// Stats scans a collection and returns its sizes.
func (c *Collection) Stats() (Stats, error) {
	st := Stats{IndexBytes: map[string]int64{}}
	err := c.store.walk(c.space, func(key, value []byte) {
		st.Documents++
		st.Bytes += int64(len(value))
	})
	for _, ix := range c.secondary() {
		st.IndexBytes[ix.Name] = 0
		err = errors.Join(err, c.store.walk(ix.space, func(key, value []byte) {
			st.IndexBytes[ix.Name] += int64(len(key) + len(value))
		}))
	}
	return st, err
}

// Count returns the number of documents without reading them.
func (c *Collection) Count() (n int64, err error) {
	if c.opts.Capped && !c.dropped.Load() {
		first, next, err := c.Extent()
		return int64(next - first), err
	}
	err = c.store.walk(c.space, func(_, _ []byte) { n++ })
	return n, err
}

func (s *Store) walk(space uint32, visit func(key, value []byte)) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: spaceKey(nil, space), UpperBound: spaceKey(nil, space+1)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		visit(it.Key(), it.Value())
	}
	return errors.Join(damaged(it.Error()), it.Close())
}

// DatabaseSize returns the approximate size of a database on disk in bytes; recent writes may not be included.
func (s *Store) DatabaseSize(db string) (int64, error) {
	total := int64(0)
	for _, c := range s.Collections(db) {
		spaces := []uint32{c.space}
		for _, ix := range c.secondary() {
			spaces = append(spaces, ix.space)
		}
		for _, space := range spaces {
			n, err := s.db.EstimateDiskUsage(spaceKey(nil, space), spaceKey(nil, space+1))
			if err != nil {
				return 0, fmt.Errorf("cannot measure database %q: %w", db, err)
			}
			total += int64(n)
		}
	}
	return total, nil
}
