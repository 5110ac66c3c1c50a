package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"
)

// DropDatabases removes all that the controller has in its store: the databases of
// all models, whatever step they are at, and then its own. Nobody may use them any
// more. It can be done again after it was cut short.
func (c *Controller) DropDatabases(ctx context.Context) error {
	var rows []ModelRow
	if err := c.db.All(modelsC, bson.D{}, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := c.store.Drop(row.UUID); err != nil {
			return err
		}
	}
	return c.store.Drop(controllerDB)
}
