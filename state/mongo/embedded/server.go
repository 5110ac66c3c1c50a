package embedded

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/state/budget"
	"juju/state/mongo/embedded/link"
	"juju/state/mongo/embedded/storage"
)

// A Logger receives messages for the operator of the server.
type Logger interface {
	Infof(format string, args ...any)
	Errorf(format string, args ...any)
}

// Options configure a Server; the zero value has good defaults.
type Options struct {
	// FS is the file system; nil means the disk.
	FS vfs.FS
	// Logger receives messages; nil discards them.
	Logger Logger
	// SyncEvery is how long an acknowledged write may take to reach the disk; if 0, only barriers and write
	// concerns sync.
	SyncEvery time.Duration
	// OnlyMsg rejects the messages that OP_MSG replaced, except for the handshake, as MongoDB has done since
	// 5.1.
	OnlyMsg bool
	// Standalone makes the server present itself as a MongoDB 3.6 outside a replica set, without transactions and
	// change streams.
	Standalone bool
	// CacheSize is how many bytes of files are kept in memory; 0 means 32 MiB.
	CacheSize int64
	// MemTableSize is how many bytes of writes are buffered in memory before they are flushed to sorted
	// files; 0 means 4 MiB.
	MemTableSize uint64
	// Fatal is called once if a file can't be written or synced, for example because the disk is full;
	// nothing is durable from then on. It should not return; nil logs the error and exits with status 1.
	Fatal func(error)
	// Repair opens a store with a damaged log by discarding all writes from the damage onwards. It reports
	// what it discarded to the Logger.
	Repair bool
	// Memory is how many bytes the server holds for its clients: requests and replies, cursors, change streams and
	// transactions; 0 means 256 MiB. It does not include the cache, nor the buffered writes.
	Memory int64
	// CursorTimeout is the lifetime of an unused cursor; 0 means 10 minutes.
	CursorTimeout time.Duration
	// Tap, for tests, wraps the client's end of each connection that Dial returns; each of its
	// writes is one message.
	Tap func(net.Conn) net.Conn
}

// A Server is an open store and its connections.
type Server struct {
	opts     Options
	log      *memoryLog
	store    *storage.Store
	cursors  cursors
	sessions sessions
	budget   *budget.Budget
	started  time.Time
	run      uint64 // a random number, which the tokens of change streams contain

	ctx    context.Context // cancelled by Close
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	conns  map[*conn]bool
	work   sync.WaitGroup // connections and listeners

	connected atomic.Int64 // connections since the start
}

// ErrClosed is returned by a closed Server.
var ErrClosed = errors.New("the embedded store is closed")

// ErrDamaged is returned when a store with a damaged file is opened.
var ErrDamaged = storage.ErrDamaged

// Open opens the store in dir, creating it if it does not exist. It takes milliseconds, even after a crash.
// It fails if another process has the store open.
func Open(dir string, opts Options) (*Server, error) {
	if opts.Logger == nil {
		opts.Logger = silent{}
	}
	kept := &memoryLog{Logger: opts.Logger}
	opts.Logger = kept
	if opts.Fatal == nil {
		opts.Fatal = func(err error) {
			log.Printf("embedded store: %v", err)
			os.Exit(1)
		}
	}
	if opts.CursorTimeout == 0 {
		opts.CursorTimeout = 10 * time.Minute
	}
	if opts.Memory == 0 {
		opts.Memory = defaultMemory
	}
	held := newBudget(opts.Memory)
	feed := held.Open("changes", nil) // it has a limit of its own
	store, err := storage.Open(dir, storage.Options{
		FS:           opts.FS,
		CacheSize:    opts.CacheSize,
		MemTableSize: opts.MemTableSize,
		Logf:         opts.Logger.Errorf,
		Fatal:        opts.Fatal,
		Repair:       opts.Repair,
		Feed:         int(opts.Memory / 4),
		FeedGrew:     func(bytes int) { feed.Force(int64(bytes)) },
	})
	if err != nil {
		return nil, err
	}
	left, err := store.Sessions()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read the sessions: %w", err), store.Close())
	}
	s := &Server{opts: opts, log: kept, store: store, budget: held, started: time.Now(), run: rand.Uint64(), conns: map[*conn]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.cursors.init(opts.CursorTimeout)
	s.sessions.restore(left, s)
	if opts.SyncEvery > 0 {
		s.work.Add(1)
		go s.keepSyncing()
	}
	return s, nil
}

// keepSyncing syncs periodically until the server is closed.
func (s *Server) keepSyncing() {
	defer s.work.Done()
	tick := time.NewTicker(s.opts.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			_ = s.Barrier(s.ctx) // Fatal handles a failure
		}
	}
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

// Dial returns an in-process connection to the server.
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

// start serves a connection in its own goroutine, unless the server is closed.
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

// Serve accepts connections from l until ctx ends or the server is closed. Then it closes l and returns nil.
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

// Barrier returns when everything acknowledged before the call is on disk. Concurrent callers share one sync,
// and a barrier without writes is free. If ctx ends first, Barrier returns its cause.
func (s *Server) Barrier(ctx context.Context) error { return s.store.Barrier(ctx) }

// Check compares every index with its documents and returns the differences.
func (s *Server) Check(ctx context.Context, moved func()) error { return s.store.Check(ctx, moved) }

// Close closes all connections and files. Everything acknowledged is then on disk.
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
	s.store.Quit()
	s.work.Wait()
	s.sessions.close()
	s.cursors.close()
	return s.store.Close()
}
