package dummytest

import (
	"context"
	"slices"
	"sync"
)

// Op is one operation on a Cloud.
type Op struct {
	Method      string // of Environ, or "Lose"
	Model       string
	MachineID   string   // of StartInstance
	Constraints string   // of StartInstance
	InstanceIDs []string // that were started, or to be stopped
	Profiles    []string // of SetProfiles: their names
	Stalled     bool     // the call waits; it has another Op when it returns
	Err         error
}

// logKept is the maximum number of operations in the log; older ones are dropped.
const logKept = 10000

type oplog struct {
	mu      sync.Mutex
	ops     []Op
	first   int           // number of ops[0]
	changed chan struct{} // closed at the next add; nil when no one waits
}

func (l *oplog) add(op Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, op)
	if extra := len(l.ops) - logKept; extra > logKept/10 {
		l.ops = slices.Delete(l.ops, 0, extra)
		l.first += extra
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// from returns the operations from number n, the number that follows them, and a channel that
// is closed when there are more.
func (l *oplog) from(n int) (ops []Op, next int, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	skip := min(max(n-l.first, 0), len(l.ops))
	return slices.Clone(l.ops[skip:]), l.first + len(l.ops), l.changed
}

// Ops returns the operations, oldest first. A call is listed once it has returned.
func (c *Cloud) Ops() []Op {
	ops, _, _ := c.log.from(0)
	return ops
}

// Watch sends all past and future operations until ctx is done; then it closes the channel. A slow
// reader blocks nothing.
func (c *Cloud) Watch(ctx context.Context) <-chan Op {
	out := make(chan Op)
	go func() {
		defer close(out)
		for n := 0; ; {
			ops, next, more := c.log.from(n)
			for _, op := range ops {
				select {
				case out <- op:
				case <-ctx.Done():
					return
				}
			}
			n = next
			if len(ops) > 0 {
				continue
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
