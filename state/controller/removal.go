package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// DestroyModel destroys a model as State.Destroy does. Forced destruction of a model that
// is being removed already forces the removal. The error is entity.NotFound if there is
// no such model.
func (c *Controller) DestroyModel(ctx context.Context, id string, how entity.Destruction) error {
	st, err := c.Model(ctx, id)
	if err == nil {
		err = st.Destroy(ctx, how) // the removal reads the strength from the model
	}
	if !entity.IsNotFound(err) {
		return err
	}
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		row, err := c.row(id)
		if err != nil {
			return err
		}
		if row.Step != stepRemoving {
			return notReady(id)
		}
		if how.Release && len(row.Filesystems) > 0 {
			return entity.Errorf(entity.NotAlive, "cannot release storage of model %q: the cloud is destroying filesystem %s",
				row.Name, strings.Join(row.Filesystems, ", "))
		}
		if how.Strength != entity.Force || row.Forced {
			return mongo.ErrNothing
		}
		o.Update(modelsC, row.UUID, bson.D{{"step", stepRemoving}}, bson.D{{"$set", bson.D{{"forced", true}}}})
		return nil
	})
}

// RemoveModel begins to remove a Dead model: it can no longer be opened, and this
// controller closes it. ResumeModels does the rest. The error is entity.InUse if the
// model is not Dead. It does nothing if the model is being removed or gone.
func (c *Controller) RemoveModel(ctx context.Context, id string) error {
	err := c.removeDead(ctx, id)
	if err != nil {
		// Another controller may be removing it, or have removed it.
		row, rowErr := c.row(id)
		if entity.IsNotFound(rowErr) || rowErr == nil && row.Step == stepRemoving {
			return nil
		}
	}
	return err
}

func (c *Controller) removeDead(ctx context.Context, id string) error {
	row, err := c.row(id)
	if err != nil {
		return err
	}
	st, err := c.Model(ctx, id)
	if err != nil {
		return err
	}
	life, err := st.Life(ctx)
	if err != nil {
		return err
	}
	if life != entity.Dead {
		return entity.Errorf(entity.InUse, "cannot remove model %q: it is %s", row.Name, life)
	}
	return c.beginRemoval(ctx, row)
}

// beginRemoval moves a row from the step that it was read in to removing.
func (c *Controller) beginRemoval(ctx context.Context, row ModelRow) error {
	set := bson.D{{"step", stepRemoving}, {"removing", c.now()}}
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		now, err := c.row(row.UUID)
		if err == nil && now.Step == stepRemoving {
			return mongo.ErrNothing
		}
		if entity.IsNotFound(err) || err == nil && (now.Step != row.Step || now.Creator != row.Creator) {
			return errLostStep
		}
		if err != nil {
			return err
		}
		assert := bson.D{{"step", row.Step}}
		if row.Step == stepCreating {
			assert = row.isMade()
		}
		o.Update(modelsC, row.UUID, assert, bson.D{{"$set", set}, {"$unset", bson.D{{"creator", 1}}}})
		return nil
	})
	if err == nil {
		c.forget(row.UUID)
	}
	return err
}

// takeRemnant copies to the row of a model that is being removed what the removal needs of the
// model's own database: whether the model was destroyed with force, and which filesystems are still
// to be destroyed. Both can change until the last process closes the model, which is after its row
// says removing; and that database is dropped before the row.
func (c *Controller) takeRemnant(ctx context.Context, row *ModelRow) error {
	said, err := state.ReadRemnant(c.store, row.UUID)
	if err != nil || !said.There {
		return err
	}
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		now, err := c.row(row.UUID)
		if entity.IsNotFound(err) {
			return mongo.ErrNothing // another controller has removed it
		} else if err != nil {
			return err
		}
		row.Forced, row.Filesystems = now.Forced || said.Forced, said.Filesystems
		if row.Forced == now.Forced && slices.Equal(row.Filesystems, now.Filesystems) {
			return mongo.ErrNothing
		}
		o.Update(modelsC, row.UUID, bson.D{{"step", stepRemoving}},
			bson.D{{"$set", bson.D{{"forced", row.Forced}, {"filesystems", row.Filesystems}}}})
		return nil
	})
}

