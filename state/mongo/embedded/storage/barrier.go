package storage

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A barrier brings what was written to disk, once for all who wait. The log
// is written in order, so that one synced record covers all before it.
type barrier struct {
	store *Store
	// A batch being committed can be read by others before it is counted;
	// with one under way nothing is known to be on disk.
	underway atomic.Int64 // batches being committed
	written  atomic.Int64 // batches committed
	synced   atomic.Int64 // of those, known to be on disk

	mu      sync.Mutex
	next    *flight // what the next sync will carry
	running bool
	done    sync.WaitGroup
}

// A flight is those who wait for one sync.
type flight struct {
	landed chan struct{}
	err    error
}

// Barrier returns when every write answered before the call is on disk. It
// costs nothing when that is so already. When ctx ends it returns early,
// with its error.
func (s *Store) Barrier(ctx context.Context) error {
	b := &s.sync
	if b.clean() {
		return s.failed()
	}
	b.mu.Lock()
	f := b.next
	if f == nil {
		f = &flight{landed: make(chan struct{})}
		b.next = f
		if !b.running {
			b.running = true
			b.done.Add(1)
			go b.run()
		}
	}
	b.mu.Unlock()
	select {
	case <-f.landed:
		return f.err
	case <-s.ended:
		return s.failed()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// clean says whether all that anybody can have read is on disk. Underway is
// looked at first: a batch that has ended by then has been counted.
func (b *barrier) clean() bool {
	return b.underway.Load() == 0 && b.synced.Load() >= b.written.Load()
}

// A sync costs as much as a few writes, and one for many is better than one
// for each. Before one begins, whoever else has something to do is let go
// first: most of them will come and wait, too. That ends after gatherFor, or
// when the turn comes back within aMoment, which is when nobody else is busy;
// so one who is alone waits for nothing.
const (
	gatherFor = 3 * time.Millisecond
	aMoment   = 20 * time.Microsecond
)

func gather() {
	start := time.Now()
	for now := start; now.Sub(start) < gatherFor; {
		runtime.Gosched()
		was := now
		if now = time.Now(); now.Sub(was) < aMoment {
			return
		}
	}
}

// run syncs for as long as somebody waits.
func (b *barrier) run() {
	defer b.done.Done()
	for {
		gather()
		b.mu.Lock()
		f := b.next
		b.next = nil
		b.running = f != nil
		b.mu.Unlock()
		if f == nil {
			return
		}
		written := b.written.Load()
		f.err = b.store.safely(func() error { return b.store.db.LogData(nil, pebble.Sync) })
		if f.err == nil {
			b.synced.Store(written)
		}
		close(f.landed)
	}
}

func (b *barrier) wait() { b.done.Wait() }
