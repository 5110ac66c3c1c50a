package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// storageAct returns a change of storage.
func (p *foreseer) storageAct(s scene) plannedAct {
	p.Helper()
	unit := s.unit
	all, err := p.st.StorageStatus(p.ctx)
	p.ok(err)
	id := pick(p.rand, append(namesOf(all, func(s entity.StorageStatus) string { return s.ID }), "logs/999"))
	how := entity.Destruction{Strength: s.how.Strength, Timeout: s.how.Timeout}
	switch p.rand.IntN(5) {
	case 0:
		return plannedAct{what: "detach " + id, do: func(ctx context.Context, c *client.Conn) error { return each(c.DetachStorage(ctx, how, id)) }}
	case 1:
		return plannedAct{what: fmt.Sprintf("attach %s to %s", id, unit), do: func(ctx context.Context, c *client.Conn) error {
			return each(c.AttachStorage(ctx, unit, id))
		}}
	case 2:
		return plannedAct{what: fmt.Sprintf("remove %s %+v", id, how), do: func(ctx context.Context, c *client.Conn) error {
			return each(c.RemoveStorage(ctx, how, false, id))
		}}
	}
	stores := map[string]entity.StorageConstraints{"logs": {Pool: entity.PoolRootFS, Count: uint64(1 + p.rand.IntN(2))}}
	if p.rand.IntN(2) == 0 {
		stores["logs"] = entity.StorageConstraints{Pool: "local", Size: 1}
	}
	return plannedAct{what: fmt.Sprintf("add %v to %s", stores, unit), do: func(ctx context.Context, c *client.Conn) error {
		_, err := c.AddStorage(ctx, unit, stores)
		return err
	}}
}

// offerAct returns a change of offers, or of remote services, in which no unit is.
func (p *foreseer) offerAct(s scene) plannedAct {
	name := pick(p.rand, []string{"one", "two"})
	url := "admin/default." + name
	switch p.rand.IntN(6) {
	case 0:
		return plannedAct{what: "remove offer " + name, do: func(ctx context.Context, c *client.Conn) error {
			return each(c.RemoveOffers(ctx, entity.Destruction{}, url))
		}}
	case 1:
		action, level := pick(p.rand, []string{client.Grant, client.Revoke}), pick(p.rand, []string{"read", "consume", "all"})
		return plannedAct{what: action + " " + level + " on " + name, do: func(ctx context.Context, c *client.Conn) error {
			return each(c.ModifyOfferAccess(ctx, action, "bob", level, url))
		}}
	case 2:
		return plannedAct{what: "remove saas " + name, do: func(ctx context.Context, c *client.Conn) error {
			return each(c.RemoveRemotes(ctx, entity.Destruction{}, name))
		}}
	case 3:
		of := pick(p.rand, []string{"admin/other.far", "admin/other.nosuch", url})
		return plannedAct{what: "consume " + of + " as " + name, do: func(ctx context.Context, c *client.Conn) error { return c.Consume(ctx, of, name) }}
	}
	offer := entity.NewOffer{Name: name, Service: s.service, Endpoints: []string{pick(p.rand, []string{"db", "server", "juju-info"})}}
	return plannedAct{what: fmt.Sprintf("add offer %+v", offer), do: func(ctx context.Context, c *client.Conn) error { return c.AddOffer(ctx, p.model, offer) }}
}

// modelAct returns a change of what is set of the model.
func (p *foreseer) modelAct(scene) plannedAct {
	p.Helper()
	switch p.rand.IntN(3) {
	case 0:
		if len(p.trouble) > 0 {
			break
		}
		return plannedAct{what: "reset a setting of the model", do: func(ctx context.Context, c *client.Conn) error {
			return c.ResetModelConfig(ctx, modelconfig.RetryHooks)
		}}
	case 1:
		mem := p.mem()
		return plannedAct{what: fmt.Sprintf("set the constraints of the model to %s", mem), do: func(ctx context.Context, c *client.Conn) error {
			_, err := c.SetModelConstraints(ctx, mem)
			return err
		}}
	}
	value := pick(p.rand, []string{"true", "false", "maybe"})
	if len(p.trouble) > 0 {
		value = "maybe" // the hook that fails stays failed
	}
	return plannedAct{what: "set a setting of the model to " + value, do: func(ctx context.Context, c *client.Conn) error {
		return c.SetModelConfig(ctx, map[string]string{modelconfig.RetryHooks: value})
	}}
}

