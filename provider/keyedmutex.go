package provider

import (
	"context"
	"slices"
	"sync"
)

// A KeyedMutex is a mutex for each of many keys. The zero value is ready.
type KeyedMutex struct {
	mu   sync.Mutex
	held map[string]chan struct{} // each is closed when its key is free again
}

// Lock waits until key is free, and takes it until unlock is called. If ctx is done first, the
// error is that of ctx.
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

// LockAll is Lock for several keys, which may repeat. Two callers that share keys don't deadlock.
func (k *KeyedMutex) LockAll(ctx context.Context, keys []string) (unlock func(), err error) {
	keys = slices.Clone(keys)
	slices.Sort(keys) // all callers take them in one order
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
