package state_test

import (
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/state"
	"juju/state/controller"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// openStore opens a store on files, which might already hold one.
func openStore(t *testing.T, fs vfs.FS) *mongo.Store {
	t.Helper()
	store, err := mongo.OpenEmbedded("store", mongo.Options{Hooks: mongotest.NewHooks(),
		Embedded: embedded.Options{FS: fs, Standalone: statetest.Standalone()}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func closeStore(t *testing.T, store *mongo.Store) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// A clock is the clock of one controller.
type clock struct {
	mu   sync.Mutex
	now  time.Time
	next func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	next := c.next
	c.next = nil
	c.mu.Unlock()
	if next != nil {
		next()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// before runs f the next time the controller reads the clock.
func (c *clock) before(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = f
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// controllers holds several controllers on one store, whose clocks differ by
// years, and the same model as seen by each.
type controllers struct {
	*testing.T
	store  *mongo.Store
	uuid   string
	clocks []*clock
	worlds []*world
}

func newControllers(t *testing.T, n int) *controllers {
	t.Helper()
	c := &controllers{T: t, store: statetest.Embedded(t, nil)}
	for range n {
		c.another()
	}
	return c
}

// another opens one more controller.
func (c *controllers) another() *world {
	c.Helper()
	clk := &clock{now: time.Date(2000+len(c.worlds), 1, 1, 0, 0, 0, 0, time.UTC)}
	ctrl := statetest.OpenController(c.T, c.store, controller.Options{Now: clk.Now})
	c.Cleanup(ctrl.Close)
	var st *state.State
	var err error
	if c.uuid == "" {
		if st, err = ctrl.AddModel(c.Context(), controller.AddModelParams{Name: "default", Owner: statetest.Admin,
			Series: "jammy"}); err == nil {
			c.uuid = st.UUID()
		}
	} else {
		st, err = ctrl.Model(c.Context(), c.uuid)
	}
	if err != nil {
		c.Fatal(err)
	}
	w := &world{T: c.T, ctx: c.Context(), ctrl: ctrl, st: st, store: c.store}
	c.clocks, c.worlds = append(c.clocks, clk), append(c.worlds, w)
	return w
}

// pass advances the clocks of all controllers.
func (c *controllers) pass(d time.Duration) {
	for _, clk := range c.clocks {
		clk.pass(d)
	}
}
