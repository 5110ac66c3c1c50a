package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"juju/provider"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/worker"
)

// endModel makes a Dying, empty model Dead.
func (c *running) endModel(ctx context.Context, st *state.State) error {
	life, err := st.Agents().AsWatched().Life(ctx) // another event comes when it is no longer Alive
	if err != nil || life == entity.Alive {
		return err
	}
	err = st.EnsureDead(ctx)
	if errors.Is(err, entity.InUse) {
		return nil // the watch fires when it is empty
	}
	if err != nil {
		return err
	}
	logger.Infof("removing model %q, which is empty", st.Name())
	return c.ctrl.RemoveModel(ctx, st.UUID())
}

// resumeModels returns the worker that finishes the removal of models, and removes models whose creation was
// abandoned. It retries failures, for example while a cloud is unavailable.
func (c *running) resumeModels(open provider.Open) worker.Func {
	config := removals{
		watch:   c.ctrl.WatchUnfinishedModels,
		remains: c.ctrl.Remains,
		resume: func(ctx context.Context, left controller.Remains) (bool, error) {
			return c.ctrl.ResumeModel(ctx, left, func(ctx context.Context, row controller.ModelRow) error {
				return c.removeOutside(ctx, open, row)
			})
		},
		retry: cmp.Or(c.options.Retry, 10*time.Second),
	}
	return func(ctx context.Context) error { r := config; return r.run(ctx) }
}

// removeOutside removes everything that a model has outside the store: its remaining cloud resources and its
// log. It destroys the filesystems that must be destroyed first, because Destroy releases the rest of the
// model's storage.
func (c *running) removeOutside(ctx context.Context, open provider.Open, row controller.ModelRow) error {
	environ, err := open(ctx, c.at(row.UUID, row.Credential))
	if err != nil {
		return err
	}
	if err := destroyFilesystems(ctx, environ, row.Filesystems); err != nil {
		return err
	}
	if err := environ.Destroy(ctx); err != nil {
		return err
	}
	return c.logs.Remove(row.UUID)
}

// destroyFilesystems stops all of a model's instances, whose units are all removed, and destroys the given
// filesystems.
func destroyFilesystems(ctx context.Context, environ provider.Environ, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	instances, err := environ.Instances(ctx)
	if err != nil {
		return err
	}
	running := make([]string, len(instances))
	for i, inst := range instances {
		running[i] = inst.ID
	}
	if err := environ.StopInstances(ctx, running...); err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if err := environ.DestroyFilesystem(ctx, id); err != nil {
			errs = append(errs, fmt.Errorf("cannot destroy filesystem %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}
