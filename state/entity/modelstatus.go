package entity

import (
	"cmp"
	"strings"
	"time"
)

// A ModelStatus is everything that `juju status` shows about one model. The number of queries needed
// to read it doesn't grow with the model. Lists are in natural order (CompareNatural), relations by
// id.
type ModelStatus struct {
	Model     ModelHeader      `json:"model"`
	Machines  []MachineStatus  `json:"machines,omitempty"` // hosts; containers are nested in them
	Services  []ServiceStatus  `json:"services,omitempty"`
	Relations []RelationStatus `json:"relations,omitempty"`
	Remotes   []RemoteStatus   `json:"remotes,omitempty"`
	Offers    []OfferStatus    `json:"offers,omitempty"`
	At        time.Time        `json:"at"` // the controller's clock when it was read
	// Unmatched are the patterns that match nothing, of those that selected what is here.
	Unmatched []string `json:"unmatched,omitempty"`
}

// AllMachines returns every machine, containers after their hosts.
func (m *ModelStatus) AllMachines() (all []MachineStatus) {
	var add func([]MachineStatus)
	add = func(machines []MachineStatus) {
		for _, one := range machines {
			all = append(all, one)
			add(one.Containers)
		}
	}
	add(m.Machines)
	return all
}

// AllUnits returns every unit, subordinates after their principals.
func (m *ModelStatus) AllUnits() (all []UnitStatus) {
	var add func([]UnitStatus)
	add = func(units []UnitStatus) {
		for _, one := range units {
			all = append(all, one)
			add(one.Subordinates)
		}
	}
	for _, s := range m.Services {
		add(s.Units)
	}
	return all
}

// A ModelHeader is the part of status about the model itself.
type ModelHeader struct {
	Name       string `json:"name"`
	UUID       string `json:"uuid"`
	Controller bool   `json:"controller,omitempty"` // the controller's own model
	Life       Life   `json:"life"`
	Cloud      string `json:"cloud"`                // the provider's kind: "local", "lxd", …
	CloudName  string `json:"cloud-name,omitempty"` // that a user has given to the cloud; "" if it is the kind
	Region     string `json:"region,omitempty"`     // of the cloud
	Version    string `json:"version,omitempty"`    // the release that its agents should run
	Commit     string `json:"commit,omitempty"`     // that the controller is built from, if that is its release
	// JujuVersion is that of the controller's programs; "" if the status does not come from its API.
	JujuVersion string `json:"juju-version,omitempty"`
	Status      Status `json:"status"` // "available", or why it isn't
}

// ShownCloud returns the name of the cloud.
func (h ModelHeader) ShownCloud() string { return cmp.Or(h.CloudName, h.Cloud) }

// A MachineStatus is one machine and the containers it hosts.
type MachineStatus struct {
	ID             string          `json:"id"`
	Life           Life            `json:"life"`
	Series         string          `json:"series"`
	Status         Status          `json:"status"` // the agent's: pending, started, down, stopped or error
	InstanceID     string          `json:"instance-id,omitempty"`
	InstanceStatus Status          `json:"instance-status"`     // as last reported by the provider
	Addresses      []string        `json:"addresses,omitempty"` // the first is shown
	Hardware       string          `json:"hardware,omitempty"`
	Constraints    string          `json:"constraints,omitempty"`
	Manager        bool            `json:"manager,omitempty"` // has JobManageModel
	SSH            string          `json:"ssh,omitempty"`     // manual machines only: USER@HOST[:PORT], as the host was added
	Containers     []MachineStatus `json:"containers,omitempty"`
	AgentVersion   string          `json:"agent-version,omitempty"` // as its agent last reported
	AgentCommit    string          `json:"agent-commit,omitempty"`  // likewise
	Upgrade        *SeriesUpgrade  `json:"upgrade,omitempty"`       // of its operating system, while one is in progress
	// Modification is of its instance by the profiles of charms: applied or error; zero if it has none.
	Modification Status `json:"modification,omitzero"`
}

// A SeriesUpgrade is the upgrade of a machine's operating system by a user.
type SeriesUpgrade struct {
	To         string    `json:"to"`                   // a series
	Completing bool      `json:"completing,omitempty"` // the user has upgraded it
	Since      time.Time `json:"since"`                // of this step
	Waiting    []string  `json:"waiting,omitempty"`    // the units that have not finished this step, sorted
}

// String describes the upgrade: "preparing for ubuntu@24.04: waiting for web/0".
func (u SeriesUpgrade) String() string {
	base, waiting := BaseOf(u.To).Short(), strings.Join(u.Waiting, ", ")
	switch {
	case u.Completing:
		return "completing the upgrade to " + base + ": waiting for " + waiting
	case waiting == "":
		return "ready for the upgrade to " + base
	}
	return "preparing the upgrade to " + base + ": waiting for " + waiting
}

