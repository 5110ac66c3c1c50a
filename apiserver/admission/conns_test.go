package admission

import (
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
)

// A crowd has unauthenticated connections, and records which ones are evicted.
type crowd struct {
	*testing.T
	limiter *Conns
	out     []string
}

func (c *crowd) enters(name, address string, want bool) *Conn {
	c.Helper()
	conn, other := net.Pipe()
	c.Cleanup(func() { conn.Close(); other.Close() })
	g := &Conn{Conn: conn, limiter: c.limiter, source: sourceOf(address), evict: func() { c.out = append(c.out, name) }}
	if got := c.limiter.enter(g); got != want {
		c.Errorf("%s enters: %v", name, got)
	}
	return g
}

func (c *crowd) putOut(names ...string) {
	c.Helper()
	if !slices.Equal(c.out, names) {
		c.Errorf("put out %q, want %q", c.out, names)
	}
	c.out = nil
}

// At the limit, a connection of the address with the most connections is evicted: the one
// that has waited longest. Connections with a login in progress, or logged in, stay.
func TestConns(t *testing.T) {
	c := &crowd{T: t, limiter: NewConns(4, 3)}
	one := c.enters("one", "192.0.2.1:1", true)
	idle := one.Busy()
	c.enters("two", "192.0.2.1:2", true)
	other := c.enters("other", "198.51.100.1:1", true)
	c.enters("three", "192.0.2.1:3", true)
	c.putOut()
	c.enters("four", "192.0.2.1:4", true) // too many from this address
	c.putOut("two")
	c.enters("five", "203.0.113.1:1", true) // too many
	c.putOut("three")
	idle()
	c.enters("six", "203.0.113.1:2", true)
	c.putOut("four") // "one" has just logged in
	other.Authenticated()
	c.enters("seven", "203.0.113.1:3", true)
	c.putOut()
	other.Unauthenticated()
	if n := c.limiter.Count(); n != 5 {
		t.Errorf("%d connections, want also those that are back", n)
	}
	c.enters("eight", "203.0.113.2:1", true)
	c.putOut("five")
	// A connection whose request has ended can be evicted like any other.
	alone := &crowd{T: t, limiter: NewConns(1, 1)}
	alone.enters("first", "192.0.2.1:1", true).Busy()()
	alone.enters("second", "198.51.100.1:1", true)
	alone.putOut("first")
}

// A connection that has not sent a request yet is closed when it is evicted.
func TestEvictedConnectionsAreClosed(t *testing.T) {
	c := &crowd{T: t, limiter: NewConns(1, 1)}
	first, other := net.Pipe()
	if err := other.SetReadDeadline(time.Now().Add(verify.Patience)); err != nil {
		t.Fatal(err)
	}
	g := &Conn{Conn: first, limiter: c.limiter, source: sourceOf("192.0.2.1:1")}
	if !c.limiter.enter(g) {
		t.Fatal("the first is refused")
	}
	c.enters("second", "198.51.100.1:1", true)
	if _, err := other.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the evicted connection: %v", err)
	}
}

// A connection is refused when all others have logins in progress. A closed one frees its place
// once, whatever is called on it afterwards.
func TestConnsAreFull(t *testing.T) {
	c := &crowd{T: t, limiter: NewConns(2, 2)}
	one, two := c.enters("one", "127.0.0.1:1", true), c.enters("two", "127.9.9.9:1", true)
	idle := one.Busy()
	defer two.Busy()()
	c.enters("three", "127.0.0.1:2", false)
	one.Close()
	idle()
	one.Unauthenticated()
	c.enters("four", "127.0.0.1:2", true)
	c.enters("five", "127.0.0.1:3", true)
	c.putOut("four")
	if n := c.limiter.Count(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestSourceOf(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:1": loopback, "127.200.3.4:1": loopback, "[::1]:1": loopback, "[::ffff:127.0.0.1]:1": loopback,
		"192.0.2.1:65000": "192.0.2.1", "[2001:db8::1]:1": "2001:db8::/64", "[2001:db8::ffff:2]:1": "2001:db8::/64",
		"[fe80::1%eth0]:1": "fe80::/64", "memory": "memory",
	} {
		if got := sourceOf(address); got != want {
			t.Errorf("%s counts as %s, want %s", address, got, want)
		}
	}
}

// When the process can open no more files, the connection that has waited longest is closed, and this is logged once.
func TestNoFilesForConnections(t *testing.T) {
	c := &crowd{T: t, limiter: NewConns(4, 4)}
	c.enters("one", "192.0.2.1:1", true)
	c.enters("two", "192.0.2.1:2", true)
	l := c.limiter.Listen(fullListener{})
	for range 2 {
		if _, err := l.Accept(); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("accepted: %v", err)
		}
	}
	c.putOut("one", "two")
	if _, err := l.Accept(); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("without connections: %v", err)
	}
	if c.limiter.warned.IsZero() {
		t.Error("the log says nothing")
	}
}

type fullListener struct{ net.Listener }

func (fullListener) Accept() (net.Conn, error) {
	return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
}
