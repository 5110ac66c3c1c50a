package worker

import (
	"reflect"
	"time"
)

// Retries has the work that has failed, by a name, and when it is tried again: the same work waits, each time twice as long,
// and other work of the same name does not wait. Its owner is one goroutine.
type Retries[W any] struct {
	First, Longest time.Duration // the pauses

	failed, before map[string]failedWork[W] // in this pass, and in the one before
}

type failedWork[W any] struct {
	work  W
	pause time.Duration
	next  time.Time
}

// Begin begins a pass over all that there is to do. What has failed, and is not asked about in the pass, is forgotten with
// the next one.
func (r *Retries[W]) Begin() { r.before, r.failed = r.failed, map[string]failedWork[W]{} }

// Ask returns how long work has to wait from now on, 0 if it is due, and the pause after it if it fails again.
func (r *Retries[W]) Ask(name string, work W) (left, pause time.Duration) {
	was := r.before[name]
	if reflect.DeepEqual(was.work, work) {
		r.failed[name] = was
	} else {
		was = failedWork[W]{}
	}
	return max(0, time.Until(was.next)), min(max(2*was.pause, r.First), r.Longest)
}

// Failed records that work has failed, and has to wait.
func (r *Retries[W]) Failed(name string, work W, pause time.Duration) {
	r.failed[name] = failedWork[W]{work, pause, time.Now().Add(pause)}
}

// Sooner returns the shorter of two times until a pass is due, of which 0 means that none is.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
