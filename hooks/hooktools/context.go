package hooktools

import (
	"context"

	"github.com/juju/loggo"

	"juju/charm"
	"juju/state/entity"
)

// A Context is a running hook or action as seen by its tools. Values read stay the same until the hook ends. Changes
// documented as immediate persist even if the hook fails; all others are made once it succeeds.
type Context interface {
	hookContext
	unitContext
	relationContext
	leaderContext
	statusContext
	portContext
	storageContext
	stateContext
	secretContext
	actionContext
}

// A hookContext is the running hook.
type hookContext interface {
	// HookName returns the name of the hook, "db-relation-joined", or of the action.
	HookName() string
	// Log writes to the unit's log.
	Log(level loggo.Level, message string)
	// Warn logs a warning that concerns the charm.
	Warn(message string)
	// Fail makes the hook or action fail when it exits.
	Fail(message string)
	// RequestReboot reboots the machine after the hook. With now it kills the hook and does not return until it is dead.
	RequestReboot(ctx context.Context, now bool) error
}

// A unitContext is the unit, its charm and its model.
type unitContext interface {
	UnitName() string
	UnitInfo(ctx context.Context) (entity.UnitInfo, error)
	// EgressSubnets returns the subnets that the unit's connections come from in a relation, or without one if there is no
	// relation with this id, as a user has said for the relation or the model; none if they come from its address.
	EgressSubnets(relation int) []string
	// CharmMeta returns the metadata of the deployed charm.
	CharmMeta() (*charm.Meta, error)
	// Config returns all options of the charm; those without a value are nil. Callers must not modify the map.
	Config(ctx context.Context) (map[string]any, error)
	GoalState(ctx context.Context) (entity.GoalState, error)
	CloudSpec(ctx context.Context) (entity.CloudSpec, error)
	// Resource returns the path of a resource's file, which it fetches if needed.
	Resource(ctx context.Context, name string) (path string, err error)
}

// A relationContext gives access to the unit's relations.
type relationContext interface {
	// HookRelation returns the hook's relation.
	HookRelation() (id int, ok bool)
	// RemoteUnit returns the hook's remote unit, or "".
	RemoteUnit() string
	// RelationName returns the name of the charm's own endpoint.
	RelationName(id int) (name string, ok bool)
	// RelationIDs returns the sorted relation ids of an endpoint in the charms' form, "db:3".
	RelationIDs(endpoint string) []string
	// RelationMembers returns the units that have joined, sorted. Callers must not modify the list.
	RelationMembers(id int) []string
	// RelationService returns the service at the other end.
	RelationService(id int) string
	// RelationModel returns the UUID of the model that the service at the other end is in.
	RelationModel(id int) string
	// RelationSettings returns the settings of a unit or service. Callers may modify the map.
	RelationSettings(ctx context.Context, id int, of string) (map[string]string, error)
	// SetRelationSettings changes the unit's settings; "" deletes a key.
	SetRelationSettings(id int, settings map[string]string) error
	// SetServiceRelationSettings changes the settings of the unit's service. Only the leader can.
	SetServiceRelationSettings(ctx context.Context, id int, settings map[string]string) error
}

// A leaderContext gives access to leadership and the leader's settings.
type leaderContext interface {
	// IsLeader reports whether the unit is guaranteed to be the leader for a while.
	IsLeader(ctx context.Context) (bool, error)
	// LeaderSettings returns the leader's settings. Callers must not modify the map.
	LeaderSettings(ctx context.Context) (map[string]string, error)
	// SetLeaderSettings changes them immediately; "" deletes a key.
	SetLeaderSettings(ctx context.Context, settings map[string]string) error
}

// A statusContext gives access to the statuses of the workload and the service. Changes are immediate.
type statusContext interface {
	WorkloadStatus(ctx context.Context) (entity.Status, error)
	SetWorkloadStatus(ctx context.Context, status entity.StatusWord, message string) error
	// SetWorkloadVersion sets the version of the software that the charm runs.
	SetWorkloadVersion(ctx context.Context, version string) error
	// ServiceStatus returns the statuses of the service and its units to the leader.
	ServiceStatus(ctx context.Context) (entity.StatusesOfService, error)
	// SetServiceStatus sets the service's status. Only the leader can.
	SetServiceStatus(ctx context.Context, status entity.StatusWord, message string) error
}

