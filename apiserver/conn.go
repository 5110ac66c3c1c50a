package apiserver

import (
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

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// A conn is a client's websocket. It has a goroutine that reads, one for each request in
// progress, and one that waits for events.
type conn struct {
	server *Server
	ws     *websocket.Conn
	uuid   string // of the model in the path, "" on the controller's path
	remote string
	guest  *guest

	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc

	session  atomic.Pointer[session] // nil before the login
	line     presence.Line
	password sync.RWMutex // held for writing while the user's password is changed here
	watches  watches
	silent   *time.Timer    // ends the connection if there is no login
	asked    int            // requests before the login
	turns    slots          // requests in progress
	requests sync.WaitGroup // goroutines of requests, and the one that waits for events
	writing  sync.Mutex
}

// A session is the outcome of a login.
type session struct {
	identity
	model *state.State
	leave func() // must be called at its end
}

// requestsPerLogin is how many requests a stranger can make for each login attempt.
const requestsPerLogin = 10

// Why connections end.
var (
	errNoLogin = errors.New("the client did not log in")
	errCrowded = errors.New("too many connections wait to log in; try again")
	errGone    = errors.New("the client has left")
	errBye     = errors.New("the controller is stopping")
	errNoModel = errors.New("the model is gone")
	errRevoked = errors.New("permission denied")
	errUnsure  = errors.New("the controller cannot tell who this is; try again")
)

// serve serves the client until it leaves or the server stops. Nothing that was begun for the
// connection is left when it returns.
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
	c.guest.onPut(func() { c.cancel(errCrowded) })
	silence := limits.LoginTime // the rest of it
	c.silent = time.AfterFunc(silence, func() {
		if c.session.Load() == nil {
			c.cancel(errNoLogin)
		}
	})
	defer c.silent.Stop()
	ping := c.server.pinging(c.ctx, c.ws, c.line.Ping)
	defer ping.Stop()

	alive := func(string) error {
		c.line.Heard()
		return c.ws.SetReadDeadline(time.Now().Add(limits.Silence))
	}
	c.ws.SetPongHandler(alive)
	for {
		// The deadline is set for each frame: while all turns were taken the server did not
		// read, and the client must not suffer for that.
		if err := alive(""); err != nil {
			return
		}
		began := time.Now()
		var h *hold // the memory of this request
		limit := limits.LoginFrame
		if s := c.session.Load(); s != nil {
			h, limit = c.server.hold(c.uuid, s.identity, c.cancel), c.server.frameOf(s.identity)
		}
		req, err := c.read(h, limit)
		if c.session.Load() == nil {
			// A stranger is not silent while its login is in progress.
			silence -= time.Since(began)
			c.silent.Stop()
		}
		if req == nil || !c.accept(req, h, err) {
			h.close()
			return
		}
		if c.session.Load() == nil {
			c.silent.Reset(max(0, silence))
		}
	}
}

// read reads a request, and waits until there is memory for it. It returns nil if the connection has to
// end, and an error for a request that is to be refused.
func (c *conn) read(h *hold, limit int64) (*params.Request, error) {
	kind, frame, err := readFrame(c.ctx, c.ws, h, limit)
	if err != nil {
		logger.Tracef("%s: %v", c, err)
		if errors.Is(err, entity.Unavailable) {
			c.cancel(errMemory)
		}
		return nil, nil
	}
	req := &params.Request{}
	if kind != websocket.TextMessage {
		c.refuse(websocket.CloseUnsupportedData, "requests are text")
		return nil, nil
	}
	if err := json.Unmarshal(frame, req); err != nil || req.RequestID == 0 {
		c.refuse(websocket.CloseInvalidFramePayloadData, "not a request")
		return nil, nil
	}
	values, err := weigh(req.Params, c.server.limits.Values)
	if err == nil {
		err = h.grow(c.ctx, requestMemory+values)
	}
	return req, err
}

