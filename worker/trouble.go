package worker

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Trouble is a worker that fails again and again.
type Trouble struct {
	Worker string    // its name in its set
	Error  string    // of its last failure
	Since  time.Time // of the first failure since it last held for a while
}

// Troubles knows which of the workers that are run with it fail again and again, so
// that somebody who asks what is wrong hears of it. A worker that has failed once,
// because a connection was lost, is none of them.
type Troubles struct {
	mu      sync.Mutex
	failing map[string]*failures
	changed chan struct{} // holds one, once something has changed
}

type failures struct {
	Trouble
	times int
}

// NewTroubles returns a Troubles that knows of none.
func NewTroubles() *Troubles {
	return &Troubles{failing: map[string]*failures{}, changed: make(chan struct{}, 1)}
}

// List returns the troubles that there are, by the name of the worker.
func (t *Troubles) List() []Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Trouble
	for _, f := range slices.SortedFunc(maps.Values(t.failing), func(a, b *failures) int { return strings.Compare(a.Worker, b.Worker) }) {
		if f.times > 1 {
			all = append(all, f.Trouble)
		}
	}
	return all
}

// Report is a worker that calls tell with the troubles that there are, at its start if
// there are any, and whenever that changes.
func (t *Troubles) Report(tell func(context.Context, []Trouble) error) Func {
	return func(ctx context.Context) error {
		var told []Trouble
		for {
			if now := t.List(); !slices.Equal(now, told) {
				if err := tell(ctx, now); err != nil {
					return err
				}
				told = now
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-t.changed:
			}
		}
	}
}

type troublesKey struct{}

// WithTroubles returns a context with which Run notes the troubles of its workers.
func WithTroubles(ctx context.Context, t *Troubles) context.Context {
	return context.WithValue(ctx, troublesKey{}, t)
}

// troublesOf returns the Troubles of a context, nil for none.
func troublesOf(ctx context.Context) *Troubles {
	t, _ := ctx.Value(troublesKey{}).(*Troubles)
	return t
}

// failed notes a failure.
func (t *Troubles) failed(name string, err error) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.failing[name]
	if f == nil {
		f = &failures{Trouble: Trouble{Worker: name, Since: time.Now()}}
		t.failing[name] = f
	}
	f.times++
	f.Error = err.Error()
	t.change()
}

// well notes that a worker has ended, or held for a while.
func (t *Troubles) well(name string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failing[name] != nil {
		delete(t.failing, name)
		t.change()
	}
}

func (t *Troubles) change() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}
