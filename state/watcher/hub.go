package watcher

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/tracing"
)

// A Change says that a document was inserted, updated or removed.
type Change struct {
	Collection string
	ID         string
}

// ChangesOf returns the changes that operations make to documents.
func ChangesOf(ops []txn.Op) (changes []Change) {
	for _, op := range ops {
		if id, ok := op.Id.(string); ok && (op.Insert != nil || op.Update != nil || op.Remove) {
			changes = append(changes, Change{op.C, id})
		}
	}
	return changes
}

// A Topic is what a watcher subscribes to: a whole collection, one of its documents, or the documents whose
// ids begin with a prefix.
type Topic string

// Collection is the topic of all documents of a collection.
func Collection(name string) Topic { return Topic(name) }

// Doc is the topic of one document.
func Doc(collection, id string) Topic { return Topic(collection + ":" + id) }

// Prefix is the topic of the documents whose ids begin with prefix, which must end at the first '#' or '/' of
// such an id.
func Prefix(collection, prefix string) Topic { return Topic(collection + ":" + prefix) }

// topics returns the topics of a change.
func (c Change) topics() []Topic {
	all := []Topic{Collection(c.Collection), Doc(c.Collection, c.ID)}
	if i := strings.IndexAny(c.ID, "#/"); i >= 0 && i+1 < len(c.ID) {
		all = append(all, Prefix(c.Collection, c.ID[:i+1]))
	}
	return all
}

// A Hub passes changes to the subscribers of their topics. It must be created with NewHub.
type Hub struct {
	mu     sync.Mutex
	subs   map[Topic]map[*Subscription]bool
	all    map[*Subscription]bool
	closed bool
	copies *Copies

	// wanted is called when the first watch starts and when the last one ends. A separate lock orders its
	// calls without delaying publishers.
	wantMu sync.Mutex
	wanted func(bool)
	told   bool
}

// NewHub returns a hub. wanted, which may be nil, is called with true when the first watch starts, and with false when
// the last one ends. Its calls don't overlap.
func NewHub(wanted func(bool)) *Hub {
	return &Hub{subs: map[Topic]map[*Subscription]bool{}, all: map[*Subscription]bool{}, wanted: wanted,
		copies: &Copies{drops: map[string]int{}}}
}

// Copies returns the copies that the hub keeps true while it has subscriptions.
func (h *Hub) Copies() *Copies { return h.copies }

// A Subscription collects the changes to its topics until they are taken.
type Subscription struct {
	hub     *Hub
	wake    chan struct{}
	topics  map[Topic]bool      // guarded by hub.mu
	pending map[Change]bool     // guarded by hub.mu
	reset   bool                // guarded by hub.mu
	spans   []trace.SpanContext // of the pending changes; guarded by hub.mu
	causes  *tracing.Causes     // gets them when the changes are taken; nil for none
	done    chan struct{}       // closed with the hub
}

// Subscribe starts collecting changes to the topics. The caller must Close the subscription.
func (h *Hub) Subscribe(topics ...Topic) *Subscription {
	s := &Subscription{hub: h, wake: make(chan struct{}, 1), topics: map[Topic]bool{},
		pending: map[Change]bool{}, done: make(chan struct{})}
	h.mu.Lock()
	if h.closed {
		close(s.done)
	} else {
		h.all[s] = true
		for _, t := range topics {
			h.add(s, t)
		}
	}
	h.mu.Unlock()
	h.tell()
	return s
}

// subscribe is Subscribe for a watch that begins in ctx.
func (h *Hub) subscribe(ctx context.Context, topics ...Topic) *Subscription {
	s := h.Subscribe(topics...)
	if causes := tracing.CausesOf(ctx); causes != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		s.causes = causes
	}
	return s
}

// tell calls wanted if its argument has changed. Without subscriptions nothing is copied: no changes may be heard of.
func (h *Hub) tell() {
	h.wantMu.Lock()
	defer h.wantMu.Unlock()
	h.mu.Lock()
	now := len(h.all) > 0 && !h.closed
	h.mu.Unlock()
	if now == h.told {
		return
	}
	h.told = now
	if !now {
		h.copies.follow(false)
	}
	if h.wanted != nil {
		h.wanted(now)
	}
}

func (h *Hub) add(s *Subscription, t Topic) {
	if h.subs[t] == nil {
		h.subs[t] = map[*Subscription]bool{}
	}
	h.subs[t][s] = true
	s.topics[t] = true
}

func (h *Hub) drop(s *Subscription, t Topic) {
	delete(s.topics, t)
	delete(h.subs[t], s)
	if len(h.subs[t]) == 0 {
		delete(h.subs, t)
	}
}

// Add subscribes to one more topic.
func (s *Subscription) Add(t Topic) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.all[s] {
		s.hub.add(s, t)
	}
}

// Drop ends the subscription to one topic.
func (s *Subscription) Drop(t Topic) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.drop(s, t)
}

// Wake returns a channel that receives when there may be changes to Take.
func (s *Subscription) Wake() <-chan struct{} { return s.wake }

// Done returns a channel that is closed with the hub; no changes come after that.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Take returns the changes since the last call. If reset is true, anything may have changed, and changes is
// empty. The spans of the changes go to where the context of the watch collects them.
func (s *Subscription) Take() (changes []Change, reset bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.reset {
		reset = true
	} else {
		changes = make([]Change, 0, len(s.pending))
		for c := range s.pending {
			changes = append(changes, c)
		}
	}
	s.causes.Add(s.spans...)
	s.reset, s.spans = false, nil
	clear(s.pending)
	return changes, reset
}

// Await waits for a change, and for at most d. It takes the changes that there are. The error is the context's, or
// Unavailable if the hub is closed.
func (s *Subscription) Await(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.Done():
		return entity.Errorf(entity.Unavailable, "the controller is closing")
	case <-s.Wake():
		s.Take()
	case <-timer.C:
	}
	return nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	h := s.hub
	h.mu.Lock()
	for t := range s.topics {
		h.drop(s, t)
	}
	delete(h.all, s)
	h.mu.Unlock()
	h.tell()
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Publish passes changes to their subscribers. It never blocks.
func (h *Hub) Publish(changes ...Change) { h.publish(nil, changes...) }

// publish is Publish with the spans of the transactions that made some of the changes.
func (h *Hub) publish(spans map[Change]trace.SpanContext, changes ...Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.copies.Drop(changes...)
	for _, c := range changes {
		for _, t := range c.topics() {
			for s := range h.subs[t] {
				s.pending[c] = true
				if s.causes != nil && spans != nil {
					s.spans = tracing.Merge(s.spans, spans[c])
				}
				s.signal()
			}
		}
	}
}

// Reset notifies all subscribers that anything may have changed. All later changes will be published.
func (h *Hub) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.copies.follow(len(h.all) > 0 && !h.closed)
	for s := range h.all {
		s.reset = true
		s.signal()
	}
}

// Lost says that changes are not published any more, until Reset is called.
func (h *Hub) Lost() { h.copies.follow(false) }

// Close ends all present and future subscriptions.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		h.copies.follow(false)
		for s := range h.all {
			close(s.done)
		}
	}
	h.mu.Unlock()
	h.tell()
}
