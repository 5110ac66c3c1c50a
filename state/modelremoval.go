package state

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// DestroyModel is State.Destroy, and of a model that is being removed already it
// takes on the strength; entity.NotFound when there is none.
func (c *Controller) DestroyModel(ctx context.Context, id string, how entity.Destruction) error {
	st, err := c.Model(ctx, id)
	if err == nil {
		err = st.Destroy(ctx, how) // and whoever removes it will find that
	}
	if !isNotFound(err) {
		return err
	}
	return change(ctx, c.db, func(o *ops) error {
		row, err := c.row(id)
		if err != nil {
			return err
		}
		if row.Step != stepRemoving {
			return notReady(id)
		}
		if how.Strength != entity.Force {
			return mongo.ErrNothing
		}
		return row.forceOps(o)
	})
}

// forceOps has the removal of a model not wait for what a cloud does not do.
func (r ModelRow) forceOps(o *ops) error {
	if r.Forced {
		return mongo.ErrNothing
	}
	o.update(modelsC, r.UUID, bson.D{{"step", stepRemoving}}, bson.D{{"$set", bson.D{{"forced", true}}}})
	return nil
}

// RemoveModel begins to remove a Dead model: nobody can open it any more, and what
// had it open is closed. ResumeModels does the rest. entity.InUse when the model is
// not Dead; nothing when it is being removed or gone.
func (c *Controller) RemoveModel(ctx context.Context, id string) error {
	err := c.removeDead(ctx, id)
	if err != nil {
		// Others may do so at the same time, and be done.
		row, rowErr := c.row(id)
		if isNotFound(rowErr) || rowErr == nil && row.Step == stepRemoving {
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
	doc, err := st.model()
	if err != nil {
		return err
	}
	if doc.Life != entity.Dead {
		return entity.Errorf(entity.InUse, "cannot remove model %q: it is %s", row.Name, doc.Life)
	}
	return c.beginRemoval(ctx, row)
}

// beginRemoval takes a row from the step that it was seen in to removing.
func (c *Controller) beginRemoval(ctx context.Context, row ModelRow) error {
	set := bson.D{{"step", stepRemoving}, {"removing", c.now()}}
	err := change(ctx, c.db, func(o *ops) error {
		now, err := c.row(row.UUID)
		if err == nil && now.Step == stepRemoving {
			return mongo.ErrNothing
		}
		if isNotFound(err) || err == nil && (now.Step != row.Step || now.Creator != row.Creator) {
			return errLostStep
		}
		if err != nil {
			return err
		}
		assert := bson.D{{"step", row.Step}}
		if row.Step == stepCreating {
			assert = row.isMade()
		}
		o.update(modelsC, row.UUID, assert, bson.D{{"$set", set}, {"$unset", bson.D{{"creator", 1}}}})
		return nil
	})
	if err == nil {
		c.forget(row.UUID)
	}
	return err
}

// takeForce notes in the row of a model that is being removed that the model was
// destroyed with force. That may be so until the last who has it open is done, which
// is after its row says that it is being removed; and its database goes before the row.
func (c *Controller) takeForce(ctx context.Context, row *ModelRow) error {
	if row.Forced {
		return nil
	}
	db := c.store.Open(row.UUID)
	defer db.Close(closing())
	var doc modelDoc
	if err := db.Get(modelC, modelC, &doc, "model"); isNotFound(err) || err == nil && !doc.forced() {
		return nil
	} else if err != nil {
		return err
	}
	row.Forced = true
	return change(ctx, c.db, func(o *ops) error {
		now, err := c.row(row.UUID)
		if isNotFound(err) {
			return mongo.ErrNothing // another has removed it
		} else if err != nil {
			return err
		}
		return now.forceOps(o)
	})
}

// WatchUnfinishedModels fires when there may be something for ResumeModels to do.
func (c *Controller) WatchUnfinishedModels(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.hub, watcher.Collection(modelsC)), nil
}

// ResumeModels takes to its end what is left of models that are being removed, and
// what a controller that is gone has left of a model that it was making. Outside of
// the store, outside does that: it can be called again for the same model. A model
// that fails is logged and left for the next pass, and the others go on; of one that
// was destroyed with force, what outside fails to remove for long is left as a
// leftover, and tried again at later passes. It returns how many models are left,
// those that another controller is just making among them.
func (c *Controller) ResumeModels(ctx context.Context, outside func(context.Context, ModelRow) error) (left int, err error) {
	var rows []ModelRow
	if err := c.db.All(modelsC, bson.D{{"step", bson.D{{"$ne", stepReady}}}}, &rows); err != nil {
		return 0, err
	}
	bounded := func(ctx context.Context, row ModelRow) error {
		ctx, cancel := context.WithTimeout(ctx, outsideBound)
		defer cancel()
		return outside(ctx, row)
	}
	begun := c.now().Truncate(time.Millisecond) // as the store keeps times
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
	group.Wait() // each has told of its own failure
	c.removeLeftovers(ctx, begun, bounded)
	return int(remaining.Load()), ctx.Err()
}

const (
	// removalsAtOnce is how many models are removed at once, so that a cloud that is
	// slow with one does not hold up all.
	removalsAtOnce = 8
	// outsideBound is how long it may take to remove what a model has outside of the
	// store, before that has failed.
	outsideBound = 2 * time.Minute
)

func (c *Controller) resumeModel(ctx context.Context, row ModelRow, outside func(context.Context, ModelRow) error) (done bool, err error) {
	if row.Step == stepCreating {
		if !c.isAbandoned(row) {
			return false, nil
		}
		logger.Infof("model %q (%s) was never finished, and whoever was making it is gone: it is removed", row.Name, row.UUID)
		if err := c.beginRemoval(ctx, row); err != nil {
			return false, err
		}
	}
	c.forget(row.UUID)
	if err := c.takeForce(ctx, &row); err != nil {
		return false, fmt.Errorf("cannot see how it was destroyed: %w", err)
	}
	if err := outside(ctx, row); err != nil {
		if !row.Forced || ctx.Err() != nil || c.now().Sub(row.Removing) < cloudTimeout {
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
		return false, fmt.Errorf("cannot take back what users may do there: %w", err)
	}
	if err := c.store.Drop(row.UUID); err != nil {
		return false, err
	}
	// Whoever claims a lease reads the model first.
	if err := c.dropLeases(ctx, row.UUID); err != nil {
		return false, err
	}
	return true, c.removeRow(ctx, row)
}

// removeRow is the last step: the name is free again, the UUID is never used again.
func (c *Controller) removeRow(ctx context.Context, row ModelRow) error {
	return change(ctx, c.db, func(o *ops) error {
		if _, err := c.row(row.UUID); isNotFound(err) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		o.remove(modelsC, row.UUID, bson.D{{"step", stepRemoving}})
		o.remove(modelNamesC, modelNameID(row.Owner, row.Name), bson.D{{"model", row.UUID}})
		return nil
	})
}
