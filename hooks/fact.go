package hooks

import (
	"context"
	"sync"
	"time"
)

// backendTimeout is how long a hook tool waits for the controller: long enough for a restart of
// the controller, short enough for a hook to fail by itself.
const backendTimeout = time.Minute

// A fact is a part of the model that the tools of a hook read on first use, and then see as the hook has changed it. It is
// locked while it is read, so tools that ask for it at once read it once and see the same; others need not wait.
type fact[T any] struct {
	mu    sync.Mutex
	known bool
	value T
}

// use reads the fact if needed, and calls do with it. A read that has failed is tried again by the next caller.
func (f *fact[T]) use(ctx context.Context, read func(context.Context) (T, error), do func(*T) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		value, err := read(ctx)
		if err != nil {
			return err
		}
		f.value, f.known = value, true
	}
	return do(&f.value)
}

// get returns the fact, which the caller must not modify.
func (f *fact[T]) get(ctx context.Context, read func(context.Context) (T, error)) (value T, err error) {
	err = f.use(ctx, read, func(v *T) error { value = *v; return nil })
	return value, err
}

// change calls set, which changes the fact in the controller, and forgets what it was.
func (f *fact[T]) change(ctx context.Context, set func(context.Context) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = false
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	return set(ctx)
}

// put calls set, which sets the fact in the controller to a value, and remembers that.
func (f *fact[T]) put(ctx context.Context, value T, set func(context.Context) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	err := set(ctx)
	if err == nil {
		f.value, f.known = value, true
	}
	return err
}

// peek calls do with the fact as it is, the zero value if it was not read.
func (f *fact[T]) peek(do func(*T)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(&f.value)
}
