package storage

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// A getter reads single keys: Pebble as it is now, or a transaction's view.
type getter interface {
	Get(key []byte) ([]byte, io.Closer, error)
}

func (s *Store) reader(tx *Txn) getter {
	if tx == nil {
		return s.db
	}
	return tx
}

// An iterator reads keys in one direction: First and then Next, or Last and then Prev.
type iterator interface {
	First() bool
	Next() bool
	Last() bool
	Prev() bool
	Key() []byte
	Value() []byte
	Error() error
	Close() error
}

// iter returns an iterator over the keys within opts' bounds, as tx sees them now.
func (s *Store) iter(tx *Txn, opts *pebble.IterOptions) (iterator, error) {
	if tx == nil {
		return s.db.NewIter(opts)
	}
	it, err := tx.snap.NewIter(opts)
	if err != nil {
		return nil, err
	}
	m := &merged{Iterator: it}
	for key, value := range tx.changes {
		if k := []byte(key); bytes.Compare(k, opts.LowerBound) >= 0 && bytes.Compare(k, opts.UpperBound) < 0 {
			m.changes = append(m.changes, changedKey{key, value})
		}
	}
	slices.SortFunc(m.changes, func(a, b changedKey) int { return strings.Compare(a.key, b.key) })
	return m, nil
}

// A merged iterator reads a snapshot with a transaction's own changes on top.
type merged struct {
	*pebble.Iterator // the snapshot
	changes          []changedKey
	at               int  // the next change
	below            bool // the snapshot is at a key
	changed          bool // the current key is that of changes[at]
}

type changedKey struct {
	key   string
	value []byte // nil: removed
}

// First moves to the first key.
func (m *merged) First() bool {
	m.at, m.below = 0, m.Iterator.First()
	return m.settle(1)
}

// Last moves to the last key.
func (m *merged) Last() bool {
	m.at, m.below = len(m.changes)-1, m.Iterator.Last()
	return m.settle(-1)
}

// Next moves to the next key.
func (m *merged) Next() bool {
	m.leave(1)
	return m.settle(1)
}

// Prev moves to the previous key.
func (m *merged) Prev() bool {
	m.leave(-1)
	return m.settle(-1)
}

// leave moves past the current key; direction is 1 or -1.
func (m *merged) leave(direction int) {
	if m.changed {
		m.at += direction
		return
	}
	m.advance(direction)
}

func (m *merged) advance(direction int) {
	if direction > 0 {
		m.below = m.Iterator.Next()
	} else {
		m.below = m.Iterator.Prev()
	}
}

// settle finds the key to be read next, skipping what the changes hide or have removed.
func (m *merged) settle(direction int) bool {
	for {
		ahead := m.at >= 0 && m.at < len(m.changes)
		if !ahead || m.below && direction*strings.Compare(m.changes[m.at].key, string(m.Iterator.Key())) > 0 {
			m.changed = false
			return m.below
		}
		change := m.changes[m.at]
		if m.below && change.key == string(m.Iterator.Key()) {
			m.advance(direction)
		}
		if change.value != nil {
			m.changed = true
			return true
		}
		m.at += direction
	}
}

// Key returns the current key.
func (m *merged) Key() []byte {
	if m.changed {
		return []byte(m.changes[m.at].key)
	}
	return m.Iterator.Key()
}

// Value returns the current value.
func (m *merged) Value() []byte {
	if m.changed {
		return m.changes[m.at].value
	}
	return m.Iterator.Value()
}
