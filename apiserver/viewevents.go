package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"juju/apiserver/deltas"
	"juju/apiserver/display"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
)

// The reasons, beside those of connections, why a stream of events ends.
var (
	errExpired = errors.New("the token has expired")
	errNoToken = errors.New("the token was revoked, or its user may no longer read the model")
	errBehind  = errors.New("the client must resume, or begin again")
)

// retryAfter is how long clients wait before they connect again, in milliseconds.
const retryAfter = "2000"

// endTime is how long the last event of a stream, which says why it ends, can take.
const endTime = time.Second

// An eventStream sends what changes in a model, as server-sent events. Events are `whole`, with all that there is, first or
// when the client must forget what it knows; `delta`; and `end`, with the reason.
type eventStream struct {
	server  *Server
	viewer  *viewer
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	end     context.CancelCauseFunc
}

// serveEvents streams the events after the revision that the client has, until the client leaves or may no longer read the
// model. It counts as a connection and as a watch of the token's user.
func serveEvents(s *Server, v *viewer, w http.ResponseWriter, r *http.Request) error {
	uncount, err := s.members.watch(v.model.UUID(), v.identity)
	if err != nil {
		return err
	}
	defer uncount()
	ctx, end := context.WithCancelCause(r.Context().Value(serveKey{}).(context.Context))
	defer end(errGone)
	defer context.AfterFunc(r.Context(), func() { end(errGone) })()
	e := &eventStream{s, v, w, http.NewResponseController(w), ctx, end}
	takes, err := v.Follow(ctx, cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("since")))
	if err != nil {
		return err
	}
	defer e.guard()()
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead || e.write([]byte("retry: "+retryAfter+"\n\n")) != nil {
		return nil
	}
	err = e.follow(takes)
	logger.Debugf("%s@%s: a stream of events has ended: %v", v.Tag, r.RemoteAddr, err)
	return nil
}

// guard ends the stream when the model ends, the token expires or is revoked, or its user may not read the model any more,
// and unblocks what is being written then. stop waits for all that it has started.
func (e *eventStream) guard() (stop func()) {
	s, v := e.server, e.viewer
	leave := s.ending.join(s, v.model, v.identity, e.end)
	expiry := time.AfterFunc(v.token.Expires.Sub(s.config.now()), func() { e.end(errExpired) })
	unblock := context.AfterFunc(e.ctx, func() { _ = e.control.SetWriteDeadline(time.Now().Add(endTime)) })
	var following sync.WaitGroup
	following.Go(func() {
		look := func() (identity, error) {
			if _, err := s.controller.CheckToken(e.ctx, v.text); errors.Is(err, entity.Unauthorized) {
				return identity{}, nil
			}
			return s.identifyToken(e.ctx, v.token)
		}
		followRights(e.ctx, v.Tag, s.controller.WatchToken(e.ctx, v.token), look, func(now facades.Roles) {
			if now == 0 {
				e.end(errNoToken)
			}
		})
		e.end(errBye)
	})
	return func() {
		leave()
		expiry.Stop()
		e.end(errGone)
		unblock()
		following.Wait()
	}
}

// follow sends events until ctx ends or a client has not read. A comment now and then shows that the server is there.
func (e *eventStream) follow(takes <-chan deltas.Take) error {
	beat := time.NewTicker(e.server.limits.PingEvery)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-e.ctx.Done():
			return e.bye(context.Cause(e.ctx))
		case <-beat.C:
			err = e.write([]byte(":\n\n"))
		case take, open := <-takes:
			switch {
			case open:
				err = e.send(take)
			case e.ctx.Err() == nil && isDone(e.viewer.model.Done()):
				return e.bye(errNoModel)
			default:
				return e.bye(cmp.Or(context.Cause(e.ctx), errBehind))
			}
		}
		if err != nil {
			return err
		}
	}
}

// send sends what has changed. Its memory is reserved, as that of other replies is.
func (e *eventStream) send(take deltas.Take) error {
	s, v := e.server, e.viewer
	news, err := take()
	if err != nil {
		return fmt.Errorf("cannot read what has changed: %w", err)
	}
	h := s.hold(v.model.UUID(), v.identity, e.end)
	defer h.Close()
	if err := h.Grow(e.ctx, 2*params.Event{Deltas: news.Deltas}.Size()); err != nil {
		return err
	}
	if err := s.eventBarrier(e.ctx); err != nil {
		return err
	}
	name := "delta"
	if news.Whole {
		name = "whole"
	}
	text, err := event(name, news.Revision, news.Deltas)
	if err != nil {
		return err
	}
	h.Idle()
	return e.write(text)
}

// bye tells the client why the stream ends, and returns it.
func (e *eventStream) bye(why error) error {
	if text, err := event("end", "", params.CharmsResponse{Error: why.Error()}); err == nil {
		_, _ = e.w.Write(text)
		_ = e.control.Flush()
	}
	return why
}

// event returns a server-sent event. JSON has no line breaks.
func event(name, id string, data any) ([]byte, error) {
	text, err := display.JSON(data)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n", name, text) // the text ends with a line break
	return b.Bytes(), nil
}

// write sends a part of the stream. It fails if the client does not read.
func (e *eventStream) write(text []byte) error {
	if e.ctx.Err() != nil {
		return context.Cause(e.ctx)
	}
	if err := e.control.SetWriteDeadline(time.Now().Add(e.server.limits.WriteTime)); err != nil {
		return err
	}
	if _, err := e.w.Write(text); err != nil {
		return err
	}
	return e.control.Flush()
}
