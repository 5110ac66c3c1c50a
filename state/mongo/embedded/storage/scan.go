package storage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/plan"
)

// A Scan reads the documents of a plan. It can be paused between documents for any length of time, during which it
// holds no resources of the store; it then continues after the last document it returned, and sees later changes there.
// A Scan is for one goroutine at a time.
type Scan struct {
	c       *Collection
	tx      *Txn // whose view is read, or nil
	plan    plan.Plan
	indexes []*Index
	// Room is that of Collection.Get.
	Room func(bytes int) error

	at, within int    // the index scan and the range being read
	last       []byte // the last key read in it; nil before the first
	seen       map[string]bool

	it   iterator
	doc  []byte
	key  []byte
	docs int64 // documents examined since the last Pause
	keys int64
}

var natural = plan.Plan{Scans: []plan.Scan{{Ranges: []plan.Range{{}}}}}

// Natural returns a scan of all documents in storage order.
func (c *Collection) Natural() *Scan { return c.Scan(nil, natural, nil) }

// Scan returns a scan, of what tx sees, for a plan made from PlanIndexes of the same indexes.
func (c *Collection) Scan(tx *Txn, p plan.Plan, indexes []*Index) *Scan {
	s := &Scan{c: c, tx: tx, plan: p, indexes: indexes}
	if p.Repeats {
		s.seen = map[string]bool{}
	}
	return s
}

// SkipTo starts a natural scan of a capped collection after document number n.
func (s *Scan) SkipTo(n uint64) { s.last = s.c.numbered(n) }

// index returns the index being read; nil for the documents themselves.
func (s *Scan) index() *Index {
	n := s.plan.Scans[s.at].Index
	if s.c.opts.Capped {
		n--
	} else if n == 0 {
		return nil
	}
	if n < 0 {
		return nil
	}
	return s.indexes[n]
}

// Next returns the next document and its record key, valid until the next call of a method of s. At the end the
// document is nil.
func (s *Scan) Next() (record, doc []byte, err error) {
	defer func() {
		if err != nil { // the caller stops on errors
			err = errors.Join(err, s.closeIter())
		}
	}()
	for s.at < len(s.plan.Scans) {
		ranges := s.plan.Scans[s.at].Ranges
		for s.within < len(ranges) {
			record, doc, err = s.step(s.index(), &ranges[s.turned(len(ranges))])
			if err != nil {
				return nil, nil, err
			}
			if doc != nil {
				s.docs++
				return record, doc, nil
			}
			if err := s.stillThere(); err != nil {
				return nil, nil, err
			}
			s.within, s.last = s.within+1, nil
			if err := s.closeIter(); err != nil {
				return nil, nil, err
			}
		}
		s.at, s.within = s.at+1, 0
	}
	return nil, nil, nil
}

// stillThere returns an error if the index was dropped during its scan, which may therefore have ended early. A scan of a
// dropped collection just ends.
func (s *Scan) stillThere() error {
	ix := s.index()
	if ix == nil || s.c.dropped.Load() || slices.Contains(s.c.Indexes(), ix) {
		return nil
	}
	return mongoerr.New(mongoerr.QueryPlanKilled, "index %s was dropped", ix.Name)
}

// turned returns the position of the current range among n ranges, which a reverse scan reads from the last.
func (s *Scan) turned(n int) int {
	if s.plan.Reverse {
		return n - 1 - s.within
	}
	return s.within
}

// step reads one document of a range; nil at the end of the range.
func (s *Scan) step(ix *Index, r *plan.Range) (record, doc []byte, err error) {
	if r.Point {
		return s.point(ix, r)
	}
	for {
		ok, err := s.move(ix, r)
		if err != nil || !ok {
			return nil, nil, err
		}
		s.last = append(s.last[:0], s.it.Key()...)
		if ix == nil {
			if s.first(s.last) {
				return s.last, s.it.Value(), nil
			}
			continue
		}
		s.keys++
		record, doc, err := s.fetch(s.it.Value())
		if err != nil || doc != nil {
			return record, doc, err
		}
	}
}

// point reads the single key of a range.
func (s *Scan) point(ix *Index, r *plan.Range) (record, doc []byte, err error) {
	if s.last != nil {
		return nil, nil, nil
	}
	s.last = append(s.last[:0], 0)
	if ix == nil {
		return s.fetch(r.Start)
	}
	record, ok, err := s.c.store.appendGet(s.tx, nil, append(spaceKey(nil, ix.space), r.Start...), nil)
	if err != nil || !ok {
		return nil, nil, err
	}
	s.keys++
	return s.fetch(record)
}

// fetch returns the document that an index entry refers to, unless it has already been returned.
func (s *Scan) fetch(short []byte) (record, doc []byte, err error) {
	s.key = append(spaceKey(s.key[:0], s.c.space), short...)
	if !s.first(s.key) {
		return nil, nil, nil
	}
	doc, ok, err := s.c.Get(s.tx, s.doc[:0], s.key, s.Room)
	if !ok || err != nil {
		return nil, nil, err
	}
	s.doc = doc
	return s.key, doc, nil
}

// first reports whether the scan reaches a record for the first time.
func (s *Scan) first(record []byte) bool {
	if s.seen == nil {
		return true
	}
	if s.seen[string(record)] {
		return false
	}
	s.seen[string(record)] = true
	return true
}

// move advances the iterator to the next key of a range.
func (s *Scan) move(ix *Index, r *plan.Range) (bool, error) {
	if s.it != nil {
		if s.plan.Reverse {
			return s.it.Prev(), damaged(s.it.Error())
		}
		return s.it.Next(), damaged(s.it.Error())
	}
	space := s.c.space
	if ix != nil {
		space = ix.space
	}
	opts := pebble.IterOptions{
		LowerBound: append(spaceKey(nil, space), r.Start...),
		UpperBound: append(spaceKey(nil, space), r.End...),
	}
	if r.End == nil {
		opts.UpperBound = spaceKey(nil, space+1)
	}
	if ix == nil && s.c.opts.Capped {
		// Skip the remains of evicted documents.
		first, _, err := s.c.Extent()
		if err != nil {
			return false, err
		}
		opts.LowerBound = s.c.numbered(first)
	}
	if s.last != nil {
		if s.plan.Reverse {
			opts.UpperBound = s.last
		} else if after := append(bytes.Clone(s.last), 0); bytes.Compare(after, opts.LowerBound) > 0 {
			opts.LowerBound = after
		}
	}
	if bytes.Compare(opts.LowerBound, opts.UpperBound) >= 0 {
		return false, nil
	}
	it, err := s.c.store.iter(s.tx, &opts)
	if err != nil {
		return false, fmt.Errorf("cannot read store: %w", damaged(err))
	}
	s.it = it
	if s.plan.Reverse {
		return it.Last(), damaged(it.Error())
	}
	return it.First(), damaged(it.Error())
}

// Pause releases the scan's resources. It returns the numbers of documents and index keys examined since the last
// Pause.
func (s *Scan) Pause() (docs, keys int64, err error) {
	docs, keys = s.docs, s.keys
	s.docs, s.keys = 0, 0
	if cap(s.doc) > roomStep {
		s.doc = nil
	}
	s.c.store.docsExamined.Add(docs)
	s.c.store.keysExamined.Add(keys)
	return docs, keys, s.closeIter()
}

func (s *Scan) closeIter() error {
	if s.it == nil {
		return nil
	}
	it := s.it
	s.it = nil
	return errors.Join(damaged(it.Error()), it.Close())
}

// Examined counts documents that were read without a scan.
func (c *Collection) Examined(docs int64) { c.store.docsExamined.Add(docs) }
