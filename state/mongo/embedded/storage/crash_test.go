package storage_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// tiny opens a store that starts a new log file every few hundred writes.
func tiny(t testing.TB, fs vfs.FS) *storage.Store {
	t.Helper()
	return openWith(t, storage.Options{FS: fs, MemTableSize: 64 << 10})
}

// A diary records the progress of one writer in TestPowerLoss.
type diary struct {
	written atomic.Int64 // documents acknowledged
	safe    atomic.Int64 // of those, covered by a completed barrier
}

func (d *diary) note(safe int64) {
	for was := d.safe.Load(); was < safe && !d.safe.CompareAndSwap(was, safe); was = d.safe.Load() {
	}
}

// TestPowerLoss cuts the power at random moments, and loses part of what wasn't synced. What is left must be
// a prefix of each writer's writes that includes everything covered by a barrier. A document and its index
// entries must survive together or not at all, and a write may survive only if all earlier writes do, whoever
// made them.
func TestPowerLoss(t *testing.T) {
	rounds := 12
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		rounds = 200
	case testing.Short():
		rounds = 5
	}
	lost, flushed := int64(0), false
	for seed := range rounds {
		l, f := powerLoss(t, uint64(seed))
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
		lost, flushed = lost+l, flushed || f
	}
	if lost < int64(rounds) || !flushed {
		t.Errorf("%d documents were lost, new log files: %v; the test is too easy", lost, flushed)
	}
}

// A crashable file system can be cloned while it is written to. Pebble's ReuseForWrite takes a read lock
// twice, and deadlocks if a CrashClone starts to wait in between.
type crashable struct{ *vfs.MemFS }

func (c crashable) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := c.Rename(from, to); err != nil {
		return nil, err
	}
	return c.OpenReadWrite(to, category)
}

// powerLoss returns how many documents were lost in total, and whether the store started a new log file at
// least once.
func powerLoss(t *testing.T, seed uint64) (lost int64, flushed bool) {
	fs := crashable{vfs.NewCrashableMem()}
	s := tiny(t, fs)
	c := create(t, s, "c", storage.CollectionOptions{})
	index(t, c, &storage.Index{Name: "n", Fields: []query.Field{{Path: "n"}, {Path: "pad", Desc: true}}})
	log := create(t, s, "log", storage.CollectionOptions{Capped: true, Size: 1 << 20})
	if err := s.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	const writers = 4
	var diaries [writers]diary
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { keepDiary(t, s, c, log, w, &diaries[w], stop, rand.New(rand.NewPCG(seed, uint64(w)))) })
	}
	wg.Go(func() { readDiary(t, s, log, diaries[:], stop) })
	r := rand.New(rand.NewPCG(seed, 99))
	for range 4 {
		for before := diaries[0].written.Load(); diaries[0].written.Load() < before+int64(r.IntN(300)) && !t.Failed(); {
			runtime.Gosched() // let the writers run
		}
		var safe [writers]int64
		for w := range diaries {
			safe[w] = diaries[w].safe.Load()
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 20, 50, 90}[r.IntN(4)], RNG: r})
		var most [writers]int64
		for w := range diaries {
			most[w] = diaries[w].written.Load() + 1
		}
		lost += inspect(t, crashed, safe[:], most[:])
		files, err := crashed.List("store")
		if err != nil {
			t.Error(err)
		}
		flushed = flushed || slices.ContainsFunc(files, func(name string) bool { return strings.HasSuffix(name, ".sst") })
	}
	close(stop)
	wg.Wait()
	shut(t, s)
	return lost, flushed
}

// keepDiary inserts documents with increasing numbers, and waits for a barrier now and then.
func keepDiary(t *testing.T, s *storage.Store, c, log *storage.Collection, w int, d *diary, stop chan struct{}, r *rand.Rand) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		doc := bson.D{id(fmt.Sprintf("%d-%d", w, i)), {Key: "w", Value: w}, {Key: "n", Value: i}, {Key: "pad", Value: strings.Repeat("x", r.IntN(200))}}
		if err := c.Insert(t.Context(), nil, bsontest.RawDocument(doc)); err != nil {
			t.Error(err)
			return
		}
		if err := log.Insert(t.Context(), nil, bsontest.RawDocument(doc)); err != nil {
			t.Error(err)
			return
		}
		d.written.Store(int64(i + 1))
		if r.IntN(30) == 0 {
			if err := s.Barrier(context.Background()); err != nil {
				t.Error(err)
				return
			}
			d.note(int64(i + 1))
		}
	}
}

// readDiary reads what the writers have written, and counts it as safe after a barrier of its own, whether or
// not the writers know.
func readDiary(t *testing.T, s *storage.Store, log *storage.Collection, diaries []diary, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		seen := make([]int64, len(diaries))
		scan := log.Scan(nil, plan.Plan{Scans: everything.Scans, Reverse: true}, nil)
		for range 2 * len(diaries) {
			_, doc, err := scan.Next()
			if err != nil {
				t.Error(err)
				return
			}
			if doc == nil {
				break
			}
			w, _ := raw.Get(doc, "w")
			n, _ := raw.Get(doc, "n")
			// The writer wrote to the other collection first.
			seen[w.Int32()] = max(seen[w.Int32()], int64(n.Int32())+1)
		}
		if _, _, err := scan.Pause(); err != nil {
			t.Error(err)
			return
		}
		if err := s.Barrier(context.Background()); err != nil {
			t.Error(err)
			return
		}
		for w, n := range seen {
			diaries[w].note(n)
		}
	}
}

