package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options say how a Store is kept.
type Options struct {
	// FS is where the files are; nil is the disk.
	FS vfs.FS
	// CacheSize is the bytes of files kept in memory; 0 is 32 MiB.
	CacheSize int64
	// MemTableSize is the bytes of writes gathered before they become a
	// file of their own; 0 is 4 MiB. About five times that is kept of the log.
	MemTableSize uint64
	// Logf gets what is worth telling an operator.
	Logf func(format string, args ...any)
	// Fatal is told of a failure after which nothing can be promised any
	// more: the log could not be written. It should not return.
	Fatal func(error)
}

// A Store is an open database directory.
type Store struct {
	db     *pebble.DB
	opts   Options
	seed   maphash.Seed
	locks  [512]sync.Mutex // of documents
	unique [512]sync.Mutex // of unique keys
	sync   barrier
	dead   atomic.Pointer[error]

	// ddl is held while collections come and go; mu guards the map.
	ddl         sync.Mutex
	mu          sync.RWMutex
	collections map[string]map[string]*Collection
	lastSpace   uint32

	docsExamined, keysExamined atomic.Int64
}

// ErrClosed is what a Store answers after a failure of its log.
var ErrClosed = errors.New("the store has failed")

const (
	keyCollection byte = 1
	keyLastSpace  byte = 2
	keyBuilding   byte = 3
	keySpace      byte = 0x10
)

// Open opens the store in dir, and makes it if there is none. It fails if
// another process has it open.
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
	s := &Store{opts: opts, seed: maphash.MakeSeed(), collections: map[string]map[string]*Collection{}}
	s.sync.store = s
	db, err := pebble.Open(dir, s.pebbleOptions())
	if err != nil {
		return nil, fmt.Errorf("cannot open store %q: %w", dir, err)
	}
	s.db = db
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read the catalog of store %q: %w", dir, err), db.Close())
	}
	return s, nil
}

func (s *Store) pebbleOptions() *pebble.Options {
	log := logger{s}
	po := &pebble.Options{
		FS:                  s.opts.FS,
		CacheSize:           s.opts.CacheSize,
		MemTableSize:        s.opts.MemTableSize,
		FormatMajorVersion:  pebble.FormatNewest,
		MaxManifestFileSize: 1 << 20, // or an idle store would grow for long
		// Writers are not held up while files are put in order behind them.
		L0StopWritesThreshold:       1000,
		MemTableStopWritesThreshold: 4,
		Logger:                      log,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { log.Errorf("store: %v", err) },
			DataCorruption:  func(info pebble.DataCorruptionInfo) { log.Errorf("store: corrupt file: %v", info) },
		},
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return po
}

// Close waits for barriers under way and closes the files. Readers and
// writers must have ended.
func (s *Store) Close() error {
	s.sync.wait()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("cannot close store: %w", err)
	}
	return nil
}

// Compact rewrites all files, so that what was deleted takes no space.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("cannot compact store: %w", err)
	}
	if err := s.db.Compact(ctx, []byte{0}, []byte{0xff}, true); err != nil {
		return fmt.Errorf("cannot compact store: %w", err)
	}
	return nil
}

// DiskUsage is the bytes that the store's files take.
func (s *Store) DiskUsage() uint64 { return s.db.Metrics().DiskSpaceUsage() }

// Examined is how many documents, and how many index keys, all scans have
// looked at so far.
func (s *Store) Examined() (docs, keys int64) {
	return s.docsExamined.Load(), s.keysExamined.Load()
}

// fail reports the end of the store.
func (s *Store) fail(err error) {
	if s.dead.CompareAndSwap(nil, &err) {
		s.opts.Fatal(err)
	}
}

func (s *Store) failed() error {
	if err := s.dead.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, *err)
	}
	return nil
}

// commit applies a batch and returns when readers see it. It is not on disk
// before a barrier has passed.
func (s *Store) commit(b *pebble.Batch) error {
	s.sync.underway.Add(1)
	err := b.Commit(pebble.NoSync)
	s.sync.written.Add(1)
	s.sync.underway.Add(-1)
	if err != nil {
		s.fail(err)
	}
	if err := s.failed(); err != nil {
		return err
	}
	return b.Close()
}

// get calls with the value of a key, which it must not keep, or nil.
func (s *Store) get(key []byte, with func([]byte) error) error {
	v, closer, err := s.db.Get(key)
	if err == pebble.ErrNotFound {
		return with(nil)
	}
	if err != nil {
		return fmt.Errorf("cannot read store: %w", err)
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
		return dst, false, fmt.Errorf("cannot read store: %w", err)
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

// spaceKey is where a space begins; followed by a key, it is that key's.
func spaceKey(dst []byte, space uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, keySpace), space)
}

// stripe picks the lock that a key shares with others.
func (s *Store) stripe(key []byte) int {
	return int(maphash.Bytes(s.seed, key) % uint64(len(s.locks)))
}

// logger passes Pebble's words on.
type logger struct{ s *Store }

func (l logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) { l.s.opts.Logf(format, args...) }

func (l logger) Fatalf(format string, args ...any) { l.s.fail(fmt.Errorf(format, args...)) }
