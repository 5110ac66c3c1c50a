package storage

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// A Kind is what happened in an Event.
type Kind int

// The kinds of events.
const (
	Inserted Kind = iota
	Updated
	Replaced
	Deleted
	Dropped // the collection
	Renamed // the collection, in place of one that may have existed
)

// An Event is one change. Events are in the order in which changes became visible to readers, except that the changes
// of different documents at the same moment are in any order.
type Event struct {
	Kind           Kind
	DB, Collection string
	To             string // the new name of a collection
	Old, New       []byte // the document before and after; nil for none
}

// event describes a change of a document. It copies what the change does not own.
func (c *Collection) event(old []byte, ch Change) Event {
	e := Event{Kind: Updated, DB: c.db, Collection: c.name, Old: bytes.Clone(old), New: bytes.Clone(ch.New)}
	switch {
	case ch.Delete:
		e.Kind = Deleted
	case old == nil:
		e.Kind = Inserted
	case ch.Replaced:
		e.Kind = Replaced
	}
	return e
}

// maxFeed is how many bytes of documents the feed keeps.
const maxFeed = 8 << 20

// A feed keeps the latest events. It keeps none until somebody follows it.
type feed struct {
	on atomic.Bool

	mu      sync.Mutex
	first   uint64 // the number of events[0]
	events  []Event
	bytes   int
	changed chan struct{} // closed at the next event; nil if nobody waits
}

// add appends events, if somebody follows. It must be called after their changes became visible, and before the locks
// of their documents are released: then a reader that begins to follow either sees a change or gets its event, and
// each document's events are in order.
func (f *feed) add(events func() []Event) {
	if !f.on.Load() {
		return
	}
	list := events()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, list...)
	for _, e := range list {
		f.bytes += len(e.Old) + len(e.New)
	}
	for f.bytes > maxFeed && len(f.events) > len(list) {
		f.bytes -= len(f.events[0].Old) + len(f.events[0].New)
		f.events[0] = Event{}
		f.events = f.events[1:]
		f.first++
	}
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// Follow makes the store keep its latest events from now on, and returns the number of the next one.
func (s *Store) Follow() uint64 {
	f := &s.feed
	f.on.Store(true)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first + uint64(len(f.events))
}

// Events returns up to 1,000 events from number from on, and the number after them. ok is false if they are no longer
// kept, or never existed. If there are none yet, more is closed at the next one.
func (s *Store) Events(from uint64) (list []Event, next uint64, more <-chan struct{}, ok bool) {
	f := &s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.first + uint64(len(f.events))
	if from < f.first || from > end || !f.on.Load() {
		return nil, 0, nil, false
	}
	list = f.events[from-f.first:]
	list = list[:min(len(list), 1000):len(list)]
	if len(list) == 0 {
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		return nil, from, f.changed, true
	}
	return append([]Event(nil), list...), from + uint64(len(list)), nil, true
}
