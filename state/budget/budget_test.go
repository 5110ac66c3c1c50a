package budget

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
)

// Whoever holds the least has the next turn. Beyond its share one waits for itself. While someone waits,
// slow clients lose what they hold: those of the one who holds the most, the oldest first.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Limits{Total: 100, Share: 50, Wait: time.Minute, Grace: 10 * time.Second})
		var mu sync.Mutex
		var said []string
		say := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, what)
		}
		holds := map[string]*Hold{}
		open := func(who, name string) *Hold {
			h := b.Open(who, func(err error) { say(name + " ends") })
			holds[name] = h
			return h
		}
		grow := func(name string, bytes int64) {
			t.Helper()
			go func() {
				if err := holds[name].Grow(t.Context(), bytes); err != nil {
					say(fmt.Sprintf("%s: %v", name, entity.KindOf(err)))
				} else {
					say(name)
				}
			}()
			synctest.Wait()
		}
		saw := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(said)
			if !slices.Equal(said, want) {
				t.Errorf("%q, want %q", said, want)
			}
			said = nil
		}
		open("eve", "eve/1").Idle()
		time.Sleep(time.Millisecond) // it is the older one
		open("eve", "eve/2").Idle()
		open("eve", "eve/3")
		open("mallory", "mallory/1")
		open("bob", "bob/1")
		open("ann", "ann/1")
		grow("eve/1", 30)
		grow("eve/2", 20)
		saw("eve/1", "eve/2")
		grow("eve/3", 10) // beyond eve's share
		saw()
		grow("mallory/1", 45)
		grow("bob/1", 10) // no room
		grow("ann/1", 2)  // there would be room, but bob came first
		saw("mallory/1")
		holds["mallory/1"].Close()
		holds["mallory/1"].Close()
		saw("ann/1", "bob/1")
		time.Sleep(10500 * time.Millisecond)
		saw("eve/1 ends") // for eve's own sake
		holds["eve/1"].Close()
		saw("eve/3")
		// No one can have more than half of all.
		open("mallory", "mallory/2")
		grow("mallory/2", 51)
		saw("mallory/2: bad request")
		for _, name := range []string{"eve/2", "eve/3", "bob/1", "ann/1"} {
			holds[name].Close()
		}
		open("bob", "bob/2")
		grow("bob/2", 10)
		saw("bob/2")
		// One who waits for too long is told so, and one whose connection ends goes.
		holds["bob/2"].Force(85)
		open("eve", "eve/4")
		grow("eve/4", 10)
		open("ann", "ann/2")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { say(holds["ann/2"].Grow(ctx, 10).Error()) }()
		synctest.Wait()
		cancel(io.EOF)
		saw(io.EOF.Error())
		time.Sleep(time.Minute)
		saw("eve/4: try again")
		for _, h := range holds {
			h.Close()
		}
		if b.used != 0 || len(b.of) != 0 || len(b.waiting) != 0 {
			t.Errorf("%d bytes are held, by %v; %d wait", b.used, b.of, len(b.waiting))
		}
	})
}
