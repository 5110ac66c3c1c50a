package apiserver

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"juju/state/controller"
)

// A connLimiter limits the number of unauthenticated connections, so that they can't crowd out the authenticated ones,
// which it does not limit. At the limit, a new connection replaces the longest-waiting connection of the address that
// has the most. A connection whose login is in progress is never replaced.
type connLimiter struct {
	max, maxFrom int

	mu     sync.Mutex
	conns  int
	warned time.Time // when the log last warned of too few files
	from   map[string]*sourceConns
}

// sourceConns counts the unauthenticated connections from one address.
type sourceConns struct {
	count   int       // including those with a login in progress
	waiting list.List // of *limitedConn, oldest first: those without a login in progress
}

// A limitedConn is a connection accepted by a connLimiter. An in-process connection has no limiter and no limits.
type limitedConn struct {
	net.Conn
	limiter *connLimiter
	source  string
	failed  atomic.Int32 // failed login attempts

	// Guarded by limiter.mu.
	counted bool          // counted as unauthenticated
	closed  bool          // must not be counted again
	element *list.Element // in waiting, nil while a login is in progress
	evict   func()        // ends it; nil to close the connection
}

// loopback stands for all addresses of the host itself. Its agents and users share them, so only the total limits them.
const loopback = "loopback"

// sourceOf returns the key that connections are counted by: the address, or for IPv6 the network that a customer
// usually has.
func sourceOf(address string) string {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	ip := ap.Addr().Unmap().WithZone("")
	switch {
	case ip.IsLoopback():
		return loopback
	case ip.Is6():
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

func newConnLimiter(max, maxFrom int) *connLimiter {
	return &connLimiter{max: max, maxFrom: maxFrom, from: map[string]*sourceConns{}}
}

// enter counts a connection as unauthenticated, and ends another one if necessary. It returns false if a login is in
// progress on every connection that it could replace.
func (d *connLimiter) enter(g *limitedConn) bool {
	d.mu.Lock()
	var victim *limitedConn
	room := true
	if here := d.from[g.source]; here != nil && g.source != loopback && here.count >= d.maxFrom {
		victim, room = here.oldest(), false
	} else if d.conns >= d.max {
		victim, room = d.largest().oldest(), false
	}
	end := d.evict(victim)
	if room = room || victim != nil; room {
		d.add(g)
	}
	d.mu.Unlock()
	end()
	return room
}

// noFilesLogged is how often the log warns that the process is out of file descriptors.
const noFilesLogged = time.Minute

// noFiles handles a failure to accept a connection because the process is out of file descriptors: it ends the
// unauthenticated connection that would be replaced next.
func (d *connLimiter) noFiles(err error) {
	d.mu.Lock()
	end := d.evict(d.largest().oldest())
	now := time.Now()
	warn := now.Sub(d.warned) >= noFilesLogged
	if warn {
		d.warned = now
	}
	d.mu.Unlock()
	if warn {
		logger.Errorf("no connection can be accepted: %v; raise the limit of the controller's user (ulimit -Hn)", err)
	}
	end()
}

// evict uncounts a connection, if it is not nil, and returns the function that ends it, to be called without d.mu. The
// caller holds d.mu.
func (d *connLimiter) evict(g *limitedConn) (end func()) {
	if g == nil {
		return func() {}
	}
	d.remove(g)
	if g.evict != nil {
		return g.evict
	}
	return func() { g.Conn.Close() }
}

// largest returns the connections of the address with the most waiting ones.
func (d *connLimiter) largest() (largest *sourceConns) {
	for _, g := range d.from {
		if largest == nil || g.waiting.Len() > largest.waiting.Len() {
			largest = g
		}
	}
	return largest
}

func (g *sourceConns) oldest() *limitedConn {
	if g == nil || g.waiting.Len() == 0 {
		return nil
	}
	return g.waiting.Front().Value.(*limitedConn)
}

func (d *connLimiter) add(g *limitedConn) {
	from := d.from[g.source]
	if from == nil {
		from = &sourceConns{}
		d.from[g.source] = from
	}
	d.conns++
	from.count++
	g.counted, g.element = true, from.waiting.PushBack(g)
}

func (d *connLimiter) remove(g *limitedConn) {
	if !g.counted {
		return
	}
	from := d.from[g.source]
	if g.element != nil {
		from.waiting.Remove(g.element)
	}
	g.counted, g.element = false, nil
	d.conns--
	if from.count--; from.count == 0 {
		delete(d.from, g.source)
	}
}

// onEvict sets how the connection is ended.
func (g *limitedConn) onEvict(evict func()) {
	if g.limiter != nil {
		g.limiter.mu.Lock()
		defer g.limiter.mu.Unlock()
		g.evict = evict
	}
}

// busy exempts the connection from being replaced until idle is called, while its request is in progress.
func (g *limitedConn) busy() (idle func()) {
	d := g.limiter
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.counted && g.element != nil {
		d.from[g.source].waiting.Remove(g.element)
		g.element = nil
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if g.counted && g.element == nil {
			g.element = d.from[g.source].waiting.PushBack(g)
		}
	}
}

// authenticated stops counting the connection: it has logged in.
func (g *limitedConn) authenticated() {
	if g.limiter != nil {
		g.limiter.mu.Lock()
		defer g.limiter.mu.Unlock()
		g.limiter.remove(g)
	}
}

// unauthenticated counts the connection again, when its session is over.
func (g *limitedConn) unauthenticated() {
	if g.limiter != nil {
		g.limiter.mu.Lock()
		defer g.limiter.mu.Unlock()
		if !g.counted && !g.closed {
			g.limiter.add(g)
		}
	}
}

// Close implements net.Conn.
func (g *limitedConn) Close() error {
	g.limiter.mu.Lock()
	g.closed = true
	g.limiter.remove(g)
	g.limiter.mu.Unlock()
	return g.Conn.Close()
}

// listen returns a listener that limits the connections it accepts.
func (d *connLimiter) listen(l net.Listener) net.Listener { return &limitedListener{l, d} }

type limitedListener struct {
	net.Listener
	limiter *connLimiter
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.limiter.noFiles(err)
		}
		if err != nil {
			return nil, err // net/http retries temporary errors, after pauses of up to a second
		}
		g := &limitedConn{Conn: c, limiter: l.limiter, source: sourceOf(c.RemoteAddr().String())}
		if l.limiter.enter(g) {
			return g, nil
		}
		c.Close()
	}
}

type netConnKey struct{}

// memorySource is the source of connections from the same process.
const memorySource = "memory"

// withNetConn adds a connection to the context of its requests.
func withNetConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if m, ok := c.(memoryConn); ok {
		ctx = controller.KeepFences(ctx, m.dialled)
	}
	g, ok := c.(*limitedConn)
	if !ok {
		g = &limitedConn{source: memorySource}
	}
	return context.WithValue(ctx, netConnKey{}, g)
}

func netConnOf(ctx context.Context) *limitedConn { return ctx.Value(netConnKey{}).(*limitedConn) }
