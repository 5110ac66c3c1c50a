package machiner

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
)

// fakeController has one machine, whose life and units a test changes.
type fakeController struct {
	t      *testing.T
	events chan struct{}
	life   entity.Life
	gone   error // the error of reading the machine
	units  int
	levels string // the model's logging-config
	reboot string // the boot in which a unit has asked for a restart
	calls  []string
}

func (c *fakeController) call(tag entity.Tag, what string) {
	if tag != entity.MachineTag("3") {
		c.t.Errorf("%s for %s", what, tag)
	}
	c.calls = append(c.calls, what)
}

func (c *fakeController) Machine(_ context.Context, tag entity.Tag) (entity.MachineInfo, error) {
	return entity.MachineInfo{ID: tag.ID, Life: c.life, Reboot: c.reboot}, c.gone
}

func (c *fakeController) ModelConfig(_ context.Context, tag entity.Tag) (modelconfig.Config, error) {
	return modelconfig.Config{modelconfig.Logging: {Value: c.levels}}, nil
}

func (c *fakeController) WatchMachine(context.Context, entity.Tag) (<-chan struct{}, error) {
	return c.events, nil
}

func (c *fakeController) SetMachineAddresses(_ context.Context, tag entity.Tag, addresses []string) error {
	c.call(tag, "addresses "+addresses[0])
	return nil
}

func (c *fakeController) SetMachineStatus(_ context.Context, tag entity.Tag, status entity.Status) error {
	c.call(tag, string(status.Status))
	return nil
}

func (c *fakeController) EnsureDead(_ context.Context, tag entity.Tag) error {
	if c.units > 0 {
		c.call(tag, "not dead")
		return entity.Errorf(entity.InUse, "machine 3 has units")
	}
	c.call(tag, "dead")
	c.life = entity.Dead
	return nil
}

func (c *fakeController) config() Config {
	return Config{API: c, Machine: entity.MachineTag("3"), Addresses: func() ([]string, error) {
		return []string{"127.0.3.1"}, nil
	}, Configured: func(config modelconfig.Config) {
		if levels := config[modelconfig.Logging].Value; levels != "" {
			c.calls = append(c.calls, "logs "+levels)
		}
	}, Boot: "two", Restart: func() { c.calls = append(c.calls, "restart") }}
}

// A machine is restarted if a unit has asked for it in this boot, whether the machine is Alive or Dying. The
// machiner goes on meanwhile.
func TestARequestedRestart(t *testing.T) {
	for _, life := range []entity.Life{entity.Alive, entity.Dying} {
		synctest.Test(t, func(t *testing.T) {
			c := newController(t)
			c.reboot, c.life, c.units = "one", life, 1
			done := c.run(t.Context())
			c.events <- struct{}{}
			synctest.Wait()
			if slices.Contains(c.calls, "restart") {
				t.Errorf("that restart is over, but the calls are %q", c.calls)
			}
			c.reboot = "two"
			c.events <- struct{}{}
			synctest.Wait()
			// The status is that of this start before a restart can change it.
			if started := slices.Index(c.calls, "started"); started < 0 || slices.Index(c.calls, "restart") < started {
				t.Errorf("calls %q, want started, then restart", c.calls)
			}
			c.units, c.life = 0, entity.Dying
			c.events <- struct{}{}
			if err := <-done; !errors.Is(err, worker.ErrTerminateAgent) {
				t.Errorf("ended with %v, want ErrTerminateAgent", err)
			}
		})
	}
}

// run starts a machiner; the returned channel receives its error.
func (c *fakeController) run(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- New(c.config())(ctx) }()
	return done
}

func newController(t *testing.T) *fakeController {
	return &fakeController{t: t, events: make(chan struct{})}
}

func TestLifeOfAMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t)
		done := c.run(t.Context())
		c.events <- struct{}{} // the watch's first event
		c.events <- struct{}{} // nothing has changed: nothing is reported twice
		synctest.Wait()
		if want := []string{"addresses 127.0.3.1", "started"}; !slices.Equal(c.calls, want) {
			t.Fatalf("calls %q, want %q", c.calls, want)
		}

		c.calls, c.levels = nil, "DEBUG"
		c.events <- struct{}{}
		synctest.Wait()
		if want := []string{"logs DEBUG"}; !slices.Equal(c.calls, want) {
			t.Fatalf("after a change of the model's settings, calls %q, want %q", c.calls, want)
		}

		c.calls, c.levels, c.life, c.units = nil, "", entity.Dying, 2
		c.events <- struct{}{}
		synctest.Wait()
		c.units = 1
		c.events <- struct{}{}
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("ended with %v while a unit was there", err)
		default:
		}
		c.units = 0
		c.events <- struct{}{}
		if err := <-done; !errors.Is(err, worker.ErrTerminateAgent) {
			t.Errorf("ended with %v, want ErrTerminateAgent", err)
		}
		if want := []string{"not dead", "not dead", "dead"}; !slices.Equal(c.calls, want) {
			t.Errorf("calls %q, want %q", c.calls, want)
		}
	})
}

func TestAgentOfADeadMachineEnds(t *testing.T) {
	for about, set := range map[string]func(*fakeController){
		"dead":    func(c *fakeController) { c.life = entity.Dead },
		"removed": func(c *fakeController) { c.gone = entity.Errorf(entity.NotFound, "machine 3 not found") },
		"password void": func(c *fakeController) {
			c.gone = entity.Errorf(entity.Unauthorized, "invalid entity name or password")
		},
	} {
		t.Run(about, func(t *testing.T) {
			c := newController(t)
			set(c)
			done := c.run(t.Context())
			c.events <- struct{}{}
			if err := <-done; !errors.Is(err, worker.ErrTerminateAgent) || len(c.calls) > 0 {
				t.Errorf("calls %q, then %v; want none, then ErrTerminateAgent", c.calls, err)
			}
		})
	}
}

func TestOtherErrorsRestart(t *testing.T) {
	c := newController(t)
	c.gone = errors.New("connection lost")
	done := c.run(t.Context())
	c.events <- struct{}{}
	if err := <-done; !errors.Is(err, c.gone) || errors.Is(err, worker.ErrFatal) {
		t.Errorf("ended with %v", err)
	}

	config := newController(t).config()
	no := errors.New("no network")
	config.Addresses = func() ([]string, error) { return nil, no }
	events := config.API.(*fakeController).events
	go func() { events <- struct{}{} }()
	if err := New(config)(t.Context()); !errors.Is(err, no) {
		t.Errorf("ended with %v, want %v", err, no)
	}
}