// A portContext gives access to the unit's ports.
type portContext interface {
	// OpenPorts opens ports for some endpoints, or for all if there are none. ClosePorts closes them in the same way.
	OpenPorts(ctx context.Context, ports entity.EndpointPorts) error
	ClosePorts(ctx context.Context, ports entity.EndpointPorts) error
	// OpenedPorts returns the open ports including the hook's changes, sorted.
	OpenedPorts(ctx context.Context) ([]entity.EndpointPorts, error)
}

// A storageContext gives access to the unit's storage.
type storageContext interface {
	// HookStorage returns the id of the hook's storage instance, or "".
	HookStorage() string
	// AttachedStorage returns the storage that the unit can use, by id.
	AttachedStorage() map[string]entity.UnitStorage
	// AddStorage requests more instances of the charm's stores.
	AddStorage(counts map[string]uint64) error
}

// A stateContext gives access to the charm's state for the unit in the controller.
type stateContext interface {
	// CharmState returns all of it. Callers may modify the map.
	CharmState(ctx context.Context) (entity.CharmState, error)
	SetCharmState(ctx context.Context, values entity.CharmState) error
	// DeleteCharmState deletes a key, if it exists.
	DeleteCharmState(ctx context.Context, key string) error

	// SetPayload replaces the unit's payload of the same class.
	SetPayload(ctx context.Context, p entity.Payload) error
	// SetPayloadStatus sets the status of a payload; the error is NotFound if there is none with this id.
	SetPayloadStatus(ctx context.Context, class, id, status string) error
	// DropPayload removes a payload, if it exists.
	DropPayload(ctx context.Context, class, id string) error
}

// A SecretRequest names a secret, by URI or label, and says which revision is read: the one that the unit tracks, or the
// latest. A label that is given with a URI becomes the one by which the unit calls the secret.
type SecretRequest struct {
	URI     *entity.SecretURI
	Label   string
	Peek    bool // the latest, this time
	Refresh bool // the latest, which the unit tracks from then on
}

// A secretContext gives access to secrets. The leader of a service changes the service's; errors are in Juju's words.
type secretContext interface {
	// Secret returns the content of a secret. Callers must not modify it.
	Secret(ctx context.Context, r SecretRequest) (entity.SecretContent, error)
	// OwnedSecrets returns the unit's secrets, and the service's if the unit leads it, with the hook's changes; sorted by ID.
	OwnedSecrets(ctx context.Context) ([]entity.SecretInfo, error)
	// AddSecret makes a secret of the unit or its service.
	AddSecret(ctx context.Context, ofUnit bool, s entity.SecretSettings) (entity.SecretURI, error)
	// UpdateSecret changes what is set.
	UpdateSecret(ctx context.Context, uri entity.SecretURI, s entity.SecretSettings) error
	// RemoveSecret removes a revision of a secret; all of the secret if the revision is 0.
	RemoveSecret(ctx context.Context, uri entity.SecretURI, revision int) error
	// GrantSecret lets the service at the other end of a relation read a secret, or only one of its units unless that is "".
	GrantSecret(ctx context.Context, uri entity.SecretURI, relation int, unit string) error
	// RevokeSecret ends the grant to a service or unit.
	RevokeSecret(ctx context.Context, uri entity.SecretURI, subject string) error
}

// An actionContext gives access to the running action, if any.
type actionContext interface {
	// ActionParams returns the action's parameters; ok is false if no action runs.
	ActionParams() (params map[string]any, ok bool)
	// SetResults sets all of the action results or none.
	SetResults(results []Result) error
	// LogProgress immediately reports the action's progress to users.
	LogProgress(ctx context.Context, message string) error
}
