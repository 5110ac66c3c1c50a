package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// maxTools is how many tools are served at once; more of them wait.
	maxTools = 64
	// requestTimeout is how long a tool that has connected may take to say what
	// it wants, and to take its reply.
	requestTimeout = 10 * time.Second
)

// A Handler does a tool's work. It is called from several goroutines. Read asks
// the tool for the content of a file, by the name the tool was given, or for
// its standard input, "-"; its error is the tool's own, ready to be shown.
type Handler func(ctx context.Context, req Request, read func(name string) ([]byte, error)) Reply

// A Server serves the hook tools of one agent until it is closed.
type Server struct {
	listener *net.UnixListener
	release  func() // of the listener's path
	handle   Handler
	ctx      context.Context
	cancel   context.CancelFunc
	slots    chan struct{}
	serving  sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// Serve listens at path, a socket in an existing directory that should be open
// to the agent's user alone, and has handle do the tools' work. A file left at
// path is replaced.
func Serve(path string, handle Handler) (*Server, error) {
	l, release, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for hook tools: %w", err)
	}
	s := &Server{
		listener: l,
		release:  release,
		handle:   handle,
		slots:    make(chan struct{}, maxTools),
		conns:    map[net.Conn]bool{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.serving.Add(1)
	go s.accept()
	return s, nil
}

// Close ends every tool's work, removes the socket, and returns when no
// handler runs any more. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	err := s.listener.Close()
	for conn := range s.conns {
		conn.Close()
	}
	s.cancel() // after the connections, so that no tool is told of a "context"
	s.mu.Unlock()
	s.serving.Wait()
	s.release()
	return err
}

func (s *Server) accept() {
	defer s.serving.Done()
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		conn, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, say. The tools wait in the socket's queue; a
			// pause, or this would spin until some are free.
			<-s.slots
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-s.ctx.Done():
				return
			}
		}
		if !s.track(conn) {
			conn.Close()
			return
		}
		s.serving.Add(1)
		go func() {
			defer s.serving.Done()
			defer func() { <-s.slots }()
			defer s.untrack(conn)
			s.serve(conn)
		}()
	}
}

func (s *Server) track(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.conns[conn] = true
	}
	return !s.closed
}

func (s *Server) untrack(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
	conn.Close()
}

// serve talks to one tool. It does not report a fault of the connection: the tool has gone.
func (s *Server) serve(conn net.Conn) {
	var req Request
	conn.SetDeadline(time.Now().Add(requestTimeout))
	if err := readMessage(conn, &req); err != nil {
		var timeout net.Error
		if !errors.As(err, &timeout) {
			writeMessage(conn, answer{Reply: Failure(err, "")})
		}
		return
	}
	// From here on the hook's end is the bound: a tool may wait for its standard
	// input as long as it likes, and Close closes the connection.
	conn.SetDeadline(time.Time{})
	reply := s.handle(s.ctx, req, func(name string) ([]byte, error) {
		if err := writeMessage(conn, answer{Read: name}); err != nil {
			return nil, err
		}
		var c content
		if err := readMessage(conn, &c); err != nil {
			return nil, err
		}
		if c.Error != "" {
			return nil, errors.New(c.Error)
		}
		return c.Data, nil
	})
	message, err := encode(answer{Reply: reply})
	if err != nil { // too long
		if message, err = encode(answer{Reply: Failure(err, "")}); err != nil {
			return
		}
	}
	// The bound is the connection's alone: a large reply takes a busy machine seconds to encode.
	conn.SetDeadline(time.Now().Add(requestTimeout))
	conn.Write(message)
}

// HintMark begins the line of a hint, which explains an error and is not one.
const HintMark = "hint: "

// Failure returns the reply of a tool that failed: the error and, on a line of its own, the
// hint if there is one.
func Failure(err error, hint string) Reply {
	text := fmt.Sprintf("ERROR %v\n", err)
	if hint != "" {
		text += HintMark + hint + "\n"
	}
	return Reply{Code: 1, Stderr: []byte(text)}
}
