package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
)

// one gives a single turn of a queue whose turns are all taken.
func (q *Queue) one() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free = 1
	q.give()
	q.free = -1 // releasing it gives no one a turn
}

// comes lets a caller wait for a turn, in a synctest bubble; its name is sent to served when it has one.
func (q *Queue) comes(t *testing.T, served chan<- string, name string, as Turn) {
	go func() {
		release, err := q.Take(t.Context(), time.Hour, as)
		if err != nil {
			t.Error(err)
			return
		}
		served <- name
		release()
	}()
	synctest.Wait()
}

// serves gives a turn to a caller that waits, and returns its name.
func (q *Queue) serves(served <-chan string) string {
	q.one()
	name := <-served
	synctest.Wait() // until it has released its turn, which must not end the next one's
	return name
}

func (q *Queue) length() (waiting, given int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting), q.given
}

// The queue gives its turns in the documented order.
func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(0, 100)
		q.free = -1
		served := make(chan string)
		comes := func(name, source, user string, failed int) {
			q.comes(t, served, name, Turn{Source: source, User: user, Failed: failed})
		}
		next := func() string { return q.serves(served) }
		for i := range 20 {
			comes(fmt.Sprint("guesser ", i), "10.0.0.1", "bob", 0)
			comes(fmt.Sprint("again ", i), "10.0.0.1", "bob", 1)
		}
		var got []string
		got = append(got, next()) // the last to come
		comes("bob's neighbour", "10.0.0.1", "eve", 0)
		comes("eve elsewhere", "10.0.0.3", "eve", 0)
		comes("bob elsewhere", "10.0.0.2", "bob", 0)
		for range 4 {
			got = append(got, next())
		}
		want := []string{"guesser 19", "eve elsewhere", "bob elsewhere", "bob's neighbour", "guesser 18"}
		if !slices.Equal(got, want) {
			t.Errorf("served %q, want %q", got, want)
		}
		for range 38 {
			last := next()
			got = append(got, last)
		}
		if last := got[len(got)-1]; last[:5] != "again" {
			t.Errorf("served last: %q", last)
		}
		synctest.Wait() // until the last has released its turn
		if len(q.waiting) > 0 || len(q.ofUser) > 0 || len(q.ofSource) > 0 {
			t.Errorf("an empty queue remembers %v, %v, %v", q.waiting, q.ofUser, q.ofSource)
		}
	})
}

// An address that has had fewer turns comes first, whatever names it logs in with.
func TestQueueIsFairToAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(0, 100)
		q.free = -1
		served := make(chan string)
		comes := func(name, source string) { q.comes(t, served, name, Turn{Source: source, User: name}) }
		var got []string
		next := func() { got = append(got, q.serves(served)) }
		comes("first", "10.0.0.1")
		comes("second", "10.0.0.1")
		next()
		comes("neighbour", "10.0.0.2")
		comes("third", "10.0.0.1")
		for range 3 {
			next()
		}
		if want := []string{"second", "neighbour", "third", "first"}; !slices.Equal(got, want) {
			t.Errorf("served %q, want %q", got, want)
		}
	})
}

// A queue that is never empty does not grow without limit, although strangers choose the names
// that it counts.
func TestQueueForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(0, 8)
		q.free = -1
		comes := func(turn Turn) {
			go func() {
				if release, err := q.Take(t.Context(), time.Hour, turn); err == nil {
					release()
				}
			}()
			synctest.Wait()
		}
		comes(Turn{Failed: 1}) // all others come first
		for i := range 200 {
			comes(Turn{Source: fmt.Sprint("10.0.0.", i), User: fmt.Sprint("user", i)})
			q.one()
			synctest.Wait()
			if waiting, given := q.length(); waiting != 1 || given != i+1 {
				t.Fatalf("%d wait, %d turns given", waiting, given)
			}
			if len(q.ofUser) > 16 || len(q.ofSource) > 16 {
				t.Fatalf("after %d turns it remembers %d users and %d sources", i+1, len(q.ofUser), len(q.ofSource))
			}
		}
		q.one()
	})
}

// Nothing is left of logins that wait too long, give up or find no room.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 2)
		release, err := q.Take(t.Context(), 0, Turn{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Take(t.Context(), time.Second, Turn{}); !errors.Is(err, entity.Unavailable) || len(q.waiting) != 0 {
			t.Errorf("too long: %v, %d wait", err, len(q.waiting))
		}
		why := errors.New("left")
		ctx, cancel := context.WithCancelCause(t.Context())
		outcomes := make(chan error, 3)
		waits := func(ctx context.Context) {
			go func() {
				release, err := q.Take(ctx, time.Hour, Turn{})
				if err == nil {
					release()
				}
				outcomes <- err
			}()
			synctest.Wait()
		}
		waits(ctx)
		cancel(why)
		if err := <-outcomes; err != why || len(q.waiting) != 0 {
			t.Errorf("given up: %v, %d wait", err, len(q.waiting))
		}
		waits(t.Context())
		waits(t.Context())
		waits(t.Context())
		if err := <-outcomes; !errors.Is(err, entity.Unavailable) || len(q.waiting) != 2 {
			t.Errorf("no room: %v, %d wait", err, len(q.waiting))
		}
		release()
		for range 2 {
			if err := <-outcomes; err != nil {
				t.Error(err)
			}
		}
		if q.free != 1 || len(q.waiting) != 0 {
			t.Errorf("%d turns are free, %d wait", q.free, len(q.waiting))
		}
	})
}

// When the queue is full, the one whose turn would come last is turned away.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 2)
		release, err := q.Take(t.Context(), 0, Turn{})
		if err != nil {
			t.Fatal(err)
		}
		outcomes := make(chan string, 1)
		comes := func(name string, failed int) {
			go func() {
				release, err := q.Take(t.Context(), time.Hour, Turn{Failed: failed})
				if err != nil {
					outcomes <- fmt.Sprint(name, ": ", err)
					return
				}
				outcomes <- name
				release()
			}()
			synctest.Wait()
		}
		comes("first", 0)
		comes("guesser", 3)
		var got []string
		comes("second", 1)
		got = append(got, <-outcomes)
		comes("another guesser", 4)
		got = append(got, <-outcomes)
		release()
		got = append(got, <-outcomes, <-outcomes)
		want := []string{"guesser: try again", "another guesser: try again", "first", "second"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Whoever gives up waiting leaves the queue. A turn that comes at that moment goes to the next.
func TestLeavingTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(0, 100)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		for _, wait := range []time.Duration{time.Second, time.Hour} {
			go func() {
				_, err := q.Take(ctx, wait, Turn{Source: "10.0.0.1", User: "bob"})
				left <- err
			}()
		}
		if err := <-left; !errors.Is(err, entity.Unavailable) {
			t.Errorf("after a second: %v", err)
		}
		if waiting, _ := q.length(); waiting != 1 {
			t.Errorf("%d wait, want 1", waiting)
		}
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("once it is over: %v", err)
		}
		if waiting, _ := q.length(); waiting != 0 {
			t.Errorf("%d wait, want none", waiting)
		}
		q.release()
		release, err := q.Take(t.Context(), 0, Turn{Source: "10.0.0.1", User: "bob"})
		if err != nil {
			t.Fatalf("a turn is free, and it is not taken: %v", err)
		}
		release()
	})
}
