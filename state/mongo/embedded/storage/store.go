package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options configure a Store.
type Options struct {
	// FS is the file system; nil means the disk.
	FS vfs.FS
	// CacheSize is how many bytes of files are kept in memory; 0 means 32 MiB.
	CacheSize int64
	// MemTableSize is how many bytes of writes are buffered before they become a file; 0 means 4 MiB. The log
	// takes about five times that.
	MemTableSize uint64
	// Feed is how many bytes of events are kept for followers that have not read them; 0 means 64 MiB. FeedGrew is told
	// by how many bytes the events that are kept have grown, or shrunk if it is negative; it must not use the store.
	Feed     int
	FeedGrew func(bytes int)
	// Logf receives messages for the operator.
	Logf func(format string, args ...any)
	// Fatal is called with the error when a file can't be written; nothing is durable from then on. It should
	// not return.
	Fatal func(error)
	// Repair opens a store with a damaged log by discarding all writes from the damage onwards, and reports
	// to Logf how much that was.
	Repair bool
}

// A Store is an open database directory.
type Store struct {
	db     *pebble.DB
	opts   Options
	seed   maphash.Seed
	locks  [512]stripe // of documents
	unique [512]stripe // of unique keys
	sync   barrier
	feed   feed
	synced *synced
	spare  spare

	// dead is the error that made the store fail; ended is closed once it is set. If the store fails during
	// Open, Open returns the error.
	dead  atomic.Pointer[error]
	ended chan struct{}
	open  atomic.Bool
	quit  chan struct{} // closed by Quit

	// ddl is locked while collections are created and dropped; mu guards the map.
	ddl         sync.Mutex
	mu          sync.RWMutex
	collections map[string]map[string]*Collection
	lastSpace   uint32
	// catalog counts the changes to collections and indexes.
	catalog atomic.Int64

	docsExamined, keysExamined atomic.Int64
}

// ErrClosed is returned by a Store that has failed because a file couldn't be written.
var ErrClosed = errors.New("the store has failed")

const (
	keyCollection byte = 1
	keyLastSpace  byte = 2
	keyBuilding   byte = 3
	keySession    byte = 4
	keySpace      byte = 0x10
)

// Open opens the store in dir, creating it if it does not exist. It fails if another process has it open.
func Open(dir string, opts Options) (*Store, error) {
	if opts.FS == nil {
		host := private{vfs.Default}
		if err := host.claim(dir); err != nil {
			return nil, fmt.Errorf("cannot make the store's directory private: %w", err)
		}
		opts.FS = host
	}
	if opts.CacheSize == 0 {
		opts.CacheSize = 32 << 20
	}
	if opts.MemTableSize == 0 {
		opts.MemTableSize = 4 << 20
	}
	if opts.Feed == 0 {
		opts.Feed = 64 << 20
	}
	for {
		s, err := open(dir, opts)
		var d *Damage
		if !opts.Repair || !errors.As(err, &d) {
			return s, err
		}
		if err := cutLog(opts, dir, d); err != nil {
			return nil, fmt.Errorf("cannot repair store %q: %w", dir, err)
		}
	}
}

func open(dir string, opts Options) (*Store, error) {
	s := &Store{opts: opts, seed: maphash.MakeSeed(), collections: map[string]map[string]*Collection{}, ended: make(chan struct{}), quit: make(chan struct{})}
	s.sync.store = s
	s.feed.most, s.feed.grew = opts.Feed, opts.FeedGrew
	s.spare = spare{fs: opts.FS, path: opts.FS.PathJoin(dir, spareName)}
	var err error
	if s.synced, err = openSynced(opts.FS, dir); err != nil {
		return nil, err
	}
	if err := s.openPebble(dir); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read the catalog of store %q: %w", dir, damaged(err)), s.db.Close())
	}
	s.spare.make()
	s.open.Store(true)
	if err := s.failed(); err != nil {
		return nil, err
	}
	return s, nil
}

// openPebble opens the database. It also returns when the disk fails, because Pebble's Open retries forever
// on a full disk.
func (s *Store) openPebble(dir string) error {
	type opened struct {
		db  *pebble.DB
		err error
	}
	done := make(chan opened, 1)
	go func() {
		var o opened
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("%v", p)
			}
			done <- o
		}()
		o.db, o.err = pebble.Open(dir, s.pebbleOptions())
	}()
	select {
	case o := <-done:
		s.db = o.db
		return damaged(o.err)
	case <-s.ended:
		return *s.dead.Load()
	}
}