// WatchUnfinishedModels fires when ResumeModels may have work to do.
func (c *Controller) WatchUnfinishedModels(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.hub, watcher.Collection(modelsC)), nil
}

// ResumeModels finishes the removal of models, and removes those whose creator stopped
// before they were made. For each it calls outside to remove what the model has outside
// the store; outside must be safe to call again for the same model. ResumeModels logs a
// failure, leaves that model to the next pass, and goes on with the others. If outside
// keeps failing for a model that was destroyed with force, it records a leftover and
// tries that again on later passes. It returns the number of models left, including those
// that another controller is making.
func (c *Controller) ResumeModels(ctx context.Context,
	outside func(context.Context, ModelRow) error) (left int, err error) {
	var rows []ModelRow
	if err := c.db.All(modelsC, bson.D{{"step", bson.D{{"$ne", stepReady}}}}, &rows); err != nil {
		return 0, err
	}
	bounded := func(ctx context.Context, row ModelRow) error {
		ctx, cancel := context.WithTimeout(ctx, outsideBound)
		defer cancel()
		return outside(ctx, row)
	}
	begun := c.now().Truncate(time.Millisecond) // the store's precision
	var remaining atomic.Int64
	var group errgroup.Group
	group.SetLimit(removalsAtOnce)
	for _, row := range rows {
		group.Go(func() error {
			done, err := c.resumeModel(ctx, row, bounded)
			if err != nil {
				logger.Errorf("cannot remove what is left of model %q (%s): %v", row.Name, row.UUID, err)
			}
			if !done {
				remaining.Add(1)
			}
			return nil
		})
	}
	group.Wait() // failures are logged above
	c.removeLeftovers(ctx, begun, bounded)
	return int(remaining.Load()), ctx.Err()
}

const (
	// removalsAtOnce is how many models are removed at once, so that a cloud that is
	// slow with one does not hold up the rest.
	removalsAtOnce = 8
	// outsideBound is the timeout of one call of outside.
	outsideBound = 2 * time.Minute
)

func (c *Controller) resumeModel(ctx context.Context, row ModelRow,
	outside func(context.Context, ModelRow) error) (done bool, err error) {
	if row.Step == stepCreating {
		if !c.isAbandoned(row) {
			return false, nil
		}
		logger.Infof("model %q (%s) was never finished, and the process that was making it is gone: removing it", row.Name,
			row.UUID)
		if err := c.beginRemoval(ctx, row); err != nil {
			return false, err
		}
	}
	c.forget(row.UUID)
	if err := c.takeRemnant(ctx, &row); err != nil {
		return false, fmt.Errorf("cannot read how it was destroyed: %w", err)
	}
	if err := outside(ctx, row); err != nil {
		if !row.Forced || ctx.Err() != nil || c.now().Sub(row.Removing) < state.CloudTimeout {
			return false, err
		}
		if err := c.leaveLeftover(ctx, row, err); err != nil {
			return false, err
		}
	}
	if err := c.releaseBlobs(ctx, row.UUID); err != nil {
		return false, fmt.Errorf("cannot release its archives: %w", err)
	}
	if err := c.dropModel(ctx, row.UUID); err != nil {
		return false, fmt.Errorf("cannot revoke access to it: %w", err)
	}
	if err := c.store.Drop(row.UUID); err != nil {
		return false, err
	}
	// The order is safe: claiming a lease reads the model first.
	if err := c.leases.DropModel(ctx, row.UUID); err != nil {
		return false, err
	}
	return true, c.removeRow(ctx, row)
}

// removeRow is the last step. It frees the name; the UUID is never used again.
func (c *Controller) removeRow(ctx context.Context, row ModelRow) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		if _, err := c.row(row.UUID); entity.IsNotFound(err) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		o.Remove(modelsC, row.UUID, bson.D{{"step", stepRemoving}})
		o.Remove(modelNamesC, modelNameID(row.Owner, row.Name), bson.D{{"model", row.UUID}})
		return nil
	})
}
