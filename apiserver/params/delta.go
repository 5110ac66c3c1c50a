package params

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"juju/state/constraints"
	"juju/state/entity"
)

// A Delta is a change of one entity of a model: as AllWatcher.Next sends it, a list of the entity's kind, "change" or
// "remove", and what the entity is now. Of a removed one, the data has only its names.
type Delta struct {
	Kind    string
	Removed bool
	Data    json.RawMessage
}

// MarshalJSON writes the list.
func (d Delta) MarshalJSON() ([]byte, error) {
	change := "change"
	if d.Removed {
		change = "remove"
	}
	return json.Marshal([]any{d.Kind, change, d.Data})
}

// UnmarshalJSON reads the list.
func (d *Delta) UnmarshalJSON(text []byte) error {
	var change string
	list := []any{&d.Kind, &change, &d.Data}
	err := json.Unmarshal(text, &list)
	d.Removed = change == "remove"
	return err
}

// deltaKinds are the words for the kinds of parts.
var deltaKinds = map[entity.PartKind]string{
	entity.PartModel: "model", entity.PartCharm: "charm", entity.PartMachine: "machine", entity.PartService: "application",
	entity.PartRemote: "remoteApplication", entity.PartOffer: "applicationOffer", entity.PartRelation: "relation",
	entity.PartUnit: "unit", entity.PartAnnotations: "annotation", entity.PartTask: "action",
}

// A DeltaModel is what deltas say about the model that its parts don't.
type DeltaModel struct {
	UUID, Owner, Controller string
}

// DeltaOf returns the delta of a part, or the one that says that it is removed.
func DeltaOf(m DeltaModel, p entity.Part, removed bool) (Delta, error) {
	info, names := partInfo(m, p)
	if removed {
		names["model-uuid"] = m.UUID
		info = names
	}
	data, err := json.Marshal(info)
	return Delta{Kind: deltaKinds[p.Key.Kind], Removed: removed, Data: data}, err
}

// partInfo returns what a delta says of a part, and the names that clients know it by.
func partInfo(m DeltaModel, p entity.Part) (info any, names map[string]any) {
	switch {
	case p.Model != nil:
		return modelDelta{ModelUUID: m.UUID, Name: p.Model.Name, Life: p.Model.Life.String(),
			Owner: m.Owner, ControllerUUID: m.Controller, IsController: p.Model.Controller, Config: p.Model.Config,
			Status: statusInfo(p.Model.Status, ""), Constraints: constraintsOf(p.Model.Constraints),
			SLA: ModelSLAInfo{Level: "unsupported"}}, map[string]any{"name": p.Model.Name}
	case p.Charm != nil:
		return charmDelta{ModelUUID: m.UUID, CharmURL: p.Charm.URL, CharmVersion: p.Charm.Version, Life: entity.Alive.String(),
				DefaultConfig: p.Charm.Defaults},
			map[string]any{"charm-url": p.Charm.URL}
	case p.Machine != nil:
		return machineDeltaOf(m, p.Machine), map[string]any{"id": p.Machine.ID}
	case p.Service != nil:
		s := p.Service
		return applicationDelta{ModelUUID: m.UUID, Name: s.Name, Exposed: s.Exposed, ExposedEndpoints: s.Endpoints, CharmURL: s.CharmURL, Life: s.Life.String(),
			MinUnits: s.MinUnits, Constraints: constraintsOf(s.Constraints), Config: s.Config, Subordinate: s.Subordinate,
			Status: statusInfo(s.Status, ""), WorkloadVersion: s.WorkloadVersion}, map[string]any{"name": s.Name}
	case p.Remote != nil:
		r := p.Remote
		return remoteDelta{m.UUID, r.Name, r.Offer, r.URL, r.Life.String(), statusInfo(r.Status, "")}, map[string]any{"name": r.Name}
	case p.Offer != nil:
		o := p.Offer
		return offerDelta{m.UUID, o.Name, o.UUID, o.Service, o.Charm, o.Total, o.Active},
			map[string]any{"offer-name": o.Name, "offer-uuid": o.UUID, "application-name": o.Service}
	case p.Relation != nil:
		r := p.Relation
		ends := make([]endpointDelta, len(r.Endpoints))
		for i, e := range r.Endpoints {
			ends[i] = endpointDelta{e.Service, CharmRelation{Name: e.Name, Role: e.Role, Interface: r.Interface, Scope: r.Scope}}
		}
		return relationDelta{m.UUID, r.Key, r.ID, ends}, map[string]any{"id": r.ID, "key": r.Key}
	case p.Unit != nil:
		return unitDeltaOf(m, p.Unit), map[string]any{"name": p.Unit.Name}
	case p.Annotations != nil:
		tag := TagOf(p.Annotations.Tag).String()
		return annotationDelta{m.UUID, tag, p.Annotations.Annotations}, map[string]any{"tag": tag}
	default:
		t := p.Task
		return actionDelta{ModelUUID: m.UUID, ID: t.ID, Receiver: t.Receiver, Name: t.Name, Parameters: jsonMap(t.Params),
			Status: string(t.Status), Message: t.Message, Results: jsonMap(t.Results), Enqueued: t.Enqueued, Started: t.Started,
			Completed: t.Completed}, map[string]any{"id": t.ID}
	}
}

