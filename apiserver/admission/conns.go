package admission

import (
	"container/list"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/juju/loggo"
)

var logger = loggo.GetLogger("juju.apiserver.admission")

// Conns limits the number of unauthenticated connections, so that they can't crowd out the authenticated ones,
// which it does not limit. At the limit, a new connection replaces the longest-waiting connection of the address that
// has the most. A connection whose login is in progress is never replaced.
type Conns struct {
	max, maxFrom int

	mu     sync.Mutex
	conns  int
	warned time.Time // when the log last warned of too few files
	from   map[string]*sourceConns
}

// sourceConns counts the unauthenticated connections from one address.
type sourceConns struct {
	count   int       // including those with a login in progress
	waiting list.List // of *Conn, oldest first: those without a login in progress
}

// A Conn is a connection accepted by a Conns. An in-process connection has no limiter and no limits.
type Conn struct {
	net.Conn
	limiter *Conns
	source  string
	Failed  atomic.Int32 // failed login attempts

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

// NewConns returns limits of so many connections, and of maxFrom from one address.
func NewConns(max, maxFrom int) *Conns {
	return &Conns{max: max, maxFrom: maxFrom, from: map[string]*sourceConns{}}
}

// Count returns the number of unauthenticated connections.
func (d *Conns) Count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conns
}

// enter counts a connection as unauthenticated, and ends another one if necessary. It returns false if a login is in
// progress on every connection that it could replace.
func (d *Conns) enter(g *Conn) bool {
	d.mu.Lock()
	var victim *Conn
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
func (d *Conns) noFiles(err error) {
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
func (d *Conns) evict(g *Conn) (end func()) {
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
func (d *Conns) largest() (largest *sourceConns) {
	for _, g := range d.from {
		if largest == nil || g.waiting.Len() > largest.waiting.Len() {
			largest = g
		}
	}
	return largest
}

func (g *sourceConns) oldest() *Conn {
	if g == nil || g.waiting.Len() == 0 {
		return nil
	}
	return g.waiting.Front().Value.(*Conn)
}

func (d *Conns) add(g *Conn) {
	from := d.from[g.source]
	if from == nil {
		from = &sourceConns{}
		d.from[g.source] = from
	}
	d.conns++
	from.count++
	g.counted, g.element = true, from.waiting.PushBack(g)
}

func (d *Conns) remove(g *Conn) {
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

// OnEvict sets how the connection is ended.
func (g *Conn) OnEvict(evict func()) {
	if g.limiter != nil {
		g.limiter.mu.Lock()
		defer g.limiter.mu.Unlock()
		g.evict = evict
	}
}

// Busy exempts the connection from being replaced until idle is called, while its request is in progress.
func (g *Conn) Busy() (idle func()) {
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

// Authenticated stops counting the connection: it has logged in.
func (g *Conn) Authenticated() {
	if g.limiter != nil {
		g.limiter.mu.Lock()
		defer g.limiter.mu.Unlock()
		g.limiter.remove(g)
	}
}

// Unauthenticated counts the connection again, when its session is over.
func (g *Conn) Unauthenticated() {
	if g.limiter != nil {
		g.limiter.mu.Lock()
		defer g.limiter.mu.Unlock()
		if !g.counted && !g.closed {
			g.limiter.add(g)
		}
	}
}

// Close implements net.Conn.
func (g *Conn) Close() error {
	g.limiter.mu.Lock()
	g.closed = true
	g.limiter.remove(g)
	g.limiter.mu.Unlock()
	return g.Conn.Close()
}

// Listen returns a listener that limits the connections it accepts.
func (d *Conns) Listen(l net.Listener) net.Listener { return &limitedListener{l, d} }

type limitedListener struct {
	net.Listener
	limiter *Conns
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
		g := &Conn{Conn: c, limiter: l.limiter, source: sourceOf(c.RemoteAddr().String())}
		if l.limiter.enter(g) {
			return g, nil
		}
		c.Close()
	}
}

// memory is the source of connections from the same process.
const memory = "memory"

// InMemory returns a connection from the same process.
func InMemory() *Conn { return &Conn{source: memory} }

// IsInMemory reports whether the connection is from the same process.
func (g *Conn) IsInMemory() bool { return g.source == memory }

// Source returns the key that connections are counted by: their address, or network.
func (g *Conn) Source() string { return g.source }
