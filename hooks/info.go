package hooks

import (
	"cmp"
	"fmt"

	"juju/state/entity"
)

// A Kind is the event for which a hook runs. The kinds of relation hooks are suffixes, preceded by the
// relation's name.
type Kind string

// The kinds of hooks, in the order of a unit's life. Storage can also come and go in between.
const (
	StorageAttached       Kind = "storage-attached"
	Install               Kind = "install"
	RelationCreated       Kind = "relation-created"
	LeaderElected         Kind = "leader-elected"
	LeaderSettingsChanged Kind = "leader-settings-changed"
	ConfigChanged         Kind = "config-changed"
	Start                 Kind = "start"
	UpgradeCharm          Kind = "upgrade-charm"
	RelationJoined        Kind = "relation-joined"
	RelationChanged       Kind = "relation-changed"
	RelationDeparted      Kind = "relation-departed"
	RelationBroken        Kind = "relation-broken"
	UpdateStatus          Kind = "update-status"
	PreSeriesUpgrade      Kind = "pre-series-upgrade"
	PostSeriesUpgrade     Kind = "post-series-upgrade"
	StorageDetaching      Kind = "storage-detaching"
	SecretChanged         Kind = "secret-changed"
	SecretRemove          Kind = "secret-remove"
	SecretRotate          Kind = "secret-rotate"
	SecretExpired         Kind = "secret-expired"
	Stop                  Kind = "stop"
	Remove                Kind = "remove"
)

// IsRelation reports whether hooks of this kind are about a relation.
func (k Kind) IsRelation() bool {
	switch k {
	case RelationCreated, RelationJoined, RelationChanged, RelationDeparted, RelationBroken:
		return true
	}
	return false
}

// IsStorage reports whether hooks of this kind are about a storage instance.
func (k Kind) IsStorage() bool { return k == StorageAttached || k == StorageDetaching }

// IsSecret reports whether hooks of this kind are about a secret.
func (k Kind) IsSecret() bool {
	switch k {
	case SecretChanged, SecretRemove, SecretRotate, SecretExpired:
		return true
	}
	return false
}

// SecretHook returns the hook for an event of a secret.
func SecretHook(event entity.SecretEvent) Info {
	return Info{Kind: Kind("secret-" + event.Kind), Secret: event}
}

// Info describes one hook to run. An agent records it before it runs the hook, so it contains
// everything needed to rerun the hook.
type Info struct {
	Kind Kind `json:"kind" yaml:"kind"`
	// RelationID is the relation of a relation hook; other kinds ignore it.
	RelationID int `json:"relation-id,omitempty" yaml:"relation-id,omitempty"`
	// RemoteApplication is the service whose own settings have changed, in a relation-changed
	// hook that is about no unit.
	RemoteApplication string `json:"remote-application,omitempty" yaml:"remote-application,omitempty"`
	// RemoteUnit is the unit that has joined, changed or departed.
	RemoteUnit string `json:"remote-unit,omitempty" yaml:"remote-unit,omitempty"`
	// ChangeVersion is the version of what the hook is about: of RemoteUnit's settings in a
	// joined or changed hook, of the leader's in leader-settings-changed, of the service's
	// resources in install and upgrade-charm. In leader-elected it is the epoch of the claim, and
	// in the hooks of a series upgrade its number. Compare it only with !=, never by order.
	ChangeVersion int64 `json:"change-version,omitempty" yaml:"change-version,omitempty"`
	// Storage is the instance that a storage hook is about: "data/0".
	Storage string `json:"storage,omitempty" yaml:"storage,omitempty"`
	// Secret is what a secret hook is about. Its kind is that of the hook.
	Secret entity.SecretEvent `json:"secret,omitzero" yaml:"secret,omitempty"`
}

// Name returns the name of the hook's file in the charm's hooks directory;
// relation is the name of the charm's own relation, for relation hooks.
func (i Info) Name(relation string) string {
	if i.Kind.IsRelation() {
		return relation + "-" + string(i.Kind)
	}
	if i.Kind.IsStorage() {
		return entity.StoreOf(i.Storage) + "-" + string(i.Kind)
	}
	return string(i.Kind)
}

// Check returns an Invalid error unless the kind exists, and the storage, the secret and the remote unit are
// set exactly if the kind has them.
func (i Info) Check() error {
	if i.Kind.IsStorage() != entity.IsValidStorage(i.Storage) {
		return entity.Errorf(entity.Invalid, "hook %q is about no storage %q", i.Kind, i.Storage)
	}
	if i.Kind.IsSecret() != (i.Secret != entity.SecretEvent{}) ||
		i.Kind.IsSecret() && (SecretHook(i.Secret).Kind != i.Kind || !entity.SecretOfKey(i.Secret.ID).IsValid()) {
		return entity.Errorf(entity.Invalid, "hook %q is about no secret %q", i.Kind, i.Secret.ID)
	}
	switch i.Kind {
	case StorageAttached, StorageDetaching, SecretChanged, SecretRemove, SecretRotate, SecretExpired, Install,
		LeaderElected, LeaderSettingsChanged, ConfigChanged, Start, UpgradeCharm, UpdateStatus, PreSeriesUpgrade,
		PostSeriesUpgrade, Stop, Remove,
		RelationCreated, RelationBroken:
		if i.RemoteUnit != "" {
			return entity.Errorf(entity.Invalid, "hook %q is about no other unit, got %q", i.Kind, i.RemoteUnit)
		}
	case RelationJoined, RelationChanged, RelationDeparted:
		if i.Kind == RelationChanged && i.RemoteUnit == "" && entity.IsValidService(i.RemoteApplication) {
			return nil
		}
		if !entity.IsValidUnit(i.RemoteUnit) {
			return entity.Errorf(entity.Invalid, "hook %q needs a remote unit, got %q", i.Kind, i.RemoteUnit)
		}
	default:
		return entity.Errorf(entity.Invalid, "unknown hook kind %q", i.Kind)
	}
	if i.RemoteApplication != "" {
		return entity.Errorf(entity.Invalid, "hook %q is about no service, got %q", i.Kind, i.RemoteApplication)
	}
	return nil
}

// Remote returns the unit or service that the hook is about, or "".
func (i Info) Remote() string { return cmp.Or(i.RemoteUnit, i.RemoteApplication) }

// String describes the hook for logs: "install", "relation-joined 3 mysql/0".
func (i Info) String() string {
	if i.Kind.IsStorage() {
		return fmt.Sprintf("%s %s", i.Kind, i.Storage)
	}
	if i.Kind.IsSecret() {
		return fmt.Sprintf("%s %s %d", i.Kind, i.Secret.ID, i.Secret.Revision)
	}
	if !i.Kind.IsRelation() {
		return string(i.Kind)
	}
	if i.Remote() == "" {
		return fmt.Sprintf("%s %d", i.Kind, i.RelationID)
	}
	return fmt.Sprintf("%s %d %s", i.Kind, i.RelationID, i.Remote())
}
