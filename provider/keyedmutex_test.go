package provider

import (
	"context"
	"errors"
	"testing"
)

func TestKeyedMutex(t *testing.T) {
	var k KeyedMutex
	unlock, err := k.LockAll(t.Context(), []string{"a", "c", "a"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if _, err := k.LockAll(ctx, []string{"c", "b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	other, err := k.Lock(ctx, "b") // LockAll released it
	if err != nil {
		t.Fatal(err)
	}
	other()
	done := make(chan error)
	go func() {
		unlock, err := k.Lock(t.Context(), "a")
		if err == nil {
			unlock()
		}
		done <- err
	}()
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(k.held) != 0 {
		t.Errorf("%d keys are still locked", len(k.held))
	}
}
