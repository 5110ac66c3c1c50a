package localstate

import (
	"maps"
	"slices"

	"juju/hooks"
	"juju/state/entity"
)

// A State is a unit's past. Its zero value is that of a unit that has none.
type State struct {
	// Charm is the URL of the charm that the charm directory holds, and Endpoints
	// are the names of that charm's relations.
	Charm     string   `json:"charm,omitempty"`
	Endpoints []string `json:"endpoints,omitempty"`

	Installed bool `json:"installed,omitempty"` // the install hook has succeeded
	Started   bool `json:"started,omitempty"`   // the start hook has
	Stopped   bool `json:"stopped,omitempty"`   // the stop hook has; nothing runs any more

	UpgradePending bool   `json:"upgrade-pending,omitempty"` // upgrade-charm is to run before any other hook
	ConfigPending  bool   `json:"config-pending,omitempty"`  // config-changed is, after upgrade-charm
	Config         Config `json:"config"`                    // of which the last config-changed was told

	Relations map[int]Relation `json:"relations,omitempty"` // by id; those of which the charm has been told something

	Op *Op `json:"op,omitempty"` // what is in progress
}

// Config identifies what a config-changed hook is about.
type Config struct {
	Version        int64  `json:"version,omitempty"` // of the service's settings
	PrivateAddress string `json:"private-address,omitempty"`
	PublicAddress  string `json:"public-address,omitempty"`
}

// ConfigOf returns what a config-changed hook that begins now is about.
func ConfigOf(u entity.UnitInfo) Config {
	return Config{Version: u.ConfigVersion, PrivateAddress: u.PrivateAddress, PublicAddress: u.PublicAddress}
}

// A Relation is what the charm has been told of one relation.
type Relation struct {
	// Members are the units that have joined and not departed, with the version of
	// their settings of which the charm was told last.
	Members map[string]int64 `json:"members,omitempty"`
	// ChangedPending is the unit that has just joined: the relation's next hook is
	// relation-changed for it.
	ChangedPending string `json:"changed-pending,omitempty"`
	// Broken says that relation-broken has run: what is left is to leave the scope.
	Broken bool `json:"broken,omitempty"`
}

// An OpKind is a kind of operation that takes long enough to be interrupted.
type OpKind string

// The kinds of operations that are written down.
const (
	DeployCharm OpKind = "deploy-charm"
	RunHook     OpKind = "run-hook"
)

// A Step is how far an operation has come.
type Step string

// The steps of an operation.
const (
	Pending Step = "pending" // it may have begun
	Done    Step = "done"    // it has succeeded, and what follows from it is to be written
	Failed  Step = "failed"  // a hook has failed: the unit waits for the user
)

// An Op is an operation in progress.
type Op struct {
	Kind OpKind `json:"kind"`
	Step Step   `json:"step"`

	// Of the deployment of a charm: its URL, and the failed hook to which the unit
	// returns after an upgrade that was forced while it was in error.
	Charm string `json:"charm,omitempty"`
	After *Op    `json:"after,omitempty"`

	// Of a hook: which, and the name of its file.
	Hook hooks.Info `json:"hook,omitzero"`
	Name string     `json:"name,omitempty"`
	// Process is the hook's, once there is one. A pending hook without one has not
	// begun.
	Process *hooks.Process `json:"process,omitempty"`
	// Config is what a config-changed hook is about.
	Config Config `json:"hook-config,omitzero"`
	// Changes are what a hook that is Done has buffered and has yet to be committed.
	Changes entity.HookChanges `json:"changes,omitzero"`
	// Resolved says that the user wanted this: the controller is to be told that the
	// request has been heard, before the hook runs or is passed over.
	Resolved bool `json:"resolved,omitempty"`
	// Retried says that a hook that has failed is run again by itself.
	Retried bool `json:"retried,omitempty"`
	// Reason tells why a hook has failed, "exit status 1".
	Reason string `json:"reason,omitempty"`
	// ExitCode and LastLine say more of that: the code if it exited by itself, and the
	// last line that it printed to stderr.
	ExitCode int    `json:"exit-code,omitempty"`
	LastLine string `json:"last-line,omitempty"`
	// Workload is the workload's status from before it showed the failure, to show
	// again when that is resolved.
	Workload *entity.Status `json:"workload,omitempty"`
}

// FailedHook returns the hook that has failed and awaits resolution, or nil.
func (s State) FailedHook() *Op {
	if s.Op != nil && s.Op.Kind == RunHook && s.Op.Step == Failed {
		return s.Op
	}
	return nil
}

// FailedWith returns the operation of the hook when it has failed for this reason.
func (op Op) FailedWith(reason string) *Op {
	return &Op{Kind: RunHook, Step: Failed, Hook: op.Hook, Name: op.Name, Config: op.Config, Reason: reason}
}

// Has reports whether the charm has a relation of this name.
func (s State) Has(endpoint string) bool { return slices.Contains(s.Endpoints, endpoint) }

// With returns the state with another operation, nil for none. The State that it is
// called on stays what it was.
func (s State) With(op *Op) State {
	s.Op = op
	return s
}

// Ran returns the state after a hook has succeeded, or was passed over at the user's
// wish, with no operation in progress. config is what a config-changed hook was about.
func (s State) Ran(hook hooks.Info, config Config) State {
	s.Op = nil
	switch hook.Kind {
	case hooks.Install:
		s.Installed, s.ConfigPending = true, true
	case hooks.ConfigChanged:
		s.ConfigPending, s.Config = false, config
	case hooks.Start:
		s.Started = true
	case hooks.UpgradeCharm:
		s.UpgradePending, s.ConfigPending = false, true
	case hooks.Stop:
		s.Stopped = true
	default:
		s.Relations = maps.Clone(s.Relations)
		if s.Relations == nil {
			s.Relations = map[int]Relation{}
		}
		s.Relations[hook.RelationID] = s.Relations[hook.RelationID].ran(hook)
	}
	return s
}

func (r Relation) ran(hook hooks.Info) Relation {
	r.Members = maps.Clone(r.Members)
	if r.Members == nil {
		r.Members = map[string]int64{}
	}
	switch hook.Kind {
	case hooks.RelationJoined:
		r.Members[hook.RemoteUnit] = hook.ChangeVersion
		r.ChangedPending = hook.RemoteUnit
	case hooks.RelationChanged:
		r.Members[hook.RemoteUnit] = hook.ChangeVersion
		r.ChangedPending = ""
	case hooks.RelationDeparted:
		delete(r.Members, hook.RemoteUnit)
	case hooks.RelationBroken:
		r.Broken = true
	}
	return r
}

// Without returns the state with no memory of a relation.
func (s State) Without(relation int) State {
	s.Relations = maps.Clone(s.Relations)
	delete(s.Relations, relation)
	return s
}

// Deployed returns the state after the charm at url was put into the charm directory.
// after is the failed hook that the unit returns to: then no hook tells of the new
// charm.
func (s State) Deployed(url string, after *Op) State {
	s.Charm, s.Op = url, after
	s.UpgradePending = s.UpgradePending || s.Installed && after == nil
	return s
}
