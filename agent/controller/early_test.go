package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/schema"
	"juju/state/statetest"
)

// The agent of a machine is there before the controller has recorded the machine's instance. It is
// let in soon after that, and not only when its worker starts again; and however long it takes, that is no error.
func TestAnEarlyMachineIsLetInSoon(t *testing.T) {
	for delay, waits := range map[time.Duration]string{time.Hour: "next try in 100ms", 200 * time.Millisecond: "next try in 200ms"} {
		t.Run(delay.String(), func(t *testing.T) { testEarlyMachine(t, delay, waits) })
	}
}

func testEarlyMachine(t *testing.T, delay time.Duration, waits string) {
	s := newSystem(t, Options{})
	s.keepsLog()
	s.host.Options.RetryDelay = delay
	s.begun = func() {
		if !s.log.await("waiting for the controller to record the machine's instance: " + waits) {
			t.Error("the agent was not refused")
		}
	}
	s.deploy("mysql", statetest.MySQL, 1)
	s.until("an idle unit", func(m *entity.ModelStatus) bool { idle, _ := units(m); return idle == 1 })
	if strings.Contains(s.log.String(), " ERROR ") {
		t.Errorf("it is called an error:\n%s", &s.log)
	}
}

// A controller that is stopped while it starts, here by a step of its upgrade, has not failed.
func TestAControllerStoppedWhileItStarts(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	s.stop()
	ctx, cancel := context.WithCancel(s.ctx)
	c := &running{dir: s.c.dir, own: s.c.own, conf: s.c.conf, options: s.c.options,
		ready: func() { t.Error("it came up") }}
	c.options.State.Steps = append(slices.Clone(controller.Steps), schema.Step{About: "stop",
		Run: func(ctx context.Context, _ *mongo.Store, _ *mongo.Database) error {
			cancel()
			return ctx.Err()
		}})
	s.ok(c.run(ctx))
}
