package rollouts

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
	"juju/worker"
)

// A fakeModel has a rollout of each service, which ends with its last step.
type fakeModel struct {
	events  chan []string
	changes map[string]chan struct{}
	steps   map[string][]time.Duration // what each step of a service returns
	began   time.Time
	fail    error

	mu      sync.Mutex
	seen    []string // the steps, with their times
	watches int      // of single rollouts, that have not ended
}

func newModel(services ...string) *fakeModel {
	m := &fakeModel{events: make(chan []string, 1), changes: map[string]chan struct{}{}, steps: map[string][]time.Duration{},
		began: time.Now()}
	for _, s := range services {
		m.changes[s] = make(chan struct{}, 1)
	}
	return m
}

func (m *fakeModel) WatchRollouts(context.Context) (<-chan []string, error) { return m.events, nil }

// WatchRollout starts with an event.
func (m *fakeModel) WatchRollout(ctx context.Context, service entity.Tag) (<-chan struct{}, error) {
	m.watched(1)
	context.AfterFunc(ctx, func() { m.watched(-1) })
	select {
	case m.changes[service.ID] <- struct{}{}:
	default:
	}
	return m.changes[service.ID], nil
}

// watched adds n to the watches of single rollouts, and returns how many there are.
func (m *fakeModel) watched(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches += n
	return m.watches
}

func (m *fakeModel) AdvanceRollout(_ context.Context, service entity.Tag) (again time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, service.ID+" "+time.Since(m.began).String())
	if left := m.steps[service.ID]; len(left) > 0 {
		again, m.steps[service.ID] = left[0], left[1:]
	}
	return again, m.fail
}

func (m *fakeModel) saw(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.seen, want) {
		t.Errorf("the steps are %q, want %q", m.seen, want)
	}
}

// start runs the worker until the test ends.
func (m *fakeModel) start(t *testing.T) (ended <-chan error, cancel func()) {
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan error, 1)
	go func() { end <- New(Config{API: m})(ctx) }()
	return end, cancel
}

// A rollout is continued when something changes, but once a second, and when its time is over.
func TestRolloutsAreContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel("web", "store")
		m.steps["web"] = []time.Duration{time.Minute, 59 * time.Second, 10 * time.Second}
		end, cancel := m.start(t)
		m.events <- []string{"web", "store"}
		synctest.Wait()
		m.mu.Lock()
		slices.Sort(m.seen) // they don't wait for each other
		m.mu.Unlock()
		m.saw(t, "store 0s", "web 0s")
		m.changes["web"] <- struct{}{}
		m.saw(t, "store 0s", "web 0s")
		time.Sleep(time.Second)
		m.saw(t, "store 0s", "web 0s", "web 1s")
		time.Sleep(time.Minute)
		m.saw(t, "store 0s", "web 0s", "web 1s", "web 1m0s")
		time.Sleep(time.Hour)
		m.saw(t, "store 0s", "web 0s", "web 1s", "web 1m0s", "web 1m10s")
		// It has stopped, and is resumed.
		m.seen = nil
		m.events <- []string{"web"}
		m.saw(t, "web 1h1m1s")
		cancel()
		<-end
	})
}

// An event that comes while a rollout is followed starts that anew.
func TestAResumedRolloutIsFollowedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel("web")
		m.steps["web"] = []time.Duration{time.Hour, time.Minute, 0}
		end, cancel := m.start(t)
		m.events <- []string{"web"}
		m.saw(t, "web 0s")
		time.Sleep(time.Second)
		m.events <- []string{"web"}
		m.saw(t, "web 0s", "web 1s")
		if n := m.watched(0); n != 1 {
			t.Errorf("it is followed %d times", n)
		}
		time.Sleep(2 * time.Hour)
		m.saw(t, "web 0s", "web 1s", "web 1m1s")
		cancel()
		<-end
	})
}

// A step that fails ends the worker, which is restarted.
func TestAFailedStepEndsTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel("web", "store")
		m.steps["store"] = []time.Duration{time.Hour}
		m.fail = errors.New("too busy")
		end, cancel := m.start(t)
		defer cancel()
		m.events <- []string{"store", "web"}
		if err := <-end; !errors.Is(err, m.fail) {
			t.Errorf("got %v", err)
		}
		m.fail = nil
		end, _ = m.start(t)
		close(m.events)
		if err := <-end; !errors.Is(err, worker.ErrWatchEnded) {
			t.Errorf("got %v", err)
		}
	})
}
