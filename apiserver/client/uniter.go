package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// uniter makes a request of a unit's agent about its own unit.
func (c *Conn) uniter(ctx context.Context, method string, args, result any) error {
	return c.call(ctx, "Uniter", 1, method, args, result)
}

// relation names one of a unit's relations.
func relation(unit entity.Tag, id int) params.AgentRelation {
	return params.AgentRelation{Agent: agent(unit), Relation: id}
}

// Unit returns what the unit's agent decides on.
func (c *Conn) Unit(ctx context.Context, unit entity.Tag) (info entity.UnitInfo, err error) {
	err = c.uniter(ctx, "Unit", agent(unit), &info)
	return info, err
}

// WatchUnit fires when anything in Unit may have changed.
func (c *Conn) WatchUnit(ctx context.Context, unit entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, c, "Uniter", "WatchUnit", agent(unit))
}

// Relations returns the relations that the unit is or can be in, by id.
func (c *Conn) Relations(ctx context.Context, unit entity.Tag) ([]entity.RelationInfo, error) {
	var result params.Relations
	err := c.uniter(ctx, "Relations", agent(unit), &result)
	return result.Relations, err
}

// WatchRelations fires when anything in Relations may have changed.
func (c *Conn) WatchRelations(ctx context.Context, unit entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, c, "Uniter", "WatchRelations", agent(unit))
}

// WatchRelationUnits tells of the counterparts of the unit in a relation.
func (c *Conn) WatchRelationUnits(ctx context.Context, unit entity.Tag, id int) (<-chan entity.RelationUnitsChange, error) {
	return relationUnits(ctx, c, "Uniter", "WatchRelationUnits", relation(unit, id))
}

// EnterScope enters a relation; nil when the unit is in it. Errors:
// entity.CannotEnter, entity.CannotEnterYet.
func (c *Conn) EnterScope(ctx context.Context, unit entity.Tag, id int) error {
	return c.uniter(ctx, "EnterScope", relation(unit, id), nil)
}

// LeaveScope leaves a relation; nil when the unit is not in it.
func (c *Conn) LeaveScope(ctx context.Context, unit entity.Tag, id int) error {
	return c.uniter(ctx, "LeaveScope", relation(unit, id), nil)
}

// Config returns the settings of the unit's service, defaults included, as
// string, int64, float64, bool or nil.
func (c *Conn) Config(ctx context.Context, unit entity.Tag) (map[string]any, error) {
	var result params.Config
	err := c.uniter(ctx, "Config", agent(unit), &result)
	return result.Config, err
}

// RelationSettings returns what a unit of the relation has set.
func (c *Conn) RelationSettings(ctx context.Context, unit entity.Tag, id int, remote string) (map[string]string, error) {
	var result params.Settings
	err := c.uniter(ctx, "RelationSettings",
		params.RelationSettingsArgs{Agent: agent(unit), Relation: id, Remote: remote}, &result)
	return result.Settings, err
}

// OpenedPorts returns the ports that all units on the unit's machine have open.
func (c *Conn) OpenedPorts(ctx context.Context, unit entity.Tag) (map[string][]entity.PortRange, error) {
	var result params.OpenedPorts
	err := c.uniter(ctx, "OpenedPorts", agent(unit), &result)
	return result.Ports, err
}

// CommitHook writes what a successful hook has buffered, all or nothing.
func (c *Conn) CommitHook(ctx context.Context, unit entity.Tag, changes entity.HookChanges) error {
	return c.uniter(ctx, "CommitHook", params.AgentHook{Agent: agent(unit), Changes: changes}, nil)
}

// SetUnitStatus replaces the status of the unit's workload.
func (c *Conn) SetUnitStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	return c.uniter(ctx, "SetUnitStatus", agentStatus(unit, status), nil)
}

// UnitStatus returns the status of the unit's workload.
func (c *Conn) UnitStatus(ctx context.Context, unit entity.Tag) (status entity.Status, err error) {
	err = c.uniter(ctx, "UnitStatus", agent(unit), &status)
	return status, err
}

// SetAgentStatus replaces the status of the unit's agent.
func (c *Conn) SetAgentStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	return c.uniter(ctx, "SetAgentStatus", agentStatus(unit, status), nil)
}

// ClearResolved says that the agent has seen what the user said of its failed hook.
func (c *Conn) ClearResolved(ctx context.Context, unit entity.Tag) error {
	return c.uniter(ctx, "ClearResolved", agent(unit), nil)
}

// SetCharm records the charm that the unit is about to unpack.
func (c *Conn) SetCharm(ctx context.Context, unit entity.Tag, url string) error {
	return c.uniter(ctx, "SetCharm", params.AgentCharm{Agent: agent(unit), URL: url}, nil)
}

// DestroyUnit sets the agent's own unit Dying.
func (c *Conn) DestroyUnit(ctx context.Context, unit entity.Tag) error {
	return c.uniter(ctx, "DestroyUnit", agent(unit), nil)
}

// DestroySubordinates sets all the unit's subordinates Dying.
func (c *Conn) DestroySubordinates(ctx context.Context, unit entity.Tag) error {
	return c.uniter(ctx, "DestroySubordinates", agent(unit), nil)
}
