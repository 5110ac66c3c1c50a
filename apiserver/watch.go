package apiserver

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strconv"
	"sync"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/budget"
	"juju/state/entity"
	"juju/state/entity/backoff"
	"juju/state/tracing"
)

// watches are the watches of a connection. Thousands of clients wait for several watches each, so a connection has one
// goroutine that waits for all of them, and requests are only recorded.
type watches struct {
	conn  *conn
	limit int

	mu   sync.Mutex
	last int
	open map[string]*openWatch
	wake chan struct{} // created by the first Next, with the goroutine that waits
}

type openWatch struct {
	id      string
	who     facades.Roles // the roles that may use the watch
	stream  facades.Stream
	stop    context.CancelCauseFunc
	request uint64          // the id of the waiting Next, or 0
	version int             // of its facade
	causes  *tracing.Causes // of the next event; nil if there are no traces
}

// watcherFacade is the facade of most watches.
const watcherFacade = "Watcher"

// facade returns the facade that has the watch's Next and Stop.
func (ow *openWatch) facade() string { return cmp.Or(ow.stream.Facade, watcherFacade) }

// stopped is the error of a Next whose watch was stopped or has failed. The client starts another watch if it still needs
// one. Clients compare the texts.
func (ow *openWatch) stopped() error {
	if ow.facade() == watcherFacade {
		return entity.Errorf(entity.Stopped, "watcher has been stopped")
	}
	return entity.Errorf(entity.Stopped, "watcher was stopped")
}

// errLater means that a request will be answered when there is an event.
var errLater = errors.New("later")

// begin starts a watch, which lasts until it is stopped or the connection ends.
func (w *watches) begin(who facades.Roles, open func(context.Context) (facades.Stream, error)) (params.WatcherID, error) {
	leave, err := w.conn.server.admitWatch(w.conn.uuid, w.conn.session.Load().identity)
	if err != nil {
		return params.WatcherID{}, err
	}
	ctx, stop := context.WithCancelCause(w.conn.ctx)
	context.AfterFunc(ctx, leave)
	w.mu.Lock()
	if len(w.open) >= w.limit {
		w.mu.Unlock()
		stop(nil)
		return params.WatcherID{}, entity.Errorf(entity.Invalid, "too many watchers on one connection")
	}
	w.last++
	ow := &openWatch{id: strconv.Itoa(w.last), who: who, stop: stop}
	if w.open == nil {
		w.open = map[string]*openWatch{}
	}
	w.open[ow.id] = ow // counted before it has started
	w.mu.Unlock()

	if w.conn.server.config.Tracer != nil {
		ow.causes = &tracing.Causes{}
		ctx = tracing.WithCauses(ctx, ow.causes)
	}
	s, err := open(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		delete(w.open, ow.id)
		stop(err)
		return params.WatcherID{}, err
	}
	ow.stream = s
	return params.WatcherID{ID: ow.id}, nil
}

// end stops a watch and replies to its waiting Next. It reports whether the watch was open. If facade is not "", it must be
// the watch's.
func (w *watches) end(id, facade string) bool {
	w.mu.Lock()
	ow := w.open[id]
	if ow != nil && facade != "" && facade != ow.facade() {
		ow = nil
	}
	if ow != nil {
		delete(w.open, id)
	}
	var waiting uint64
	if ow != nil {
		waiting, ow.request = ow.request, 0
	}
	w.mu.Unlock()
	if ow == nil {
		return false
	}
	why := ow.stopped()
	ow.stop(why)
	if waiting != 0 {
		c := w.conn
		c.reply(answer{request: waiting, doing: ow.facade() + ".Next", err: why, barrier: c.barrier(c.ctx, why)}, nil)
	}
	return true
}

// endWithout ends the watches that none of these roles may use.
func (w *watches) endWithout(as facades.Roles) {
	w.mu.Lock()
	var ids []string
	for id, ow := range w.open {
		if ow.who&as == 0 {
			ids = append(ids, id)
		}
	}
	w.mu.Unlock()
	for _, id := range ids {
		w.end(id, "")
	}
}

