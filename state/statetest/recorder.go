package statetest

import (
	"crypto/sha256"
	"iter"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"

	"juju/state/mongo"
)

// A Recorder takes a snapshot of a store before each message sent to it: what would be left if the client were killed there.
type Recorder struct {
	testing.TB
	Store *mongo.Store

	mu    sync.Mutex
	on    bool
	seen  map[[32]byte]bool
	found []Snapshot
}

// NewRecorder opens an empty store, until the test ends, and records what is done to it.
func NewRecorder(t testing.TB) *Recorder {
	t.Helper()
	r := &Recorder{TB: t, seen: map[[32]byte]bool{}}
	r.Store = Embedded(t, func(c net.Conn) net.Conn { return tapped{c, r} })
	return r
}

// Record returns the distinct states that the store went through while f ran, including the first and the last. With -short
// it omits some of those between.
func (r *Recorder) Record(f func()) []Snapshot {
	r.Helper()
	r.mu.Lock()
	r.on, r.found = true, nil
	clear(r.seen)
	r.mu.Unlock()
	r.look()
	f()
	r.look()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = false
	return r.found
}

// look records the contents of the store if they are new. Only one look runs at a time, and messages sent meanwhile are not
// looked at.
func (r *Recorder) look() {
	r.mu.Lock()
	if !r.on {
		r.mu.Unlock()
		return
	}
	r.on = false
	r.mu.Unlock()
	s, err := TakeSnapshot(r.Context(), r.Store)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = true
	if err != nil {
		r.Error(err)
		return
	}
	if sum := sha256.Sum256(s); !r.seen[sum] {
		r.seen[sum] = true
		r.found = append(r.found, s)
	}
}

// Some iterates over a few of the points, different ones in each run; in a soak over all.
func Some(t testing.TB, points []Snapshot) iter.Seq2[int, Snapshot] {
	t.Helper()
	few := 12
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		few = len(points)
	case testing.Short():
		few = 3
	}
	every := max(1, len(points)/few)
	first := rand.IntN(every)
	t.Logf("of %d points, testing one in %d, starting at %d", len(points), every, first)
	return func(yield func(int, Snapshot) bool) {
		for i := first; i < len(points) && yield(i, points[i]); i += every {
		}
	}
}

type tapped struct {
	net.Conn
	r *Recorder
}

func (c tapped) Write(b []byte) (int, error) {
	if !testing.Short() || rand.IntN(15) == 0 {
		c.r.look()
	}
	return c.Conn.Write(b)
}
