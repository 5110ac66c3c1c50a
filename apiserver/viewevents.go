package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"juju/apiserver/deltas"
	"juju/apiserver/params"
	"juju/state/entity"
)

// The reasons, beside those of connections, why a stream of events ends.
var (
	errExpired = errors.New("the token has expired")
	errNoToken = errors.New("the token was revoked, or its user may no longer read the model")
	errBehind  = errors.New("the client must resume, or begin again")
)

// An eventStream sends what changes in a model, as server-sent events. Events are `whole`, with all that there is, first or
// when the client must forget what it knows; `delta`; and `end`, with the reason.
type eventStream struct {
	*sse
	viewer *viewer
}

// serveEvents streams the events after the revision that the client has, until the client leaves or may no longer read the
// model. It counts as a connection and as a watch of the token's user.
func serveEvents(s *Server, v *viewer, w http.ResponseWriter, r *http.Request) error {
	uncount, err := s.admitWatch(v.model.UUID(), v.identity)
	if err != nil {
		return err
	}
	defer uncount()
	stream, leave := s.newSSE(w, r)
	defer leave()
	e := &eventStream{stream, v}
	takes, err := v.Follow(e.ctx, cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("since")))
	if err != nil {
		return err
	}
	defer e.guard(streamAccess{model: v.model, identity: v.identity, expires: v.token.Expires, changes: s.controller.WatchToken(e.ctx, v.token),
		look: func() (identity, error) {
			if _, err := s.controller.CheckToken(e.ctx, v.text); errors.Is(err, entity.Unauthorized) {
				return identity{}, nil
			}
			return s.identifyToken(e.ctx, v.token)
		}})()
	if r.Method == http.MethodHead || e.begin() != nil {
		return nil
	}
	err = e.follow(takes)
	logger.Debugf("%s@%s: a stream of events has ended: %v", v.Tag, r.RemoteAddr, err)
	return nil
}

// follow sends events until ctx ends, the model does, or a client has not read, and then why the stream ends. A comment now
// and then shows that the server is there.
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
			if !open {
				return e.bye(e.reason(e.viewer.model))
			}
			err = e.send(take)
		}
		if err != nil {
			_ = e.bye(e.reason(e.viewer.model)) // of which the failure may be the first sign
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
	all, err := news.Deltas()
	if err != nil {
		return err
	}
	h := s.hold(v.model.UUID(), v.identity, e.end)
	defer h.Close()
	if err := h.Grow(e.ctx, 2*params.Event{Deltas: all}.Size()); err != nil {
		return err
	}
	if err := s.eventBarrier(e.ctx); err != nil {
		return err
	}
	name := "delta"
	if news.Whole {
		name = "whole"
	}
	text, err := event(name, news.Revision, all)
	if err != nil {
		return err
	}
	h.Idle()
	return e.write(text)
}
