package query

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"slices"

	"juju/state/mongo/embedded/mongoerr"
)

// MaxMemory limits the bytes that a sort, or a stage of an aggregation, may hold.
const MaxMemory = 100 << 20

// A Sorter sorts documents in memory. Equal documents keep their order.
type Sorter struct {
	// Keep, unless it is nil, is called before the Sorter's memory grows, with the bytes; its error is returned.
	Keep func(bytes int) error

	order Sort
	limit int64
	all   ranked
	count uint64
	size  int
}

// A Sorted document has been read and waits to be returned in order.
type Sorted struct {
	key         []byte
	Record, Doc []byte
	Position    int
}

// NewSorter returns an empty Sorter. Unless limit is 0, it keeps only that many documents.
func NewSorter(order Sort, limit int64) *Sorter { return &Sorter{order: order, limit: limit} }

// Add adds a document with its record key and the position at which a filter matched it. It doesn't retain the slices.
func (s *Sorter) Add(doc, record []byte, position int) error {
	s.count++
	p := Sorted{key: binary.BigEndian.AppendUint64(s.order.AppendKey(nil, doc), s.count), Position: position}
	full := s.limit > 0 && int64(len(s.all)) == s.limit
	if full && bytes.Compare(p.key, s.all[0].key) >= 0 {
		return nil
	}
	more := len(p.key) + len(record) + len(doc)
	if full {
		more -= heap.Pop(&s.all).(Sorted).bytes()
	}
	s.size += more
	if s.size > MaxMemory {
		return mongoerr.New(mongoerr.MemoryLimit,
			"Sort exceeded memory limit of %d bytes, and is not done on disk. Add an index, or specify a smaller limit.",
			MaxMemory)
	}
	if s.Keep != nil {
		if err := s.Keep(more); err != nil {
			return err
		}
	}
	p.Record, p.Doc = bytes.Clone(record), bytes.Clone(doc)
	if s.limit > 0 {
		heap.Push(&s.all, p)
	} else {
		s.all = append(s.all, p)
	}
	return nil
}

// Sorted returns the documents in order; it is not nil.
func (s *Sorter) Sorted() []Sorted {
	slices.SortFunc(s.all, func(a, b Sorted) int { return bytes.Compare(a.key, b.key) })
	if s.all == nil {
		return []Sorted{}
	}
	return s.all
}

func (p Sorted) bytes() int { return len(p.key) + len(p.Record) + len(p.Doc) }

// ranked is a heap whose top is the document that sorts last.
type ranked []Sorted

func (h ranked) Len() int           { return len(h) }
func (h ranked) Less(i, j int) bool { return bytes.Compare(h[i].key, h[j].key) > 0 }
func (h ranked) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ranked) Push(x any)        { *h = append(*h, x.(Sorted)) }
func (h *ranked) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