// A StatusInfo is a status in a delta.
type StatusInfo struct {
	Current string         `json:"current"`
	Message string         `json:"message"`
	Since   *time.Time     `json:"since"`
	Version string         `json:"version"`           // entity.JujuVersion, of an agent that has said what it runs
	Release string         `json:"release,omitempty"` // that an agent runs; not in Juju
	Data    map[string]any `json:"data,omitempty"`
}

// statusInfo returns a status in a delta, with the release that an agent runs: "" if it has not said, or there is none.
func statusInfo(s entity.Status, release string) StatusInfo {
	info := StatusInfo{Current: string(s.Status), Message: s.Message, Since: timeOf(s.Since), Release: release, Data: s.Data}
	if release != "" {
		info.Version = entity.JujuVersion
	}
	return info
}

// constraintsOf parses stored constraints. Damaged ones are shown as none; juju check reports them.
func constraintsOf(text string) constraints.Value {
	c, _ := constraints.Parse(text)
	return c
}

type modelDelta struct {
	ModelUUID      string            `json:"model-uuid"`
	Name           string            `json:"name"`
	Life           string            `json:"life"`
	Owner          string            `json:"owner"`
	ControllerUUID string            `json:"controller-uuid"`
	IsController   bool              `json:"is-controller"`
	Config         map[string]string `json:"config"`
	Status         StatusInfo        `json:"status"`
	Constraints    constraints.Value `json:"constraints"`
	SLA            ModelSLAInfo      `json:"sla"`
}

type charmDelta struct {
	ModelUUID     string    `json:"model-uuid"`
	CharmURL      string    `json:"charm-url"`
	CharmVersion  string    `json:"charm-version"`
	Life          string    `json:"life"`
	LXDProfile    *struct{} `json:"profile"` // charms have none here
	DefaultConfig Values    `json:"config"`
}

type machineDelta struct {
	ModelUUID                string           `json:"model-uuid"`
	ID                       string           `json:"id"`
	InstanceID               string           `json:"instance-id"`
	AgentStatus              StatusInfo       `json:"agent-status"`
	InstanceStatus           StatusInfo       `json:"instance-status"`
	Life                     string           `json:"life"`
	Base                     string           `json:"base"`
	ContainerType            string           `json:"container-type"`
	SupportedContainers      []string         `json:"supported-containers"`
	SupportedContainersKnown bool             `json:"supported-containers-known"`
	Hardware                 *machineHardware `json:"hardware-characteristics,omitempty"`
	Jobs                     []string         `json:"jobs"`
	Addresses                []addressDelta   `json:"addresses"`
	HasVote                  bool             `json:"has-vote"`
	WantsVote                bool             `json:"wants-vote"`
}

type machineHardware struct {
	Arch     string `json:"arch,omitempty"`
	Mem      uint64 `json:"mem,omitempty"`       // MiB
	RootDisk uint64 `json:"root-disk,omitempty"` // MiB
	Cores    uint64 `json:"cpu-cores,omitempty"`
	Zone     string `json:"availability-zone,omitempty"`
}

type addressDelta struct {
	Value string `json:"value"`
	Type  string `json:"type"`
	Scope string `json:"scope"`
}

func machineDeltaOf(m DeltaModel, s *entity.MachineStatus) machineDelta {
	container, _ := entity.ContainerOf(s.ID)
	d := machineDelta{ModelUUID: m.UUID, ID: s.ID, InstanceID: s.InstanceID, AgentStatus: statusInfo(s.Status, s.AgentVersion),
		InstanceStatus: statusInfo(s.InstanceStatus, ""), Life: s.Life.String(), Base: entity.BaseOf(s.Series).String(),
		ContainerType: container, SupportedContainers: []string{}, Jobs: []string{JobHostUnits},
		Addresses: []addressDelta{}, HasVote: s.Manager, WantsVote: s.Manager}
	if s.Manager {
		d.Jobs = append(d.Jobs, JobManageModel)
	}
	if h := entity.ParseHardware(s.Hardware); h != (entity.Hardware{}) {
		d.Hardware = &machineHardware{h.Arch, h.Mem, h.RootDisk, h.Cores, h.Zone}
	}
	for _, a := range s.Addresses {
		kind, scope := AddressKind(a)
		d.Addresses = append(d.Addresses, addressDelta{a, kind, scope})
	}
	return d
}

