package localstate

import (
	"fmt"
	"maps"
	"slices"

	"juju/hooks"
	"juju/state/entity"
)

// A State is what a unit has done so far. The zero State is that of a new unit.
type State struct {
	// Charm is the URL of the charm in the charm directory, and Endpoints are the names of its relations.
	Charm     string   `json:"charm,omitempty"`
	Endpoints []string `json:"endpoints,omitempty"`

	Installed bool `json:"installed,omitempty"` // the install hook has succeeded
	Started   bool `json:"started,omitempty"`   // the start hook has succeeded
	Stopped   bool `json:"stopped,omitempty"`   // the stop hook has succeeded; only remove may follow
	Removed   bool `json:"removed,omitempty"`   // the remove hook has succeeded

	UpgradePending bool   `json:"upgrade-pending,omitempty"` // upgrade-charm must run before any other hook
	ConfigPending  bool   `json:"config-pending,omitempty"`  // config-changed must run, after upgrade-charm
	Config         Config `json:"config"`                    // as of the last config-changed

	LeaderEpoch    int64  `json:"leader-epoch,omitempty"`    // the claim's epoch as of the last leader-elected
	RefusedEpoch   int64  `json:"refused-epoch,omitempty"`   // of a claim by which the controller no longer let the unit be told what leaders are
	LeaderSettings *int64 `json:"leader-settings,omitempty"` // the version as of the last leader-settings-changed

	Resources int64 `json:"resources,omitempty"` // the resources' version as of install or the last upgrade-charm

	Relations map[int]Relation `json:"relations,omitempty"` // those that the charm has seen, by id

	// Prepared and Upgraded are the upgrades of the machine's operating system whose pre-series-upgrade and
	// post-series-upgrade have last run.
	Prepared int64 `json:"prepared,omitempty"`
	Upgraded int64 `json:"upgraded,omitempty"`

	// Turn counts the hooks and tasks that have run, and Turns has the turn in which each source was last
	// served. Relations' turns are in Relation.Turns.
	Turn  int64            `json:"turn,omitempty"`
	Turns map[Source]int64 `json:"turns,omitempty"`

	// Storage is the charm's view of storage, by instance.
	Storage map[string]Storage `json:"storage,omitempty"`

	// Boot is the machine's boot in which the start hook has run; "" if unknown.
	Boot string `json:"boot,omitempty"`
	// Reboot is the machine's boot in which a hook has requested a restart. While the machine is still in that
	// boot, the unit waits.
	Reboot string `json:"reboot,omitempty"`

	Op *Op `json:"op,omitempty"` // the operation in progress
}

// A Storage is a charm's view of a storage instance. An instance that it has not seen has no entry.
type Storage string

// The views of storage.
const (
	Attached  Storage = "attached"  // storage-attached has run
	Detaching Storage = "detaching" // storage-detaching has run; only the detachment is left
)

// A Source is a source of hooks and tasks. Sources are served in turn.
type Source string

// The sources, besides the units and services at the other ends of relations.
const (
	OfSettings Source = "settings"
	OfLeader   Source = "leader"
	OfStorage  Source = "storage"
	OfSecrets  Source = "secrets"
	OfCommands Source = "commands" // from juju-run
	OfTasks    Source = "tasks"
	OfTime     Source = "time" // update-status
)

// Config identifies the settings and addresses that a config-changed hook sees.
type Config struct {
	Version        int64  `json:"version,omitempty"` // of the service's settings
	PrivateAddress string `json:"private-address,omitempty"`
	PublicAddress  string `json:"public-address,omitempty"`
	Bound          string `json:"bound,omitempty"` // the addresses of endpoints that are bound to spaces, as text
}

// ConfigOf returns the Config of a config-changed hook that starts now.
func ConfigOf(u entity.UnitInfo) Config {
	config := Config{Version: u.ConfigVersion, PrivateAddress: u.PrivateAddress, PublicAddress: u.PublicAddress}
	for _, endpoint := range slices.Sorted(maps.Keys(u.Bound)) {
		config.Bound += fmt.Sprintf("%s %s\n", endpoint, u.Bound[endpoint].Address)
	}
	return config
}

// A Relation is the charm's view of a relation.
type Relation struct {
	// Members are the units that have joined and not departed, with the version of their settings as of the
	// last hook.
	Members map[string]int64 `json:"members,omitempty"`
	// Application is the version of the other service's own settings as of the last hook; 0 before the first.
	Application int64 `json:"application,omitempty"`
	// ChangedPending is the unit that has just joined: the relation's next hook must be relation-changed for it.
	ChangedPending string `json:"changed-pending,omitempty"`
	// CreatedPending means that the charm's relation-created hook has not run yet. It must be the relation's
	// first hook.
	CreatedPending bool `json:"created-pending,omitempty"`
	// Broken means that relation-broken has run. Only leaving the scope is left.
	Broken bool `json:"broken,omitempty"`
	// Turns has the turn in which each of the other units, and the other service, was last served.
	Turns map[string]int64 `json:"turns,omitempty"`
}

