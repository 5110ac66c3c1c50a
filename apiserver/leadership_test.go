package apiserver

import (
	"errors"
	"testing"
	"time"

	"juju/apiserver/client"
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
	if err := receive(t, released); err != nil {
		t.Fatal(err)
	}
	if epoch, err := second.ClaimLeadership(ctx, u1, time.Minute); err != nil || epoch != 2 {
		t.Errorf("the second, then: %d, %v", epoch, err)
	}
}
