package watcher

import (
	"context"
	"maps"
	"slices"

	"github.com/juju/loggo"
)

var logger = loggo.GetLogger("juju.state.watcher")

// Notify watches topics and says only that something of theirs may have changed.
func Notify(ctx context.Context, h *Hub, topics ...Topic) <-chan struct{} {
	sub := h.Subscribe(topics...)
	out := make(chan struct{})
	go func() {
		defer close(out)
		defer sub.Close()
		send := out // the first event comes at once
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

// A Listing is what a Strings watch looks at.
type Listing[V comparable] struct {
	Topics []Topic
	// IDs returns the ids, of those that the watch names, that a change may
	// concern. Nil stands for the document's own id.
	IDs func(Change) []string
	// Follow returns one more topic for each id that the watch knows, if it is set.
	Follow func(id string) Topic
	// List returns the watched fact of each of the ids that exist and belong to
	// the watch; of all of them for no ids.
	List func(ids []string) (map[string]V, error)
}

// A sight is a fact as a watch has read it. It is raw until a change that concerns it was
// told of: a transaction is applied document by document, and told of when all of it is,
// so who reads between may see one of its documents and not the next.
type sight[V comparable] struct {
	fact V
	raw  bool
}

// Strings watches a set of things and names those that appeared, vanished, or
// whose watched fact V is another than before. Only what a change concerns is
// read again. What was seen raw is named once more at the next change that concerns it,
// for whoever was told of it too early has found it half made, and done nothing.
func Strings[V comparable](ctx context.Context, h *Hub, l Listing[V]) (<-chan []string, error) {
	sub := h.Subscribe(l.Topics...)
	known := map[string]sight[V]{}
	if err := l.read(sub, nil, false, known, map[string]bool{}); err != nil {
		sub.Close()
		return nil, err
	}
	out := make(chan []string)
	go func() {
		defer close(out)
		defer sub.Close()
		pending := map[string]bool{}
		for id := range known {
			pending[id] = true
		}
		first := true
		for {
			var send chan<- []string
			var event []string
			if first || len(pending) > 0 {
				send, event = out, slices.Sorted(maps.Keys(pending))
			}
			select {
			case <-ctx.Done():
				return
			case <-sub.Done():
				return
			case send <- event:
				first = false
				clear(pending)
			case <-sub.Wake():
				if err := l.refresh(sub, known, pending); err != nil {
					logger.Warningf("a watch ends: %v", err)
					return
				}
			}
		}
	}()
	return out, nil
}

// refresh reads what changed and notes the differences in known and pending.
func (l Listing[V]) refresh(sub *Subscription, known map[string]sight[V], pending map[string]bool) error {
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

// read reads the ids, or all for none, because something was told of them, unless it is
// the first time. What is followed from now on may have changed before it was, so it is
// read once more.
func (l Listing[V]) read(sub *Subscription, ids []string, told bool, known map[string]sight[V], pending map[string]bool) error {
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
				if told && was.raw {
					// After a reset the change may be yet to come, or be among those that
					// the reset stands for.
					known[id] = sight[V]{is, reset}
					pending[id] = true
				}
				continue
			}
			pending[id] = true
			if exists {
				known[id] = sight[V]{is, true}
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
		ids, told = came, false
	}
}
