package entity

import "time"

// A ModelStatus is everything that `juju status` shows of one model. The number of queries that
// read it doesn't grow with the model. Lists are in natural order (CompareNatural), relations by
// id.
type ModelStatus struct {
	Model     ModelHeader      `json:"model"`
	Machines  []MachineStatus  `json:"machines,omitempty"` // hosts; containers are nested in them
	Services  []ServiceStatus  `json:"services,omitempty"`
	Relations []RelationStatus `json:"relations,omitempty"`
	At        time.Time        `json:"at"` // the controller's clock when it was read
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

// A ModelHeader is the first line of status, about the model itself.
type ModelHeader struct {
	Name       string `json:"name"`
	UUID       string `json:"uuid"`
	Controller bool   `json:"controller,omitempty"` // it is the controller's own model
	Life       Life   `json:"life"`
	Cloud      string `json:"cloud"`             // the provider's kind: "local", "lxd", …
	Version    string `json:"version,omitempty"` // that its agents are to have
	Status     Status `json:"status"`            // "available", or why not
}

// A MachineStatus is one machine and the containers it hosts.
type MachineStatus struct {
	ID             string          `json:"id"`
	Life           Life            `json:"life"`
	Series         string          `json:"series"`
	Status         Status          `json:"status"` // the agent's: pending, started, down, stopped or error
	InstanceID     string          `json:"instance-id,omitempty"`
	InstanceStatus Status          `json:"instance-status"`     // as the provider last reported
	Addresses      []string        `json:"addresses,omitempty"` // the first is the one to show
	Hardware       string          `json:"hardware,omitempty"`
	Constraints    string          `json:"constraints,omitempty"`
	Manager        bool            `json:"manager,omitempty"` // has JobManageModel
	SSH            string          `json:"ssh,omitempty"`     // of a manual machine: USER@HOST[:PORT], as its host was added
	Containers     []MachineStatus `json:"containers,omitempty"`
	AgentVersion   string          `json:"agent-version,omitempty"` // as its agent last reported
	AgentCommit    string          `json:"agent-commit,omitempty"`  // likewise
}

// A ServiceStatus is one service with its units. The units of a subordinate service are under
// their principals, not here.
type ServiceStatus struct {
	Name            string              `json:"name"`
	Life            Life                `json:"life"`
	CharmURL        string              `json:"charm-url"`
	CanUpgradeTo    string              `json:"can-upgrade-to,omitempty"` // a newer revision in state
	Series          string              `json:"series"`
	Exposed         bool                `json:"exposed,omitempty"`
	Subordinate     bool                `json:"subordinate,omitempty"`
	SubordinateTo   []string            `json:"subordinate-to,omitempty"`   // principal services, sorted
	MinUnits        int                 `json:"min-units,omitempty"`        // the number of Alive units that is maintained, 0 for none
	Status          Status              `json:"status"`                     // set by the charm, or else the Worst of its units'
	WorkloadVersion string              `json:"workload-version,omitempty"` // as application-version-set last reported
	Relations       map[string][]string `json:"relations,omitempty"`        // endpoint → the services at the other ends, sorted
	Units           []UnitStatus        `json:"units,omitempty"`            // principals only
}

// A UnitStatus is one unit. It is derived when it is read, so that every client shows the same:
// after a failed hook Workload is the error and Agent is idle; if the agent is lost, Agent is
// lost and Workload unknown.
type UnitStatus struct {
	Name            string       `json:"name"`
	Life            Life         `json:"life"`
	Strength        Strength     `json:"strength,omitempty"`  // of its destruction, or of its service's if that is greater
	Resolved        Resolved     `json:"resolved,omitempty"`  // its agent has not continued yet
	Machine         string       `json:"machine,omitempty"`   // "" while it has none; a subordinate has its principal's
	CharmURL        string       `json:"charm-url,omitempty"` // only if it isn't the service's yet
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

// A RelationStatus is one relation between services, or of one service's peers.
type RelationStatus struct {
	ID        int              `json:"id"`
	Key       string           `json:"key"` // canonical name, "wordpress:db mysql:server"
	Life      Life             `json:"life"`
	Interface string           `json:"interface"`
	Scope     string           `json:"scope"` // "global" or "container"
	Status    Status           `json:"status"`
	Endpoints []EndpointStatus `json:"endpoints"` // in the order of Key; one for peers
}

// An EndpointStatus is one end of a relation.
type EndpointStatus struct {
	Service     string `json:"service"`
	Name        string `json:"name"`
	Role        string `json:"role"` // "requirer", "provider" or "peer"
	Subordinate bool   `json:"subordinate,omitempty"`
}
