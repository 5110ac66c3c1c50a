package controller

import (
	"context"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/watcher"
)

// Of the controllers that share a store, one runs the workers that must run once. It holds a lease, and what these
// workers write asserts the lease's epoch: see lease.Fence.

// singularID is the id of the lease.
const singularID = "singular"

// ClaimSingular gives a node the lease for at least d from the call, or extends it. It returns the lease's epoch, which
// grows each time the lease changes hands, or the process of its holder. The error is entity.LeadershipRefused while
// another node holds the lease.
func (c *Controller) ClaimSingular(ctx context.Context, node string, d time.Duration) (epoch int64, err error) {
	for tries := c.singular.Tries(); tries.Next(); {
		held, err := c.singular.Read(ctx, singularID)
		if err != nil {
			return 0, err
		}
		fenced, err := lease.Fenced(ctx, c.db)
		if err != nil {
			return 0, err
		}
		next := held.Taken(node, max(held.Epoch, fenced)+1, d)
		switch {
		case held.Holder == node && held.Epoch == c.claimed.Load():
			next = held.Renewed(d)
		case held.Holder != node && held.Holder != "" && held.Left > 0:
			return 0, entity.Errorf(entity.LeadershipRefused, "controller %s holds the lease", held.Holder)
		}
		swapped, err := c.singular.Swap(ctx, held, next)
		if err != nil {
			return 0, err
		}
		if swapped {
			c.claimed.Store(next.Epoch)
			return next.Epoch, nil
		}
		if err := tries.Pause(ctx); err != nil {
			return 0, err
		}
	}
	return 0, mongo.Contention("")
}

// ReleaseSingular ends this process's lease, if it holds one, so that another node can claim it immediately.
func (c *Controller) ReleaseSingular(ctx context.Context, node string) error {
	held, err := c.singular.Read(ctx, singularID)
	if err != nil || held.Holder != node || held.Epoch != c.claimed.Load() {
		return err
	}
	_, err = c.singular.Swap(ctx, held, held.Released())
	return err
}

// AwaitSingular waits until no node holds the lease.
func (c *Controller) AwaitSingular(ctx context.Context) error {
	sub := c.hub.Subscribe(watcher.Doc(controllerLeasesC, singularID))
	defer sub.Close()
	for {
		held, err := c.singular.Read(ctx, singularID)
		if err != nil || held.Holder == "" || held.Left <= 0 {
			return err
		}
		if err := sub.Await(ctx, held.Left); err != nil {
			return err
		}
	}
}

// SingularHolder returns the node that holds the lease, or "".
func (c *Controller) SingularHolder(ctx context.Context) (string, error) {
	held, err := c.singular.Read(ctx, singularID)
	if err != nil || held.Left <= 0 {
		return "", err
	}
	return held.Holder, nil
}

// Fence returns a context whose transactions, on the controller's database and on that of st unless st is nil, fail once
// a later holder of the lease has called Fence.
func (c *Controller) Fence(ctx context.Context, st *state.State, epoch int64) (context.Context, error) {
	ctx, err := lease.Fence(ctx, c.db, epoch)
	if err != nil || st == nil {
		return ctx, err
	}
	return st.Transactions().Fence(ctx, epoch)
}

// KeepFences returns ctx with the fences of another context.
func KeepFences(ctx, of context.Context) context.Context { return mongo.KeepFences(ctx, of) }
