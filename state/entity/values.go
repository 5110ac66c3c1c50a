package entity

// The values below are what agents read and write through the API. Each is read consistently, so that
// no decision is based on two reads that disagree.

// RelationUnitsChange is one event of a watch on the counterparts of a unit in a relation. Events are
// merged until they are read; a unit is in at most one of Changed and Departed.
type RelationUnitsChange struct {
	Changed  map[string]int64 `json:"changed,omitempty"`  // unit name → version of its settings; compared by !=, never by order
	Departed []string         `json:"departed,omitempty"` // unit names, sorted
	// Application is the version of the other service's settings if it changed, or else 0.
	Application int64 `json:"application,omitempty"`
}

// MachineInfo is what the provisioner and the machiner need to know about a machine.
type MachineInfo struct {
	ID          string     `json:"id"`
	Life        Life       `json:"life"`
	Series      string     `json:"series"`
	Constraints string     `json:"constraints,omitempty"` // in the form users write
	Placement   string     `json:"placement,omitempty"`
	Container   string     `json:"container,omitempty"` // container type, "" on a host
	Manager     bool       `json:"manager,omitempty"`   // has JobManageModel: it runs a controller
	InstanceID  string     `json:"instance-id,omitempty"`
	Nonce       string     `json:"nonce,omitempty"`
	Status      StatusWord `json:"status"`
	// Reboot is the id of the boot during which a unit requested a reboot of the machine; "" if none
	// did.
	Reboot string `json:"reboot,omitempty"`
}

// UnitInfo is what a unit's agent needs to know, read consistently.
type UnitInfo struct {
	Name            string   `json:"name"`
	Service         string   `json:"service"`
	Machine         string   `json:"machine,omitempty"`   // "" for unassigned units and for subordinates
	Principal       string   `json:"principal,omitempty"` // "" for a principal
	Life            Life     `json:"life"`
	ServiceLife     Life     `json:"service-life"`
	Resolved        Resolved `json:"resolved,omitempty"`
	Strength        Strength `json:"strength,omitempty"`  // of its destruction
	CharmURL        string   `json:"charm-url,omitempty"` // the charm that the unit runs; "" before it has one
	ServiceCharmURL string   `json:"service-charm-url"`   // the charm that it should run
	ForceCharm      bool     `json:"force-charm,omitempty"`
	ConfigVersion   int64    `json:"config-version"` // changes with the service's settings; compared by !=
	// ResourcesVersion changes with the service's resources; compared by !=. It is 0 until one is
	// uploaded.
	ResourcesVersion int64 `json:"resources-version,omitempty"`
	// Tasks are the unfinished tasks, the oldest first.
	Tasks   []TaskRef     `json:"tasks,omitempty"`
	Secrets []SecretEvent `json:"secrets,omitempty"` // what its hooks must be told, in their order
	// LeaderSettingsVersion changes with the service's leader settings; compared by !=. It is 0 until
	// some are set.
	LeaderSettingsVersion int64 `json:"leader-settings-version,omitempty"`

	Subordinates   []string `json:"subordinates,omitempty"`
	PrivateAddress string   `json:"private-address,omitempty"`
	PublicAddress  string   `json:"public-address,omitempty"`
	// Bound are the addresses of the endpoints that are bound to other spaces than alpha.
	Bound   map[string]BoundAddress `json:"bound,omitempty"`
	Zone    string                  `json:"zone,omitempty"`    // the machine's availability zone
	Started bool                    `json:"started,omitempty"` // its agent has set a status at least once
	Storage []UnitStorage           `json:"storage,omitempty"` // attached or to be attached, by id; without what was detached
	Upgrade *UnitUpgrade            `json:"upgrade,omitempty"` // of its machine's operating system, while one is in progress
	// AwaitedProfile is the profile of the charm that the unit should run, while its machine does not have it; "" for none. The
	// unit deploys no charm until the machine has it.
	AwaitedProfile   string `json:"awaited-profile,omitempty"`
	OrphanedBySubRel bool   `json:"orphaned-by-sub-rel,omitempty"` // a subordinate without an Alive container relation to its principal
}

// A UnitUpgrade is a unit's part in the upgrade of its machine's operating system.
type UnitUpgrade struct {
	Number     int64  `json:"number"`               // tells apart the upgrades of a machine; compared by !=
	To         string `json:"to,omitempty"`         // a series
	Completing bool   `json:"completing,omitempty"` // the operating system has been upgraded
	Done       bool   `json:"done,omitempty"`       // the unit has finished this step
}

