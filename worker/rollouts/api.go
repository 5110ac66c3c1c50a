package rollouts

import (
	"context"
	"time"

	"juju/state/entity"
)

// API is what the worker needs of one model.
type API interface {
	// WatchRollouts names services whose rollout has begun, stopped, been resumed or ended; the first event names all
	// those whose rollout goes on.
	WatchRollouts(ctx context.Context) (<-chan []string, error)
	// WatchRollout fires when the next step of a service's rollout may be due.
	WatchRollout(ctx context.Context, service entity.Tag) (<-chan struct{}, error)
	// AdvanceRollout takes the next step, if one is due. It returns how long to wait for a change before the next call;
	// 0 if the rollout has ended or stopped.
	AdvanceRollout(ctx context.Context, service entity.Tag) (again time.Duration, err error)
}
