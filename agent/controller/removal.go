package controller

import (
	"context"
	"errors"
	"time"

	"juju/provider"
	"juju/state"
	"juju/state/entity"
	"juju/worker"
)

// endModel takes a model that is Dying and empty out of use.
func (c *controller) endModel(ctx context.Context, st *state.State) error {
	life, err := st.Life(ctx)
	if err != nil || life == entity.Alive {
		return err
	}
	err = st.EnsureDead(ctx)
	if errors.Is(err, entity.InUse) {
		return nil // there is an event when it is not any more
	}
	if err != nil {
		return err
	}
	logger.Infof("model %q is empty and is removed", st.Name())
	return c.ctrl.RemoveModel(ctx, st.UUID())
}

// resumeModels is the worker that takes to their end the models that are being
// removed, and those that somebody began to make who is no more. What can't be
// finished, as while a cloud is away, is tried again.
func (c *controller) resumeModels(open provider.Open) worker.Func {
	retry := c.options.Retry
	if retry == 0 {
		retry = 10 * time.Second
	}
	return func(ctx context.Context) error {
		events, err := c.ctrl.WatchUnfinishedModels(ctx)
		if err != nil {
			return err
		}
		var again <-chan time.Time
		for {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case _, ok := <-events:
				if !ok {
					return worker.Ended(ctx)
				}
			case <-again:
			}
			left, err := c.ctrl.ResumeModels(ctx, func(ctx context.Context, row state.ModelRow) error {
				return c.removeOutside(ctx, open, row)
			})
			if err != nil {
				return err
			}
			again = nil
			if left > 0 {
				again = time.After(retry)
			}
		}
	}
}

// removeOutside removes what a model has outside of the store: whatever is left of
// it in its cloud, and its log.
func (c *controller) removeOutside(ctx context.Context, open provider.Open, row state.ModelRow) error {
	environ, err := open(ctx, provider.Config{Controller: c.conf.Controller, Model: row.UUID})
	if err != nil {
		return err
	}
	if err := environ.Destroy(ctx); err != nil {
		return err
	}
	return c.logs.Remove(row.UUID)
}
