package hooktools

import (
	"context"

	"github.com/juju/loggo"

	"juju/charm"
	"juju/state/entity"
)

// A Context is a hook that runs, or an action, as its tools see it. Each fact stays the same until the hook ends. What
// is said to be set "at once" stays even if the hook fails; all other changes are made once it has succeeded.
type Context interface {
	hookContext
	unitContext
	relationContext
	leaderContext
	statusContext
	portContext
	storageContext
	stateContext
	actionContext
}

// A hookContext is what runs.
type hookContext interface {
	// HookName returns the name of the hook, "db-relation-joined", or of the action.
	HookName() string
	// Log writes to the unit's log.
	Log(level loggo.Level, message string)
	// Warn logs a warning that concerns the charm.
	Warn(message string)
	// Fail makes the hook or action fail when it exits.
	Fail(message string)
	// RequestReboot has the machine restarted after the hook. With now it ends the hook, and does not return before that.
	RequestReboot(ctx context.Context, now bool) error
}

// A unitContext is the unit, its charm and its model.
type unitContext interface {
	UnitName() string
	ModelUUID() string
	UnitInfo(ctx context.Context) (entity.UnitInfo, error)
	// CharmMeta returns the metadata of the deployed charm.
	CharmMeta() (*charm.Meta, error)
	// Config returns all options of the charm; those without a value are nil. The map is not to be written to.
	Config(ctx context.Context) (map[string]any, error)
	GoalState(ctx context.Context) (entity.GoalState, error)
	// Resource returns the path of a resource's file, after fetching it.
	Resource(ctx context.Context, name string) (path string, err error)
}

// A relationContext is the relations that the unit is in.
type relationContext interface {
	// HookRelation returns the relation that the hook is about.
	HookRelation() (id int, ok bool)
	// RemoteUnit returns the unit that the hook is about, "" if it is about none.
	RemoteUnit() string
	// RelationName returns the name of the charm's own endpoint.
	RelationName(id int) (name string, ok bool)
	// RelationIDs returns the relations of an endpoint as charms know them, "db:3", in order.
	RelationIDs(endpoint string) []string
	// RelationMembers returns the units that have joined, in order. The list is not to be written to.
	RelationMembers(id int) []string
	// RelationService returns the service at the other end.
	RelationService(id int) string
	// RelationSettings returns the settings of a unit or service. The map is the caller's.
	RelationSettings(ctx context.Context, id int, of string) (map[string]string, error)
	// SetRelationSettings changes those of the unit; "" deletes a key.
	SetRelationSettings(id int, settings map[string]string) error
	// SetServiceRelationSettings changes those of the unit's service, which only its leader can.
	SetServiceRelationSettings(ctx context.Context, id int, settings map[string]string) error
}

// A leaderContext is what the leader of the service knows and sets for all units.
type leaderContext interface {
	// IsLeader reports whether the unit is sure to lead its service for a while.
	IsLeader(ctx context.Context) (bool, error)
	// LeaderSettings returns what the leader has set. The map is not to be written to.
	LeaderSettings(ctx context.Context) (map[string]string, error)
	// SetLeaderSettings changes that at once; "" deletes a key.
	SetLeaderSettings(ctx context.Context, settings map[string]string) error
}

// A statusContext is the statuses of the unit's workload and of its service. They are set at once.
type statusContext interface {
	WorkloadStatus(ctx context.Context) (entity.Status, error)
	SetWorkloadStatus(ctx context.Context, status entity.StatusWord, message string) error
	// SetWorkloadVersion sets the version of the software that the charm runs.
	SetWorkloadVersion(ctx context.Context, version string) error
	// ServiceStatus returns the statuses of the service and its units to the leader.
	ServiceStatus(ctx context.Context) (entity.StatusesOfService, error)
	// SetServiceStatus sets the service's, which only its leader can.
	SetServiceStatus(ctx context.Context, status entity.StatusWord, message string) error
}

// A portContext is the ports that the unit has opened.
type portContext interface {
	OpenPorts(ctx context.Context, ports entity.PortRange) error
	ClosePorts(ctx context.Context, ports entity.PortRange) error
	// OpenedPorts returns what is open, sorted, with what the hook has changed.
	OpenedPorts(ctx context.Context) ([]entity.PortRange, error)
}

// A storageContext is the unit's storage.
type storageContext interface {
	// HookStorage returns the id of the instance that the hook is about, "" if it is about none.
	HookStorage() string
	// AttachedStorage returns the storage that the unit can use, by id.
	AttachedStorage() map[string]entity.UnitStorage
	// AddStorage asks for more instances of the charm's stores.
	AddStorage(counts map[string]uint64) error
}

// A stateContext is what the charm keeps in the controller for the unit.
type stateContext interface {
	// CharmState returns all of it. The map is the caller's.
	CharmState(ctx context.Context) (entity.CharmState, error)
	SetCharmState(ctx context.Context, values entity.CharmState) error
	// DeleteCharmState deletes a key; one that is not there is no error.
	DeleteCharmState(ctx context.Context, key string) error
}

// An actionContext is an action, if one runs.
type actionContext interface {
	// ActionParams returns the action's parameters; ok is false if no action runs.
	ActionParams() (params map[string]any, ok bool)
	// SetResults sets results of the action, all or none.
	SetResults(results []Result) error
	// LogProgress tells users how far the action is, at once.
	LogProgress(ctx context.Context, message string) error
}
