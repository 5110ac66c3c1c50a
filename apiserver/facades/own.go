package facades

import (
	"context"
	"errors"

	"juju/state/entity"
)

// notAbout denies an agent's request about an entity that is not its own; what names those that are.
func notAbout(agent entity.Tag, what string, subject entity.Tag) error {
	return entity.WithHint(Denied(), "The agent of %s can request this only for %s, not for %q", agent, what, subject)
}

// self accepts an agent's requests about itself.
func self(_ context.Context, c *Caller, subject entity.Tag) error {
	if subject.IsZero() || subject != c.Tag {
		return notAbout(c.Tag, "itself", subject)
	}
	return nil
}

// deployed accepts requests about units that the agent deploys.
func deployed(ctx context.Context, c *Caller, subject entity.Tag) error {
	if subject.Kind != entity.KindUnit {
		return notAbout(c.Tag, "the units that it deploys", subject)
	}
	u, err := c.Model.Unit(ctx, subject.ID)
	if err != nil {
		return err
	}
	if u.Deployer() != c.Tag {
		return notAbout(c.Tag, "the units that it deploys", subject)
	}
	return nil
}

// deployedOrGone is deployed, but also accepts a unit that has been removed. Its deployer is no longer known, and its
// removal is what the caller wants.
func deployedOrGone(ctx context.Context, c *Caller, subject entity.Tag) error {
	err := deployed(ctx, c, subject)
	if errors.Is(err, entity.NotFound) {
		return nil
	}
	return err
}

// machines accepts the controller's requests about any machine of the model.
func machines(_ context.Context, c *Caller, subject entity.Tag) error {
	if subject.Kind != entity.KindMachine {
		return notAbout(c.Tag, "machines", subject)
	}
	return nil
}

// services accepts the controller's requests about any service of the model.
func services(_ context.Context, c *Caller, subject entity.Tag) error {
	if subject.Kind != entity.KindService {
		return notAbout(c.Tag, "services", subject)
	}
	return nil
}

// storages accepts the controller's requests about any storage of the model.
func storages(_ context.Context, c *Caller, subject entity.Tag) error {
	if subject.Kind != entity.KindStorage {
		return notAbout(c.Tag, "storage", subject)
	}
	return nil
}

// everything accepts the controller's requests that name no entity.
func everything(context.Context, *Caller, entity.Tag) error { return nil }
