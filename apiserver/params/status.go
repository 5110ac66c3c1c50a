package params

import (
	"cmp"
	"slices"
	"time"

	"juju/state/entity"
)

// A StatusParams is the parameter of Client 7 FullStatus.
type StatusParams struct {
	Patterns       []string `json:"patterns"`
	IncludeStorage bool     `json:"include-storage,omitempty"` // since version 7
}

// A FullStatus is the status of a model in the wire format. FullStatusOf and ModelStatus convert without loss.
type FullStatus struct {
	Model               ModelStatusInfo                    `json:"model"`
	Machines            map[string]MachineStatus           `json:"machines"`
	Applications        map[string]ApplicationStatus       `json:"applications"`
	RemoteApplications  map[string]RemoteApplicationStatus `json:"remote-applications"`
	Offers              map[string]ApplicationOfferStatus  `json:"offers"`
	Relations           []RelationStatus                   `json:"relations"`
	ControllerTimestamp *time.Time                         `json:"controller-timestamp"`
	Branches            map[string]struct{}                `json:"branches"`
	Storage             []StorageDetails                   `json:"storage,omitempty"` // if it was asked for
	Filesystems         []FilesystemDetails                `json:"filesystems,omitempty"`
	Unmatched           []string                           `json:"unmatched-patterns,omitempty"` // not in Juju
}

// A ModelStatusInfo is the status of the model itself.
type ModelStatusInfo struct {
	Name             string         `json:"name"`
	Type             string         `json:"type"`
	CloudTag         string         `json:"cloud-tag"`
	CloudType        string         `json:"cloud-type,omitempty"` // the cloud's kind, if that is not its name; not in Juju
	Region           string         `json:"region,omitempty"`
	Version          string         `json:"version"`           // entity.JujuVersion
	Release          string         `json:"release,omitempty"` // of the model's binaries; not in Juju
	Commit           string         `json:"commit,omitempty"`  // that the controller is built from, if that is its release; not in Juju
	AvailableVersion string         `json:"available-version"`
	Status           DetailedStatus `json:"model-status"`
	MeterStatus      MeterStatus    `json:"meter-status"`
	SLA              string         `json:"sla"`
	UUID             string         `json:"uuid,omitempty"`          // not in Juju
	Controller       bool           `json:"is-controller,omitempty"` // not in Juju
}

// A MeterStatus exists only because clients read it.
type MeterStatus struct {
	Color   string `json:"color"`
	Message string `json:"message"`
}

// A DetailedStatus is an entity.Status with the life of its entity: "" for Alive, which clients do not show.
type DetailedStatus struct {
	Status  string         `json:"status"`
	Info    string         `json:"info"`
	Data    map[string]any `json:"data"`
	Since   *time.Time     `json:"since"`
	Kind    string         `json:"kind"`
	Version string         `json:"version"`           // entity.JujuVersion, of an agent that has said what it runs
	Release string         `json:"release,omitempty"` // that the agent runs; not in Juju
	Commit  string         `json:"commit,omitempty"`  // not in Juju: the commit that the agent was built from
	Life    string         `json:"life"`
}

// An EntityStatus is an entity.Status without a life.
type EntityStatus struct {
	Status string         `json:"status"`
	Info   string         `json:"info"`
	Data   map[string]any `json:"data,omitempty"`
	Since  *time.Time     `json:"since"`
}

// A MachineStatus is a machine with its containers by id.
type MachineStatus struct {
	AgentStatus        DetailedStatus           `json:"agent-status"`
	InstanceStatus     DetailedStatus           `json:"instance-status"`
	ModificationStatus DetailedStatus           `json:"modification-status"`
	Hostname           string                   `json:"hostname,omitempty"`
	DNSName            string                   `json:"dns-name"`
	IPAddresses        []string                 `json:"ip-addresses,omitempty"`
	InstanceID         string                   `json:"instance-id"`
	DisplayName        string                   `json:"display-name"`
	Base               entity.Base              `json:"base"`
	ID                 string                   `json:"id"`
	Containers         map[string]MachineStatus `json:"containers"`
	Constraints        string                   `json:"constraints"`
	Hardware           string                   `json:"hardware"`
	Jobs               []string                 `json:"jobs"`
	HasVote            bool                     `json:"has-vote"`
	WantsVote          bool                     `json:"wants-vote"`
	SSH                string                   `json:"ssh,omitempty"` // not in Juju
	// Upgrade is of its operating system, while one is in progress. Juju does not have it.
	Upgrade *entity.SeriesUpgrade `json:"series-upgrade,omitempty"`
}

// The jobs of a machine. On the wire the second has its older name.
const (
	JobHostUnits   = "JobHostUnits"
	JobManageModel = "JobManageModel"
)

