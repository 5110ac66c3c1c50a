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
	"go.opentelemetry.io/otel/trace"

	"juju/apiserver/admission"
	"juju/apiserver/dashboard"
	"juju/apiserver/deltas"
	"juju/apiserver/facades"
	"juju/apiserver/hub"
	"juju/apiserver/logs"
	"juju/apiserver/presence"
	"juju/state"
	"juju/state/budget"
	"juju/state/controller"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.apiserver")

// A Config configures a server.
type Config struct {
	facades.Config
	TLS  *tls.Config // see TLSConfig
	Logs *logs.Store // for agents' logs
	// OtherLogs returns the parts of a model's log that other controllers have; nil if there are none.
	OtherLogs func(ctx context.Context, model string) []logs.Source
	Addresses func() []string // "host:port" at which clients reach the API, the preferred one first
	TempDir   string          // only for uploads in progress; os.TempDir if empty
	Limits    Limits          // DefaultLimits if zero
	// CommandLine is the program, with arguments, that runs a command line of a user with commandline.Receive; if it is
	// empty, none can be run.
	CommandLine []string
	Metrics     http.Handler // for who may read the controller's model; may be nil
	Dashboard   http.Handler // for all paths that are not the API's; may be nil
	Restored    bool         // from a backup: there may be machines that the controller doesn't know
	// Steady returns an error while requests must not be executed, because this process may have been paused for so long
	// that other controllers take it for lost; nil if there are none.
	Steady func(context.Context) error
	// Tracer begins the spans of requests and events; nil for none.
	Tracer trace.Tracer

	now func() time.Time // time.Now if nil
}

// A Server serves the API of one controller until the context of Serve ends.
type Server struct {
	config          Config
	controller      *controller.Controller
	controllerModel *state.State
	limits          Limits
	table           *facades.Table
	barrier         func(context.Context) error
	handler         http.Handler
	memory          *memoryListener
	agentLogins     admission.Slots
	agentTurns      *admission.AgentTurns
	downloads       admission.Slots // of agent binaries
	hashing         hashing         // of users' passwords
	uploads         *uploads
	limiter         *admission.Conns
	members         admission.Members
	commanding      admission.UserSlots
	failedCalls     failedCalls
	handed          *memoryListener // connections that commands have opened
	failures        admission.Failures
	presence        *presence.Recorder
	backend         *facades.Backend // of the methods
	ending          endings
	budget          *budget.Budget
	answers         answers
	readiness       readiness
	mirrors         dashboard.Mirrors

	changing sync.RWMutex // held for reading by users' requests that change something
	stopping sync.RWMutex // held for writing once, to reject new requests
	stopped  bool
	active   sync.WaitGroup // HTTP requests and websockets
}

// hashing is an admission.Queue, in which a test can see whose turn it is.
type hashing interface {
	Take(ctx context.Context, wait time.Duration, t admission.Turn) (release func(), err error)
	Waiting() int
}

// New returns a server. Serve starts it.
func New(ctx context.Context, config Config) (*Server, error) {
	if config.Limits == (Limits{}) {
		config.Limits = DefaultLimits()
		for _, warning := range Warnings() {
			logger.Warningf("%s", warning)
		}
	}
	if config.Controller.Remote() {
		config.Limits.AgentTurns = max(config.Limits.AgentTurns, remoteTurns)
	}
	if config.Meter == nil {
		config.Meter = unmetered{}
	}
	if config.now == nil {
		config.now = time.Now
	}
	s := &Server{
		config: config, controller: config.Controller, limits: config.Limits,
		table: facades.NewTable(routes()), barrier: config.Controller.Barrier, memory: newMemoryListener(), handed: newMemoryListener(),
		agentTurns: admission.NewAgentTurns(config.Limits.AgentTurns), agentLogins: make(admission.Slots, config.Limits.AgentLogins), downloads: make(admission.Slots, config.Limits.Downloads),
		hashing: admission.NewQueue(config.Limits.UserLogins, config.Limits.UserQueue),
		limiter: admission.NewConns(config.Limits.Unauthenticated, config.Limits.UnauthenticatedFrom),
		members: admission.Members{Max: config.Limits.Members, Reserved: config.Limits.Reserved, OfUser: config.Limits.UserConns,
			OfAgent: config.Limits.AgentConns, MaxWatches: config.Limits.MemberWatches},
		failures: admission.Failures{Log: func(line string) { logger.Infof("%s", line) }},
	}
	s.presence = presence.New(config.now)
	s.budget = budget.New(budget.Limits{Total: s.limits.Memory, Share: s.limits.MemoryShare,
		Wait: s.limits.MemoryWait, Grace: s.limits.MemoryGrace})
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
	importing := make(admission.Slots, 1)
	s.backend = &facades.Backend{
		Config: config.Config, Table: s.table, ControllerModel: s.controllerModel, Presence: s.presence, Deltas: deltas.New(s.presence), Hub: hub.New(config.TempDir),
		Limits: facades.Limits{CloudTime: s.limits.CloudTime, Charm: s.limits.Charm, Resource: s.limits.Resource,
			Binaries: s.limits.Binaries},
		ImportTurn: func(ctx context.Context) (func(), error) { return importing.Take(ctx, s.limits.CloudTime) },
	}
	s.handler = s.mux()
	return s, nil
}

