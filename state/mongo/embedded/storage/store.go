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

// Options are those of a Store.
type Options struct {
	// FS is the file system; nil is the disk.
	FS vfs.FS
	// CacheSize is the bytes of files kept in memory; 0 is 32 MiB.
	CacheSize int64
	// MemTableSize is the bytes of writes collected before they become a file; 0 is 4 MiB. The
	// log takes about five times that.
	MemTableSize uint64
	// Logf receives messages for an operator.
	Logf func(format string, args ...any)
	// Fatal is called with an error after which nothing is durable any more: a file couldn't be
	// written. It should not return.
	Fatal func(error)
	// Repair opens a store whose log is damaged: it drops what was written from the damage on,
	// and reports to Logf how much that was.
	Repair bool
}

// A Store is an open database directory.
type Store struct {
	db     *pebble.DB
	opts   Options
	seed   maphash.Seed
	locks  [512]sync.Mutex // of documents
	unique [512]sync.Mutex // of unique keys
	sync   barrier
	synced *synced
	spare  spare

	// dead is why the store has failed; ended is closed once it is set. A failure before Open has
	// returned is Open's error.
	dead  atomic.Pointer[error]
	ended chan struct{}
	open  atomic.Bool

	// ddl is held while collections are created and dropped; mu guards the map.
	ddl         sync.Mutex
	mu          sync.RWMutex
	collections map[string]map[string]*Collection
	lastSpace   uint32

	docsExamined, keysExamined atomic.Int64
}

// ErrClosed is the error of a Store after a file couldn't be written.
var ErrClosed = errors.New("the store has failed")

const (
	keyCollection byte = 1
	keyLastSpace  byte = 2
	keyBuilding   byte = 3
	keySpace      byte = 0x10
)

// Open opens the store in dir, and creates it if it does not exist. It fails if another process has it open.
func Open(dir string, opts Options) (*Store, error) {
	if opts.FS == nil {
		opts.FS = vfs.Default
	}
	if opts.CacheSize == 0 {
		opts.CacheSize = 32 << 20
	}
	if opts.MemTableSize == 0 {
		opts.MemTableSize = 4 << 20
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
	s := &Store{opts: opts, seed: maphash.MakeSeed(), collections: map[string]map[string]*Collection{}, ended: make(chan struct{})}
	s.sync.store = s
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

// openPebble returns Pebble's error, or the disk's: on a full disk Pebble's Open retries forever.
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

// Close waits for running barriers and closes the files. Readers and writers must have ended. It doesn't close a store
// that has failed, because Pebble can't be closed then, and the process is about to exit.
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

// DiskUsage returns the bytes of the store's files.
func (s *Store) DiskUsage() uint64 { return s.db.Metrics().DiskSpaceUsage() }

// Examined returns the numbers of documents and index keys that all scans have read since the start.
func (s *Store) Examined() (docs, keys int64) {
	return s.docsExamined.Load(), s.keysExamined.Load()
}

// fail reports that the store has failed.
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

// commit applies a batch and returns when readers see it. It is on disk only after a barrier.
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

// safely calls write, which writes through Pebble, unless the store has failed. A panic in Pebble ends the store too,
// because it leaves locks held.
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

// get calls with with the value of a key, which it must not retain, or nil.
func (s *Store) get(key []byte, with func([]byte) error) error {
	v, closer, err := s.db.Get(key)
	if err == pebble.ErrNotFound {
		return with(nil)
	}
	if err != nil {
		return fmt.Errorf("cannot read store: %w", damaged(err))
	}
	defer closer.Close()
	return with(v)
}

// appendGet appends the value of a key to dst.
func (s *Store) appendGet(dst, key []byte) ([]byte, bool, error) {
	v, closer, err := s.db.Get(key)
	if err == pebble.ErrNotFound {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, fmt.Errorf("cannot read store: %w", damaged(err))
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

// spaceKey returns the prefix of a space, or the full key of a key in it.
func spaceKey(dst []byte, space uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, keySpace), space)
}

// stripe returns the lock for a key, which other keys share.
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

// openFiles returns how many files the store keeps open, leaving most for connections.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 64
	}
	return int(max(64, min(1000, limit.Cur/8)))
}