// An ApplicationStatus is a service with its units by name.
type ApplicationStatus struct {
	Charm            string                  `json:"charm"`
	CharmVersion     string                  `json:"charm-version"`
	CharmProfile     string                  `json:"charm-profile"`
	CharmChannel     string                  `json:"charm-channel,omitempty"`
	Base             entity.Base             `json:"base"`
	Exposed          bool                    `json:"exposed"`
	ExposedEndpoints entity.ExposedEndpoints `json:"exposed-endpoints,omitempty"`
	Life             string                  `json:"life"`
	Relations        map[string][]string     `json:"relations"`
	CanUpgradeTo     string                  `json:"can-upgrade-to"`
	SubordinateTo    []string                `json:"subordinate-to"`
	Subordinate      bool                    `json:"subordinate,omitempty"` // not in Juju: also true without relations
	MinUnits         int                     `json:"min-units,omitempty"`   // not in Juju
	Rollout          *entity.Rollout         `json:"rollout,omitempty"`     // not in Juju
	Units            map[string]UnitStatus   `json:"units"`
	MeterStatuses    map[string]MeterStatus  `json:"meter-statuses"`
	Status           DetailedStatus          `json:"status"`
	WorkloadVersion  string                  `json:"workload-version"`
	EndpointBindings map[string]string       `json:"endpoint-bindings"` // of all endpoints; the default at ""
	PublicAddress    string                  `json:"public-address"`
}

// A UnitStatus is a unit with its subordinates by name. The agent's status contains the unit's life.
type UnitStatus struct {
	AgentStatus     DetailedStatus        `json:"agent-status"`
	WorkloadStatus  DetailedStatus        `json:"workload-status"`
	WorkloadVersion string                `json:"workload-version"`
	Machine         string                `json:"machine"`
	OpenedPorts     []string              `json:"opened-ports"`
	PublicAddress   string                `json:"public-address"`
	Charm           string                `json:"charm"`
	Subordinates    map[string]UnitStatus `json:"subordinates"`
	Leader          bool                  `json:"leader,omitempty"`
	Strength        entity.Strength       `json:"strength,omitempty"` // not in Juju: of the unit's destruction
	Resolved        entity.Resolved       `json:"resolved,omitempty"` // not in Juju: until the agent has seen it
	Turned          bool                  `json:"turned,omitempty"`   // not in Juju
}

// A RelationStatus is one relation.
type RelationStatus struct {
	ID        int              `json:"id"`
	Key       string           `json:"key"`
	Interface string           `json:"interface"`
	Scope     string           `json:"scope"`
	Endpoints []EndpointStatus `json:"endpoints"`
	Status    DetailedStatus   `json:"status"`
}

// An EndpointStatus is one end of a relation.
type EndpointStatus struct {
	ApplicationName string `json:"application"`
	Name            string `json:"name"`
	Role            string `json:"role"`
	Subordinate     bool   `json:"subordinate"`
}

// cloudPrefix is the prefix of the tags of clouds.
const cloudPrefix = "cloud-"

// FullStatusOf returns a model's status in the wire format.
func FullStatusOf(m *entity.ModelStatus) *FullStatus {
	f := &FullStatus{
		Model: ModelStatusInfo{
			Name: m.Model.Name, Type: ModelType, CloudTag: cloudPrefix + m.Model.ShownCloud(), Region: cmp.Or(m.Model.Region, entity.CloudRegion), Version: entity.JujuVersion, Release: m.Model.Version, Commit: m.Model.Commit,
			Status: detailed(m.Model.Status, m.Model.Life), SLA: "unsupported",
			UUID: m.Model.UUID, Controller: m.Model.Controller,
		},
		Machines:            machinesOf(m.Machines),
		Applications:        make(map[string]ApplicationStatus, len(m.Services)),
		RemoteApplications:  remotesOf(m.Remotes),
		Offers:              offersOf(m.Offers),
		Branches:            map[string]struct{}{},
		Relations:           make([]RelationStatus, 0, len(m.Relations)),
		ControllerTimestamp: timeOf(m.At),
		Unmatched:           m.Unmatched,
	}
	if m.Model.CloudName != "" {
		f.Model.CloudType = m.Model.Cloud
	}
	for _, s := range m.Services {
		f.Applications[s.Name] = ApplicationStatus{
			Charm: s.CharmURL, CharmChannel: s.Channel, Base: entity.BaseOf(s.Series), Exposed: s.Exposed, ExposedEndpoints: s.Endpoints, Life: lifeOf(s.Life),
			Relations: orEmpty(s.Relations), CanUpgradeTo: s.CanUpgradeTo, CharmVersion: s.CharmVersion,
			SubordinateTo: orNone(s.SubordinateTo), Subordinate: s.Subordinate, MinUnits: s.MinUnits,
			Units: unitsOf(s.Units), MeterStatuses: map[string]MeterStatus{}, EndpointBindings: bindingsOf(s.Bindings),
			Status: detailed(s.Status, s.Life), WorkloadVersion: s.WorkloadVersion, Rollout: s.Rollout,
		}
	}
	for _, r := range m.Relations {
		status := RelationStatus{
			ID: r.ID, Key: r.Key, Interface: r.Interface, Scope: r.Scope,
			Status: detailed(r.Status, r.Life), Endpoints: make([]EndpointStatus, 0, len(r.Endpoints)),
		}
		for _, e := range r.Endpoints {
			status.Endpoints = append(status.Endpoints, EndpointStatus{e.Service, e.Name, e.Role, e.Subordinate})
		}
		f.Relations = append(f.Relations, status)
	}
	return f
}