// Serve serves TLS connections to l, and those of Dial, until ctx ends or the listener fails. Then it answers the users' requests
// that change something, for up to Limits.StopTime. When it returns, l is closed and every connection has ended.
func (s *Server) Serve(told context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(told))
	defer cancel(errBye)
	hs := &http.Server{
		Handler:           s.handler,
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(ctx, serveKey{}, ctx) },
		ConnContext:       withNetConn,
		ReadHeaderTimeout: 30 * time.Second, // includes the handshake; thousands may connect at once
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          stdlog.New(debugWriter{}, "", 0),
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2
	}
	ended := make(chan error, 3)
	go func() { ended <- hs.Serve(tls.NewListener(s.limiter.Listen(l), s.config.TLS)) }()
	go func() { ended <- hs.Serve(s.memory) }()
	go func() { ended <- hs.Serve(s.limiter.Listen(s.handed)) }()
	var err error
	select {
	case <-told.Done():
	case err = <-ended:
		ended <- nil
	}
	s.answer(ctx)
	cancel(errBye)
	_ = hs.Close() // also aborts requests such as uploads
	for range cap(ended) {
		<-ended
	}
	s.stopping.Lock()
	s.stopped = true
	s.stopping.Unlock()
	s.active.Wait()
	s.mirrors.Close()
	s.failures.Flush()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve the API: %w", err)
	}
	return nil
}

// answer waits until the users' requests that change something are answered: who has asked for a change is told what became
// of it. No further one begins until ctx has ended.
func (s *Server) answer(ctx context.Context) {
	answered := make(chan struct{})
	s.active.Go(func() {
		s.changing.Lock()
		defer s.changing.Unlock()
		close(answered)
		<-ctx.Done()
	})
	timeout := time.NewTimer(s.limits.StopTime)
	defer timeout.Stop()
	select {
	case <-answered:
	case <-timeout.C:
	}
}

// Presence returns what is known about the connections of agents, to this controller and to those that share its store.
func (s *Server) Presence() *presence.Recorder { return s.presence }

// Dial connects the controller's own workers in memory, with the same protocol and login as over the network. It blocks
// until Serve accepts. The requests on the connection keep the fences of ctx.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) { return s.memory.dial(ctx) }

// A memoryConn is a connection from the same process, and the context of its Dial.
type memoryConn struct {
	net.Conn
	dialled context.Context
}

// A memoryListener accepts connections from the same process.
type memoryListener struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{dialled: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *memoryListener) dial(ctx context.Context) (net.Conn, error) {
	// A pipe needs no buffer here, because both ends always read.
	client, server := net.Pipe()
	if err := l.hand(ctx, memoryConn{server, ctx}); err != nil {
		return nil, err
	}
	return client, nil
}

// hand has a connection accepted.
func (l *memoryListener) hand(ctx context.Context, conn net.Conn) error {
	select {
	case l.dialled <- conn:
		return nil
	case <-l.closed:
		return entity.Errorf(entity.Unavailable, "the controller is stopping")
	case <-ctx.Done():
		return context.Cause(ctx)
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

// debugWriter logs the messages of net/http, which are mostly about port scans, at level DEBUG.
type debugWriter struct{}

func (debugWriter) Write(line []byte) (int, error) {
	logger.Debugf("%s", line)
	return len(line), nil
}

// upgrader upgrades requests to websockets. Any origin may connect: a client must send a password in its first frame,
// which no browser adds by itself.
var upgrader = websocket.Upgrader{
	CheckOrigin:      func(*http.Request) bool { return true },
	HandshakeTimeout: 10 * time.Second,
	// Small, and shared if possible, because thousands of connections are idle.
	ReadBufferSize:  1 << 10,
	WriteBufferSize: 4 << 10,
	WriteBufferPool: &sync.Pool{},
}

// serveKey is the key of Serve's context in a request's context. The request's own context ends too early for a
// websocket.
type serveKey struct{}

// enter counts a request, unless the server is stopping.
func (s *Server) enter() bool {
	s.stopping.RLock()
	defer s.stopping.RUnlock()
	if !s.stopped {
		s.active.Add(1)
	}
	return !s.stopped
}

// serveAPI upgrades a request to a websocket and serves it in another goroutine, so that
// net/http's goroutine and buffers are freed.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has responded
	}
	c := &conn{
		server: s, ws: ws, uuid: r.PathValue("uuid"), remote: r.RemoteAddr, netConn: netConnOf(r.Context()),
		turns: make(admission.Slots, s.limits.Requests),
	}
	c.watches = watches{conn: c, limit: s.limits.Watches}
	ctx := controller.KeepFences(r.Context().Value(serveKey{}).(context.Context), r.Context())
	s.active.Go(func() { c.serve(ctx) })
}

// steady returns an error if no request may be executed now: see Config.Steady.
func (s *Server) steady(ctx context.Context) error {
	if s.config.Steady == nil {
		return nil
	}
	return s.config.Steady(ctx)
}
