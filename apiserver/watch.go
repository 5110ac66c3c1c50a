package apiserver

import (
	"context"
	"strconv"
	"sync"

	"juju/apiserver/params"
	"juju/state/entity"
)

// A stream waits for the next event of a watch. Until it is called, events
// merge in the watch itself: a client that does not ask costs nothing.
type stream func(ctx context.Context) (params.Event, error)

// watches are those of one connection.
type watches struct {
	limit int

	mu   sync.Mutex
	last int
	open map[string]*openWatch
}

type openWatch struct {
	next stream
	stop context.CancelCauseFunc
	ctx  context.Context
	busy sync.Mutex // held while a Next waits
}

// errStopped ends a Next whose watch was stopped or has failed; the client
// begins anew if it still wants to know.
func errStopped() error { return entity.Errorf(entity.Stopped, "watcher has been stopped") }

// begin opens a watch whose life is the connection's, until it is stopped.
func (w *watches) begin(ctx context.Context, open func(context.Context) (stream, error)) (params.WatcherID, error) {
	w.mu.Lock()
	if len(w.open) >= w.limit {
		w.mu.Unlock()
		return params.WatcherID{}, entity.Errorf(entity.Invalid, "too many watchers on one connection")
	}
	w.last++
	id := strconv.Itoa(w.last)
	ow := &openWatch{}
	ow.ctx, ow.stop = context.WithCancelCause(ctx)
	if w.open == nil {
		w.open = map[string]*openWatch{}
	}
	w.open[id] = ow
	w.mu.Unlock()

	next, err := open(ow.ctx)
	if err != nil {
		w.end(id)
		return params.WatcherID{}, err
	}
	w.mu.Lock()
	ow.next = next
	w.mu.Unlock()
	return params.WatcherID{ID: id}, nil
}

// end stops a watch, if there is such a one, and reports whether there was.
func (w *watches) end(id string) bool {
	w.mu.Lock()
	ow := w.open[id]
	delete(w.open, id)
	w.mu.Unlock()
	if ow == nil {
		return false
	}
	ow.stop(errStopped())
	return true
}

func (w *watches) find(id string) (*openWatch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ow := w.open[id]
	if ow == nil || ow.next == nil {
		return nil, entity.Errorf(entity.NotFound, "unknown watcher id")
	}
	return ow, nil
}

// watch makes a handler of a method that begins a watch.
func watch[P any](f func(ctx context.Context, c *caller, p P) (stream, error)) handler {
	return do(func(_ context.Context, c *caller, p P) (params.WatcherID, error) {
		// The watch outlives the request.
		return c.conn.watches.begin(c.conn.ctx, func(ctx context.Context) (stream, error) { return f(ctx, c, p) })
	})
}

// events makes a stream of a channel of state's.
func events[T any](ch <-chan T, err error, event func(T) params.Event) (stream, error) {
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (params.Event, error) {
		select {
		case v, ok := <-ch:
			if !ok {
				return params.Event{}, errStopped()
			}
			return event(v), nil
		case <-ctx.Done():
			return params.Event{}, context.Cause(ctx)
		}
	}, nil
}

func notify(ch <-chan struct{}, err error) (stream, error) {
	return events(ch, err, func(struct{}) params.Event { return params.Event{} })
}

func names(ch <-chan []string, err error) (stream, error) {
	return events(ch, err, func(ids []string) params.Event { return params.Event{Names: ids} })
}

func relationUnits(ch <-chan entity.RelationUnitsChange, err error) (stream, error) {
	return events(ch, err, func(c entity.RelationUnitsChange) params.Event { return params.Event{RelationUnits: &c} })
}

// watcherNext waits for an event of the watch that the request names. One at a
// time: two would share the events between them.
func watcherNext(_ context.Context, c *caller, _ none) (params.Event, error) {
	ow, err := c.conn.watches.find(c.id)
	if err != nil {
		return params.Event{}, err
	}
	if !ow.busy.TryLock() {
		return params.Event{}, entity.Errorf(entity.Invalid, "watcher %s is already waited for", c.id)
	}
	defer ow.busy.Unlock()
	event, err := ow.next(ow.ctx)
	if err != nil {
		c.conn.watches.end(c.id)
	}
	return event, err
}

// watcherStop ends the watch that the request names; a Next that waits for it
// is answered with entity.Stopped.
func watcherStop(_ context.Context, c *caller, _ none) error {
	if !c.conn.watches.end(c.id) {
		return entity.Errorf(entity.NotFound, "unknown watcher id")
	}
	return nil
}
