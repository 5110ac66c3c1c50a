package controller

import (
	"context"

	"gopkg.in/mgo.v2/bson"
)

// DropDatabases drops all of the controller's databases in its store: every model's, whatever its step, and then its
// own. None may be in use. It can be run again after an interruption.
func (c *Controller) DropDatabases(ctx context.Context) error {
	var rows []ModelRow
	if err := c.db.All(ctx, modelsC, bson.D{}, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := c.store.Drop(ctx, row.UUID); err != nil {
			return err
		}
	}
	return c.store.Drop(ctx, controllerDB)
}
