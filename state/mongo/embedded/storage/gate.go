package storage

import (
	"context"
	"sync"
	"time"
)

// A gate is a read-write lock whose writer doesn't keep readers out while it waits for one that takes long, such as a
// transaction.
type gate struct {
	entry sync.RWMutex // locked by a writer that waits
	mu    sync.RWMutex
}

// RLock locks the gate for reading.
func (g *gate) RLock() {
	g.entry.RLock()
	defer g.entry.RUnlock()
	g.mu.RLock()
}

// TryRLock is RLock, but fails instead of waiting.
func (g *gate) TryRLock() bool {
	if !g.entry.TryRLock() {
		return false
	}
	defer g.entry.RUnlock()
	return g.mu.TryRLock()
}

// RUnlock undoes RLock.
func (g *gate) RUnlock() { g.mu.RUnlock() }

// lockWithin locks the gate for writing, unless it takes longer than d. Until then new readers wait.
func (g *gate) lockWithin(d time.Duration) bool {
	g.entry.Lock()
	defer g.entry.Unlock()
	for began := time.Now(); !g.mu.TryLock(); time.Sleep(lockPatience / 100) {
		if time.Since(began) > d {
			return false
		}
	}
	return true
}

// longestWindow limits how long changes to a collection wait at a time because another wants it for itself. The next such
// window comes after ten times as long.
const longestWindow = 40 * time.Millisecond

// alone locks the catalog, and the collection that find returns if it isn't nil: no change of its documents is in
// progress then, nor a transaction that has made one. The caller must call unlock. While alone waits for a transaction,
// other changes go on. ctx ends the wait with its cause.
func (s *Store) alone(ctx context.Context, find func() *Collection) (c *Collection, unlock func(), err error) {
	for window := lockPatience / 2; ; window = min(2*window, longestWindow) {
		s.ddl.Lock()
		if c = find(); c == nil {
			return nil, s.ddl.Unlock, nil
		}
		if c.mu.lockWithin(window) {
			return c, func() { c.mu.mu.Unlock(); s.ddl.Unlock() }, nil
		}
		s.ddl.Unlock()
		select {
		case <-time.After(10 * window):
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-s.ended:
			return nil, nil, s.failed()
		case <-s.quit:
			return nil, nil, ErrClosed
		}
	}
}