// next records that a request waits for the watch's next event. Only one may wait, because two would share the events
// between them.
func (w *watches) next(frame *params.Request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	ow := w.open[frame.ID]
	switch {
	case ow == nil || !ow.stream.Ch.IsValid() || ow.facade() != frame.Type:
		return entity.Errorf(entity.NotFound, "unknown watcher id")
	case ow.request != 0:
		return entity.Errorf(entity.Invalid, "watcher %s already has a waiting request", frame.ID)
	}
	ow.request, ow.version = frame.RequestID, frame.Version
	if w.wake == nil {
		w.wake = make(chan struct{}, 1)
		w.conn.requests.Go(w.wait)
	}
	select {
	case w.wake <- struct{}{}:
	default: // the goroutine has yet to handle an earlier signal
	}
	return errLater
}

// wait replies to waiting requests when their watches have events, until the connection ends.
func (w *watches) wait() {
	for {
		cases := []reflect.SelectCase{
			{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(w.conn.ctx.Done())},
			{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(w.wake)},
		}
		var waited []*openWatch
		w.mu.Lock()
		for _, ow := range w.open {
			if ow.request != 0 {
				waited = append(waited, ow)
				cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: ow.stream.Ch})
			}
		}
		w.mu.Unlock()
		chosen, value, open := reflect.Select(cases)
		switch chosen {
		case 0:
			return
		case 1:
			continue
		}
		ow := waited[chosen-2]
		if !open {
			w.end(ow.id, "")
			continue
		}
		w.mu.Lock()
		request, version := ow.request, ow.version
		ow.request = 0
		w.mu.Unlock()
		if request != 0 { // otherwise it was stopped in the meantime
			w.answer(ow, request, version, value)
		}
	}
}

// answer sends a watch's event. Deltas can be large, so their memory is reserved, as that of other replies is. If the event
// is lost, the watch ends, so that the client begins again.
func (w *watches) answer(ow *openWatch, request uint64, version int, value reflect.Value) {
	c := w.conn
	event, err := ow.stream.Event(value)
	var h *budget.Hold
	if size := event.Size(); size > 0 {
		h = c.server.hold(c.uuid, c.session.Load().identity, c.cancel)
		defer h.Close()
		err = cmp.Or(err, h.Grow(c.ctx, size))
	}
	span, t := c.delivered(ow)
	c.reply(answer{request: request, doing: ow.facade() + ".Next", result: params.AtVersion(ow.facade(), version, event), err: err,
		barrier: w.barrier(), trace: t}, h)
	tracing.End(span, err)
	if err != nil {
		w.end(ow.id, "")
	}
}

// barrier passes the barrier before an event is sent.
func (w *watches) barrier() error {
	if w.conn.ctx.Err() != nil {
		return nil
	}
	return w.conn.server.eventBarrier(w.conn.ctx)
}

// eventBarrier passes the barrier before an event is sent. While the store is unavailable it waits: the event must not be
// lost, and the client could read nothing anyway.
func (s *Server) eventBarrier(ctx context.Context) error {
	for {
		err := s.barrier(ctx)
		if !errors.Is(err, entity.Unavailable) {
			return err
		}
		if backoff.Sleep(ctx, awayPause) != nil {
			return err
		}
	}
}

// awayPause is the interval at which an unavailable store is retried.
const awayPause = time.Second

// watcherNext returns the next event of the watch that the request names.
func watcherNext(_ context.Context, r *request, _ facades.None) (params.Event, error) {
	return params.Event{}, r.watches.next(r.frame)
}

// watcherStop stops the watch that the request names. A waiting Next returns entity.Stopped.
func watcherStop(_ context.Context, r *request, _ facades.None) (struct{}, error) {
	if !r.watches.end(r.frame.ID, r.frame.Type) {
		return struct{}{}, entity.Errorf(entity.NotFound, "unknown watcher id")
	}
	return struct{}{}, nil
}