func bindingsOf(bindings map[string]string) map[string]string {
	if len(bindings) == 0 {
		return map[string]string{"": entity.AlphaSpace}
	}
	return bindings
}

// ModelStatus is the inverse of FullStatusOf.
func (f *FullStatus) ModelStatus() (*entity.ModelStatus, error) {
	status, life := f.Model.Status.read()
	m := &entity.ModelStatus{
		Model: entity.ModelHeader{
			Name: f.Model.Name, UUID: f.Model.UUID, Controller: f.Model.Controller, Version: f.Model.Release, JujuVersion: f.Model.Version, Commit: f.Model.Commit,
			Life: life, Status: status,
		},
		Machines:  machinesFrom(f.Machines),
		Remotes:   remotesFrom(f.RemoteApplications),
		Offers:    offersFrom(f.Offers),
		At:        timeFrom(f.ControllerTimestamp),
		Unmatched: f.Unmatched,
	}
	if len(f.Model.CloudTag) > len(cloudPrefix) {
		m.Model.Cloud = f.Model.CloudTag[len(cloudPrefix):]
	}
	if f.Model.CloudType != "" {
		m.Model.Cloud, m.Model.CloudName = f.Model.CloudType, m.Model.Cloud
	}
	if f.Model.Region != entity.CloudRegion {
		m.Model.Region = f.Model.Region
	}
	for _, name := range entity.NaturalKeys(f.Applications) {
		a := f.Applications[name]
		s := entity.ServiceStatus{
			Name: name, Life: lifeFrom(a.Life), CharmURL: a.Charm, Channel: a.CharmChannel, CanUpgradeTo: a.CanUpgradeTo, CharmVersion: a.CharmVersion,
			Series: a.Base.Series(), Exposed: a.Exposed, Endpoints: a.ExposedEndpoints, Subordinate: a.Subordinate || len(a.SubordinateTo) > 0,
			SubordinateTo: nilIfNone(a.SubordinateTo), WorkloadVersion: a.WorkloadVersion, MinUnits: a.MinUnits,
			Rollout: a.Rollout,
		}
		s.Status, _ = a.Status.read()
		if len(a.EndpointBindings) > 1 || len(a.EndpointBindings) == 1 && a.EndpointBindings[""] != entity.AlphaSpace {
			s.Bindings = a.EndpointBindings
		}
		if len(a.Relations) > 0 {
			s.Relations = a.Relations
		}
		var err error
		if s.Units, err = unitsFrom(a.Units); err != nil {
			return nil, err
		}
		m.Services = append(m.Services, s)
	}
	for _, r := range f.Relations {
		rel := entity.RelationStatus{ID: r.ID, Key: r.Key, Interface: r.Interface, Scope: r.Scope}
		rel.Status, rel.Life = r.Status.read()
		for _, e := range r.Endpoints {
			rel.Endpoints = append(rel.Endpoints, entity.EndpointStatus{
				Service: e.ApplicationName, Name: e.Name, Role: e.Role, Subordinate: e.Subordinate,
			})
		}
		m.Relations = append(m.Relations, rel)
	}
	return m, nil
}

func machinesOf(machines []entity.MachineStatus) map[string]MachineStatus {
	out := make(map[string]MachineStatus, len(machines))
	for _, m := range machines {
		w := MachineStatus{
			AgentStatus: detailed(m.Status, m.Life), InstanceStatus: detailed(m.InstanceStatus, entity.Alive),
			ModificationStatus: detailed(m.Modification, entity.Alive),
			IPAddresses:        m.Addresses, InstanceID: m.InstanceID, Base: entity.BaseOf(m.Series), ID: m.ID,
			Containers: machinesOf(m.Containers), Constraints: m.Constraints, Hardware: m.Hardware,
			Jobs: []string{JobHostUnits}, HasVote: m.Manager, WantsVote: m.Manager, SSH: m.SSH, Upgrade: m.Upgrade,
		}
		w.AgentStatus.runs(m.AgentVersion, m.AgentCommit)
		if len(m.Addresses) > 0 {
			w.DNSName = m.Addresses[0]
		}
		if m.Manager {
			w.Jobs = append(w.Jobs, JobManageModel)
		}
		out[m.ID] = w
	}
	return out
}

