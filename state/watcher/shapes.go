package watcher

import (
	"context"
	"maps"
	"slices"

	"github.com/juju/loggo"
)

var logger = loggo.GetLogger("juju.state.watcher")

// Notify watches topics and only signals that something about them may have changed.
func Notify(ctx context.Context, h *Hub, topics ...Topic) <-chan struct{} {
	sub := h.subscribe(ctx, topics...)
	out := make(chan struct{})
	go func() {
		defer close(out)
		defer sub.Close()
		send := out // the first event is sent immediately
		for {
			select {
			case <-ctx.Done():
				return
			case <-sub.Done():
				return
			case <-sub.Wake():
				sub.Take()
				send = out
			case send <- struct{}{}:
				send = nil
			}
		}
	}()
	return out
}

// Changes watches topics and sends the sorted ids of documents that may have changed, without reading them. Nil stands for
// all documents; the first event is nil.
func Changes(ctx context.Context, h *Hub, topics ...Topic) <-chan []string {
	sub := h.subscribe(ctx, topics...)
	out := make(chan []string)
	go func() {
		defer close(out)
		defer sub.Close()
		pending, all := map[string]bool{}, true
		for {
			var next []string
			if !all {
				next = slices.Sorted(maps.Keys(pending))
			}
			var send chan<- []string
			if all || len(pending) > 0 {
				send = out
			}
			select {
			case <-ctx.Done():
				return
			case <-sub.Done():
				return
			case send <- next:
				all = false
				clear(pending)
			case <-sub.Wake():
				changes, reset := sub.Take()
				all = all || reset
				for _, c := range changes {
					pending[c.ID] = true
				}
			}
		}
	}()
	return out
}

// A Listing describes what a Strings watch observes.
type Listing[V comparable] struct {
	Topics []Topic
	// IDs returns the watched ids that a change may concern. If it is nil, that is the document's own id.
	IDs func(Change) []string
	// Follow, if set, returns an additional topic for each id that the watch knows.
	Follow func(id string) Topic
	// List returns the watched fact of each of the ids that exists and belongs to the watch, or of all such
	// entities if ids is empty.
	List func(ids []string) (map[string]V, error)
}

// A reading is a fact as a watch read it. It is unconfirmed until a change that concerns it is published: a
// transaction is applied document by document and published only after it is completely applied, so until
// then a reader may see the change to one document but not to the next.
type reading[V comparable] struct {
	fact        V
	unconfirmed bool
}

// Strings watches a set of entities and names those that appeared, disappeared, or whose watched fact V
// changed. It rereads only the entities that a change concerns. An entity whose reading was unconfirmed is
// named again at the next change that concerns it: a reader of the earlier event may have seen a half-applied
// transaction and done nothing.
func Strings[V comparable](ctx context.Context, h *Hub, l Listing[V]) (<-chan []string, error) {
	return Events(ctx, h, l, func(ids []string, _, _ Facts[V]) ([]string, bool) { return ids, len(ids) > 0 })
}

// Facts returns the watched fact of an id, and whether it exists.
type Facts[V comparable] func(id string) (V, bool)

// Events is Strings with a custom event type. event builds one from the sorted ids that Strings would name,
// what was last sent for each, and what is now known; it returns false if nothing is worth sending. The first
// event is always sent.
func Events[V comparable, E any](
	ctx context.Context, h *Hub, l Listing[V], event func(ids []string, sent, now Facts[V]) (E, bool),
) (<-chan E, error) {
	sub := h.subscribe(ctx, l.Topics...)
	known := map[string]reading[V]{}
	if err := l.read(sub, nil, false, known, map[string]bool{}); err != nil {
		sub.Close()
		return nil, err
	}
	out := make(chan E)
	go func() {
		defer close(out)
		defer sub.Close()
		pending, seen := map[string]bool{}, map[string]V{}
		for id := range known {
			pending[id] = true
		}
		sent := func(id string) (fact V, exists bool) { fact, exists = seen[id]; return }
		now := func(id string) (V, bool) { r, exists := known[id]; return r.fact, exists }
		first := true
		for {
			var send chan<- E
			next, worth := event(slices.Sorted(maps.Keys(pending)), sent, now)
			if first || worth {
				send = out
			}
			select {
			case <-ctx.Done():
				return
			case <-sub.Done():
				return
			case send <- next:
				first = false
				for id := range pending {
					if fact, exists := now(id); exists {
						seen[id] = fact
					} else {
						delete(seen, id)
					}
				}
				clear(pending)
			case <-sub.Wake():
				if err := l.refresh(sub, known, pending); err != nil {
					logger.Warningf("a watch has ended: %v", err)
					return
				}
				if len(pending) == 0 {
					sub.causes.Take() // the changes were of no concern
				}
			}
		}
	}()
	return out, nil
}

// refresh reads what changed and records the differences in known and pending.
func (l Listing[V]) refresh(sub *Subscription, known map[string]reading[V], pending map[string]bool) error {
	changes, reset := sub.Take()
	if reset {
		return l.read(sub, nil, true, known, pending)
	}
	var ids []string
	for _, c := range changes {
		if l.IDs == nil {
			ids = append(ids, c.ID)
		} else {
			ids = append(ids, l.IDs(c)...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return l.read(sub, slices.Compact(ids), true, known, pending)
}

// read reads the ids, or all if ids is nil. published is set if a change to them was published, which is the
// case on every call but the first. An entity that is newly followed may have changed before that, so it is
// read once more.
func (l Listing[V]) read(sub *Subscription, ids []string, published bool, known map[string]reading[V],
	pending map[string]bool) error {
	reset := ids == nil
	for {
		now, err := l.List(ids)
		if err != nil {
			return err
		}
		if ids == nil {
			ids = slices.Collect(maps.Keys(now))
			for id := range known {
				if _, still := now[id]; !still {
					ids = append(ids, id)
				}
			}
		}
		var came []string
		for _, id := range ids {
			was, knew := known[id]
			is, exists := now[id]
			if knew == exists && was.fact == is {
				if published && was.unconfirmed {
					// After a reset, the change may not be published yet, or the reset may cover it.
					known[id] = reading[V]{is, reset}
					pending[id] = true
				}
				continue
			}
			pending[id] = true
			if exists {
				known[id] = reading[V]{is, true}
			} else {
				delete(known, id)
			}
			if l.Follow != nil && exists && !knew {
				sub.Add(l.Follow(id))
				came = append(came, id)
			} else if l.Follow != nil && !exists {
				sub.Drop(l.Follow(id))
			}
		}
		if len(came) == 0 {
			return nil
		}
		ids, published = came, false
	}
}
