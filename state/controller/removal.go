package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// DestroyModel destroys a model, as State.Destroy does. If the model is already being removed, a destruction with force
// forces the removal. The error is entity.NotFound if the model does not exist.
func (c *Controller) DestroyModel(ctx context.Context, id string, how entity.Destruction) error {
	st, err := c.Model(ctx, id)
	if err == nil {
		err = st.Destroy(ctx, how) // the removal reads the strength from the model's database
	}
	if !entity.IsNotFound(err) {
		return err
	}
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		row, err := c.ModelRow(ctx, id)
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

// RemoveModel begins to remove a Dead model: it can no longer be opened, and this controller closes it. ResumeModel
// finishes the removal. The error is entity.InUse if the model is not Dead. If the model is already being removed or
// does not exist, RemoveModel does nothing.
func (c *Controller) RemoveModel(ctx context.Context, id string) error {
	err := c.removeDead(ctx, id)
	if err != nil {
		// Another controller may be removing it, or have removed it.
		row, rowErr := c.ModelRow(ctx, id)
		if entity.IsNotFound(rowErr) || rowErr == nil && row.Step == stepRemoving {
			return nil
		}
	}
	return err
}

func (c *Controller) removeDead(ctx context.Context, id string) error {
	row, err := c.ModelRow(ctx, id)
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

// beginRemoval moves a row from the step in which it was read to removing.
func (c *Controller) beginRemoval(ctx context.Context, row ModelRow) error {
	set := bson.D{{"step", stepRemoving}, {"removing", c.now()}}
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		now, err := c.ModelRow(ctx, row.UUID)
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

// takeRemnant copies what the removal must know from a model's database to its row: whether the model was
// destroyed with force, and which filesystems still have to be destroyed. Both can change until the last
// process has closed the model, which happens after its row becomes removing, and the database is dropped
// before the row.
func (c *Controller) takeRemnant(ctx context.Context, row *ModelRow) error {
	said, err := state.ReadRemnant(ctx, c.store, row.UUID)
	if err != nil || !said.There {
		return err
	}
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		now, err := c.ModelRow(ctx, row.UUID)
		if entity.IsNotFound(err) {
			return mongo.ErrNothing // another controller removed it
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

// WatchUnfinishedModels sends an event when ResumeModel may have work to do.
func (c *Controller) WatchUnfinishedModels(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.hub, watcher.Collection(modelsC)), nil
}

// Remains describe a model that is being removed, or whose creation was never finished.
type Remains struct {
	ModelRow
	Leftover bool // the model is removed, but resources outside the store may still exist
}

// Remains returns the remains of all models, including those that another controller is creating.
func (c *Controller) Remains(ctx context.Context) (all []Remains, err error) {
	var rows []ModelRow
	if err := c.db.All(ctx, modelsC, bson.D{{"step", bson.D{{"$ne", stepReady}}}}, &rows); err != nil {
		return nil, err
	}
	for _, row := range rows {
		all = append(all, Remains{ModelRow: row})
	}
	var docs []leftDoc
	if err := c.db.All(ctx, modelLeftoversC, nil, &docs); err != nil {
		return nil, err
	}
	for _, doc := range docs {
		all = append(all, Remains{ModelRow{UUID: doc.Model, Name: doc.Name, Owner: doc.Owner, Step: stepRemoving,
			Filesystems: doc.Filesystems, Credential: doc.Credential}, true})
	}
	return all, nil
}

// ResumeModel finishes the removal of a model, or removes a model whose creator died before finishing it. It calls
// outside, with a timeout, to remove the model's resources outside the store; outside must be idempotent. If outside
// keeps failing for a model that was destroyed with force, ResumeModel records a leftover, which is removed in the same
// way. done is false for a model that another controller is still creating.
func (c *Controller) ResumeModel(
	ctx context.Context, left Remains, outside func(context.Context, ModelRow) error,
) (done bool, err error) {
	bounded := func(ctx context.Context, row ModelRow) error {
		ctx, cancel := context.WithTimeout(ctx, outsideBound)
		defer cancel()
		return outside(ctx, row)
	}
	if left.Leftover {
		err := c.removeLeftover(ctx, left.ModelRow, bounded)
		return err == nil, err
	}
	return c.resumeModel(ctx, left.ModelRow, bounded)
}

// outsideBound is the timeout of each call of outside. The model's machines and storage have been removed by then, each with
// a time of its own; what is left is little, and a call goes on where the one before ended.
const outsideBound = 2 * time.Minute

func (c *Controller) resumeModel(ctx context.Context, row ModelRow,
	outside func(context.Context, ModelRow) error) (done bool, err error) {
	if row.Step == stepCreating {
		if !c.isAbandoned(row) {
			return false, nil
		}
		logger.Infof("removing model %q (%s): the process that was creating it died", row.Name,
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
	if err := c.store.Drop(ctx, row.UUID); err != nil {
		return false, err
	}
	if err := c.dropPresence(ctx, bson.D{{"model", row.UUID}}); err != nil {
		return false, err
	}
	// No lease can be claimed after this, because claiming reads the model first.
	if err := c.leases.DropModel(ctx, row.UUID); err != nil {
		return false, err
	}
	return true, c.removeRow(ctx, row)
}

// removeRow is the last step. It frees the name; the UUID is never reused.
func (c *Controller) removeRow(ctx context.Context, row ModelRow) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		if _, err := c.ModelRow(ctx, row.UUID); entity.IsNotFound(err) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		o.Remove(modelsC, row.UUID, bson.D{{"step", stepRemoving}})
		o.Remove(modelNamesC, modelNameID(row.Owner, row.Name), bson.D{{"model", row.UUID}})
		return nil
	})
}
