package storage

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A barrier is a group commit: one sync makes all earlier writes durable for all waiting callers. The log is written in
// order, so a synced record covers all earlier ones.
type barrier struct {
	store *Store
	// Readers may see a batch before its commit is counted, so nothing is assumed to be on disk while a
	// commit is under way.
	underway atomic.Int64 // batches being committed
	written  atomic.Int64 // batches committed
	synced   atomic.Int64 // of those, the number known to be on disk

	mu      sync.Mutex
	next    *group // the callers covered by the next sync
	running bool
	done    sync.WaitGroup
}

// A group is a set of callers that wait for the same sync.
type group struct {
	done chan struct{}
	err  error
}

// Barrier returns when every write acknowledged before the call is on disk. It is free if they already are.
// If ctx ends first, Barrier returns its cause.
func (s *Store) Barrier(ctx context.Context) error {
	b := &s.sync
	if b.clean() {
		return s.failed()
	}
	b.mu.Lock()
	g := b.next
	if g == nil {
		g = &group{done: make(chan struct{})}
		b.next = g
		if !b.running {
			b.running = true
			b.done.Add(1)
			go b.run()
		}
	}
	b.mu.Unlock()
	select {
	case <-g.done:
		return g.err
	case <-s.ended:
		return s.failed()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// clean reports whether everything that a reader may have seen is on disk. It reads underway first: a batch
// that is no longer under way has been counted.
func (b *barrier) clean() bool {
	return b.underway.Load() == 0 && b.synced.Load() >= b.written.Load()
}

// A sync costs as much as a few writes, so one sync for many callers is better than one for each. Before a sync, run
// yields to other goroutines, most of which will then wait for the sync as well. It stops after gatherFor, or when a
// yield returns within aMoment, which means that nothing else is busy. So a single caller doesn't wait.
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

// run syncs as long as callers are waiting.
func (b *barrier) run() {
	defer b.done.Done()
	for {
		gather()
		b.mu.Lock()
		g := b.next
		b.next = nil
		b.running = g != nil
		b.mu.Unlock()
		if g == nil {
			return
		}
		written := b.written.Load()
		g.err = b.store.safely(func() error { return b.store.db.LogData(nil, pebble.Sync) })
		if g.err == nil {
			b.synced.Store(written)
		}
		close(g.done)
	}
}

func (b *barrier) wait() { b.done.Wait() }
