package mongo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	mgo "gopkg.in/mgo.v2"

	"juju/state/mongo/servertxn"
)

// A slot that is handed to a caller who has just given up goes to the next one.
func TestASlotForOneWhoHasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &slotQueue{most: 1, connect: func() *mgo.Session { return nil }, begin: func() *servertxn.Session { return nil }}
		only, err := q.acquire(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gave := make(chan error)
		go func() {
			_, err := q.acquire(ctx, false)
			gave <- err
		}()
		synctest.Wait()
		q.mu.Lock() // so that the caller learns of the slot only after it has given up
		why := errors.New("given up")
		cancel(why)
		q.waiting[0] <- only
		q.waiting = nil
		q.mu.Unlock()
		if err := <-gave; err != why {
			t.Errorf("got %v", err)
		}
		if next, err := q.acquire(t.Context(), false); next != only || err != nil {
			t.Errorf("the next gets %v, %v", next, err)
		}
	})
}
