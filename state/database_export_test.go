package state

import (
	"context"
	"encoding/json"

	"juju/state/mongo"
)

// DB returns the model's database, for tests that look at, or break, what is in it.
func (st *State) DB() *mongo.Database { return st.db }

// DB is State.DB for the controller's own database.
func (c *Controller) DB() *mongo.Database { return c.db }

// Contents is State.Dump of the controller's own database.
func (c *Controller) Contents(ctx context.Context) (map[string][]json.RawMessage, error) {
	return (&State{db: c.db}).Dump(ctx)
}
