package hooks

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// A slow read of a fact is made once for all who ask, holds up none who ask for another one, and is made again if it fails.
func TestFacts(t *testing.T) {
	t.Parallel()
	var slow, fast fact[int]
	reads, begun, released := 0, make(chan struct{}, 1), make(chan struct{})
	read := func(context.Context) (int, error) {
		if reads++; reads == 1 {
			return 0, errors.New("the controller restarts")
		}
		begun <- struct{}{}
		<-released
		return reads, nil
	}
	if _, err := slow.get(t.Context(), read); err == nil {
		t.Error("the first read did not fail")
	}
	var tools sync.WaitGroup
	for range 3 {
		tools.Go(func() {
			if n, err := slow.get(t.Context(), read); n != 2 || err != nil {
				t.Errorf("a tool read %d, %v", n, err)
			}
		})
	}
	<-begun
	if n, err := fast.get(t.Context(), func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("another fact is %d, %v", n, err)
	}
	close(released)
	tools.Wait()
	if err := slow.change(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	if n, _ := slow.get(t.Context(), read); n != 3 {
		t.Errorf("after a change it is %d", n)
	}
}
