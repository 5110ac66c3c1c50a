package link

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Pipe returns the two ends of a new connection.
//
// Read waits for data, and returns io.EOF once the other end is closed and all its data has been read. Write
// never waits; it fails with io.ErrClosedPipe when the other end is closed. Both fail with net.ErrClosed
// after Close on their own end, and with os.ErrDeadlineExceeded after its deadline.
func Pipe() (client, server net.Conn) {
	there, back := newStream(), newStream()
	return &conn{in: back, out: there}, &conn{in: there, out: back}
}

type conn struct {
	in, out *stream
}

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *conn) Close() error {
	c.in.closeReader()
	c.out.closeWriter()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return addr{} }
func (c *conn) RemoteAddr() net.Addr { return addr{} }

func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error  { return c.in.setReadDeadline(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.setWriteDeadline(t) }

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "in-memory" }

// kept is the largest buffer that an empty stream keeps, in bytes. It fits a small batch of documents; a
// connection that once carried a large reply frees its memory.
const kept = 16 << 10

// stream is one direction of a connection.
type stream struct {
	mu   sync.Mutex
	wake sync.Cond // broadcast when a waiting read should check again

	data []byte // data[from:] is unread
	from int

	readerClosed, writerClosed  bool
	readDeadline, writeDeadline time.Time
	waiting                     int // reads in wake.Wait

	// timer, if armed, wakes the waiting reads at due. Only a read that starts to wait sets it, and it is
	// never postponed: mgo sets a new deadline for each message, so most deadlines are replaced long before
	// they pass, and a read that is woken early just checks again.
	timer *time.Timer
	armed bool
	due   time.Time
}

func newStream() *stream {
	s := &stream{}
	s.wake.L = &s.mu
	return s
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerClosed:
			return 0, net.ErrClosed
		case passed(s.readDeadline):
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case s.from < len(s.data):
			n := copy(b, s.data[s.from:])
			s.from += n
			if s.from == len(s.data) {
				s.empty()
			}
			return n, nil
		case s.writerClosed:
			return 0, io.EOF
		}
		s.arm()
		s.waiting++
		s.wake.Wait()
		s.waiting--
	}
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.writerClosed:
		return 0, net.ErrClosed
	case passed(s.writeDeadline):
		return 0, os.ErrDeadlineExceeded
	case s.readerClosed:
		return 0, io.ErrClosedPipe
	case len(b) == 0:
		return 0, nil
	}
	if s.from > 0 && s.from >= len(s.data)-s.from && len(s.data)+len(b) > cap(s.data) {
		// At least half of the data has been read: move the rest to the front instead of growing.
		s.data = s.data[:copy(s.data, s.data[s.from:])]
		s.from = 0
	}
	s.data = append(s.data, b...)
	if s.waiting > 0 {
		s.wake.Broadcast() // not Signal: the first reader may not read all of it
	}
	return len(b), nil
}

// empty discards the bytes that have been read.
func (s *stream) empty() {
	s.from = 0
	if cap(s.data) > kept {
		s.data = nil
		return
	}
	s.data = s.data[:0]
}

func (s *stream) closeReader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerClosed = true
	s.data, s.from = nil, 0
	if s.timer != nil {
		s.timer.Stop()
	}
	s.wake.Broadcast()
}

func (s *stream) closeWriter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerClosed = true
	s.wake.Broadcast()
}

func (s *stream) setReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readerClosed {
		return net.ErrClosed
	}
	s.readDeadline = t
	if s.waiting > 0 {
		s.wake.Broadcast()
	}
	return nil
}

func (s *stream) setWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writerClosed {
		return net.ErrClosed
	}
	s.writeDeadline = t
	return nil
}

// arm ensures that a read that is about to wait is woken no later than its deadline.
func (s *stream) arm() {
	if s.readDeadline.IsZero() || s.armed && !s.due.After(s.readDeadline) {
		return
	}
	s.armed, s.due = true, s.readDeadline
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(s.due), s.fire)
		return
	}
	s.timer.Reset(time.Until(s.due))
}

func (s *stream) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// If the timer was reset in the meantime, this wake-up is too early, which is harmless: the reads check the
	// deadline and arm it again.
	s.armed = false
	s.wake.Broadcast()
}

func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}
