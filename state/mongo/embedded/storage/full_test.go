package storage_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// full maps what hits the full disk first to the operations that then fail.
var full = map[string]func(errorfs.Op) bool{
	"the log's next block": func(op errorfs.Op) bool {
		// errorfs doesn't see writes to a file that is reused.
		return (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpReuseForWrite) && strings.HasSuffix(op.Path, ".log")
	},
	"the log's next file": func(op errorfs.Op) bool {
		return (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite) && strings.HasSuffix(op.Path, ".log")
	},
	"a flush": func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".sst")
	},
	"a flush's file": func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst")
	},
	"the manifest": func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, "MANIFEST-")
	},
	"the manifest's sync": func(op errorfs.Op) bool {
		return (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && strings.Contains(op.Path, "MANIFEST-")
	},
	"everything": func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite },
}

// TestFullDisk fills the disk during writes. The store must report it immediately and release all waiting
// callers. Once there is space again, everything that was on disk must still be there.
func TestFullDisk(t *testing.T) {
	for where, is := range full {
		t.Run(where, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var isFull atomic.Bool
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if isFull.Load() && is(op) {
					return syscall.ENOSPC
				}
				return nil
			}))
			died := make(chan error, 10)
			s := openWith(t, storage.Options{FS: fs, MemTableSize: 64 << 10, Logf: quiet, Fatal: func(err error) { died <- err }})
			c := create(t, s, "c", storage.CollectionOptions{})
			var safe atomic.Int64
			go func() {
				for i := 0; ; i++ {
					if i == 2000 {
						isFull.Store(true)
					}
					doc := bson.D{id(i), {Key: "pad", Value: strings.Repeat("x", 200)}}
					if c.Insert(t.Context(), nil, bsontest.RawDocument(doc)) != nil {
						return
					}
					if i%10 == 0 {
						if s.Barrier(t.Context()) != nil {
							return
						}
						safe.Store(int64(i + 1))
					}
				}
			}()
			if err := <-died; !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("the store failed with %v", err)
			}
			if err := s.Barrier(t.Context()); !errors.Is(err, storage.ErrClosed) {
				t.Errorf("Barrier of a failed store: %v", err)
			}
			for i := range 2000 { // some of them need the lock with which a write is stuck in the disk
				if err := c.Insert(t.Context(), nil, bsontest.RawDocument(bson.D{id(-1 - i)})); !errors.Is(err, storage.ErrClosed) {
					t.Fatalf("Insert into a failed store: %v", err)
				}
			}
			if err := s.Close(); !errors.Is(err, storage.ErrClosed) {
				t.Errorf("Close of a failed store: %v", err)
			}
			want := safe.Load()
			left := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(1, 2))})
			if len(died) > 0 {
				t.Errorf("the store failed again, with %v", <-died)
			}

			// The disk is still full when the next process starts.
			stillFull := errorfs.Wrap(left, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && full["everything"](op) && !strings.HasSuffix(op.Path, "LOCK") {
					return syscall.ENOSPC
				}
				return nil
			}))
			again := left.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
			if _, err := storage.Open("store", storage.Options{FS: stillFull, Logf: quiet,
				Fatal: func(err error) { t.Errorf("fatal: %v", err) }}); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Open on a full disk: %v", err)
			}

			s = tiny(t, again)
			defer shut(t, s)
			check(t, s)
			if n := count(t, s.Collection("db", "c")); n < want {
				t.Errorf("%d documents are left of the %d that were on disk", n, want)
			}
		})
	}
}

// count counts the documents, which must be numbered without gaps.
func count(t testing.TB, c *storage.Collection) int64 {
	t.Helper()
	n := int64(0)
	scan := c.Scan(nil, plan.Plan{Scans: everything.Scans}, nil)
	for {
		_, doc, err := scan.Next()
		if err != nil {
			t.Fatal(err)
		}
		if doc == nil {
			break
		}
		if v, _ := raw.Get(doc, "_id"); int64(v.AsInt64()) != n {
			t.Fatalf("document %d is missing", n)
		}
		n++
	}
	if _, _, err := scan.Pause(); err != nil {
		t.Fatal(err)
	}
	return n
}
