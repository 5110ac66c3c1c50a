package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"go.opentelemetry.io/otel/trace"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/tracing"
)

const (
	// callTime is how long a request may stand still whose context has no deadline. It exceeds the server's own limit, whose
	// error is more specific.
	callTime = 6 * time.Minute
	// silence is how long the server, which pings twice a minute, may stay silent.
	silence   = 2 * time.Minute
	writeTime = 30 * time.Second
	// maxFrame limits the size of a reply. The status of the largest models takes tens of MiB.
	maxFrame = 256 << 20
)

// A Conn is a connection that has logged in. Its methods may be called concurrently.
type Conn struct {
	dialer *dialer
	ws     *websocket.Conn
	http   *http.Client
	hello  params.LoginResult

	planning planning // of one command at a time

	ctx    context.Context
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup // the reader, and a goroutine for each watch

	writing sync.Mutex
	mu      sync.Mutex
	closing bool // no more tasks may start
	last    uint64
	pending map[uint64]pending
}

// A pending request waits for its reply.
type pending struct {
	reply chan<- params.Response
	moved func() // called when the server says that a request has moved; nil for none
}

// errClosed is the error of a connection closed by Close.
var errClosed = entity.Errorf(entity.Unavailable, "the connection to the controller is closed")

func newConn(ws *websocket.Conn, d *dialer) *Conn {
	c := &Conn{
		dialer: d, ws: ws, pending: map[uint64]pending{},
		http: &http.Client{Transport: &http.Transport{
			DialContext: d.netDial, TLSClientConfig: d.tls, DisableKeepAlives: true, TLSHandshakeTimeout: writeTime,
		}},
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.tasks.Go(c.read)
	return c
}

// Context ends when the connection does; its cause is Err.
func (c *Conn) Context() context.Context { return c.ctx }

// During returns a context for work on the connection. It ends with ctx or with the connection; in the latter case its
// cause is the connection's Err. The caller must call cancel.
func (c *Conn) During(ctx context.Context) (during context.Context, cancel context.CancelFunc) {
	during, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.Context(), func() { end(c.Err()) })
	return during, func() {
		stop()
		end(nil)
	}
}

// Err returns why the connection ended, or nil while it is open.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Close closes the connection and waits for everything that uses it.
func (c *Conn) Close() error {
	c.end(errClosed)
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.tasks.Wait()
	return nil
}

// task runs f in a goroutine that Close waits for. It returns false if Close was called.
func (c *Conn) task(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.tasks.Go(f)
	}
	return !c.closing
}

// end closes the connection for the given reason.
func (c *Conn) end(why error) {
	c.cancel(why)
	if why == errClosed {
		bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = c.ws.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
	}
	c.ws.Close()
}

// Tag returns the tag of the login.
func (c *Conn) Tag() entity.Tag { return c.dialer.info.Tag }

// Model returns the UUID of the connection's model, or "" if it is to the controller itself.
func (c *Conn) Model() string { return c.dialer.info.Model }

// ServerVersion returns the version of the Juju whose API the controller has.
func (c *Conn) ServerVersion() string { return c.hello.ServerVersion }

// Release returns the controller's own version.
func (c *Conn) Release() string { return c.hello.Release }

// ControllerAccess returns the access of the connection's user to the controller, "" for an agent.
func (c *Conn) ControllerAccess() string {
	if c.hello.UserInfo == nil {
		return ""
	}
	return c.hello.UserInfo.ControllerAccess
}

// ControllerUUID returns the UUID of the controller.
func (c *Conn) ControllerUUID() string { return c.hello.ControllerTag.ID }

func (c *Conn) login(ctx context.Context) error {
	err := c.callNow(ctx, "Admin", 3, "Login", params.LoginRequest{
		AuthTag: params.TagOf(c.dialer.info.Tag), Credentials: c.dialer.info.Password, Nonce: c.dialer.info.Nonce,
		ClientVersion: c.dialer.info.Binaries.Version, SHA256: c.dialer.info.Binaries.SHA256, Commit: c.dialer.info.Binaries.Commit,
	}, &c.hello)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return err
}

// call makes a request, or plans it, and decodes the reply into result, which is a pointer or nil.
func (c *Conn) call(ctx context.Context, facade string, version int, method string, args, result any) error {
	if c.planning.only || c.planning.token != "" {
		return c.planning.planned(ctx, c, facade, version, method, args, result)
	}
	return c.callNow(ctx, facade, version, method, args, result)
}

