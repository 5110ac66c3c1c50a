package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/juju/loggo"

	"juju/apiserver/logs"
	"juju/state"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.apiserver")

// A Config is what a server is made of.
type Config struct {
	Controller *state.Controller
	TLS        *tls.Config     // see TLSConfig
	Logs       *logs.Store     // where agents' logs go and debug-log comes from
	Version    string          // of the program, for clients to compare with theirs
	Addresses  func() []string // "host:port" at which clients reach the API, the best first
	TempDir    string          // the server's own, for uploads on their way; os.TempDir when empty
	Limits     Limits          // DefaultLimits when zero
	Dashboard  http.Handler    // for all paths that are not the API's; may be nil
	Series     string          // of new models' machines, when the user names none
	// Cloud opens the cloud of a model; nil for no checks by a cloud.
	Cloud func(ctx context.Context, model string) (Cloud, error)
	// Failures returns which of the controller's own workers for a model fail again and
	// again, or with "" which of those for all models. It may be nil.
	Failures func(model string) []entity.WorkerFailure
	// DestroyController begins the end of the controller and all its models; it
	// does not wait for it, since the reply has yet to go out. It may be nil.
	DestroyController func(context.Context) error
}

// A Server is the API of one controller. It serves from New until the context
// of Serve ends.
type Server struct {
	config          Config
	controller      *state.Controller
	controllerModel *state.State
	limits          Limits
	table           *table
	barrier         func(context.Context) error
	handler         http.Handler
	memory          *memoryListener
	agentLogins     slots
	hashing         *queue // of users' passwords
	uploads         *uploads
	door            *door
	members         members
	failures        failures
	presence        *presence
	ending          endings

	stopping sync.RWMutex // held for writing once, to end entering
	stopped  bool
	active   sync.WaitGroup // HTTP requests and websockets
}

// New makes a server; it serves nobody before Serve.
func New(ctx context.Context, config Config) (*Server, error) {
	if config.Limits == (Limits{}) {
		config.Limits = DefaultLimits()
	}
	s := &Server{
		config: config, controller: config.Controller, limits: config.Limits,
		table: newTable(routes()), barrier: config.Controller.Barrier, memory: newMemoryListener(),
		agentLogins: make(slots, config.Limits.AgentLogins), hashing: newQueue(config.Limits.UserLogins, config.Limits.UserQueue),
		door:     newDoor(config.Limits.Strangers, config.Limits.StrangersFrom),
		members:  members{most: config.Limits.Members, ofUser: config.Limits.UserConns, ofAgent: config.Limits.AgentConns},
		failures: failures{log: func(line string) { logger.Infof("%s", line) }},
	}
	s.presence = newPresence(time.Now)
	s.uploads = newUploads(&s.limits)
	models, err := s.controller.Models(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot serve the API: %w", err)
	}
	for _, m := range models {
		if m.Name == state.ControllerModel {
			if s.controllerModel, err = s.controller.Model(ctx, m.UUID); err != nil {
				return nil, fmt.Errorf("cannot serve the API: %w", err)
			}
		}
	}
	if s.controllerModel == nil {
		return nil, errors.New("cannot serve the API: the controller has no model of its own")
	}
	if err := sweepUploads(config.TempDir); err != nil {
		return nil, fmt.Errorf("cannot serve the API: %w", err)
	}
	s.handler = s.mux()
	return s, nil
}

// Serve serves TLS connections to l, and those of Dial, until ctx ends or the
// listener fails. When it returns, l is closed and every connection has ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errBye)
	hs := &http.Server{
		Handler:           s.handler,
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(ctx, serveKey{}, ctx) },
		ConnContext:       withGuest,
		ReadHeaderTimeout: 30 * time.Second, // the handshake's too, and thousands come at once
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          stdlog.New(debugWriter{}, "", 0),
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2
	}
	ended := make(chan error, 2)
	go func() { ended <- hs.Serve(tls.NewListener(s.door.listen(l), s.config.TLS)) }()
	go func() { ended <- hs.Serve(s.memory) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
		ended <- nil
	}
	cancel(errBye)
	_ = hs.Close() // also ends requests in progress, such as uploads
	<-ended
	<-ended
	s.stopping.Lock()
	s.stopped = true
	s.stopping.Unlock()
	s.active.Wait()
	s.failures.flush()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve the API: %w", err)
	}
	return nil
}

// Dial connects the controller's own workers: the protocol and the login are
// the network's, the way is the process's memory. It waits for Serve.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) { return s.memory.dial(ctx) }

// A memoryListener accepts what is dialled in the same process.
type memoryListener struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{dialled: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *memoryListener) dial(ctx context.Context) (net.Conn, error) {
	// A pipe without a buffer does: both ends read all the time.
	client, server := net.Pipe()
	select {
	case l.dialled <- server:
		return client, nil
	case <-l.closed:
		return nil, entity.Errorf(entity.Unavailable, "the controller is stopping")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialled:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// debugWriter puts what net/http has to say, mostly of port scans, where it
// disturbs nobody.
type debugWriter struct{}

func (debugWriter) Write(line []byte) (int, error) {
	logger.Debugf("%s", line)
	return len(line), nil
}

// upgrader makes websockets. Any origin may connect: whoever does must show a
// password in the first frame, which no browser adds by itself.
var upgrader = websocket.Upgrader{
	CheckOrigin:      func(*http.Request) bool { return true },
	HandshakeTimeout: 10 * time.Second,
	// Small, and shared where they can be: thousands of connections are idle.
	ReadBufferSize:  1 << 10,
	WriteBufferSize: 4 << 10,
	WriteBufferPool: &sync.Pool{},
}

// serveKey finds the context of Serve in a request's, which ends too early for
// a websocket.
type serveKey struct{}

// enter counts a request in, if the server is not stopping.
func (s *Server) enter() bool {
	s.stopping.RLock()
	defer s.stopping.RUnlock()
	if !s.stopped {
		s.active.Add(1)
	}
	return !s.stopped
}

// serveAPI makes a websocket of a request and leaves it to a goroutine of its
// own, so that net/http's, with its buffers, can go.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	c := &conn{
		server: s, ws: ws, uuid: r.PathValue("uuid"), remote: r.RemoteAddr, guest: guestOf(r.Context()),
		turns: make(slots, s.limits.Requests),
	}
	c.watches = watches{conn: c, limit: s.limits.Watches}
	ctx := r.Context().Value(serveKey{}).(context.Context)
	s.active.Go(func() { c.serve(ctx) })
}