type applicationDelta struct {
	ModelUUID        string                  `json:"model-uuid"`
	Name             string                  `json:"name"`
	Exposed          bool                    `json:"exposed"`
	ExposedEndpoints entity.ExposedEndpoints `json:"exposed-endpoints,omitempty"` // not in Juju
	CharmURL         string                  `json:"charm-url"`
	OwnerTag         string                  `json:"owner-tag"` // services have none here
	Life             string                  `json:"life"`
	MinUnits         int                     `json:"min-units"`
	Constraints      constraints.Value       `json:"constraints"`
	Config           Values                  `json:"config,omitempty"`
	Subordinate      bool                    `json:"subordinate"`
	Status           StatusInfo              `json:"status"`
	WorkloadVersion  string                  `json:"workload-version"`
}

type remoteDelta struct {
	ModelUUID string     `json:"model-uuid"`
	Name      string     `json:"name"`
	OfferUUID string     `json:"offer-uuid"`
	OfferURL  string     `json:"offer-url"`
	Life      string     `json:"life"`
	Status    StatusInfo `json:"status"`
}

type offerDelta struct {
	ModelUUID       string `json:"model-uuid"`
	OfferName       string `json:"offer-name"`
	OfferUUID       string `json:"offer-uuid"`
	ApplicationName string `json:"application-name"`
	CharmName       string `json:"charm-name"`
	Total           int    `json:"total-connected-count"`
	Active          int    `json:"active-connected-count"`
}

type relationDelta struct {
	ModelUUID string          `json:"model-uuid"`
	Key       string          `json:"key"`
	ID        int             `json:"id"`
	Endpoints []endpointDelta `json:"endpoints"`
}

type endpointDelta struct {
	ApplicationName string        `json:"application-name"`
	Relation        CharmRelation `json:"relation"`
}

type unitDelta struct {
	ModelUUID      string      `json:"model-uuid"`
	Name           string      `json:"name"`
	Application    string      `json:"application"`
	Base           string      `json:"base"`
	CharmURL       string      `json:"charm-url"`
	Life           string      `json:"life"`
	PublicAddress  string      `json:"public-address"`
	PrivateAddress string      `json:"private-address"`
	MachineID      string      `json:"machine-id"`
	Ports          []portDelta `json:"ports"`
	PortRanges     []portRange `json:"port-ranges"`
	Principal      string      `json:"principal"`
	Subordinate    bool        `json:"subordinate"`
	WorkloadStatus StatusInfo  `json:"workload-status"`
	AgentStatus    StatusInfo  `json:"agent-status"`
	Leader         bool        `json:"leader,omitempty"` // not in Juju
}

type portDelta struct {
	Protocol string `json:"protocol"`
	Number   int    `json:"number"`
}

type portRange struct {
	From     int    `json:"from-port"`
	To       int    `json:"to-port"`
	Protocol string `json:"protocol"`
}

func unitDeltaOf(m DeltaModel, u *entity.UnitPart) unitDelta {
	d := unitDelta{ModelUUID: m.UUID, Name: u.Name, Application: u.Service, Base: entity.BaseOf(u.Series).String(),
		CharmURL: u.Charm, Life: u.Life.String(), PublicAddress: u.PublicAddress, PrivateAddress: u.PublicAddress,
		MachineID: u.Machine, Ports: []portDelta{}, PortRanges: []portRange{}, Principal: u.Principal,
		Subordinate: u.Principal != "", WorkloadStatus: statusInfo(u.Workload, ""),
		AgentStatus: statusInfo(u.Agent, u.AgentVersion), Leader: u.Leader}
	for _, p := range u.OpenedPorts {
		d.PortRanges = append(d.PortRanges, portRange{p.From, p.To, p.Protocol})
		if p.From == p.To { // a list of single ports could be long
			d.Ports = append(d.Ports, portDelta{p.Protocol, p.From})
		}
	}
	return d
}

type annotationDelta struct {
	ModelUUID   string            `json:"model-uuid"`
	Tag         string            `json:"tag"`
	Annotations map[string]string `json:"annotations"`
}

type actionDelta struct {
	ModelUUID  string         `json:"model-uuid"`
	ID         string         `json:"id"`
	Receiver   string         `json:"receiver"`
	Name       string         `json:"name"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Status     string         `json:"status"`
	Message    string         `json:"message"`
	Results    map[string]any `json:"results,omitempty"`
	Enqueued   time.Time      `json:"enqueued"`
	Started    time.Time      `json:"started"`
	Completed  time.Time      `json:"completed"`
}

// withSeries returns deltas as AllWatcher had them before version 3: with a series instead of a base.
func withSeries(deltas []Delta) []Delta {
	old := slices.Clone(deltas)
	for i, d := range old {
		if d.Removed || d.Kind != "machine" && d.Kind != "unit" {
			continue
		}
		var data map[string]json.RawMessage
		var base string
		if json.Unmarshal(d.Data, &data) != nil || json.Unmarshal(data["base"], &base) != nil {
			continue // not reached: the data is ours
		}
		name, channel, _ := strings.Cut(base, "@")
		data["series"], _ = json.Marshal(entity.Base{Name: name, Channel: channel}.Series())
		delete(data, "base")
		old[i].Data, _ = json.Marshal(data)
	}
	return old
}
