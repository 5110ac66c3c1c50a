package params

import (
	"time"

	"juju/state/entity"
)

// The shapes of the agents' facades: Machiner, Deployer, Provisioner,
// LeadershipService, Uniter and Watcher, all version 1. Each request names first the entity on whose
// behalf it is made, which is what the access check looks at (Subject).

// An Agent names the entity that a request of an agent is about.
type Agent struct {
	Tag Tag `json:"tag"`
}

// Subject returns the entity that the request is about.
func (a Agent) Subject() entity.Tag { return a.Tag.Tag }

// An AgentAddresses is what SetMachineAddresses takes.
type AgentAddresses struct {
	Agent
	Addresses []string `json:"addresses"`
}

// Check judges the addresses.
func (a AgentAddresses) Check() error { return entity.CheckAddresses(a.Addresses) }

// An AgentStatus is what the methods that set a status take.
type AgentStatus struct {
	Agent
	Status entity.Status `json:"status"`
}

// An AgentInstance is what SetProvisioned and LoseInstance take.
type AgentInstance struct {
	Agent
	Instance entity.Instance `json:"instance"`
}

// An AgentRelation names a relation, by its id, of the unit's.
type AgentRelation struct {
	Agent
	Relation int `json:"relation"`
}

// A RelationSettingsArgs is what RelationSettings takes.
type RelationSettingsArgs struct {
	Agent
	Relation int    `json:"relation"`
	Remote   string `json:"remote"` // a unit's name
}

// An AgentHook is what CommitHook takes.
type AgentHook struct {
	Agent
	Changes entity.HookChanges `json:"changes"`
}

// An AgentCharm is what SetCharm takes.
type AgentCharm struct {
	Agent
	URL string `json:"url"`
}

// A LeadershipClaim is what ClaimLeadership takes: for how long, in nanoseconds,
// the unit wants to lead its service before it asks again.
type LeadershipClaim struct {
	Agent
	Duration time.Duration `json:"duration"`
}

// A Leadership is what ClaimLeadership returns: what the leader names with each of
// its writes.
type Leadership struct {
	Epoch int64 `json:"epoch"`
}

// A MachineIDs is what Machines takes: the ids, or none for all.
type MachineIDs struct {
	IDs []string `json:"ids"`
}

// A Machines is what Machines returns.
type Machines struct {
	Machines []entity.MachineInfo `json:"machines"`
}

// A Leftovers is what Leftovers returns.
type Leftovers struct {
	Leftovers []entity.Leftover `json:"leftovers"`
}

// An InstanceID is what DropLeftovers takes.
type InstanceID struct {
	ID string `json:"id"`
}

// A DeployedUnits is what DeployedUnits returns.
type DeployedUnits struct {
	Units []entity.AgentUnit `json:"units"`
}

// A Password is what NewPassword returns.
type Password struct {
	Password string `json:"password"`
}

// A Relations is what Relations returns.
type Relations struct {
	Relations []entity.RelationInfo `json:"relations"`
}

// A Config is what Config returns.
type Config struct {
	Config Values `json:"config"`
}

// A Settings is what RelationSettings returns.
type Settings struct {
	Settings map[string]string `json:"settings"`
}

// An OpenedPorts is what OpenedPorts returns, by unit.
type OpenedPorts struct {
	Ports map[string][]entity.PortRange `json:"ports"`
}

// A WatcherID is what every Watch… returns.
type WatcherID struct {
	ID string `json:"watcher-id"`
}

// An Event is what a watcher's Next returns: nothing at all for one that only
// fires, else one of the two.
type Event struct {
	Names         []string                    `json:"names,omitempty"`
	RelationUnits *entity.RelationUnitsChange `json:"relation-units,omitempty"`
}
