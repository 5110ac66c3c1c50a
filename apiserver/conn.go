package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/admission"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/state"
	"juju/state/budget"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/tracing"
)

// A conn is a client's websocket. It has a goroutine that reads, one for each request in progress, and one that waits
// for events.
type conn struct {
	server  *Server
	ws      *websocket.Conn
	uuid    string // of the model in the path, "" for the controller itself
	remote  string
	netConn *admission.Conn

	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc

	session  atomic.Pointer[session] // nil before the login
	line     presence.Line
	password sync.RWMutex // held for writing while this connection changes the user's password
	watches  watches
	silent   *time.Timer     // closes the connection if the client does not log in
	asked    int             // requests before the login
	turns    admission.Slots // requests in progress
	requests sync.WaitGroup  // goroutines of requests, and the one that waits for events
	writing  sync.Mutex
	moved    atomic.Bool // a request has moved since the last ping: see clock
}

// A session is a connection's login.
type session struct {
	identity
	model *state.State
	leave func() // must be called when it ends
}

// requestsPerLogin is the number of requests that an unauthenticated client can make for each login attempt.
const requestsPerLogin = 10

// The reasons why connections end.
var (
	errNoLogin = errors.New("the client did not log in")
	errCrowded = errors.New("too many connections are waiting to log in; try again")
	errGone    = errors.New("the client has left")
	errBye     = errors.New("the controller is stopping")
	errNoModel = errors.New("the model was removed")
	errRevoked = errors.New("permission denied")
	errUnsure  = errors.New("the controller cannot verify the login; try again")
)

// serve serves the client until it disconnects or the server stops. When it returns, nothing that was started for the
// connection is still running.
func (c *conn) serve(ctx context.Context) {
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.requests.Wait()
	defer c.cancel(errGone)
	closed := context.AfterFunc(c.ctx, c.closeSocket)
	defer func() {
		if closed() {
			c.closeSocket()
		}
	}()
	limits := c.server.limits
	defer func() {
		if s := c.session.Load(); s != nil {
			s.leave()
		}
	}()
	c.netConn.OnEvict(func() { c.cancel(errCrowded) })
	silence := limits.LoginTime // the time that remains
	c.silent = time.AfterFunc(silence, func() {
		if c.session.Load() == nil {
			c.cancel(errNoLogin)
		}
	})
	defer c.silent.Stop()
	if !c.netConn.IsInMemory() {
		c.line.End = c.cancel
	}
	ping := c.server.pinging(c.ctx, c.ws, c.ping)
	defer ping.Stop()

	alive := func(string) error {
		c.line.Heard()
		return c.ws.SetReadDeadline(time.Now().Add(limits.Silence))
	}
	c.ws.SetPongHandler(alive)
	for {
		// The deadline is set for each frame. While all turns were taken the server did not read, and the client must
		// not be blamed for that.
		if err := alive(""); err != nil {
			return
		}
		began := time.Now()
		var h *budget.Hold // the memory of this request
		limit := limits.LoginFrame
		if s := c.session.Load(); s != nil {
			h, limit = c.server.hold(c.uuid, s.identity, c.cancel), limits.Frame
		}
		req, err := c.read(h, limit)
		if c.session.Load() == nil {
			// The time that a login takes is not the client's silence.
			silence -= time.Since(began)
			c.silent.Stop()
		}
		if req == nil || !c.accept(req, h, err) {
			h.Close()
			return
		}
		if c.session.Load() == nil {
			c.silent.Reset(max(0, silence))
		}
	}
}

// read reads a request, and waits until there is memory for it. It returns nil if the connection must end, and an error
// if the request must be rejected.
func (c *conn) read(h *budget.Hold, limit int64) (*params.Request, error) {
	kind, frame, err := readFrame(c.ctx, c.ws, h, limit)
	if err != nil {
		logger.Tracef("%s: %v", c, err)
		if errors.Is(err, entity.Unavailable) {
			c.cancel(budget.ErrNeeded)
		}
		return nil, nil
	}
	req := &params.Request{}
	if kind != websocket.TextMessage {
		c.refuse(websocket.CloseUnsupportedData, "requests must be text")
		return nil, nil
	}
	if err := json.Unmarshal(frame, req); err != nil || req.RequestID == 0 {
		c.refuse(websocket.CloseInvalidFramePayloadData, "malformed request")
		return nil, nil
	}
	values, err := weigh(req.Params, c.server.limits.Values)
	if err == nil {
		err = h.Grow(c.ctx, requestMemory+values)
	}
	return req, err
}

