package watcher_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"juju/state/watcher"
)

// facts is an in-memory Listing.
type facts struct {
	mu  sync.Mutex
	all map[string]int
}

func (f *facts) set(id string, fact int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[id] = fact
}

func (f *facts) list(ids []string) (map[string]int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[string]int{}
	for id, fact := range f.all {
		if ids == nil || slices.Contains(ids, id) {
			found[id] = fact
		}
	}
	return found, nil
}

// A watch that reads in the middle of a transaction names the ids again when the transaction is
// published, because readers that acted on the earlier event found it half applied.
func TestHalfAppliedTransactionsAreNamedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := watcher.NewHub(nil)
		defer hub.Close()
		f := &facts{all: map[string]int{"a": 1}} // its transaction is still running
		events, err := watcher.Strings(t.Context(), hub, watcher.Listing[int]{
			Topics: []watcher.Topic{watcher.Collection("c")}, List: f.list})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			select {
			case got := <-events:
				if !slices.Equal(got, want) {
					t.Errorf("%s: got %v, want %v", when, got, want)
				}
			default:
				if len(want) > 0 {
					t.Errorf("%s: got no event, want %v", when, want)
				}
			}
		}
		change := func(ids ...string) {
			for _, id := range ids {
				hub.Publish(watcher.Change{Collection: "c", ID: id})
			}
		}
		expect("at first", "a")
		change("a")
		expect("when it is made", "a")
		change("a")
		expect("when something else of it has changed")
		f.set("a", 2)
		hub.Reset() // for an unrelated reason
		expect("when it is half changed", "a")
		hub.Reset()
		expect("when a reset may stand for the rest", "a")
		change("a")
		expect("when the rest comes after it", "a")
		change("a")
		expect("when something else of it has changed")
	})
}

func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := watcher.NewHub(nil)
		events := watcher.Changes(t.Context(), hub, watcher.Collection("c"))
		change := func(ids ...string) {
			for _, id := range ids {
				hub.Publish(watcher.Change{Collection: "c", ID: id})
			}
			synctest.Wait()
		}
		for _, step := range []struct {
			when string
			act  func()
			want []string
		}{
			{"at first", func() {}, nil},
			{"after changes", func() { change("b", "a", "b") }, []string{"a", "b"}},
			{"after another one", func() { change("a") }, []string{"a"}},
			{"after a reset and a change", func() { hub.Reset(); change("a") }, nil},
			{"after a change again", func() { change("c") }, []string{"c"}},
		} {
			step.act()
			synctest.Wait()
			select {
			case got := <-events:
				if (got == nil) != (step.want == nil) || !slices.Equal(got, step.want) {
					t.Errorf("%s: got %v, want %v", step.when, got, step.want)
				}
			default:
				t.Errorf("%s: got no event", step.when)
			}
		}
		synctest.Wait()
		select {
		case got := <-events:
			t.Errorf("got %v after the last change", got)
		default:
		}
		hub.Close()
		if _, open := <-events; open {
			t.Error("the watch goes on after the hub is closed")
		}
	})
}
