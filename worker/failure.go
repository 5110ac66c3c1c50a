package worker

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Failure is a worker that has failed more than once in a row.
type Failure struct {
	Worker string    // its name in the set
	Error  string    // the last error
	Since  time.Time // the first failure since it last ran stably
}

// Failures records which workers of a set keep failing, so that status can show them. A single
// failure, such as a lost connection, is not listed.
type Failures struct {
	mu      sync.Mutex
	failing map[string]*streak
	changed chan struct{} // holds a value after a change
}

type streak struct {
	Failure
	times int
	last  time.Time
}

// NewFailures returns an empty Failures.
func NewFailures() *Failures {
	return &Failures{failing: map[string]*streak{}, changed: make(chan struct{}, 1)}
}

// List returns the workers that keep failing, sorted by name.
func (f *Failures) List() []Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Failure
	byName := func(a, b *streak) int { return strings.Compare(a.Worker, b.Worker) }
	for _, s := range slices.SortedFunc(maps.Values(f.failing), byName) {
		if s.times > 1 {
			all = append(all, s.Failure)
		}
	}
	return all
}

// Report returns a worker that passes the failures to report, initially if there are any, and
// whenever they change.
func (f *Failures) Report(report func(context.Context, []Failure) error) Func {
	return func(ctx context.Context) error {
		var reported []Failure
		for {
			if now := f.List(); !slices.Equal(now, reported) {
				if err := report(ctx, now); err != nil {
					return err
				}
				reported = now
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-f.changed:
			}
		}
	}
}

type failuresKey struct{}

// WithFailures returns a context in which Run records its workers' failures in f.
func WithFailures(ctx context.Context, f *Failures) context.Context {
	return context.WithValue(ctx, failuresKey{}, f)
}

// failuresOf returns the Failures attached to ctx, or nil.
func failuresOf(ctx context.Context) *Failures {
	f, _ := ctx.Value(failuresKey{}).(*Failures)
	return f
}

type nameKey struct{}

// Report records an error that the worker running with ctx retries by itself. It is listed as a failure of
// the worker until Report is called with nil.
func Report(ctx context.Context, err error) {
	name, _ := ctx.Value(nameKey{}).(string)
	switch {
	case err == nil:
		failuresOf(ctx).recovered(name, time.Now())
	case ctx.Err() == nil:
		failuresOf(ctx).failed(name, err)
	}
}

func (f *Failures) failed(name string, err error) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.failing[name]
	if s == nil {
		s = &streak{Failure: Failure{Worker: name, Since: time.Now()}}
		f.failing[name] = s
	}
	s.times++
	s.last = time.Now()
	s.Error = err.Error()
	f.change()
}

// recovered clears a worker's failures, unless one is later than since.
func (f *Failures) recovered(name string, since time.Time) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.failing[name]; s != nil && !s.last.After(since) {
		delete(f.failing, name)
		f.change()
	}
}

func (f *Failures) change() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}