// accept waits for a turn, then starts executing a request, or rejecting it if refused is an error. It returns false if
// the connection has ended in the meantime. h is closed when the request is done.
func (c *conn) accept(req *params.Request, h *budget.Hold, refused error) bool {
	s := c.session.Load()
	select {
	case c.turns <- struct{}{}:
	case <-c.ctx.Done():
		return false
	}
	done := make(chan struct{})
	idle := func() {}
	if s == nil {
		idle = c.netConn.Busy()
	}
	c.requests.Go(func() {
		defer close(done)
		defer idle()
		defer func() { <-c.turns }()
		defer h.Close()
		began := c.server.config.now()
		ctx, stop := c.clock()
		defer stop()
		who, r, err := c.dispatch(ctx, s, req, h)
		if err == nil {
			err = cmp.Or(refused, c.server.steady(ctx))
		}
		if err == nil && h != nil {
			err = h.Grow(ctx, min(h.Left(), c.server.answers.expected(c.uuid, r)))
		}
		if err == nil {
			c.work(ctx, who, r, req, h, began)
			return
		}
		err = cmp.Or(c.auditing(who, r, req, began).end(nil, err), err)
		c.reply(answer{request: req.RequestID, doing: req.Type + "." + req.Request, err: err, barrier: c.barrier(ctx, err)}, h)
		if who.Roles == 0 {
			c.cancel(errRevoked)
		}
	})
	if s == nil {
		// The requests of an unauthenticated client are executed one by one, since the login affects those after it.
		// Each has a goroutine nevertheless, to keep the stack of this one small.
		<-done
		c.asked++
		logins := c.server.limits.Logins
		return c.ctx.Err() == nil && int(c.netConn.Failed.Load()) < logins && c.asked < requestsPerLogin*logins
	}
	return true
}

// dispatch finds the caller of a request and the route that it names. The roles of a user or consumer are looked up for each
// request: they may have changed since the login, and the change must take effect before the user disconnects. The roles of an
// agent don't change.
func (c *conn) dispatch(ctx context.Context, s *session, req *params.Request,
	h *budget.Hold) (*facades.Caller, *facades.Route, error) {
	who := &facades.Caller{Backend: c.server.backend, Request: &request{c, req, h}}
	who.Roles = facades.Unauthenticated
	if s != nil {
		who.Identity, who.Model = s.Identity, s.model
	}
	if s != nil && s.hasRights() {
		now, err := c.now(ctx)
		if err != nil {
			return who, nil, err
		}
		who.Identity = now.Identity
	}
	at := facades.AtController
	if c.uuid != "" {
		at = facades.AtModel
	}
	r, err := c.server.table.Find(req, at, who.Roles)
	if errors.Is(err, entity.Unauthorized) && who.Tag.Kind == entity.KindUser {
		err = facades.Lacks(who.Identity, who.Model, r.Who)
	}
	return who, r, err
}

// now looks up the current roles of the connection's user or consumer. There are none if the password has changed since the login.
func (c *conn) now(ctx context.Context) (identity, error) {
	c.password.RLock()
	defer c.password.RUnlock()
	s := c.session.Load()
	return c.server.identifyBy(ctx, s.identity, c.uuid)
}

// follow ends the watches for which the user or consumer no longer has a role, and the connection when no roles are left.
func (c *conn) follow(who identity) {
	changes := c.server.watchRights(c.ctx, who, c.uuid)
	followRights(c.ctx, who.Tag, changes, func() (identity, error) { return c.now(c.ctx) }, func(now facades.Roles) {
		if now == 0 {
			c.cancel(errRevoked)
		}
		c.watches.endWithout(now)
	})
	c.cancel(errBye) // no effect if it has already ended
}

// work executes a request and sends the reply.
func (c *conn) work(
	ctx context.Context, who *facades.Caller, r *facades.Route, req *params.Request, h *budget.Hold, began time.Time,
) {
	call := func() (result any, err error) {
		defer func() {
			if p := recover(); p != nil {
				logger.Criticalf("%s: %s.%s: panic: %v\n%s", c, req.Type, req.Request, p, debug.Stack())
				err = errors.New("panic")
			}
		}()
		ctx, release, err := c.turn(ctx, who, r)
		if err != nil {
			return nil, err
		}
		defer release()
		return r.Call(ctx, who, req.Params)
	}
	if audits(who, r, false) && !r.Handler.Waits {
		c.server.changing.RLock()
		defer c.server.changing.RUnlock()
	}
	entry := c.auditing(who, r, req, began)
	ctx, span := c.span(controller.Noting(ctx, entry.note), who, req)
	var err error
	defer func() { tracing.End(span, err) }()
	for try := 1; ; try++ {
		var result any
		result, err = call()
		err = outOfTime(ctx, err)
		if errors.Is(err, errLater) {
			return
		}
		err = cmp.Or(entry.end(result, err), err)
		watches := startsWatch(result)
		if watches && err == nil {
			ctx = controller.Began(ctx) // its events carry no data, and pass the barrier themselves
		}
		barrier := c.barrier(ctx, err)
		if errors.Is(barrier, entity.StoreUnsure) && r.Effect == facades.Reads && !watches && try < rereads {
			ctx = controller.Began(ctx)
			continue
		}
		size := c.reply(answer{request: req.RequestID, doing: req.Type + "." + req.Request, result: result, err: err, barrier: barrier}, h)
		c.server.answers.note(c.uuid, r, size)
		return
	}
}

