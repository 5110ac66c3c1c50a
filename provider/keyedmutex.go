package provider

import (
	"context"
	"slices"
	"sync"
)

// A KeyedMutex is a mutex per key. The zero value is ready to use.
type KeyedMutex struct {
	mu   sync.Mutex
	held map[string]chan struct{} // each is closed when its key is unlocked
}

// Lock locks key until unlock is called. It waits if key is locked; if ctx is done first, it returns
// ctx's error.
func (k *KeyedMutex) Lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		busy, ok := k.held[key]
		if !ok {
			if k.held == nil {
				k.held = map[string]chan struct{}{}
			}
			done := make(chan struct{})
			k.held[key] = done
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				defer k.mu.Unlock()
				delete(k.held, key)
				close(done)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// LockAll locks several keys, which may repeat, without deadlocking with other callers.
func (k *KeyedMutex) LockAll(ctx context.Context, keys []string) (unlock func(), err error) {
	keys = slices.Clone(keys)
	slices.Sort(keys) // a fixed order prevents deadlock
	var held []func()
	unlock = func() {
		for _, f := range held {
			f()
		}
	}
	for _, key := range slices.Compact(keys) {
		one, err := k.Lock(ctx, key)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, one)
	}
	return unlock, nil
}