// RelationInfo is a relation as seen from one unit of it.
type RelationInfo struct {
	ID        int      `json:"id"`
	Key       string   `json:"key"` // canonical name, "wordpress:db mysql:server"
	Life      Life     `json:"life"`
	Endpoint  string   `json:"endpoint"` // name of the unit's own endpoint
	Role      string   `json:"role"`     // "requirer", "provider" or "peer"
	Interface string   `json:"interface"`
	Scope     string   `json:"scope"`              // "global" or "container"
	Remote    string   `json:"remote"`             // the other service; the unit's own for a peer relation
	InScope   bool     `json:"in-scope"`           // the unit is in the relation's scope
	Implicit  bool     `json:"implicit,omitempty"` // juju-info: joined, but runs no hooks
	Strength  Strength `json:"strength,omitempty"` // of its destruction
	// Via are the subnets that the service's connections come from in this relation, if a user has said so.
	Via []string `json:"via,omitempty"`
	// Model is the UUID of the model that the other service is in; "" if it is the unit's own.
	Model string `json:"model,omitempty"`
	// Offered is set if that model has the relation through an offer of the unit's service.
	Offered bool `json:"offered,omitempty"`
}

// RelationData is what is set in a relation, as seen from one unit of it.
type RelationData struct {
	ID              int
	Endpoint        string                      // name of the unit's own endpoint
	RelatedEndpoint string                      // name of the other, or the same for a peer relation
	CrossModel      bool                        // the other end is in another model
	Application     map[string]string           // set by the leader of the service at the other end
	Units           map[string]UnitRelationData // the unit itself and those at the other end, by name
}

// UnitRelationData is what a unit has set in a relation.
type UnitRelationData struct {
	InScope  bool // the unit is in the relation's scope
	Settings map[string]string
}

// HookChanges is what a hook has buffered; it is written in one transaction when the hook succeeds.
// Ports are closed before others are opened: a hook may close 80 and open 80-90. Writing a value that
// is already set is not a change, and triggers no watch.
type HookChanges struct {
	Relations map[int]map[string]string `json:"relations,omitempty"` // relation id → key → value; "" deletes the key
	// Applications is the same for the settings of the unit's service. They are rejected unless the
	// unit leads the service with a claim of this Epoch.
	Applications map[int]map[string]string `json:"applications,omitempty"`
	Epoch        int64                     `json:"epoch,omitempty"`
	// OpenPorts are opened for all endpoints, and EndpointPorts for those that they name only.
	OpenPorts     []PortRange     `json:"open-ports,omitempty"`
	EndpointPorts []EndpointPorts `json:"endpoint-ports,omitempty"`
	ClosePorts    []PortRange     `json:"close-ports,omitempty"`
	// CharmState is what the charm stores in the controller: key → value. DropState are the keys that
	// it deletes.
	CharmState CharmState `json:"charm-state,omitempty"`
	DropState  []string   `json:"drop-state,omitempty"`
	// Payloads replace those of the same classes. DropPayloads are the classes of those that are gone.
	Payloads     []Payload `json:"payloads,omitempty"`
	DropPayloads []string  `json:"drop-payloads,omitempty"`
	// Storage is the number of instances to add to each of the charm's stores, by name. They are added
	// once per StorageToken, however often the changes are written.
	Storage      map[string]uint64 `json:"storage,omitempty"`
	StorageToken string            `json:"storage-token,omitempty"`
	Secrets      *SecretChanges    `json:"secrets,omitempty"`
}

// IsEmpty reports whether there is nothing to write.
func (c HookChanges) IsEmpty() bool {
	return len(c.Relations)+len(c.Applications)+len(c.OpenPorts)+len(c.EndpointPorts)+len(c.ClosePorts)+
		len(c.CharmState)+len(c.DropState)+len(c.Payloads)+len(c.DropPayloads)+len(c.Storage) == 0 && c.Secrets == nil
}

// CharmState is what the charm of one unit stores in the controller: key → value.
type CharmState map[string]string

// LeaderSettings are what the leader of a service sets for all its units: key → value.
type LeaderSettings map[string]string

// StatusesOfService is the status of a service, and of its units' workloads.
type StatusesOfService struct {
	Service Status            `json:"service"`
	Units   map[string]Status `json:"units,omitempty"`
}

// AgentUnit is what a deployer needs to know about one of its units.
type AgentUnit struct {
	Name string `json:"name"`
	Life Life   `json:"life"`
}

// Instance is a cloud instance as state records it.
type Instance struct {
	ID        string   `json:"id"`
	Nonce     string   `json:"nonce"`
	Addresses []string `json:"addresses,omitempty"`
	Hardware  Hardware `json:"hardware,omitzero"`
	// Profiles are those of charms that it was started with; nil in a cloud whose instances can't have any.
	Profiles []ProfileRef `json:"profiles,omitzero"`
}