// callNow makes a request.
func (c *Conn) callNow(ctx context.Context, facade string, version int, method string, args, result any) (err error) {
	ctx, span := tracing.Start(ctx, facade+"."+method, trace.WithSpanKind(trace.SpanKindClient))
	defer func() { tracing.End(span, err) }()
	req := params.Request{Type: facade, Version: version, Request: method, Trace: params.TraceOf(trace.SpanContextFromContext(ctx))}
	if _, bounded := ctx.Deadline(); bounded {
		return c.request(ctx, req, args, result, nil)
	}
	ctx, moved, cancel := whileMoving(ctx, func() error { return late(req, context.DeadlineExceeded) })
	defer cancel()
	return c.request(ctx, req, args, result, moved)
}

// request is callNow without a limit of its own. moved is called when the server says that requests have moved, unless it is
// nil.
func (c *Conn) request(ctx context.Context, req params.Request, args, result any, moved func()) error {
	if args != nil {
		var err error
		if req.Params, err = encode(args); err != nil {
			return fmt.Errorf("cannot write the request %s.%s: %w", req.Type, req.Request, err)
		}
	}
	replies := make(chan params.Response, 1) // buffered, so that the reader never blocks
	c.mu.Lock()
	c.last++
	req.RequestID = c.last
	c.pending[req.RequestID] = pending{replies, moved}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, req.RequestID)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, req); err != nil {
		return err
	}
	var reply params.Response
	select {
	case reply = <-replies:
	case <-ctx.Done():
		return ctxErr(ctx, req)
	case <-c.ctx.Done():
		return lost(c.Err())
	}
	if err := reply.Err(); err != nil {
		return err
	}
	if cause := reply.Trace.Span(); cause.IsValid() {
		tracing.CausesOf(ctx).Add(cause)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(reply.Response, result); err != nil {
		return fmt.Errorf("cannot read the result of %s.%s: %w", req.Type, req.Request, err)
	}
	return nil
}

// ctxErr returns the error of a request whose context has ended.
func ctxErr(ctx context.Context, req params.Request) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return late(req, context.Cause(ctx))
	}
	return context.Cause(ctx)
}

func late(req params.Request, why error) error {
	return entity.Errorf(entity.Unavailable, "the controller did not answer %s.%s in time: %w", req.Type, req.Request, why)
}

// lost returns the error of requests on a connection that has ended.
func lost(why error) error {
	if entity.KindOf(why) != "" {
		return why
	}
	if websocket.IsCloseError(why, params.CloseRevoked) {
		return entity.WithHint(entity.Errorf(entity.Unauthorized, "permission denied"),
			"The controller ended this connection, since the password or the access of its user was changed. "+
				"To log in again: juju login")
	}
	return entity.Errorf(entity.Unavailable, "the connection to the controller is lost: %w", why)
}

func (c *Conn) send(ctx context.Context, req params.Request) error {
	frame, err := encode(req)
	if err != nil {
		return fmt.Errorf("cannot write the request %s.%s: %w", req.Type, req.Request, err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if ctx.Err() != nil {
		return ctxErr(ctx, req)
	}
	if c.ctx.Err() != nil {
		return lost(c.Err())
	}
	if err = c.ws.SetWriteDeadline(time.Now().Add(writeTime)); err == nil {
		err = c.ws.WriteMessage(websocket.TextMessage, frame)
	}
	if err != nil {
		c.end(fmt.Errorf("cannot write: %w", err)) // a part of the frame may have been sent
		return lost(c.Err())
	}
	return nil
}

// encode returns the JSON of a value. It leaves < > and & as they are: escaped, as for pages, a unit's settings full of them
// would exceed the size of a request.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// read delivers replies to the waiting requests until the connection ends.
func (c *Conn) read() {
	c.ws.SetReadLimit(maxFrame)
	alive := func() error { return c.ws.SetReadDeadline(time.Now().Add(silence)) }
	c.ws.SetPingHandler(func(text string) error {
		if err := alive(); err != nil {
			return err
		}
		if text == params.Moving {
			c.move()
		}
		// The reader must not write the pong itself. The server does not read during a login, and an in-memory
		// connection has no buffer, so each side would wait for the other to read. A failed pong is not an error; the
		// silence that follows is.
		c.task(func() { _ = c.ws.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(writeTime)) })
		return nil
	})
	for {
		err := alive()
		var reply params.Response
		if err == nil {
			var frame []byte
			if _, frame, err = c.ws.ReadMessage(); err == nil {
				err = json.Unmarshal(frame, &reply)
			}
		}
		if err != nil {
			c.end(err)
			return
		}
		c.mu.Lock()
		waiting, there := c.pending[reply.RequestID]
		delete(c.pending, reply.RequestID)
		c.mu.Unlock()
		if there { // otherwise the request was abandoned
			waiting.reply <- reply
		}
	}
}

// move gives all requests more time: the server has said that one of them has moved.
func (c *Conn) move() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pending {
		if p.moved != nil {
			p.moved()
		}
	}
}