// spaceAct returns a change of spaces.
func (p *foreseer) spaceAct(scene) plannedAct {
	names := []string{"near", "far", "alpha"}
	name, cidrs, force := pick(p.rand, names), []string{pick(p.rand, []string{"10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"})}, p.rand.IntN(2) == 0
	switch p.rand.IntN(5) {
	case 0:
		return plannedAct{what: fmt.Sprintf("add space %s of %v", name, cidrs), do: func(ctx context.Context, c *client.Conn) error {
			return c.AddSpace(ctx, name, cidrs)
		}}
	case 1:
		return plannedAct{what: fmt.Sprintf("remove space %s, force: %v", name, force), do: func(ctx context.Context, c *client.Conn) error {
			_, err := c.RemoveSpace(ctx, name, force)
			return err
		}}
	case 2:
		to := pick(p.rand, names)
		return plannedAct{what: "rename space " + name + " to " + to, do: func(ctx context.Context, c *client.Conn) error { return c.RenameSpace(ctx, name, to) }}
	case 3:
		return plannedAct{what: "reload the spaces", do: func(ctx context.Context, c *client.Conn) error { return c.ReloadSpaces(ctx) }}
	}
	return plannedAct{what: fmt.Sprintf("move %v to space %s, force: %v", cidrs, name, force), do: func(ctx context.Context, c *client.Conn) error {
		_, err := c.MoveToSpace(ctx, name, cidrs, force)
		return err
	}}
}

// bind returns a change of bindings.
func (p *foreseer) bind(s scene) plannedAct {
	to := map[string]string{pick(p.rand, []string{"", "db", "juju-info", "nosuch"}): pick(p.rand, []string{"near", "far", "alpha", "nosuch"})}
	force := p.rand.IntN(2) == 0
	return plannedAct{what: fmt.Sprintf("bind %s to %v, force: %v", s.service, to, force), do: func(ctx context.Context, c *client.Conn) error {
		return c.Bind(ctx, s.service, to, force)
	}}
}

// poolAct returns a change of storage pools.
func (p *foreseer) poolAct(scene) plannedAct {
	name := pick(p.rand, []string{"pool1", "pool2", "rootfs"})
	value := map[string]string{"a": pick(p.rand, []string{"1", "2"})}
	switch p.rand.IntN(3) {
	case 0:
		return plannedAct{what: "remove pool " + name, do: func(ctx context.Context, c *client.Conn) error { return c.RemoveStoragePool(ctx, name) }}
	case 1:
		return plannedAct{what: fmt.Sprintf("update pool %s with %v", name, value), do: func(ctx context.Context, c *client.Conn) error {
			return c.UpdateStoragePool(ctx, name, value)
		}}
	}
	pool := entity.StoragePool{Name: name, Provider: pick(p.rand, []string{entity.PoolRootFS, "local", "nosuch"}), Attributes: value}
	return plannedAct{what: fmt.Sprintf("create pool %+v", pool), do: func(ctx context.Context, c *client.Conn) error { return c.CreateStoragePool(ctx, pool) }}
}

// taskAct returns a change of tasks: those of units, which are over before their agents are idle again.
func (p *foreseer) taskAct(s scene) plannedAct {
	switch p.rand.IntN(3) {
	case 0:
		id := pick(p.rand, []string{"1", "2", "999"})
		return plannedAct{what: "cancel task " + id, do: func(ctx context.Context, c *client.Conn) error {
			all, err := c.CancelTasks(ctx, id)
			for _, one := range all {
				err = errors.Join(one.Err, err)
			}
			return err
		}}
	case 1:
		return plannedAct{what: "run a command on " + s.unit, do: func(ctx context.Context, c *client.Conn) error {
			_, all, err := c.RunCommand(ctx, client.RunArgs{Command: "true", Units: []string{s.unit}})
			for _, one := range all {
				err = errors.Join(one.Err, err)
			}
			return err
		}}
	}
	action, on := pick(p.rand, []string{"act", "act", "nosuch"}), pick(p.rand, []string{s.unit, "site/999"})
	return plannedAct{what: "run " + action + " on " + on, do: func(ctx context.Context, c *client.Conn) error {
		_, all, err := c.EnqueueActions(ctx, action, nil, on)
		for _, one := range all {
			err = errors.Join(one.Err, err)
		}
		return err
	}}
}

// mendingAct returns what a user does about hooks that fail and upgrades that have stopped.
func (p *foreseer) mendingAct(s scene) plannedAct {
	unit, service, retry := cmp.Or(pick(p.rand, p.trouble), s.unit), s.service, p.rand.IntN(2) == 0
	if len(p.trouble) > 0 {
		service = entity.UnitService(unit)
	}
	how := client.Rollout{Batch: p.rand.IntN(2)}
	if len(p.trouble) > 0 {
		how.HealthTimeout = time.Hour // a plan expects that units become healthy in time
	}
	switch p.rand.IntN(5) {
	case 0:
		return plannedAct{what: "resume the upgrade of " + service, do: func(ctx context.Context, c *client.Conn) error {
			return c.ResumeRollout(ctx, service, how)
		}}
	case 1:
		return plannedAct{what: "revert the upgrade of " + service, do: func(ctx context.Context, c *client.Conn) error {
			_, _, err := c.RevertRollout(ctx, service, how)
			return err
		}}
	case 2:
		return plannedAct{what: fmt.Sprintf("resolve all, retry: %v", retry), do: func(ctx context.Context, c *client.Conn) error {
			return each(c.ResolveAll(ctx, retry))
		}}
	}
	return plannedAct{what: fmt.Sprintf("resolve %s, retry: %v", unit, retry), do: func(ctx context.Context, c *client.Conn) error {
		return each(c.Resolve(ctx, retry, unit))
	}}
}