// startsWatch reports whether a result is of a method that starts watches, which must not be repeated.
func startsWatch(result any) bool {
	switch result.(type) {
	case params.WatcherID, params.StringsWatchResults:
		return true
	}
	return false
}

// rereads limits how often a read-only request is repeated because the store's primary has changed.
const rereads = 5

// barrier returns when everything that the outcome of a request depends on is on disk. An outcome that says that the
// store is unavailable depends on nothing.
func (c *conn) barrier(ctx context.Context, outcome error) error {
	if errors.Is(outcome, entity.StoreAway) || c.ctx.Err() != nil {
		return nil
	}
	return c.server.barrier(ctx)
}

// An answer is what a request gets: a result or an error.
type answer struct {
	request uint64
	doing   string // for the log
	result  any
	err     error
	barrier error // of the barrier, which an error passes too: it depends on what was read as much as a result does
	trace   params.Trace
}

// reply sends the answer to a request after the barrier. It returns the size of the reply, which is added to h.
func (c *conn) reply(a answer, h *budget.Hold) (size int64) {
	err := a.err
	if c.ctx.Err() != nil {
		return 0 // the client is gone
	}
	if a.barrier != nil {
		err = fmt.Errorf("cannot pass the barrier: %w", a.barrier)
	}
	var frame []byte
	if err == nil {
		if frame, err = params.EncodeSuccess(a.request, a.result, a.trace); err != nil {
			err = fmt.Errorf("cannot write the result: %w", err)
		}
	}
	if err != nil {
		if frame, err = params.EncodeFailure(a.request, facades.WireError(c.String()+": "+a.doing, err)); err != nil {
			c.cancel(err)
			return 0
		}
	}
	size = int64(len(frame))
	h.Force(size)
	h.Idle()
	if err := c.send(frame); err != nil {
		c.cancel(err)
	}
	return size
}

// send writes a frame. It fails if the client does not read.
func (c *conn) send(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(c.server.limits.WriteTime)); err != nil {
		return err
	}
	return c.ws.WriteMessage(websocket.TextMessage, frame)
}

// pinging pings the client of a websocket regularly until ctx ends, so that each side notices when the other is gone.
// text is called with the time of each ping, and returns what it says. It uses a timer rather than a goroutine, because there are thousands of
// idle connections.
func (s *Server) pinging(ctx context.Context, ws *websocket.Conn, text func(time.Time) []byte) *time.Timer {
	every := func() time.Duration {
		// The jitter spreads the pings of clients that connected at the same moment.
		return s.limits.PingEvery/2 + rand.N(s.limits.PingEvery/2+1)
	}
	var timer *time.Timer
	ready := make(chan struct{})
	timer = time.AfterFunc(every(), func() {
		<-ready
		said := text(s.config.now())
		// If this fails, the read deadline ends the connection.
		_ = ws.WriteControl(websocket.PingMessage, said, time.Now().Add(s.limits.WriteTime))
		if ctx.Err() == nil {
			timer.Reset(every())
		}
	})
	close(ready)
	return timer
}

// refuse sends the client the reason for which the connection ends.
func (c *conn) refuse(code int, why string) {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(time.Second))
}

// closeSocket closes the websocket, which unblocks the reading goroutine.
func (c *conn) closeSocket() {
	switch cause := context.Cause(c.ctx); {
	case errors.Is(cause, errNoLogin):
		c.refuse(websocket.ClosePolicyViolation, cause.Error())
	case errors.Is(cause, errRevoked):
		c.refuse(params.CloseRevoked, cause.Error())
	case errors.Is(cause, errCrowded), errors.Is(cause, errUnsure), errors.Is(cause, budget.ErrNeeded):
		c.refuse(websocket.CloseTryAgainLater, cause.Error())
	case errors.Is(cause, errBye), errors.Is(cause, errNoModel):
		c.refuse(websocket.CloseGoingAway, cause.Error())
	}
	c.ws.Close()
}

// String returns the client's name in logs.
func (c *conn) String() string {
	who := "unauthenticated"
	if s := c.session.Load(); s != nil {
		who = s.Tag.String()
	}
	return who + "@" + c.remote
}
