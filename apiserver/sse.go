package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"juju/apiserver/display"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state"
)

// retryAfter is how long clients wait before they connect again, in milliseconds.
const retryAfter = "2000"

// endTime is how long the last event of a stream, which says why it ends, can take.
const endTime = time.Second

// An sse is a stream of server-sent events to one client.
type sse struct {
	server  *Server
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	end     context.CancelCauseFunc
}

// newSSE returns the stream that answers a request; leave must be called in the end.
func (s *Server) newSSE(w http.ResponseWriter, r *http.Request) (e *sse, leave func()) {
	ctx, end := context.WithCancelCause(r.Context().Value(serveKey{}).(context.Context))
	stop := context.AfterFunc(r.Context(), func() { end(errGone) })
	return &sse{s, w, http.NewResponseController(w), ctx, end}, func() { stop(); end(errGone) }
}

// begin sends the beginning of the stream.
func (e *sse) begin() error {
	e.w.Header().Set("Content-Type", "text/event-stream")
	return e.write([]byte("retry: " + retryAfter + "\n\n"))
}

// A streamAccess is what lets a client read a stream.
type streamAccess struct {
	model    *state.State
	identity identity
	expires  time.Time
	changes  <-chan struct{} // receives when look may return something else
	look     func() (identity, error)
}

// guard ends the stream when the model ends, or the access expires, is revoked, or no longer lets its user read the model,
// and unblocks what is being written then. stop waits for all that it has started.
func (e *sse) guard(a streamAccess) (stop func()) {
	s := e.server
	leave := s.ending.join(s, a.model, a.identity, e.end)
	expiry := time.AfterFunc(a.expires.Sub(s.config.now()), func() { e.end(errExpired) })
	unblock := context.AfterFunc(e.ctx, func() { _ = e.control.SetWriteDeadline(time.Now().Add(endTime)) })
	var following sync.WaitGroup
	following.Go(func() {
		followRights(e.ctx, a.identity.Tag, a.changes, a.look, func(now facades.Roles) {
			if now&facades.Reader == 0 {
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

// reason returns why a stream about a model can't go on.
func (e *sse) reason(model *state.State) error {
	if e.ctx.Err() == nil && isDone(model.Done()) {
		return errNoModel
	}
	return cmp.Or(context.Cause(e.ctx), errBehind)
}

// bye tells the client why the stream ends, and returns it.
func (e *sse) bye(why error) error {
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
func (e *sse) write(text []byte) error {
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
