package uniter

import (
	"context"
	"io"

	"juju/state/entity"
)

// API is what a uniter needs of the controller. Every method acts for the unit
// named first, which must be the one whose agent is logged in.
type API interface {
	Unit(ctx context.Context, unit entity.Tag) (entity.UnitInfo, error)
	// WatchUnit fires when anything in UnitInfo may have changed: the unit, its
	// service's life, charm or settings, its relations to its principal.
	WatchUnit(ctx context.Context, unit entity.Tag) (<-chan struct{}, error)

	// Relations returns the relations of the unit's service that are Alive, and
	// those that are Dying while the unit is in their scope; sorted by id. A
	// container relation shows only if the unit can be in it.
	Relations(ctx context.Context, unit entity.Tag) ([]entity.RelationInfo, error)
	// WatchRelations fires when anything in Relations may have changed.
	WatchRelations(ctx context.Context, unit entity.Tag) (<-chan struct{}, error)
	// WatchRelationUnits tells of the counterparts of the unit in a relation.
	WatchRelationUnits(ctx context.Context, unit entity.Tag, relation int) (<-chan entity.RelationUnitsChange, error)
	// EnterScope writes the unit's first settings and enters; nil when it is in.
	// A principal that enters a container scope gets its subordinate thereby.
	// Errors: entity.CannotEnter, entity.CannotEnterYet.
	EnterScope(ctx context.Context, unit entity.Tag, relation int) error
	// LeaveScope leaves, and removes what only this unit still held; nil when it is out.
	LeaveScope(ctx context.Context, unit entity.Tag, relation int) error

	Config(ctx context.Context, unit entity.Tag) (map[string]any, error)
	// RelationSettings returns what remote (a unit of the relation, itself
	// included) has set; readable as long as the relation exists.
	RelationSettings(ctx context.Context, unit entity.Tag, relation int, remote string) (map[string]string, error)
	// OpenedPorts returns the ports that all units on this unit's machine have open.
	OpenedPorts(ctx context.Context, unit entity.Tag) (map[string][]entity.PortRange, error)
	// CommitHook writes what a successful hook has buffered, all or nothing.
	CommitHook(ctx context.Context, unit entity.Tag, changes entity.HookChanges) error

	SetUnitStatus(ctx context.Context, unit entity.Tag, status entity.Status) error  // the workload's
	UnitStatus(ctx context.Context, unit entity.Tag) (entity.Status, error)          // the workload's
	SetAgentStatus(ctx context.Context, unit entity.Tag, status entity.Status) error // the agent's
	ClearResolved(ctx context.Context, unit entity.Tag) error
	// RetryStrategy reports whether hooks that fail in the unit's model run again by
	// themselves.
	RetryStrategy(ctx context.Context, unit entity.Tag) (bool, error)
	// WatchRetryStrategy fires when that may have changed.
	WatchRetryStrategy(ctx context.Context, unit entity.Tag) (<-chan struct{}, error)
	// SetCharm records the charm that the unit is about to unpack.
	SetCharm(ctx context.Context, unit entity.Tag, url string) error
	// CharmArchive opens the zip of a charm and tells its SHA-256, in hex.
	CharmArchive(ctx context.Context, url string) (archive io.ReadCloser, sha256 string, err error)

	// DestroyUnit sets the agent's own unit Dying: its service is, or its last
	// container relation is no longer Alive.
	DestroyUnit(ctx context.Context, unit entity.Tag) error
	// DestroySubordinates sets all the unit's subordinates Dying.
	DestroySubordinates(ctx context.Context, unit entity.Tag) error
	// EnsureDead takes the Dying unit to Dead; entity.InUse while it is in a
	// scope, entity.HasSubordinates while it has subordinates.
	EnsureDead(ctx context.Context, tag entity.Tag) error
}
