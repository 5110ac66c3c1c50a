package apiserver

import (
	"errors"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/state"
	"juju/state/entity"
)

func TestLeadershipOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	u0, u1 := entity.UnitTag("mysql/0"), entity.UnitTag("mysql/1")
	first := client.LeadershipServiceFacade{Caller: w.dial(w.info(u0))}
	second := client.LeadershipServiceFacade{Caller: w.dial(w.info(u1))}
	for range 2 {
		if epoch, err := first.ClaimLeadership(ctx, u0, time.Minute); err != nil || epoch != 1 {
			t.Fatalf("the first to ask: %d, %v", epoch, err)
		}
	}
	if _, err := second.ClaimLeadership(ctx, u1, time.Minute); !errors.Is(err, entity.LeadershipRefused) ||
		err.Error() != "leadership claim denied" {
		t.Errorf("the second: %v", err)
	}
	if _, err := second.ClaimLeadership(ctx, u0, time.Minute); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a claim for another unit: %v", err)
	}
	if _, err := first.ClaimLeadership(ctx, u0, time.Second); !errors.Is(err, entity.Invalid) {
		t.Errorf("too short: %v", err)
	}
	status, err := w.dial(w.adminInfo(w.st.UUID())).Status(ctx, "mysql/0")
	if err != nil || !status.Services[0].Units[0].Leader {
		t.Errorf("status does not show the leader: %+v (%v)", status, err)
	}
	released := make(chan error, 1)
	go func() { released <- second.BlockUntilLeadershipReleased(ctx, u1) }()
	if err := first.ReleaseLeadership(ctx, u0); err != nil {
		t.Fatal(err)
	}
	if err := facadestest.Receive(t, released); err != nil {
		t.Fatal(err)
	}
	if epoch, err := second.ClaimLeadership(ctx, u1, time.Minute); err != nil || epoch != 2 {
		t.Errorf("the second, then: %d, %v", epoch, err)
	}
}

// A leader that was held up for longer than its term, and does not know that it was replaced,
// can't write what only the leader writes.
func TestAPausedLeadersWritesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	u0, u1 := entity.UnitTag("mysql/0"), entity.UnitTag("mysql/1")
	conn0, conn1 := w.dial(w.info(u0)), w.dial(w.info(u1))
	epoch, err := client.LeadershipServiceFacade{Caller: conn0}.ClaimLeadership(ctx, u0, state.MinLease)
	if err != nil {
		t.Fatal(err)
	}
	paused := client.UniterFacade{Caller: conn0}
	if err := paused.SetLeaderSettings(ctx, u0, epoch, entity.LeaderSettings{"primary": "0"}); err != nil {
		t.Fatal(err)
	}
	// It says nothing for the rest of its term.
	successor := client.LeadershipServiceFacade{Caller: conn1}
	if err := successor.BlockUntilLeadershipReleased(ctx, u1); err != nil {
		t.Fatal(err)
	}
	next, err := successor.ClaimLeadership(ctx, u1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	leads := client.UniterFacade{Caller: conn1}
	if err := leads.SetLeaderSettings(ctx, u1, next, entity.LeaderSettings{"primary": "1"}); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"leader-set": paused.SetLeaderSettings(ctx, u0, epoch, entity.LeaderSettings{"primary": "0"}),
		"leader-set with the successor's epoch": paused.SetLeaderSettings(ctx, u0, next,
			entity.LeaderSettings{"primary": "0"}),
		"leader-set of its successor": paused.SetLeaderSettings(ctx, u1, next, entity.LeaderSettings{"primary": "0"}),
		"status-set --application": paused.SetServiceStatus(ctx, u0, epoch,
			entity.Status{Status: entity.StatusActive}),
	} {
		if !errors.Is(err, entity.LeadershipRefused) && !errors.Is(err, entity.Unauthorized) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for unit, facade := range map[entity.Tag]client.UniterFacade{u0: paused, u1: leads} {
		if got, err := facade.LeaderSettings(ctx, unit); err != nil || got["primary"] != "1" {
			t.Errorf("%s sees %v, %v", unit, got, err)
		}
	}
	if err := leads.SetServiceStatus(ctx, u1, next,
		entity.Status{Status: entity.StatusError, Message: "x"}); !errors.Is(err,
		entity.Invalid) {
		t.Errorf("a status that no charm may set: %v", err)
	}
}