// accept waits for a turn and begins to work on a request, or to refuse it with an error. It returns
// false if the connection has ended meanwhile. h is closed when the request is done.
func (c *conn) accept(req *params.Request, h *hold, refused error) bool {
	s := c.session.Load()
	select {
	case c.turns <- struct{}{}:
	case <-c.ctx.Done():
		return false
	}
	done := make(chan struct{})
	idle := func() {}
	if s == nil {
		idle = c.guest.busy()
	}
	c.requests.Go(func() {
		defer close(done)
		defer idle()
		defer func() { <-c.turns }()
		defer h.close()
		ctx, cancel := context.WithTimeout(controller.Began(c.ctx), c.server.limits.RequestTime)
		defer cancel()
		who, r, err := c.dispatch(ctx, s, req, h)
		if err == nil {
			err = refused
		}
		if err == nil && h != nil {
			err = h.grow(ctx, min(h.left(), c.server.answers.expected(c.uuid, r)))
		}
		if err == nil {
			c.work(ctx, who, r, req, h)
			return
		}
		c.answer(req.RequestID, req.Type+"."+req.Request, nil, err, c.barrier(ctx, err), h)
		if who.Roles == 0 {
			c.cancel(errRevoked)
		}
	})
	if s == nil {
		// A stranger's requests run one by one, since the login decides what comes next. Each
		// has a goroutine nevertheless, so that the stack of this one stays small.
		<-done
		c.asked++
		logins := c.server.limits.Logins
		return c.ctx.Err() == nil && int(c.guest.failed.Load()) < logins && c.asked < requestsPerLogin*logins
	}
	return true
}

