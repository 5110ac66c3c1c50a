package embedded

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/state/mongo/embedded/link"
	"juju/state/mongo/embedded/storage"
)

// A Logger takes the server's words to its operator.
type Logger interface {
	Infof(format string, args ...any)
	Errorf(format string, args ...any)
}

// Options say how a Server is kept. The zero Options are good.
type Options struct {
	// FS is where the files are; nil is the disk.
	FS vfs.FS
	// Logger gets what is worth telling; nil drops it.
	Logger Logger
	// SyncEvery is how long what was answered stays off the disk at most, whoever
	// asks for it; 0 leaves it to barriers and write concerns.
	SyncEvery time.Duration
	// OnlyMsg refuses the messages that OP_MSG has replaced, as MongoDB does
	// from 5.1 on: all but a greeting.
	OnlyMsg bool
	// CacheSize is the bytes of files kept in memory; 0 is 32 MiB.
	CacheSize int64
	// MemTableSize is the bytes of writes gathered in memory before they
	// are put in order on disk; 0 is 4 MiB.
	MemTableSize uint64
	// Fatal is called, once, when a file cannot be written or synced, for want of
	// room say, after which nothing can be promised. It should not return;
	// nil logs the error and exits with status 1.
	Fatal func(error)
	// Repair opens a store whose log is damaged, without what was written from the
	// damage on. The Logger is told what is left out.
	Repair bool
	// CursorTimeout is how long an unused cursor lives; 0 is 10 minutes.
	CursorTimeout time.Duration
	// Tap, of tests, wraps the client's end of each connection that Dial returns;
	// each of its writes is one message.
	Tap func(net.Conn) net.Conn
}

// A Server is an open store and its connections.
type Server struct {
	opts    Options
	store   *storage.Store
	cursors cursors
	started time.Time

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	conns  map[*conn]bool
	work   sync.WaitGroup // connections and listeners

	connected atomic.Int64 // connections ever made
}

// ErrClosed is what a closed Server answers.
var ErrClosed = errors.New("the embedded store is closed")

// ErrDamaged is what opening a store fails with when a file of it does not hold
// what was written there.
var ErrDamaged = storage.ErrDamaged

// Open opens the store in dir, and makes it if there is none. It takes
// milliseconds, whatever way the last process that had it open ended. It
// fails when another process has it open.
func Open(dir string, opts Options) (*Server, error) {
	if opts.Logger == nil {
		opts.Logger = silent{}
	}
	if opts.Fatal == nil {
		opts.Fatal = func(err error) {
			log.Printf("embedded store: %v", err)
			os.Exit(1)
		}
	}
	if opts.CursorTimeout == 0 {
		opts.CursorTimeout = 10 * time.Minute
	}
	store, err := storage.Open(dir, storage.Options{
		FS:           opts.FS,
		CacheSize:    opts.CacheSize,
		MemTableSize: opts.MemTableSize,
		Logf:         opts.Logger.Errorf,
		Fatal:        opts.Fatal,
		Repair:       opts.Repair,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, store: store, started: time.Now(), conns: map[*conn]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.cursors.init(opts.CursorTimeout)
	if opts.SyncEvery > 0 {
		s.work.Add(1)
		go s.keepSyncing()
	}
	return s, nil
}

// keepSyncing passes a barrier now and then until the server is closed.
func (s *Server) keepSyncing() {
	defer s.work.Done()
	tick := time.NewTicker(s.opts.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			_ = s.Barrier(s.ctx) // its failure is the store's, which Fatal is told
		}
	}
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

// Dial returns a connection to the server that never leaves the process.
func (s *Server) Dial() (net.Conn, error) {
	client, server := link.Pipe()
	if !s.start(server) {
		return nil, errors.Join(ErrClosed, client.Close(), server.Close())
	}
	if s.opts.Tap != nil {
		return s.opts.Tap(client), nil
	}
	return client, nil
}

// start serves a connection in a goroutine of its own, unless the server is
// closed.
func (s *Server) start(nc net.Conn) bool {
	c := newConn(s, nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = true
	s.connected.Add(1)
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	return true
}

// Serve accepts connections from l until ctx or the server ends, then closes
// l. It returns nil when it was ended that way.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errors.Join(ErrClosed, l.Close())
	}
	s.work.Add(1)
	s.mu.Unlock()
	defer s.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		l.Close()
	}()
	for {
		nc, err := l.Accept()
		if err == nil {
			if !s.start(nc) {
				nc.Close()
			}
			continue
		}
		ended := ctx.Err() != nil
		cancel()
		<-stopped
		if ended {
			return nil
		}
		return fmt.Errorf("cannot accept connections: %w", err)
	}
}

// Barrier returns when everything that was answered before the call is on
// disk. Those who wait at one time share one sync, and it costs nothing when
// there was no write. When ctx ends it returns early, with its error.
func (s *Server) Barrier(ctx context.Context) error { return s.store.Barrier(ctx) }

// Compact rewrites the files, so that what was deleted takes no space.
func (s *Server) Compact(ctx context.Context) error { return s.store.Compact(ctx) }

// Check compares every index with its documents and says what differs.
func (s *Server) Check(ctx context.Context) error { return s.store.Check(ctx) }

// Close ends all connections and closes the files. What was answered is then
// on disk.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for c := range s.conns {
		c.nc.Close()
	}
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
	s.cursors.close()
	return s.store.Close()
}