// inspect opens and checks the store that a crash left, and returns how many documents were lost.
func inspect(t *testing.T, fs vfs.FS, safe, most []int64) (lost int64) {
	t.Helper()
	s := tiny(t, fs)
	defer shut(t, s)
	check(t, s)
	logged := int64(0)
	for _, name := range []string{"c", "log"} {
		c := s.Collection("db", name)
		if c == nil {
			t.Errorf("collection %s is missing", name)
			return 0
		}
		count := make([]int64, len(safe))
		next := make([]int64, len(safe))
		scan := c.Natural()
		for {
			_, doc, err := scan.Next()
			if err != nil {
				t.Fatal(err)
			}
			if doc == nil {
				break
			}
			w, _ := raw.Get(doc, "w")
			n, _ := raw.Get(doc, "n")
			count[w.Int32()]++
			next[w.Int32()] = max(next[w.Int32()], int64(n.Int32())+1)
		}
		if _, _, err := scan.Pause(); err != nil {
			t.Fatal(err)
		}
		for w := range safe {
			if name == "log" {
				logged += count[w]
			}
			if count[w] != next[w] {
				t.Errorf("%s: writer %d has %d documents left, but the last one is number %d", name, w, count[w], next[w])
			}
			lost += most[w] - count[w]
			if count[w] < safe[w] || count[w] > most[w] {
				t.Errorf("%s: writer %d has %d documents left; %d were safe and %d written", name, w, count[w], safe[w], most[w])
			}
		}
	}
	// The log has all writes in order, so its numbers must have no gap.
	log := s.Collection("db", "log")
	first, next, err := log.Extent()
	if err != nil {
		t.Fatal(err)
	}
	if logged != int64(next-first) {
		t.Errorf("the log extends from %d to %d, but has %d documents", first, next, logged)
	}
	return lost
}

// TestBarrierIsFree counts syncs: none if nothing was written, and one for all callers that wait together.
func TestBarrierIsFree(t *testing.T) {
	var syncs atomic.Int64
	hold := make(chan struct{})
	entered := make(chan struct{}, 100)
	var held atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) {
			syncs.Add(1)
			if held.Load() {
				entered <- struct{}{}
				<-hold
			}
		}
		return nil
	}))
	s := open(t, fs)
	defer shut(t, s)
	c := create(t, s, "c", storage.CollectionOptions{})
	pass := func() {
		if err := s.Barrier(t.Context()); err != nil {
			t.Error(err)
		}
	}
	pass()
	before := syncs.Load()
	for range 10 {
		pass()
	}
	if n := syncs.Load() - before; n != 0 {
		t.Errorf("%d syncs with nothing written", n)
	}

	// All callers that arrive during a sync share the next one.
	held.Store(true)
	before = syncs.Load()
	insert(t, c, bson.D{id(0)})
	var wg sync.WaitGroup
	wg.Go(pass)
	<-entered
	insert(t, c, bson.D{id(1)})
	for range 20 {
		wg.Go(pass)
	}
	held.Store(false)
	close(hold)
	wg.Wait()
	if n := syncs.Load() - before; n < 2 || n > 3 {
		t.Errorf("%d syncs for two rounds of waiters", n)
	}

	// A caller whose context ends doesn't wait.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	insert(t, c, bson.D{id(2)})
	if err := s.Barrier(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Barrier with a cancelled context: %v", err)
	}
}

// TestDiskFails makes writes to the log fail. The store must report the failure once, and must not report
// anything as durable afterwards.
func TestDiskFails(t *testing.T) {
	for name, kinds := range map[string][]errorfs.OpKind{
		"write": {errorfs.OpFileWrite},
		"sync":  {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
	} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Bool
			fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !broken.Load() || !strings.HasSuffix(op.Path, ".log") {
					return nil
				}
				for _, kind := range kinds {
					if op.Kind == kind {
						return errors.New("the disk is broken")
					}
				}
				return nil
			}))
			deaths := make(chan error, 10)
			s := openWith(t, storage.Options{FS: fs, Logf: t.Logf, Fatal: func(err error) { deaths <- err }})
			c := create(t, s, "c", storage.CollectionOptions{})
			if err := s.Barrier(t.Context()); err != nil {
				t.Fatal(err)
			}
			broken.Store(true)
			insert(t, c, bson.D{id(1)})
			if err := s.Barrier(t.Context()); !errors.Is(err, storage.ErrClosed) {
				t.Errorf("Barrier on a broken disk: %v", err)
			}
			if err := s.Barrier(t.Context()); !errors.Is(err, storage.ErrClosed) {
				t.Errorf("second Barrier: %v", err)
			}
			if err := c.Insert(t.Context(), nil, bsontest.RawDocument(bson.D{id(2)})); !errors.Is(err, storage.ErrClosed) {
				t.Errorf("Insert after the failure: %v", err)
			}
			<-deaths // Fatal may be called after the barrier fails
			if n := len(deaths); n != 0 {
				t.Errorf("Fatal was called %d more times", n)
			}
		})
	}
}

func TestOneProcessOnly(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	if second, err := storage.Open("store", storage.Options{FS: fs, Logf: t.Logf}); err == nil {
		shut(t, second)
		t.Error("the store was opened twice")
	}
	shut(t, s)
}