// An OpKind is a kind of operation that is recorded because it can be interrupted.
type OpKind string

// The kinds of operations.
const (
	DeployCharm OpKind = "deploy-charm"
	RunHook     OpKind = "run-hook"
	RunTask     OpKind = "run-task"
)

// A Step is an operation's progress.
type Step string

// The steps of an operation.
const (
	Pending Step = "pending" // it may have begun
	Done    Step = "done"    // it has succeeded and must be committed
	Failed  Step = "failed"  // a hook, or an upgrade, has failed: the unit waits for the user
)

// An Op is an operation in progress.
type Op struct {
	Kind OpKind `json:"kind"`
	Step Step   `json:"step"`

	// For a deployment: the URL of the charm.
	Charm string `json:"charm,omitempty"`
	// For a deployment or a task: the failed hook that the unit returns to, if it was in error.
	After *Op `json:"after,omitempty"`

	// For a task: its id, or "" for a command from juju-run, and its outcome once it is Done.
	Task    string             `json:"task,omitempty"`
	Outcome entity.TaskOutcome `json:"outcome,omitzero"`

	// For a hook: which hook, and the name of its file.
	Hook hooks.Info `json:"hook,omitzero"`
	Name string     `json:"name,omitempty"`
	// Process is the process of the hook or task. A pending operation without one has not started.
	Process *hooks.Process `json:"process,omitempty"`
	// Config is what a config-changed hook sees.
	Config Config `json:"hook-config,omitzero"`
	// Changes are the buffered changes of a hook or task that is Done. They must be committed.
	Changes entity.HookChanges `json:"changes,omitzero"`
	// Resolved means that the user has requested this. The request must be cleared before the hook runs or is
	// skipped.
	Resolved bool `json:"resolved,omitempty"`
	// Retried means that this is an automatic retry of a hook that failed, or that was stopped with its agent
	// or for a restart of the machine.
	Retried bool `json:"retried,omitempty"`
	// Boot is the boot in which a hook has run. Reboot is the same if the machine must be restarted after it.
	Boot   string `json:"boot,omitempty"`
	Reboot string `json:"reboot,omitempty"`
	// Reason is why a hook or an upgrade has failed, such as "exit status 1".
	Reason string `json:"reason,omitempty"`
	// Message is the message that a failed hook set with juju-fail.
	Message string `json:"message,omitempty"`
	// ExitCode is the exit code of a hook that was not killed, and LastLine the last line of its stderr.
	ExitCode int    `json:"exit-code,omitempty"`
	LastLine string `json:"last-line,omitempty"`
	// Workload is the workload's status before the failure, to be restored when the failure is resolved.
	Workload *entity.Status `json:"workload,omitempty"`
}

// Failed returns the hook or charm upgrade that has failed and awaits resolution, or nil.
func (s State) Failed() *Op {
	if s.Op != nil && s.Op.Step == Failed {
		return s.Op
	}
	return nil
}

// hasSecrets reports whether the content of secrets is among the changes that must be committed.
func (s State) hasSecrets() bool {
	if s.Op == nil || s.Op.Changes.Secrets == nil {
		return false
	}
	return len(s.Op.Changes.Secrets.Create) > 0 || slices.ContainsFunc(s.Op.Changes.Secrets.Update,
		func(u entity.SecretUpdate) bool { return u.Content != nil })
}

// FailedHook returns the hook that has failed and awaits resolution, or nil.
func (s State) FailedHook() *Op {
	if op := s.Failed(); op != nil && op.Kind == RunHook {
		return op
	}
	return nil
}

// FailedWith returns the operation after its hook has failed for the given reason.
func (op Op) FailedWith(reason string) *Op {
	return &Op{Kind: RunHook, Step: Failed, Hook: op.Hook, Name: op.Name, Config: op.Config, Boot: op.Boot, Reason: reason}
}

// Again returns the operation that retries a hook stopped with its agent or its machine.
func (op Op) Again() *Op {
	return &Op{Kind: RunHook, Step: Pending, Hook: op.Hook, Name: op.Name, Config: op.Config, Retried: true}
}

// ConflictsWith returns the upgrade after it has failed because of a conflict in the charm directory.
func (op Op) ConflictsWith(err error) *Op {
	return &Op{Kind: DeployCharm, Step: Failed, Charm: op.Charm, After: op.After, Reason: err.Error()}
}

// Has reports whether the charm has a relation of the given name.
func (s State) Has(endpoint string) bool { return slices.Contains(s.Endpoints, endpoint) }

// With returns a copy of the state with another operation, or none if op is nil.
func (s State) With(op *Op) State {
	s.Op = op
	return s
}

