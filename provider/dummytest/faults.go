package dummytest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"juju/provider"
	"juju/state/entity"
)

// fault describes how a method fails.
type fault struct {
	broken bool
	fails  []error       // of the next calls
	stall  chan struct{} // nil, or closed when calls may continue
}

// Break makes methods of Environ fail with "dummy.METHOD is broken", until Mend.
func (c *Cloud) Break(methods ...string) { c.setBroken(true, methods) }

// Mend makes broken methods work again.
func (c *Cloud) Mend(methods ...string) { c.setBroken(false, methods) }

func (c *Cloud) setBroken(broken bool, methods []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range methods {
		c.fault(m).broken = broken
	}
}

// Fail makes the next n calls of a method fail with err, or, if err is nil, with a retryable
// error.
func (c *Cloud) Fail(method string, n int, err error) {
	if err == nil {
		err = provider.Retryable(fmt.Errorf("dummy.%s failed", method))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		c.fault(method).fails = append(c.fault(method).fails, err)
	}
}

// Stall makes calls of a method wait until release is called or their context is done. For each
// call that waits, the log has an Op with Stalled set.
func (c *Cloud) Stall(method string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stall := make(chan struct{})
	c.fault(method).stall = stall
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if f := c.fault(method); f.stall == stall {
			f.stall = nil
			close(stall)
		}
	}
}

// fault returns the fault of a method. The caller must hold the mutex.
func (c *Cloud) fault(method string) *fault {
	f, ok := c.faults[method]
	if !ok {
		f = &fault{}
		c.faults[method] = f
	}
	return f
}

// failure waits while the method is stalled, and returns the error that the method must return.
func (c *Cloud) failure(ctx context.Context, op Op) error {
	c.mu.Lock()
	stall := c.fault(op.Method).stall
	c.mu.Unlock()
	if stall != nil {
		op.Stalled = true
		c.log.add(op)
		select {
		case <-stall:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.fault(op.Method)
	if f.broken {
		return errBroken(op.Method)
	}
	if len(f.fails) > 0 {
		err := f.fails[0]
		f.fails = f.fails[1:]
		return err
	}
	return nil
}

// Jam makes every stop of these instances fail. They can still be lost.
func (c *Cloud) Jam(ids ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.jammed[id] = true
	}
}

// jam returns the error of stopping instances of which at least one is jammed.
func (c *Cloud) jam(ids []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if inst := c.instances[id]; inst != nil && c.jammed[id] {
			return fmt.Errorf("instance %s does not stop", id)
		}
	}
	return nil
}

// byHand adds a hint to a stop's error: how to remove the instances manually.
func byHand(err error, ids []string) error {
	if len(ids) == 0 {
		return err
	}
	return entity.WithHint(err, "Remove from the cloud what is left of: %s", strings.Join(ids, " "))
}

func errBroken(method string) error { return errors.New("dummy." + method + " is broken") }
