package adapter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"juju/state/mongo/embedded/link"
)

// Options configure an Adapter.
type Options struct {
	// Dial connects to the server at an address, host:port. nil is plain TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Name is the application name that appears in the servers' logs.
	Name string
	// Set is the name of the replica set that a server must belong to; "" allows any server.
	Set string
	// Logf logs why a connection ended; nil discards it.
	Logf func(format string, args ...any)
}

// An Adapter provides connections for mgo to servers that accept only OP_MSG. It is safe for concurrent use.
type Adapter struct {
	opts    Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	concern concern

	mu      sync.Mutex
	dialing context.Context // ends with Cut
	stop    context.CancelFunc
	hasty   time.Time // until when attempts to connect have only hastyTimeout
	closed  bool
	servers map[string]*server // by address
	work    sync.WaitGroup
}

// A server is the state of one server, and the connections to it.
type server struct {
	cursors cursors
	primary bool // as it last reported
	conns   map[*conn]bool
}

// ErrClosed is the error of a closed Adapter.
var ErrClosed = errors.New("the connection to MongoDB is closed")

// The time limits for connecting to a server and for its greeting, and for sending a message. The client limits the
// wait for a reply.
const (
	connectTimeout = 10 * time.Second
	writeTimeout   = time.Minute
)

// For hastyPeriod after Cut, an attempt to connect has only hastyTimeout. mgo makes three to each server while requests wait.
const (
	hastyTimeout = time.Second
	hastyPeriod  = 4 * time.Second
)

// New returns an Adapter.
func New(opts Options) *Adapter {
	if opts.Dial == nil {
		var d net.Dialer
		opts.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", address)
		}
	}
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	a := &Adapter{opts: opts, servers: map[string]*server{}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.dialing, a.stop = context.WithCancel(a.ctx)
	return a
}

// Connect connects to the server at an address and returns the client's end of an in-memory connection. It fails if the
// server is older than 3.6, or if the options don't allow it.
func (a *Adapter) Connect(address string) (net.Conn, error) {
	client, adapter := link.Pipe()
	c, err := a.connect(address, adapter)
	if err != nil {
		return nil, errors.Join(err, client.Close(), adapter.Close())
	}
	if !a.start(c.serve) {
		c.close()
		return nil, errors.Join(ErrClosed, client.Close())
	}
	return client, nil
}

// Serve accepts clients from l until ctx ends or the Adapter is closed, and connects each of them to the server at an
// address. Then it closes l and returns nil.
func (a *Adapter) Serve(ctx context.Context, l net.Listener, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-ctx.Done()
		l.Close()
	}()
	defer func() { <-closed }()
	defer cancel()
	for {
		client, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("cannot accept connections: %w", err)
		}
		started := a.start(func() {
			c, err := a.connect(address, client)
			if err != nil {
				a.opts.Logf("%v", err)
				client.Close()
				return
			}
			c.serve()
		})
		if !started {
			client.Close()
		}
	}
}

// start runs f in a goroutine that Close waits for. It returns false if the Adapter is closed.
func (a *Adapter) start(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.work.Go(f)
	return true
}

// connect connects a client to the server at an address.
func (a *Adapter) connect(address string, client net.Conn) (*conn, error) {
	a.mu.Lock()
	dialing, limit := a.dialing, connectTimeout
	if time.Now().Before(a.hasty) {
		limit = hastyTimeout
	}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(dialing, limit)
	defer cancel()
	server, err := a.opts.Dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to MongoDB at %s: %w", address, err)
	}
	c := newConn(a, address, client, server)
	if err := c.greet(ctx); err != nil {
		server.Close()
		return nil, fmt.Errorf("cannot use MongoDB at %s: %w", address, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		server.Close()
		return nil, ErrClosed
	}
	c.to.conns[c] = true
	return c, nil
}

// server returns the state of the server at an address.
func (a *Adapter) server(address string) *server {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.servers[address]
	if s == nil {
		s = &server{conns: map[*conn]bool{}}
		a.servers[address] = s
	}
	return s
}

// forget removes a connection that has ended.
func (a *Adapter) forget(c *conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(c.to.conns, c)
}

// isPrimary records what a server reports about itself on one of its connections. When it is no longer primary, all its
// other connections are closed: a tail on one of them would never see the writes of the next primary if the two can't
// reach each other.
func (a *Adapter) isPrimary(c *conn, primary bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.to.primary && !primary {
		for other := range c.to.conns {
			if other != c {
				other.close()
			}
		}
	}
	c.to.primary = primary
}

// Cut closes all connections and ends attempts to connect, so that what waits for a server fails soon. Clients can connect
// again.
func (a *Adapter) Cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
	a.dialing, a.stop = context.WithCancel(a.ctx)
	a.hasty = time.Now().Add(hastyPeriod)
	for _, s := range a.servers {
		for c := range s.conns {
			c.close()
		}
	}
}

// Close closes all connections and waits for them to end.
func (a *Adapter) Close() {
	a.mu.Lock()
	a.closed = true
	for _, s := range a.servers {
		for c := range s.conns {
			c.close()
		}
	}
	a.mu.Unlock()
	a.cancel()
	a.work.Wait()
}