func (s *Store) pebbleOptions() *pebble.Options {
	log := logger{s}
	po := &pebble.Options{
		FS:                  &disk{FS: s.opts.FS, store: s, synced: s.synced},
		CacheSize:           s.opts.CacheSize,
		MemTableSize:        s.opts.MemTableSize,
		FormatMajorVersion:  pebble.FormatNewest,
		MaxOpenFiles:        openFiles(),
		MaxManifestFileSize: 1 << 20, // otherwise an idle store would keep growing
		// Compactions must not delay writers.
		L0StopWritesThreshold:       1000,
		MemTableStopWritesThreshold: 4,
		Logger:                      log,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { log.Errorf("store: %v", err) },
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				log.Errorf("store: file %s is damaged: %v", info.Path, info.Details)
			},
		},
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return po
}

// Close waits for running barriers and closes the files. Readers and writers must have finished. It doesn't
// close a store that has failed, because Pebble can't be closed then, and the process is about to exit.
func (s *Store) Close() (err error) {
	defer func() {
		if p := recover(); p != nil { // a reader that found damage may have left an iterator open
			err = fmt.Errorf("cannot close store: %v", p)
		}
	}()
	if err := s.failed(); err != nil {
		return fmt.Errorf("cannot close store: %w", err)
	}
	s.sync.wait()
	if err := errors.Join(s.db.Close(), s.synced.close()); err != nil {
		return fmt.Errorf("cannot close store: %w", err)
	}
	return nil
}

// DiskUsage returns the size of the store's files in bytes.
func (s *Store) DiskUsage() uint64 { return s.db.Metrics().DiskSpaceUsage() }

// Examined returns the numbers of documents and index keys that all scans have read since the start.
func (s *Store) Examined() (docs, keys int64) {
	return s.docsExamined.Load(), s.keysExamined.Load()
}

// fail marks the store as failed. The first call also calls Fatal if the store is open.
func (s *Store) fail(err error) {
	if !s.dead.CompareAndSwap(nil, &err) {
		return
	}
	close(s.ended)
	if s.open.Load() {
		s.spare.free()
		s.opts.Fatal(err)
	}
}

func (s *Store) failed() error {
	if err := s.dead.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, *err)
	}
	return nil
}

// commit applies a batch and returns when readers can see it. The batch is on disk only after a barrier.
func (s *Store) commit(b *pebble.Batch) error {
	s.sync.underway.Add(1)
	err := s.safely(func() error { return b.Commit(pebble.NoSync) })
	s.sync.written.Add(1)
	s.sync.underway.Add(-1)
	if err != nil {
		return err
	}
	return b.Close()
}

// safely calls write, which writes through Pebble, unless the store has failed. A panic in Pebble also fails
// the store, because it leaves locks held.
func (s *Store) safely(write func() error) (err error) {
	if err := s.failed(); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			s.fail(fmt.Errorf("cannot write the store: %v", p))
			err = s.failed()
		}
	}()
	if err := write(); err != nil {
		s.fail(err)
	}
	return s.failed()
}

// get calls with with the value of key, or nil if there is none, as tx sees it. with must not retain the value.
func (s *Store) get(tx *Txn, key []byte, with func([]byte) error) error {
	v, closer, err := s.reader(tx).Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return with(nil)
	}
	if err != nil {
		return fmt.Errorf("cannot read store: %w", damaged(err))
	}
	defer closer.Close()
	return with(v)
}

// appendGet appends the value of a key, as tx sees it, to dst. Unless room is nil, it is called before dst is replaced by a
// longer one, with the bytes of the value; its error is returned.
func (s *Store) appendGet(tx *Txn, dst, key []byte, room func(bytes int) error) ([]byte, bool, error) {
	v, closer, err := s.reader(tx).Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, fmt.Errorf("cannot read store: %w", damaged(err))
	}
	if n := len(v); room != nil && n > roomStep && n > cap(dst)-len(dst) {
		// While it waits it must not hold the value.
		if err := errors.Join(closer.Close(), room(n)); err != nil {
			return dst, false, err
		}
		return s.appendGet(tx, dst, key, nil)
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

// spaceKey appends to dst the prefix of all keys in a space.
func spaceKey(dst []byte, space uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, keySpace), space)
}

// stripe returns the number of the lock for a key; other keys may share it.
func (s *Store) stripe(key []byte) int {
	return int(maphash.Bytes(s.seed, key) % uint64(len(s.locks)))
}

// logger forwards Pebble's messages.
type logger struct{ s *Store }

func (l logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) { l.s.opts.Logf(format, args...) }

// Fatalf doesn't return, as Pebble expects.
func (l logger) Fatalf(format string, args ...any) {
	l.s.fail(fmt.Errorf(format, args...))
	select {}
}

// openFiles returns how many files the store may keep open; most descriptors are left for connections.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 64
	}
	return int(max(64, min(1000, limit.Cur/8)))
}
