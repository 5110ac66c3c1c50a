package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Check compares every index with the documents of one snapshot, and returns the differences. There should never be any.
// It calls moved, unless that is nil, for each document, because its duration grows with their number.
func (s *Store) Check(ctx context.Context, moved func()) error {
	if moved == nil {
		moved = func() {}
	}
	snap := s.db.NewSnapshot()
	defer snap.Close()
	var errs []error
	for _, db := range s.Databases() {
		for _, c := range s.Collections(db) {
			if err := c.check(ctx, snap, moved); err != nil {
				errs = append(errs, fmt.Errorf("collection %s: %w", c.Namespace(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// check looks up every key that a document should have. If all exist and their number is right, there are no others.
func (c *Collection) check(ctx context.Context, snap *pebble.Snapshot, moved func()) error {
	want := map[*Index]int{}
	err := walkSnapshot(snap, c.space, func(key, doc []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		moved()
		record := key[spaceSize:]
		for _, ix := range c.secondary() {
			var e entries
			multi, err := e.fill(ix, doc, record)
			if err != nil {
				return fmt.Errorf("index %s of record %x: %w", ix.Name, record, err)
			}
			if multi && !ix.multi.Load() {
				return fmt.Errorf("index %s is not marked multikey, but has several keys for record %x", ix.Name, record)
			}
			want[ix] += len(e.list)
			for _, key := range e.list {
				v, closer, err := snap.Get(key)
				if err != nil && !errors.Is(err, pebble.ErrNotFound) {
					return fmt.Errorf("index %s: %w", ix.Name, damaged(err))
				}
				if err != nil {
					return fmt.Errorf("index %s lacks key %x of record %x: %w", ix.Name, key[spaceSize:], record, err)
				}
				same := bytes.Equal(v, record)
				if err := closer.Close(); err != nil {
					return err
				}
				if !same {
					return fmt.Errorf("index %s has key %x for record %x, not %x", ix.Name, key[spaceSize:], v, record)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, ix := range c.secondary() {
		n := 0
		if err := walkSnapshot(snap, ix.space, func(_, _ []byte) error { n++; moved(); return ctx.Err() }); err != nil {
			return err
		}
		if n != want[ix] {
			return fmt.Errorf("index %s has %d keys, want %d", ix.Name, n, want[ix])
		}
	}
	return nil
}

func walkSnapshot(snap *pebble.Snapshot, space uint32, visit func(key, value []byte) error) error {
	it, err := snap.NewIter(&pebble.IterOptions{LowerBound: spaceKey(nil, space), UpperBound: spaceKey(nil, space+1)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := visit(it.Key(), it.Value()); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return errors.Join(damaged(it.Error()), it.Close())
}
