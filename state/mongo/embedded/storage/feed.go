package storage

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// A Kind says what happened in an Event.
type Kind int

// The kinds of events.
const (
	Inserted Kind = iota
	Updated
	Replaced
	Deleted
	Dropped // the collection
)

// An Event is one change. Events are in the order in which changes became visible to readers, except that the changes
// of different documents at the same moment are in any order.
type Event struct {
	Kind           Kind
	DB, Collection string
	ID             bsoncore.Value // the document's _id
	New            []byte         // the document, if it was inserted or replaced
	Change         []byte         // of an update: {updatedFields: {path: value, …}, removedFields: [path, …]}
	At             time.Time      // when it became visible
	By             Transaction    // that made the change; zero if none did

	number uint64     // in the feed
	mu     sync.Mutex // held while a form is made
	forms  [2][]byte  // guarded by the feed's mu for writing
}

// A Transaction identifies a transaction of a client.
type Transaction struct {
	Session []byte // its UUID
	Number  int64
}

// event describes a change of a document. It copies what the change does not own.
func (c *Collection) event(old []byte, ch Change) *Event {
	doc := ch.New
	if doc == nil {
		doc = old
	}
	id, _ := raw.Get(doc, "_id")
	e := &Event{Kind: Updated, DB: c.db, Collection: c.name, ID: bsoncore.Value{Type: id.Type, Data: bytes.Clone(id.Data)}}
	switch {
	case ch.Delete:
		e.Kind = Deleted
	case old == nil:
		e.Kind = Inserted
	case ch.Replaced:
		e.Kind = Replaced
	}
	if e.Kind == Updated {
		e.Change = difference(old, ch.New)
	} else if !ch.Delete {
		e.New = bytes.Clone(ch.New)
	}
	return e
}

// eventOverhead is the memory of an event besides its documents.
const eventOverhead = 256

// payload is the size of what the change says, as MongoDB's log would have it.
func (e *Event) payload() int { return len(e.ID.Data) + len(e.New) + len(e.Change) }

// A feed keeps the latest events. Until it has a follower, it keeps none. Of the events that a follower has not read, it
// keeps up to feed.most bytes, so that large changes don't end the follower; of those that all have read, up to
// maxHistory, so that a stream can resume.
type feed struct {
	on   atomic.Bool
	most int
	grew func(bytes int) // is told by how much the feed has grown, or shrunk

	mu        sync.Mutex
	first     uint64 // the number of events[0]
	events    []*Event
	bytes     int
	changed   chan struct{} // closed at the next event; nil if nobody waits
	followers map[*Follower]bool
}

// maxHistory is the size in bytes of the events that the feed keeps although all followers have read them.
const maxHistory = 8 << 20

// A Follower reads the feed. It is for one goroutine at a time.
type Follower struct {
	feed *feed
	next uint64 // the number of the event to be read next

	// Guarded by the feed's mu.
	kept uint64 // the first event that it still needs
	lose func() // is called if an event that it has read is dropped; or nil
}

// add appends events, if the feed has followers. It must be called after their changes became visible, and before the
// locks of their documents are released: then a reader that begins to follow either sees a change or gets its event, and
// each document's events are in order.
func (f *feed) add(events func() []*Event) {
	if !f.on.Load() {
		return
	}
	list, now := events(), time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range list {
		e.At, e.number = now, f.first+uint64(len(f.events))
		f.events = append(f.events, e)
		f.grow(e.size())
	}
	f.trim()
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

func (f *feed) grow(bytes int) {
	f.bytes += bytes
	if f.grew != nil {
		f.grew(bytes)
	}
}

// trim drops the oldest events: those that no follower needs and, beyond the limit, also those that followers need, who
// then lose their place.
func (f *feed) trim() {
	if f.bytes <= maxHistory {
		return
	}
	needed := f.first + uint64(len(f.events))
	for fo := range f.followers {
		needed = min(needed, fo.kept)
	}
	for len(f.events) > 0 && (f.bytes > f.most || f.bytes > maxHistory && f.first < needed) {
		f.grow(-f.events[0].size())
		f.events[0] = nil
		f.events = f.events[1:]
		f.first++
	}
	for fo := range f.followers {
		if fo.lose != nil && fo.kept < min(f.first, fo.next) {
			fo.lose()
			fo.lose = nil
		}
	}
}

// size returns the memory that the event takes, in bytes. The caller holds the feed's mu. Once the event has forms, these
// contain its payload.
func (e *Event) size() int {
	if n := len(e.forms[0]) + len(e.forms[1]); n > 0 {
		return eventOverhead + len(e.ID.Data) + n
	}
	return eventOverhead + e.payload()
}

// Follow makes the store keep its latest events from now on. The caller must close the follower.
func (s *Store) Follow() *Follower {
	f := &s.feed
	f.on.Store(true)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.follow(f.first + uint64(len(f.events)))
}

// FollowFrom is Follow from event number next on. ok is false if it is no longer kept, or never existed.
func (s *Store) FollowFrom(next uint64) (fo *Follower, ok bool) {
	f := &s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if next < f.first || next > f.first+uint64(len(f.events)) || !f.on.Load() {
		return nil, false
	}
	return f.follow(next), true
}

func (f *feed) follow(next uint64) *Follower {
	if f.followers == nil {
		f.followers = map[*Follower]bool{}
	}
	fo := &Follower{feed: f, next: next, kept: next}
	f.followers[fo] = true
	return fo
}

// Close ends the follower.
func (fo *Follower) Close() {
	f := fo.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.followers, fo)
	f.trim()
}

// Read returns the next event and its number, which the feed keeps until Done, or nil if there is none yet. ok is false if
// the event is no longer kept.
func (fo *Follower) Read() (e *Event, number uint64, ok bool) {
	f := fo.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if fo.next < f.first {
		return nil, 0, false
	}
	if fo.next == f.first+uint64(len(f.events)) {
		return nil, 0, true
	}
	number = fo.next
	fo.next++
	return f.events[number-f.first], number, true
}

// Changed returns a channel that is closed once there are events to be read, or they are lost.
func (fo *Follower) Changed() <-chan struct{} {
	f := fo.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	if changed := f.changed; fo.next == f.first+uint64(len(f.events)) {
		return changed
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Send makes the feed call lose if it drops what has been read, until Done. It returns false if it has done so already.
// lose must neither block nor use the store.
func (fo *Follower) Send(lose func()) bool {
	f := fo.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if fo.kept < f.first && fo.kept < fo.next {
		return false
	}
	fo.lose = lose
	return true
}

// Done says that the follower no longer needs the events that it has read.
func (fo *Follower) Done() {
	f := fo.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	fo.kept, fo.lose = fo.next, nil
	f.trim()
}

// Form returns a document that describes the event, which all followers share. encode makes it, once for each of two
// forms. Both have the event's New as fullDocument and its Change as updateDescription.
func (fo *Follower) Form(e *Event, form int, encode func() ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if doc := e.forms[form]; doc != nil {
		return doc, nil
	}
	doc, err := encode()
	if err != nil {
		return nil, err
	}
	f := fo.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	before := e.size()
	e.forms[form] = doc
	for part, name := range map[*[]byte]string{&e.New: "fullDocument", &e.Change: "updateDescription"} {
		if v, ok := raw.Get(doc, name); ok && *part != nil {
			*part = v.Data // instead of another copy
		}
	}
	if e.number >= f.first {
		f.grow(e.size() - before)
		f.trim()
	}
	return doc, nil
}
