package apiserver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// slowPlans plan in steps that take long.
type slowPlans struct {
	step  time.Duration
	moves bool // each step is progress
}

func (p slowPlans) Plan(ctx context.Context, _, _ string, _ func(string) bool,
	_ func(context.Context, *controller.Controller, *state.State) error) (entity.Plan, error) {
	for range 6 {
		select {
		case <-time.After(p.step): // of the bubble
		case <-ctx.Done():
			return entity.Plan{}, ctx.Err()
		}
		if p.moves {
			mongo.Moved(ctx)
		}
	}
	return entity.Plan{}, nil
}

// A request takes as long as it takes while it makes progress, for the controller and for the client. One that stands still
// ends.
func TestRequestsTakeAsLongAsTheyMove(t *testing.T) {
	onASet(t, func(t *testing.T, w *world, _ *mongotest.Set) {
		plan := func(p slowPlans) (time.Duration, error) {
			t.Helper()
			w.server.backend.Plans = p
			conn, err := client.Dial(t.Context(), client.Info{Dial: w.server.Dial, Model: w.st.UUID(),
				Tag: entity.UserTag(statetest.Admin), Password: statetest.Password})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.PlanOnly()
			began := time.Now()
			_, err = conn.Expose(t.Context(), "mysql", nil)
			return time.Since(began), err
		}
		if took, err := plan(slowPlans{4 * time.Minute, true}); !errors.Is(err, client.ErrPlanned) || took != 24*time.Minute {
			t.Errorf("a request that moves: %v after %v, want a plan after 24m", err, took)
		}
		if took, err := plan(slowPlans{4 * time.Minute, false}); took != 5*time.Minute ||
			err == nil || !strings.Contains(err.Error(), "the controller took too long") {
			t.Errorf("a request that stands still: %v after %v, want an error after 5m", err, took)
		}
		// The controller does not end a request that is stuck in what has no end; the client does not wait for it.
		w.server.limits.RequestTime = 24 * time.Hour
		if took, err := plan(slowPlans{time.Hour, true}); took != 6*time.Minute ||
			err == nil || !strings.Contains(err.Error(), "did not answer Plans.DryRun in time") {
			t.Errorf("a request that is stuck: %v after %v, want an error after 6m", err, took)
		}
	})
}