func machinesFrom(machines map[string]MachineStatus) (out []entity.MachineStatus) {
	for _, id := range entity.NaturalKeys(machines) {
		w := machines[id]
		m := entity.MachineStatus{
			ID: id, Series: w.Base.Series(), InstanceID: w.InstanceID, Addresses: nilIfNone(w.IPAddresses),
			Hardware: w.Hardware, Constraints: w.Constraints, Manager: slices.Contains(w.Jobs, JobManageModel),
			SSH: w.SSH, Containers: machinesFrom(w.Containers), AgentVersion: w.AgentStatus.Release, AgentCommit: w.AgentStatus.Commit,
			Upgrade: w.Upgrade,
		}
		m.Status, m.Life = w.AgentStatus.read()
		m.InstanceStatus, _ = w.InstanceStatus.read()
		m.Modification, _ = w.ModificationStatus.read()
		out = append(out, m)
	}
	return out
}

func unitsOf(units []entity.UnitStatus) map[string]UnitStatus {
	out := make(map[string]UnitStatus, len(units))
	for _, u := range units {
		w := UnitStatus{
			AgentStatus: detailed(u.Agent, u.Life), WorkloadStatus: detailed(u.Workload, entity.Alive),
			WorkloadVersion: u.WorkloadVersion, Machine: u.Machine, OpenedPorts: make([]string, 0, len(u.OpenedPorts)),
			PublicAddress: u.PublicAddress, Charm: u.CharmURL, Turned: u.Turned, Subordinates: unitsOf(u.Subordinates), Leader: u.Leader,
			Strength: u.Strength,
			Resolved: u.Resolved,
		}
		w.AgentStatus.runs(u.AgentVersion, u.AgentCommit)
		for _, p := range u.OpenedPorts {
			w.OpenedPorts = append(w.OpenedPorts, p.String())
		}
		out[u.Name] = w
	}
	return out
}

func unitsFrom(units map[string]UnitStatus) (out []entity.UnitStatus, err error) {
	for _, name := range entity.NaturalKeys(units) {
		w := units[name]
		u := entity.UnitStatus{
			Name: name, Machine: w.Machine, CharmURL: w.Charm, Turned: w.Turned, Leader: w.Leader, Strength: w.Strength, Resolved: w.Resolved,
			PublicAddress: w.PublicAddress, WorkloadVersion: w.WorkloadVersion,
			AgentVersion: w.AgentStatus.Release, AgentCommit: w.AgentStatus.Commit,
		}
		u.Agent, u.Life = w.AgentStatus.read()
		u.Workload, _ = w.WorkloadStatus.read()
		for _, text := range w.OpenedPorts {
			p, err := entity.ParsePortRange(text)
			if err != nil {
				return nil, err
			}
			u.OpenedPorts = append(u.OpenedPorts, p)
		}
		if u.Subordinates, err = unitsFrom(w.Subordinates); err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// detailed returns a status and a life in the wire format.
func detailed(s entity.Status, life entity.Life) DetailedStatus {
	return DetailedStatus{
		Status: string(s.Status), Info: s.Message, Data: orEmpty(s.Data), Since: timeOf(s.Since), Life: lifeOf(life),
	}
}

// runs adds to an agent's status what it has said that it runs, if it has.
func (d *DetailedStatus) runs(release, commit string) {
	d.Release, d.Commit = release, commit
	if release != "" {
		d.Version = entity.JujuVersion
	}
}

// read is the inverse of detailed.
func (d DetailedStatus) read() (entity.Status, entity.Life) {
	s := entity.Status{Status: entity.StatusWord(d.Status), Message: d.Info, Since: timeFrom(d.Since)}
	if len(d.Data) > 0 {
		s.Data = d.Data
	}
	return s, lifeFrom(d.Life)
}

// StatusOf returns a status in the short wire format.
func StatusOf(s entity.Status) *EntityStatus {
	return &EntityStatus{Status: string(s.Status), Info: s.Message, Data: s.Data, Since: timeOf(s.Since)}
}

// Read returns the status; the zero Status for nil.
func (s *EntityStatus) Read() entity.Status {
	if s == nil {
		return entity.Status{}
	}
	read := entity.Status{Status: entity.StatusWord(s.Status), Message: s.Info, Data: s.Data}
	if s.Since != nil {
		read.Since = *s.Since
	}
	return read
}

func lifeOf(life entity.Life) string {
	if life == entity.Alive {
		return ""
	}
	return life.String()
}

// lifeFrom parses a life. An unknown one, from a newer server, is treated as Alive, since it is only displayed.
func lifeFrom(word string) (life entity.Life) {
	_ = life.UnmarshalText([]byte(word))
	return life
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeFrom(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func nilIfNone(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}