// dispatch finds the caller of a request and the route that it names. What a user may do is
// looked up for each request: it may have changed since the login, and the change must not
// wait until the user leaves. The roles of an agent don't change.
func (c *conn) dispatch(ctx context.Context, s *session, req *params.Request, h *hold) (*facades.Caller, *facades.Route, error) {
	who := &facades.Caller{Backend: c.server.backend, Request: &request{c, req.RequestID, req.ID, h}}
	who.Roles = facades.Stranger
	if s != nil {
		who.Identity, who.Model = s.Identity, s.model
	}
	if who.Tag.Kind == entity.KindUser {
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

// now looks up what the connection's user may do now: nothing if the password is not the one
// of the login.
func (c *conn) now(ctx context.Context) (identity, error) {
	c.password.RLock()
	defer c.password.RUnlock()
	s := c.session.Load()
	return c.server.identifyBy(ctx, s.identity, c.uuid)
}

// follow ends the watches that the user has lost the right to, and the connection when the
// user has no rights left.
func (c *conn) follow(user entity.Tag) {
	c.server.followRights(c.ctx, user, c.uuid, func() (identity, error) { return c.now(c.ctx) }, func(now facades.Roles) {
		if now == 0 {
			c.cancel(errRevoked)
		}
		c.watches.endWithout(now)
	})
	c.cancel(errBye) // unless it has ended already
}

// work runs a request and sends its outcome.
func (c *conn) work(ctx context.Context, who *facades.Caller, r *facades.Route, req *params.Request, h *hold) {
	call := func() (result any, err error) {
		defer func() {
			if p := recover(); p != nil {
				logger.Criticalf("%s: %s.%s: panic: %v\n%s", c, req.Type, req.Request, p, debug.Stack())
				err = errors.New("panic")
			}
		}()
		return r.Call(ctx, who, req.Params)
	}
	for try := 1; ; try++ {
		result, err := call()
		if err == errLater {
			return
		}
		_, watches := result.(params.WatcherID)
		if watches && err == nil {
			ctx = controller.Began(ctx) // its events only say what to read, and pass the barrier themselves
		}
		barrier := c.barrier(ctx, err)
		if errors.Is(barrier, entity.StoreUnsure) && r.Effect == facades.Reads && !watches && try < rereads {
			ctx = controller.Began(ctx)
			continue
		}
		size := c.answer(req.RequestID, req.Type+"."+req.Request, result, err, barrier, h)
		c.server.answers.note(c.uuid, r, size)
		return
	}
}

// rereads is how often a request that only reads is repeated because the store's primary has
// changed.
const rereads = 5

// barrier returns when all that the outcome of a request depends on is on disk. The error that
// the store is away depends on nothing.
func (c *conn) barrier(ctx context.Context, outcome error) error {
	if errors.Is(outcome, entity.StoreAway) || c.ctx.Err() != nil {
		return nil
	}
	return c.server.barrier(ctx)
}

// answer sends the outcome of a request, after the barrier: all it depends on is on disk. An error
// depends on what was read as much as a result does. barrier is the error of that, or nil. It returns the
// size of the answer, which h holds too.
func (c *conn) answer(request uint64, doing string, result any, err, barrier error, h *hold) (size int64) {
	if c.ctx.Err() != nil {
		return 0 // no one is there to read it
	}
	if barrier != nil {
		err = fmt.Errorf("cannot pass the barrier: %w", barrier)
	}
	var frame []byte
	if err == nil {
		if frame, err = params.EncodeSuccess(request, result); err != nil {
			err = fmt.Errorf("cannot write the result: %w", err)
		}
	}
	if err != nil {
		if frame, err = params.EncodeFailure(request, facades.WireError(c.String()+": "+doing, err)); err != nil {
			c.cancel(err)
			return 0
		}
	}
	size = int64(len(frame))
	h.force(size)
	h.idle()
	if err := c.send(frame); err != nil {
		c.cancel(err)
	}
	return size
}

// send writes a frame. It gives up on a client that does not read.
func (c *conn) send(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(c.server.limits.WriteTime)); err != nil {
		return err
	}
	return c.ws.WriteMessage(websocket.TextMessage, frame)
}

// pinging pings the client of a websocket regularly until ctx ends, so that each side notices
// when the other is gone. It calls note with the time of each ping. It has a timer and no
// goroutine, since there are thousands of idle connections.
func (s *Server) pinging(ctx context.Context, ws *websocket.Conn, note func(time.Time)) *time.Timer {
	every := func() time.Duration {
		// The jitter spreads the pings of clients that have connected at the same moment.
		return s.limits.PingEvery/2 + rand.N(s.limits.PingEvery/2+1)
	}
	var timer *time.Timer
	ready := make(chan struct{})
	timer = time.AfterFunc(every(), func() {
		<-ready
		note(s.config.now())
		// A failure shows as silence soon enough.
		_ = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.limits.WriteTime))
		if ctx.Err() == nil {
			timer.Reset(every())
		}
	})
	close(ready)
	return timer
}

// refuse tells the client why the connection ends.
func (c *conn) refuse(code int, why string) {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(time.Second))
}

// closeSocket closes the websocket, which ends the reading goroutine.
func (c *conn) closeSocket() {
	switch cause := context.Cause(c.ctx); {
	case errors.Is(cause, errNoLogin):
		c.refuse(websocket.ClosePolicyViolation, cause.Error())
	case errors.Is(cause, errRevoked):
		c.refuse(params.CloseRevoked, cause.Error())
	case errors.Is(cause, errCrowded), errors.Is(cause, errUnsure), errors.Is(cause, errMemory):
		c.refuse(websocket.CloseTryAgainLater, cause.Error())
	case errors.Is(cause, errBye), errors.Is(cause, errNoModel):
		c.refuse(websocket.CloseGoingAway, cause.Error())
	}
	c.ws.Close()
}

// String returns the client's name for logs.
func (c *conn) String() string {
	who := "stranger"
	if s := c.session.Load(); s != nil {
		who = s.Tag.String()
	}
	return who + "@" + c.remote
}
