package controller

import (
	"context"
	"time"

	"juju/worker"
)

// electionTime is longer than a replica set is without a primary while it elects one. All controllers have to wait for
// that, so no other would serve agents better.
const electionTime = 15 * time.Second

// sendAway returns the worker that ends the connections of agents while this controller can't reach the store. They
// connect to another one, which may.
func (c *running) sendAway() worker.Func {
	return func(ctx context.Context) error {
		return worker.Every(ctx, beatEvery, func(context.Context) error {
			if since := c.store.AwaySince(); !since.IsZero() && time.Since(since) > electionTime {
				c.server.Presence().SendAway()
			}
			return nil
		})
	}
}
