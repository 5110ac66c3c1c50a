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
)

// A door lets connections in from the network. Those that have not logged in, its guests,
// have a budget of their own, so that they can't crowd out those that have. When the budget
// is used up, a new guest replaces another: of the address with the most guests, the one that
// has waited longest. A guest whose login is in progress is not replaced.
type door struct {
	max, maxFrom int

	mu     sync.Mutex
	guests int
	said   time.Time // when the log last said that there are too few files
	from   map[string]*guests
}

// guests are those from one address.
type guests struct {
	count   int       // all of them
	waiting list.List // of *guest, in order of arrival: those without a login in progress
}

// A guest is a connection, even after its login. One within the process has no door and no
// limits.
type guest struct {
	net.Conn
	door   *door
	source string
	failed atomic.Int32 // attempts to log in

	// Guarded by door.mu.
	inside  bool          // counted
	closed  bool          // never to be counted again
	element *list.Element // in waiting, nil while a login is in progress
	put     func()        // ends it; nil for closing the connection
}

// loopback stands for all addresses of the host itself. Its agents and users share them, so
// only the whole budget limits them.
const loopback = "loopback"

// sourceOf returns what connections are counted by: the address, or for IPv6 the network that
// a customer usually has.
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

func newDoor(max, maxFrom int) *door {
	return &door{max: max, maxFrom: maxFrom, from: map[string]*guests{}}
}

// enter counts a connection as a guest, and ends another if it must. It returns false if every
// guest has a login in progress.
func (d *door) enter(g *guest) bool {
	d.mu.Lock()
	var victim *guest
	room := true
	if here := d.from[g.source]; here != nil && g.source != loopback && here.count >= d.maxFrom {
		victim, room = here.oldest(), false
	} else if d.guests >= d.max {
		victim, room = d.largest().oldest(), false
	}
	end := d.out(victim)
	if room = room || victim != nil; room {
		d.add(g)
	}
	d.mu.Unlock()
	end()
	return room
}

// noFilesEvery is how often the log says that there are too few files.
const noFilesEvery = time.Minute

// noFiles makes room when no connection can be accepted, since the process has all the files open that it
// can have: the guest ends that would have to go next.
func (d *door) noFiles(err error) {
	d.mu.Lock()
	end := d.out(d.largest().oldest())
	now := time.Now()
	say := now.Sub(d.said) >= noFilesEvery
	if say {
		d.said = now
	}
	d.mu.Unlock()
	if say {
		logger.Errorf("no connection can be accepted: %v; raise the limit of the controller's user (ulimit -Hn)", err)
	}
	end()
}

// out removes a guest, if it is not nil, and returns what ends it. The caller holds d.mu, and calls that later.
func (d *door) out(g *guest) (end func()) {
	if g == nil {
		return func() {}
	}
	d.remove(g)
	if g.put != nil {
		return g.put
	}
	return func() { g.Conn.Close() }
}

// largest returns the guests of the address with the most waiting guests.
func (d *door) largest() (largest *guests) {
	for _, g := range d.from {
		if largest == nil || g.waiting.Len() > largest.waiting.Len() {
			largest = g
		}
	}
	return largest
}

func (g *guests) oldest() *guest {
	if g == nil || g.waiting.Len() == 0 {
		return nil
	}
	return g.waiting.Front().Value.(*guest)
}

func (d *door) add(g *guest) {
	from := d.from[g.source]
	if from == nil {
		from = &guests{}
		d.from[g.source] = from
	}
	d.guests++
	from.count++
	g.inside, g.element = true, from.waiting.PushBack(g)
}

func (d *door) remove(g *guest) {
	if !g.inside {
		return
	}
	from := d.from[g.source]
	if g.element != nil {
		from.waiting.Remove(g.element)
	}
	g.inside, g.element = false, nil
	d.guests--
	if from.count--; from.count == 0 {
		delete(d.from, g.source)
	}
}

// onPut sets how the guest's connection is ended.
func (g *guest) onPut(put func()) {
	if g.door != nil {
		g.door.mu.Lock()
		defer g.door.mu.Unlock()
		g.put = put
	}
}

// busy keeps the guest in until idle is called, while its request is in progress.
func (g *guest) busy() (idle func()) {
	d := g.door
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.inside && g.element != nil {
		d.from[g.source].waiting.Remove(g.element)
		g.element = nil
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if g.inside && g.element == nil {
			g.element = d.from[g.source].waiting.PushBack(g)
		}
	}
}

// admit makes the connection no longer a guest: it has logged in.
func (g *guest) admit() {
	if g.door != nil {
		g.door.mu.Lock()
		defer g.door.mu.Unlock()
		g.door.remove(g)
	}
}

// dismiss makes a connection a guest again, when what it was admitted for is over.
func (g *guest) dismiss() {
	if g.door != nil {
		g.door.mu.Lock()
		defer g.door.mu.Unlock()
		if !g.inside && !g.closed {
			g.door.add(g)
		}
	}
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.door.mu.Lock()
	g.closed = true
	g.door.remove(g)
	g.door.mu.Unlock()
	return g.Conn.Close()
}

// listen returns a listener whose connections are guests of the door.
func (d *door) listen(l net.Listener) net.Listener { return &doorListener{l, d} }

type doorListener struct {
	net.Listener
	door *door
}

// Accept implements net.Listener.
func (l *doorListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.door.noFiles(err)
		}
		if err != nil {
			return nil, err // net/http tries again, after pauses of up to a second if the error may pass
		}
		g := &guest{Conn: c, door: l.door, source: sourceOf(c.RemoteAddr().String())}
		if l.door.enter(g) {
			return g, nil
		}
		c.Close()
	}
}

type guestKey struct{}

// withGuest adds a connection's guest to the context of its requests.
func withGuest(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	g, ok := c.(*guest)
	if !ok {
		g = &guest{source: "memory"}
	}
	return context.WithValue(ctx, guestKey{}, g)
}

func guestOf(ctx context.Context) *guest { return ctx.Value(guestKey{}).(*guest) }
