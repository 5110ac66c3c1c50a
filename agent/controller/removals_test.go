package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/controller"
)

// goners are models of which something is left.
type goners struct {
	mu     sync.Mutex
	left   map[string]controller.Remains
	slow   map[string]bool // no answer about them comes for two minutes
	faults map[string]int  // how often their removal fails
	tried  []string
	events chan struct{}
}

func (g *goners) remains(context.Context) (all []controller.Remains, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(g.left)) {
		all = append(all, g.left[id])
	}
	return all, nil
}

func (g *goners) resume(ctx context.Context, r controller.Remains) (done bool, err error) {
	g.mu.Lock()
	slow := g.slow[r.UUID]
	g.tried = append(g.tried, r.UUID)
	g.mu.Unlock()
	if slow {
		select {
		case <-time.After(2 * time.Minute):
		case <-ctx.Done():
		}
		return false, errors.New("no answer")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.faults[r.UUID]--; g.faults[r.UUID] >= 0 {
		return false, errors.New("away")
	}
	delete(g.left, r.UUID)
	return true, nil
}

// goes begins the removal of models, or changes it.
func (g *goners) goes(all ...controller.Remains) {
	g.mu.Lock()
	for _, r := range all {
		g.left[r.UUID] = r
	}
	g.mu.Unlock()
	g.events <- struct{}{}
}

func (g *goners) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(g.left)), " ")
}

func goner(id string) controller.Remains {
	return controller.Remains{ModelRow: controller.ModelRow{UUID: id}}
}

// undertaken runs the removal of models while tell runs.
func undertaken(t *testing.T, tell func(g *goners, is func(want string))) {
	synctest.Test(t, func(t *testing.T) {
		g := &goners{left: map[string]controller.Remains{}, slow: map[string]bool{}, faults: map[string]int{},
			events: make(chan struct{})}
		r := &removals{watch: func(context.Context) (<-chan struct{}, error) { return g.events, nil }, remains: g.remains,
			resume: g.resume, retry: 10 * time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.run(ctx) }()
		tell(g, func(want string) {
			t.Helper()
			synctest.Wait()
			if got := g.String(); got != want {
				t.Errorf("left are %q, want %q", got, want)
			}
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the worker ended with %v", err)
		}
	})
}

// A model is removed while the cloud does not answer about another, or about what is left of one.
func TestARemovalWaitsForNoOther(t *testing.T) {
	undertaken(t, func(g *goners, is func(string)) {
		leftover := goner("old")
		leftover.Leftover = true
		g.slow["slow"], g.slow["old"] = true, true
		g.goes(goner("slow"), leftover)
		is("old slow")
		g.goes(goner("quick"))
		is("old slow")
		if n := len(g.tried); n != 3 {
			t.Errorf("tried are %q", g.tried)
		}
	})
}

// However many hang, each has its turn.
func TestRemovalsWaitTheirTurn(t *testing.T) {
	undertaken(t, func(g *goners, is func(string)) {
		var all []controller.Remains
		for n := range 3 * removalsAtOnce {
			id := fmt.Sprint("slow-", n)
			g.slow[id] = true
			all = append(all, goner(id))
		}
		g.goes(all...)
		synctest.Wait()
		if n := len(g.tried); n != removalsAtOnce {
			t.Errorf("%d models are removed at once", n)
		}
		before := g.String()
		g.goes(goner("z"))
		time.Sleep(6*time.Minute + time.Second)
		is(before)
	})
}

// A removal that fails is tried again soon at first, then less often, and at once when it is forced. A leftover is
// tried again when there is news.
func TestRetriesOfARemoval(t *testing.T) {
	undertaken(t, func(g *goners, is func(string)) {
		g.faults["m"] = 2
		g.goes(goner("m"))
		is("m")
		time.Sleep(3 * time.Second)
		is("")

		g.faults["m"] = 100
		g.goes(goner("m"))
		time.Sleep(time.Minute)
		is("m")
		if n := len(g.tried) - 3; n != 9 { // after 1, 2, 4, 8, 10, 10, 10 and 10 seconds
			t.Errorf("it was tried %d times in a minute", n)
		}
		g.faults["m"] = 0
		forced := goner("m")
		forced.Forced = true
		g.goes(forced)
		is("")

		leftover := goner("old")
		leftover.Leftover, g.faults["old"] = true, 1
		g.goes(leftover)
		time.Sleep(time.Hour)
		is("old")
		g.goes()
		is("")
	})
}