// Ran returns the state after a hook, whose record is op, has succeeded or was skipped at the user's request. No
// operation is in progress then.
func (s State) Ran(op Op) State {
	s.Op = nil
	if op.Reboot != "" {
		s.Reboot = op.Reboot
	}
	hook := op.Hook
	s.Turn++
	switch hook.Kind {
	case hooks.Install:
		s.Installed, s.ConfigPending = true, true
		s.Resources = hook.ChangeVersion
	case hooks.ConfigChanged:
		s.ConfigPending, s.Config = false, op.Config
	case hooks.Start:
		s.Started, s.Boot = true, op.Boot
	case hooks.UpgradeCharm:
		s.UpgradePending, s.ConfigPending = false, true
		s.Resources = hook.ChangeVersion
	case hooks.Stop:
		s.Stopped = true
	case hooks.Remove:
		s.Removed = true
	case hooks.LeaderElected:
		s.LeaderEpoch = hook.ChangeVersion
	case hooks.LeaderSettingsChanged:
		s.LeaderSettings = &hook.ChangeVersion
	case hooks.PreSeriesUpgrade:
		s.Prepared = hook.ChangeVersion
	case hooks.PostSeriesUpgrade:
		s.Upgraded = hook.ChangeVersion
	case hooks.UpdateStatus, hooks.SecretChanged, hooks.SecretRemove, hooks.SecretRotate, hooks.SecretExpired:
	case hooks.StorageAttached:
		s = s.withStorage(hook.Storage, Attached)
	case hooks.StorageDetaching:
		s = s.withStorage(hook.Storage, Detaching)
	default:
		return s.withRelation(hook.RelationID, s.Relations[hook.RelationID].ran(hook, s.Turn))
	}
	return s.served(sourceOf(hook.Kind))
}

// sourceOf returns the source of a kind of hook that is not about relations.
func sourceOf(kind hooks.Kind) Source {
	switch {
	case kind == hooks.LeaderElected || kind == hooks.LeaderSettingsChanged:
		return OfLeader
	case kind.IsStorage():
		return OfStorage
	case kind.IsSecret():
		return OfSecrets
	case kind == hooks.UpdateStatus:
		return OfTime
	}
	return OfSettings
}

// served returns the state after a source was served in the current turn.
func (s State) served(source Source) State {
	s.Turns = maps.Clone(s.Turns)
	if s.Turns == nil {
		s.Turns = map[Source]int64{}
	}
	s.Turns[source] = s.Turn
	return s
}

// AfterTask returns the state after the task in progress has ended.
func (s State) AfterTask() State {
	s.Turn++
	source := OfTasks
	if s.Op.Task == "" {
		source = OfCommands
	}
	return s.With(s.Op.After).served(source)
}

// Entering returns the state before the unit enters a relation whose first hook must be relation-created.
func (s State) Entering(relation int) State {
	r := s.Relations[relation]
	r.CreatedPending = true
	return s.withRelation(relation, r)
}

func (s State) withStorage(id string, seen Storage) State {
	s.Storage = maps.Clone(s.Storage)
	if s.Storage == nil {
		s.Storage = map[string]Storage{}
	}
	s.Storage[id] = seen
	return s
}

// WithoutStorage returns the state without a storage instance.
func (s State) WithoutStorage(id string) State {
	s.Storage = maps.Clone(s.Storage)
	delete(s.Storage, id)
	return s
}

func (s State) withRelation(id int, r Relation) State {
	s.Relations = maps.Clone(s.Relations)
	if s.Relations == nil {
		s.Relations = map[int]Relation{}
	}
	s.Relations[id] = r
	return s
}

// ran returns the charm's view of the relation after a hook that ran in the given turn.
func (r Relation) ran(hook hooks.Info, turn int64) Relation {
	r.Members, r.Turns = maps.Clone(r.Members), maps.Clone(r.Turns)
	if r.Members == nil {
		r.Members = map[string]int64{}
	}
	if r.Turns == nil {
		r.Turns = map[string]int64{}
	}
	if remote := hook.Remote(); remote != "" {
		r.Turns[remote] = turn
	}
	switch hook.Kind {
	case hooks.RelationCreated:
		r.CreatedPending = false
	case hooks.RelationJoined:
		r.Members[hook.RemoteUnit] = hook.ChangeVersion
		r.ChangedPending = hook.RemoteUnit
	case hooks.RelationChanged:
		if hook.RemoteUnit == "" {
			r.Application = hook.ChangeVersion
			break
		}
		r.Members[hook.RemoteUnit] = hook.ChangeVersion
		r.ChangedPending = ""
	case hooks.RelationDeparted:
		delete(r.Members, hook.RemoteUnit)
		delete(r.Turns, hook.RemoteUnit)
	case hooks.RelationBroken:
		r.Broken = true
	}
	return r
}

// Without returns the state without a relation.
func (s State) Without(relation int) State {
	s.Relations = maps.Clone(s.Relations)
	delete(s.Relations, relation)
	return s
}

// Deployed returns the state after the charm at url was deployed in the charm directory. after is the failed hook
// that the unit returns to, or nil. If there is one, upgrade-charm does not run.
func (s State) Deployed(url string, after *Op) State {
	s.Charm, s.Op = url, after
	s.UpgradePending = s.UpgradePending || s.Installed && after == nil
	return s
}
