package controller

import (
	"context"
	"errors"
	"time"

	"juju/provider"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/worker"
)

// endModel makes a Dying, empty model Dead.
func (c *running) endModel(ctx context.Context, st *state.State) error {
	life, err := st.Life(ctx)
	if err != nil || life == entity.Alive {
		return err
	}
	err = st.EnsureDead(ctx)
	if errors.Is(err, entity.InUse) {
		return nil // an event follows when it is empty
	}
	if err != nil {
		return err
	}
	logger.Infof("model %q is empty and is removed", st.Name())
	return c.ctrl.RemoveModel(ctx, st.UUID())
}

// resumeModels returns the worker that finishes the removal of models, and removes models whose
// creation was abandoned. It retries what fails, as while a cloud is away.
func (c *running) resumeModels(open provider.Open) worker.Func {
	retry := c.options.Retry
	if retry == 0 {
		retry = 10 * time.Second
	}
	return func(ctx context.Context) error {
		return worker.NotifyAgain(ctx, c.ctrl.WatchUnfinishedModels, func(ctx context.Context) (time.Duration, error) {
			left, err := c.ctrl.ResumeModels(ctx, func(ctx context.Context, row controller.ModelRow) error {
				return c.removeOutside(ctx, open, row)
			})
			if err != nil || left == 0 {
				return 0, err
			}
			return retry, nil
		})
	}
}

// removeOutside removes what a model has outside the store: what is left in its cloud, and its
// log.
func (c *running) removeOutside(ctx context.Context, open provider.Open, row controller.ModelRow) error {
	environ, err := open(ctx, provider.Config{Controller: c.conf.Controller, Model: row.UUID})
	if err != nil {
		return err
	}
	if err := environ.Destroy(ctx); err != nil {
		return err
	}
	return c.logs.Remove(row.UUID)
}
