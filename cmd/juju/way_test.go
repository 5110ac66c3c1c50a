package main

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// A way to the store is a proxy, which can be cut.
type way struct {
	store    string // address
	listener net.Listener
	copies   sync.WaitGroup

	mu    sync.Mutex
	state cutState
	open  chan struct{} // closed when the way is not silent
	conns map[net.Conn]bool
}

type cutState int

const (
	whole   cutState = iota
	refused          // connections are closed
	silent           // connections remain, and nothing passes
)

// newWay returns a way to the store at a URL. It ends with the test.
func newWay(t testing.TB, url string) *way {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{store: strings.TrimPrefix(url, "mongodb://"), listener: listener, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(w.open)
	w.copies.Go(w.accept)
	t.Cleanup(func() {
		listener.Close()
		w.mend()
		w.drop()
		w.copies.Wait()
	})
	return w
}

func (w *way) url() string {
	return "mongodb://" + w.listener.Addr().String() + "/?directConnection=true"
}

func (w *way) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.store)
		if err != nil || !w.keep(near, far) {
			near.Close()
			if err == nil {
				far.Close()
			}
			continue
		}
		w.copies.Go(func() { w.pass(near, far) })
		w.copies.Go(func() { w.pass(far, near) })
	}
}

// keep notes a connection. It returns false if the way is cut.
func (w *way) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == refused {
		return false
	}
	for _, c := range conns {
		w.conns[c] = true
	}
	return true
}

// pass copies what it reads until either end closes.
func (w *way) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.conns, from)
	}()
	_, _ = io.Copy(to, readerFunc(func(p []byte) (int, error) {
		n, err := from.Read(p)
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		<-open
		return n, err
	}))
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// cut ends all connections, or lets nothing pass on them.
func (w *way) cut(silently bool) {
	w.mu.Lock()
	if silently {
		w.state, w.open = silent, make(chan struct{})
		w.mu.Unlock()
		return
	}
	w.state = refused
	w.mu.Unlock()
	w.drop()
}

func (w *way) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.Close()
	}
}

// mend ends a cut.
func (w *way) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == silent {
		close(w.open)
	}
	w.state = whole
}

func (w *way) isUsed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns) > 0
}
