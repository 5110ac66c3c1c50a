package facades_test

import (
	"slices"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/state/entity"
	"juju/state/statetest"
)

func TestRolloutsOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	admin := w.admin().client()
	manager := client.RolloutsFacade{Caller: w.manager().client()}
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	svc, err := w.st.Service(ctx, "mysql")
	check(err)
	old := svc.CharmURL()
	u, err := w.st.Unit(ctx, "mysql/0")
	check(err)
	check(u.SetCharm(ctx, old))
	events, err := manager.WatchRollouts(ctx)
	check(err)
	if names := facadestest.Receive(t, events); len(names) > 0 {
		t.Errorf("the first event names %q", names)
	}
	url := statetest.Charm(t, w.st, statetest.MySQL)
	_, err = admin.SetCharm(ctx, client.SetCharmArgs{Service: "mysql", CharmURL: url,
		Rollout: client.Rollout{Batch: 1, HealthTimeout: time.Minute}})
	check(err)
	if names := facadestest.Receive(t, events); !slices.Equal(names, []string{"mysql"}) {
		t.Errorf("the event names %q", names)
	}
	due, err := manager.WatchRollout(ctx, entity.ServiceTag("mysql"))
	check(err)
	facadestest.Receive(t, due)
	again, err := manager.AdvanceRollout(ctx, entity.ServiceTag("mysql"))
	if err != nil || again != time.Minute {
		t.Errorf("the next step is due in %v, %v", again, err)
	}
	facadestest.Receive(t, due)
	check(admin.ResumeRollout(ctx, "mysql", client.Rollout{Batch: 2}))
	_, _, err = admin.RevertRollout(ctx, "mysql", client.Rollout{HealthTimeout: time.Hour})
	check(err)
	status, err := admin.Status(ctx, "mysql")
	check(err)
	if now := status.Services[0]; now.CharmURL != old || now.Rollout == nil || now.Rollout.Former != url || now.Rollout.Batch != 2 ||
		now.Rollout.Timeout != time.Hour || !now.Rollout.Reverts {
		t.Errorf("status shows %+v with the rollout %+v", now, now.Rollout)
	}
	if again, err := manager.AdvanceRollout(ctx, entity.ServiceTag("nosuch")); err != nil || again != 0 {
		t.Errorf("a service that does not exist: %v, %v", again, err)
	}
	if err := admin.ResumeRollout(ctx, "nosuch", client.Rollout{}); !entity.IsNotFound(err) {
		t.Errorf("a service that does not exist: %v", err)
	}
}
