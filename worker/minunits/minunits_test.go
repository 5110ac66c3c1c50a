package minunits

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/worker"
)

// A fakeModel names services in its events, and records the services it was asked to check.
type fakeModel struct {
	events chan []string
	seen   []string
	fail   map[string]error
}

func (m *fakeModel) WatchMinUnits(context.Context) (<-chan []string, error) { return m.events, nil }

func (m *fakeModel) EnsureMinUnits(_ context.Context, service entity.Tag) error {
	m.seen = append(m.seen, service.String())
	return m.fail[service.ID]
}

func TestEveryNamedServiceIsChecked(t *testing.T) {
	m := &fakeModel{events: make(chan []string, 2),
		fail: map[string]error{"gone": entity.Errorf(entity.NotFound, "not found")}}
	m.events <- []string{"web", "gone", "store"}
	m.events <- []string{"web"}
	close(m.events)
	if err := New(Config{API: m})(t.Context()); !errors.Is(err, worker.ErrWatchEnded) {
		t.Errorf("got %v", err)
	}
	if want := []string{"service-web", "service-gone", "service-store", "service-web"}; !slices.Equal(m.seen, want) {
		t.Errorf("saw to %q, want %q", m.seen, want)
	}
}

// A service that fails does not hold up the others, and is tried again when the worker
// restarts.
func TestAFailedServiceIsTriedAgain(t *testing.T) {
	no := errors.New("too busy")
	m := &fakeModel{events: make(chan []string, 1), fail: map[string]error{"web": no}}
	m.events <- []string{"web", "store"}
	err := New(Config{API: m})(t.Context())
	if !errors.Is(err, no) || !strings.Contains(err.Error(), `"web"`) {
		t.Errorf("got %v", err)
	}
	if want := []string{"service-web", "service-store"}; !slices.Equal(m.seen, want) {
		t.Errorf("saw to %q, want %q", m.seen, want)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("told to")
	m := &fakeModel{events: make(chan []string, 1), fail: map[string]error{}}
	m.events <- []string{"web", "store"}
	cancel(why)
	if err := New(Config{API: m})(ctx); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
