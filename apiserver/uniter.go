package apiserver

import (
	"context"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// unitDo reads the unit that a request of its own agent is about and does
// something with it.
func unitDo(ctx context.Context, c *caller, subject entity.Tag, f func(*state.Unit) error) error {
	u, err := c.model.Unit(ctx, subject.ID)
	if err != nil {
		return err
	}
	return f(u)
}

// unitGet is unitDo with a result.
func unitGet[R any](ctx context.Context, c *caller, subject entity.Tag, f func(*state.Unit) (R, error)) (result R, err error) {
	err = unitDo(ctx, c, subject, func(u *state.Unit) error {
		result, err = f(u)
		return err
	})
	return result, err
}

func uniterUnit(ctx context.Context, c *caller, p params.Agent) (entity.UnitInfo, error) {
	return unitGet(ctx, c, p.Tag.Tag, func(u *state.Unit) (entity.UnitInfo, error) { return u.Info(ctx) })
}

func uniterWatchUnit(ctx context.Context, c *caller, p params.Agent) (stream, error) {
	return notify(c.model.WatchUnit(ctx, p.Tag.ID))
}

func uniterRelations(ctx context.Context, c *caller, p params.Agent) (params.Relations, error) {
	return unitGet(ctx, c, p.Tag.Tag, func(u *state.Unit) (params.Relations, error) {
		relations, err := u.Relations(ctx)
		return params.Relations{Relations: relations}, err
	})
}

func uniterWatchRelations(ctx context.Context, c *caller, p params.Agent) (stream, error) {
	return notify(c.model.WatchRelations(ctx, p.Tag.ID))
}

func uniterWatchRelationUnits(ctx context.Context, c *caller, p params.AgentRelation) (stream, error) {
	return relationUnits(c.model.WatchRelationUnits(ctx, p.Tag.ID, p.Relation))
}

func uniterEnterScope(ctx context.Context, c *caller, p params.AgentRelation) error {
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.EnterScope(ctx, p.Relation) })
}

func uniterLeaveScope(ctx context.Context, c *caller, p params.AgentRelation) error {
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.LeaveScope(ctx, p.Relation) })
}

func uniterConfig(ctx context.Context, c *caller, p params.Agent) (params.Config, error) {
	return unitGet(ctx, c, p.Tag.Tag, func(u *state.Unit) (params.Config, error) {
		config, err := u.Config(ctx)
		return params.Config{Config: config}, err
	})
}

func uniterRelationSettings(ctx context.Context, c *caller, p params.RelationSettingsArgs) (params.Settings, error) {
	return unitGet(ctx, c, p.Tag.Tag, func(u *state.Unit) (params.Settings, error) {
		settings, err := u.RelationSettings(ctx, p.Relation, p.Remote)
		return params.Settings{Settings: settings}, err
	})
}

func uniterOpenedPorts(ctx context.Context, c *caller, p params.Agent) (params.OpenedPorts, error) {
	return unitGet(ctx, c, p.Tag.Tag, func(u *state.Unit) (params.OpenedPorts, error) {
		ports, err := u.OpenedPorts(ctx)
		return params.OpenedPorts{Ports: ports}, err
	})
}

func uniterCommitHook(ctx context.Context, c *caller, p params.AgentHook) error {
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.CommitHook(ctx, p.Changes) })
}

func uniterSetUnitStatus(ctx context.Context, c *caller, p params.AgentStatus) error {
	status, err := said(p, entity.UnitWords)
	if err != nil {
		return err
	}
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.SetStatus(ctx, status) })
}

func uniterUnitStatus(ctx context.Context, c *caller, p params.Agent) (entity.Status, error) {
	return unitGet(ctx, c, p.Tag.Tag, func(u *state.Unit) (entity.Status, error) { return u.Status(ctx) })
}

func uniterSetAgentStatus(ctx context.Context, c *caller, p params.AgentStatus) error {
	status, err := said(p, entity.AgentWords)
	if err != nil {
		return err
	}
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.SetAgentStatus(ctx, status) })
}

func uniterClearResolved(ctx context.Context, c *caller, p params.Agent) error {
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.ClearResolved(ctx) })
}

func uniterSetCharm(ctx context.Context, c *caller, p params.AgentCharm) error {
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.SetCharm(ctx, p.URL) })
}

func uniterDestroyUnit(ctx context.Context, c *caller, p params.Agent) error {
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.DestroySelf(ctx) })
}

func uniterDestroySubordinates(ctx context.Context, c *caller, p params.Agent) error {
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.DestroySubordinates(ctx) })
}

// uniterEnsureDead has nothing to do for a unit that is gone already.
func uniterEnsureDead(ctx context.Context, c *caller, p params.Agent) error {
	return ignoreGone(unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.EnsureDead(ctx) }))
}