// A ServiceStatus is one service with its units. The units of a subordinate service are under
// their principals, not here.
type ServiceStatus struct {
	Name            string              `json:"name"`
	Life            Life                `json:"life"`
	CharmURL        string              `json:"charm-url"`
	Channel         string              `json:"charm-channel,omitempty"`  // of a charm from a store: see CharmOrigin
	CanUpgradeTo    string              `json:"can-upgrade-to,omitempty"` // a newer revision: of a local charm, in the model
	CharmVersion    string              `json:"charm-version,omitempty"`  // what the charm says it was built from
	Series          string              `json:"series"`
	Exposed         bool                `json:"exposed,omitempty"`
	Endpoints       ExposedEndpoints    `json:"exposed-endpoints,omitempty"` // to whom they are exposed
	Subordinate     bool                `json:"subordinate,omitempty"`
	SubordinateTo   []string            `json:"subordinate-to,omitempty"`   // principal services, sorted
	MinUnits        int                 `json:"min-units,omitempty"`        // the number of Alive units to maintain
	Status          Status              `json:"status"`                     // set by the charm, or else the Worst of its units
	WorkloadVersion string              `json:"workload-version,omitempty"` // as last set by application-version-set
	Relations       map[string][]string `json:"relations,omitempty"`        // endpoint → the services at the other ends, sorted
	// Bindings are the names of the spaces to which it is bound, by endpoint, with the default at "". State leaves out
	// the endpoints that are bound like the default, and all if that is alpha.
	Bindings map[string]string `json:"bindings,omitempty"`
	Rollout  *Rollout          `json:"rollout,omitempty"` // while its units are upgraded in batches
	Units    []UnitStatus      `json:"units,omitempty"`   // principals only
}

// A CharmOrigin says where the charm of a service came from, if that is a store.
type CharmOrigin struct {
	ID      string `json:"id" bson:"id"`           // of the charm in the store
	Channel string `json:"channel" bson:"channel"` // from which the service gets its next revisions: "14/stable"
}

// A Rollout upgrades the units of a service in batches.
type Rollout struct {
	Former  string        `json:"former"`            // the charm to which it can be reverted
	Reverts bool          `json:"reverts,omitempty"` // it reverts another one, whose charm is Former
	Batch   int           `json:"batch"`             // the maximum number of units at a time
	Timeout time.Duration `json:"timeout"`           // within which the units of a batch must be healthy
	Since   time.Time     `json:"since"`             // when it last started, stopped or was resumed
	Stopped string        `json:"stopped,omitempty"` // why it has stopped
}

// Ways says what a user can do about a rollout of a service that has stopped.
func (r *Rollout) Ways(service string) string {
	ways := "continue once its cause is fixed: juju upgrade-charm " + service + " --resume"
	if r.Reverts {
		return ways
	}
	return ways + "; go back to charm " + r.Former + ": juju upgrade-charm " + service + " --revert"
}

// MaxBatch is the largest number of units that a rollout upgrades at a time.
const MaxBatch = 100

// A UnitStatus is one unit. Workload and Agent are derived when it is read, so that all clients show
// the same: after a failed hook Workload is the error and Agent is idle; if the agent is lost, Agent
// is lost and Workload unknown.
type UnitStatus struct {
	Name            string       `json:"name"`
	Life            Life         `json:"life"`
	Strength        Strength     `json:"strength,omitempty"`  // of its destruction or its service's, whichever is greater
	Resolved        Resolved     `json:"resolved,omitempty"`  // set until its agent acts on it
	Machine         string       `json:"machine,omitempty"`   // "" until assigned; a subordinate has its principal's
	CharmURL        string       `json:"charm-url,omitempty"` // only if it differs from the service's
	Turned          bool         `json:"turned,omitempty"`    // its service's upgrade in batches has come to it
	Workload        Status       `json:"workload"`
	Agent           Status       `json:"agent"`
	Leader          bool         `json:"leader,omitempty"`
	PublicAddress   string       `json:"public-address,omitempty"`
	OpenedPorts     []PortRange  `json:"opened-ports,omitempty"` // in the order of ComparePorts
	WorkloadVersion string       `json:"workload-version,omitempty"`
	AgentVersion    string       `json:"agent-version,omitempty"` // as its agent last reported
	AgentCommit     string       `json:"agent-commit,omitempty"`  // likewise
	Subordinates    []UnitStatus `json:"subordinates,omitempty"`
}

// A RelationStatus is one relation, between two services or the peers of one.
type RelationStatus struct {
	ID        int              `json:"id"`
	Key       string           `json:"key"` // canonical name, "wordpress:db mysql:server"
	Life      Life             `json:"life"`
	Interface string           `json:"interface"`
	Scope     string           `json:"scope"` // "global" or "container"
	Status    Status           `json:"status"`
	Endpoints []EndpointStatus `json:"endpoints"` // in the order of Key; one for a peer relation
}

// An EndpointStatus is one end of a relation.
type EndpointStatus struct {
	Service     string `json:"service"`
	Name        string `json:"name"`
	Role        string `json:"role"` // "requirer", "provider" or "peer"
	Subordinate bool   `json:"subordinate,omitempty"`
}
