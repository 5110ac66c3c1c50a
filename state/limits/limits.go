package limits

import (
	"strings"
	"unicode/utf8"

	"juju/state/entity"
)

// A Limit bounds one value that agents, users or clouds send to the controller. The API server
// checks it when a request arrives; later layers don't check again.
type Limit struct {
	Of   string // what is limited, for errors
	Max  int
	Unit string // of Max
}

// The limits. They allow what real charms do, but keep one agent from filling a document of the store
// (16 MiB) or a model's status.
var (
	// Name is for names, ids, URLs and other text without a limit of its own.
	Name = Limit{"text", 4 << 10, "bytes"}
	// File is for what users read from files: one or all of a charm's settings.
	File = Limit{"file", 5 << 20, "bytes"}
	// List is for lists and maps without a limit of their own.
	List = Limit{"list", 100_000, "entries"}
	// Depth is for nested values in requests that may contain any value.
	Depth = Limit{"nesting", 16, "levels"}

	StatusWord    = Limit{"status", 64, "bytes"}
	StatusMessage = Limit{"status message", 16 << 10, "bytes"}
	StatusData    = Limit{"status data", 64 << 10, "bytes"}
	StatusDepth   = Limit{"status data", 8, "levels"}

	SettingsKey      = Limit{"name of a setting", 1 << 10, "bytes"}
	RelationSettings = Limit{"settings of a unit in a relation", 2 << 20, "bytes"}
	// CharmState is Juju's default for max-charm-state-size.
	CharmState = Limit{"charm state of a unit", 2 << 20, "bytes"}
	// HookSettings and HookBytes are of what one request commits: the names and texts as JSON has them, below the API's limits of
	// a request.
	HookSettings = Limit{"settings of relations and of the charm's state that a hook changes", 80_000, "settings"}
	HookBytes    = Limit{"settings of relations and of the charm's state that a hook changes, in JSON", 12 << 20, "bytes"}
	// ServiceSettings counts 16 bytes per setting in addition to its name and text.
	ServiceSettings = Limit{"settings of a service", 8 << 20, "bytes"}

	// UnitPayloads counts 16 bytes per payload and label in addition to their texts.
	UnitPayloads = Limit{"payloads of a unit", 64 << 10, "bytes"}

	UnitPorts    = Limit{"open port ranges of a unit", 1000, "ranges"}
	MachinePorts = Limit{"open port ranges of a machine's units", 10_000, "ranges"}

	Endpoint  = Limit{"name of an endpoint", 255, "bytes"}
	ExposedTo = Limit{"CIDRs and spaces of a service's exposed endpoints", 100, "entries"}

	HookSecrets = Limit{"changes of a hook to secrets", 1000, "changes"}
	// Of secrets: Secrets of one owner, SecretsRead by one unit.
	Secrets         = Limit{"secrets of a service, a unit or the model", 20_000, "secrets"}
	SecretsRead     = Limit{"secrets that a unit reads", 20_000, "secrets"}
	SecretRevisions = Limit{"revisions of a secret", 1000, "revisions"}
	SecretGrants    = Limit{"grants of a secret", 1000, "grants"}
	SharedSecrets   = Limit{"secrets that a relation shares with another model", 5000, "secrets"}
	SharedRevisions = Limit{"revisions that another model tracks of the secrets of a relation", 20_000, "revisions"}
	SecretText      = Limit{"label or description of a secret", 4 << 10, "bytes"}

	UnitStorage = Limit{"storage instances of a unit", 100, "instances"}

	PendingResources = Limit{"pending resources of a user in a model", 200, "uploads"}

	// The consumers of an offer may be strangers: these bound what one can have the offer's model hold.
	ConsumerRelations = Limit{"relations of a user with an offer, from other controllers", 100, "relations"}
	ConsumerUnits     = Limit{"units of another controller in a relation", 5000, "units"}
	ConsumerSettings  = Limit{"settings of another controller's units in a relation", 64 << 20, "bytes"}

	Address    = Limit{"address", 255, "bytes"}
	Addresses  = Limit{"addresses of a machine", 256, "addresses"}
	InstanceID = Limit{"instance id", 255, "bytes"}
	Nonce      = Limit{"nonce", 255, "bytes"}
	Boot       = Limit{"name of a boot", 255, "bytes"}

	Spaces  = Limit{"spaces of a model", 200, "spaces"}
	Subnets = Limit{"subnets of a model", 2000, "subnets"}

	Constraints = Limit{"constraints", 4 << 10, "bytes"}
	Annotations = Limit{"annotations of an entity", 64 << 10, "bytes"}

	// UserData leaves room for Juju's script: the least that a cloud takes of both is 64 KiB in base64.
	UserData = Limit{"cloudinit-userdata", 32 << 10, "bytes"}

	TaskParams   = Limit{"parameters of a task", 100 << 10, "bytes"}
	TaskResults  = Limit{"results of a task", 4 << 20, "bytes"}
	TaskMessage  = Limit{"message of a task", 2 << 10, "bytes"}
	TaskMessages = Limit{"messages of a task", 1000, "messages"}
)

// All lists all limits.
var All = []Limit{
	Name, File, List, Depth, StatusWord, StatusMessage, StatusData, StatusDepth,
	SettingsKey, RelationSettings, CharmState, HookSettings, HookBytes, ServiceSettings, UnitPayloads, UnitPorts,
	MachinePorts, Endpoint, ExposedTo, HookSecrets, Secrets, SecretsRead, SecretRevisions, SecretGrants, SharedSecrets, SharedRevisions, SecretText, UnitStorage, PendingResources, ConsumerRelations, ConsumerUnits, ConsumerSettings,
	Spaces, Subnets, Address, Addresses, InstanceID, Nonce, Boot, Constraints, Annotations, UserData,
	TaskParams, TaskResults, TaskMessage, TaskMessages,
}

// Check returns an Invalid error that names the limit if n exceeds it.
func (l Limit) Check(n int) error {
	if n <= l.Max {
		return nil
	}
	return entity.Errorf(entity.Invalid, "%s: %d %s, the limit is %d", l.Of, n, l.Unit, l.Max)
}

// CheckText returns an Invalid error for text that exceeds the limit, is not UTF-8, or contains a
// NUL, which neither the store's keys nor a hook's arguments can contain.
func (l Limit) CheckText(s string) error {
	if err := l.Check(len(s)); err != nil {
		return err
	}
	return CheckPlain(l.Of, s)
}

// CheckPlain returns an Invalid error that begins with what, unless the text is UTF-8 without NULs.
func CheckPlain(what, s string) error {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return entity.Errorf(entity.Invalid, "%s: it contains a NUL character", what)
	case !utf8.ValidString(s):
		return entity.Errorf(entity.Invalid, "%s: it is not UTF-8 text", what)
	}
	return nil
}

// Cut returns s in a form that CheckText accepts. It is for text that must not be rejected, such as a
// cloud's errors or the contents of an old database.
func (l Limit) Cut(s string) string {
	if l.CheckText(s) == nil {
		return s
	}
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
	if len(s) <= l.Max {
		return s
	}
	const mark = len(" [9223372036854775807 bytes cut]")
	return entity.Cut(s, max(0, l.Max-mark))
}
