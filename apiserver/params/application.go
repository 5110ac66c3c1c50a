package params

import (
	"encoding/json"

	"juju/state/constraints"
	"juju/state/entity"
)

// An ApplicationsDeploy is what Application 19 Deploy takes.
type ApplicationsDeploy struct {
	Applications []ApplicationDeploy `json:"applications"`
}

// An ApplicationDeploy describes a new service.
type ApplicationDeploy struct {
	ApplicationName  string            `json:"application"`
	CharmURL         string            `json:"charm-url"`
	CharmOrigin      *CharmOrigin      `json:"charm-origin,omitempty"` // its base is the service's
	Channel          string            `json:"channel"`
	NumUnits         int               `json:"num-units"`
	Config           map[string]string `json:"config,omitempty" limit:"file"`
	ConfigYAML       string            `json:"config-yaml" limit:"file"` // {application: {key: value}}
	Constraints      constraints.Value `json:"constraints"`
	Placement        []*Placement      `json:"placement,omitempty"`
	EndpointBindings map[string]string `json:"endpoint-bindings,omitempty"`
	Force            bool              `json:"Force"`

	Storage       map[string]entity.StorageConstraints `json:"storage,omitempty"` // by store
	AttachStorage []Tag                                `json:"attach-storage,omitempty"`

	Resources map[string]string `json:"resources,omitempty"` // ids of uploads, by name

	Devices map[string]any `json:"devices,omitempty"` // the controller refuses them
}

// A DeployResults is what Deploy returns.
type DeployResults struct {
	Results []DeployResult `json:"results"`
}

// A DeployResult is the outcome for one service. Warnings is ours.
type DeployResult struct {
	Error    *Error   `json:"error,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// A CheckDeploy is what CheckDeploy takes, a method of ours: what Deploy will take, before
// the controller has the charm.
type CheckDeploy struct {
	ApplicationDeploy
	CharmSeries []string `json:"charm-series,omitempty"` // named by the charm
}

// A CheckDeployResult is the series that the service would have; "" if it is open. Warnings are those
// of the cloud that Deploy would return.
type CheckDeployResult struct {
	Series   string   `json:"series,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// A CharmOrigin says where a charm came from.
type CharmOrigin struct {
	ID           string       `json:"id"`
	Source       string       `json:"source"` // "local"; hubs are refused
	Type         string       `json:"type"`   // "charm"
	Risk         string       `json:"risk,omitempty"`
	Revision     *int         `json:"revision,omitempty"`
	Track        string       `json:"track,omitempty"`
	Architecture string       `json:"architecture,omitempty"`
	Base         *entity.Base `json:"base,omitempty"`
}

// An AddApplicationUnits is what AddUnits takes.
type AddApplicationUnits struct {
	ApplicationName string       `json:"application"`
	NumUnits        int          `json:"num-units"`
	Placement       []*Placement `json:"placement"`
	AttachStorage   []Tag        `json:"attach-storage,omitempty"`
}

// An AddApplicationUnitsResults has the names of the new units.
type AddApplicationUnitsResults struct {
	Units    []string `json:"units"`
	Warnings []string `json:"warnings,omitempty"` // ours
}

// A DestroyUnitsParams is what DestroyUnit takes.
type DestroyUnitsParams struct {
	Units []DestroyUnitParams `json:"units"`
}

// A DestroyUnitParams names one unit to destroy.
type DestroyUnitParams struct {
	UnitTag Tag  `json:"unit-tag"`
	DryRun  bool `json:"dry-run,omitempty"`
	// DestroyMachines is ours: the unit's machine is destroyed too, if deploy or add-unit has
	// made it and nothing else is on it.
	DestroyMachines bool `json:"destroy-machines,omitempty"`
	// DestroyStorage destroys the unit's storage, which is detached and kept otherwise.
	DestroyStorage bool `json:"destroy-storage,omitempty"`
	Destruction
}

// A DestroyUnitResults has the outcome of each.
type DestroyUnitResults struct {
	Results []DestroyUnitResult `json:"results"`
}

// A DestroyUnitResult is one outcome.
type DestroyUnitResult struct {
	Error *Error           `json:"error,omitempty"`
	Info  *DestroyUnitInfo `json:"info,omitempty"`
}

// A DestroyUnitInfo says what becomes of what the unit had.
type DestroyUnitInfo struct {
	DestroyedWith
	entity.MachinesLeft
}

// A DestroyedWith names the storage of what is destroyed: what is kept, and what is destroyed too.
type DestroyedWith struct {
	DetachedStorage  []Entity `json:"detached-storage,omitempty"`
	DestroyedStorage []Entity `json:"destroyed-storage,omitempty"`
}

// Read returns the ids, with the machines that are left.
func (d DestroyedWith) Read(left entity.MachinesLeft) entity.DestroyInfo {
	info := entity.DestroyInfo{MachinesLeft: left}
	for _, e := range d.DetachedStorage {
		info.DetachedStorage = append(info.DetachedStorage, e.Tag.ID)
	}
	for _, e := range d.DestroyedStorage {
		info.DestroyedStorage = append(info.DestroyedStorage, e.Tag.ID)
	}
	return info
}

// A DestroyApplicationsParams is what DestroyApplication takes.
type DestroyApplicationsParams struct {
	Applications []DestroyApplicationParams `json:"applications"`
}

// A DestroyApplicationParams names one service to destroy.
type DestroyApplicationParams struct {
	ApplicationTag Tag  `json:"application-tag"`
	DryRun         bool `json:"dry-run,omitempty"`
	// DestroyMachines is ours, as in DestroyUnitParams.
	DestroyMachines bool `json:"destroy-machines,omitempty"`
	DestroyStorage  bool `json:"destroy-storage,omitempty"` // as in DestroyUnitParams
	Destruction
}

// A DestroyApplicationResults has the outcome of each.
type DestroyApplicationResults struct {
	Results []DestroyApplicationResult `json:"results"`
}

// A DestroyApplicationResult is one outcome.
type DestroyApplicationResult struct {
	Error *Error                  `json:"error,omitempty"`
	Info  *DestroyApplicationInfo `json:"info,omitempty"`
}

// A DestroyApplicationInfo would list what else is destroyed.
type DestroyApplicationInfo struct {
	DestroyedUnits []Entity `json:"destroyed-units,omitempty"`
	DestroyedWith
	entity.MachinesLeft
}

// An AddRelation is what AddRelation takes: two endpoints, "service" or
// "service:relation".
type AddRelation struct {
	Endpoints []string `json:"endpoints"`
	ViaCIDRs  []string `json:"via-cidrs,omitempty"`
}

// An AddRelationResults has the related endpoint of each service.
type AddRelationResults struct {
	Endpoints map[string]CharmRelation `json:"endpoints"` // by service
}

// A CharmRelation is one endpoint as a charm defines it.
type CharmRelation struct {
	Name      string `json:"name"`
	Role      string `json:"role"`
	Interface string `json:"interface"`
	Optional  bool   `json:"optional"`
	Limit     int    `json:"limit"`
	Scope     string `json:"scope"`
}

// A DestroyRelation names a relation by two endpoints or, if there are none, by its id.
type DestroyRelation struct {
	Endpoints  []string `json:"endpoints,omitempty"`
	RelationID int      `json:"relation-id"`
	Destruction
}

// An ApplicationGet names a service.
type ApplicationGet struct {
	ApplicationName string `json:"application"`
	BranchName      string `json:"branch"`
}

// An ApplicationGetArgs names several services.
type ApplicationGetArgs struct {
	Args []ApplicationGet `json:"args"`
}

// An ApplicationGetResults is a service's charm and settings.
type ApplicationGetResults struct {
	Application       string                   `json:"application"`
	Charm             string                   `json:"charm"` // the charm's name
	Config            map[string]ConfigSetting `json:"config"`
	Constraints       constraints.Value        `json:"constraints"`
	Base              entity.Base              `json:"base"`
	Channel           string                   `json:"channel"`
	ApplicationConfig map[string]ConfigSetting `json:"application-config,omitempty"`
	EndpointBindings  map[string]string        `json:"endpoint-bindings,omitempty"`
	// Storage is ours: what units get, by store.
	Storage map[string]entity.StorageConstraints `json:"storage-constraints,omitempty"`
}

// A ConfigSetting is an entity.ConfigSetting in the wire's form.
type ConfigSetting struct{ entity.ConfigSetting }

// MarshalJSON keeps the types of numbers, as Values does.
func (s ConfigSetting) MarshalJSON() ([]byte, error) {
	v := Values{"description": s.Description, "type": s.Type, "source": s.Source}
	if s.Value != nil {
		v["value"] = s.Value
	}
	if s.Default != nil {
		v["default"] = s.Default
	}
	return json.Marshal(v)
}

// UnmarshalJSON keeps the types of numbers, as Values does.
func (s *ConfigSetting) UnmarshalJSON(text []byte) error {
	var v Values
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	s.Value, s.Default = v["value"], v["default"]
	s.Description, _ = v["description"].(string)
	s.Type, _ = v["type"].(string)
	s.Source, _ = v["source"].(string)
	return nil
}

// An ApplicationGetConfigResults is what CharmConfig and GetConfig return.
type ApplicationGetConfigResults struct {
	Results []ConfigResult `json:"Results"`
}

// A ConfigResult is the settings of one service.
type ConfigResult struct {
	Config map[string]ConfigSetting `json:"config"`
	Error  *Error                   `json:"error,omitempty"`
}

// A ConfigSetArgs is what SetConfigs takes.
type ConfigSetArgs struct {
	Args []ConfigSet `json:"Args"`
}

// A ConfigSet changes settings of one service, all or none.
type ConfigSet struct {
	ApplicationName string            `json:"application"`
	Generation      string            `json:"generation"`
	Config          map[string]string `json:"config" limit:"file"`
	ConfigYAML      string            `json:"config-yaml" limit:"file"` // {application: {key: value}}
}

// An ApplicationConfigUnsetArgs is what UnsetApplicationsConfig takes.
type ApplicationConfigUnsetArgs struct {
	Args []ApplicationUnset `json:"Args"`
}

// An ApplicationUnset names options to reset to their defaults.
type ApplicationUnset struct {
	ApplicationName string   `json:"application"`
	BranchName      string   `json:"branch"`
	Options         []string `json:"options"`
}

// An ApplicationGetConstraintsResults is what GetConstraints returns.
type ApplicationGetConstraintsResults struct {
	Results []ApplicationConstraint `json:"results"`
}

// An ApplicationConstraint is the constraints of one service.
type ApplicationConstraint struct {
	Constraints constraints.Value `json:"constraints"`
	Error       *Error            `json:"error,omitempty"`
}

// A SetConstraints replaces the constraints of a service or, with ModelConfig 3
// SetModelConstraints, which ignores the service, those of the model.
type SetConstraints struct {
	ApplicationName string            `json:"application"`
	Constraints     constraints.Value `json:"constraints"`
}

// A SetConstraintsResult is what both methods return that set constraints. It is ours: Juju's
// return nothing.
type SetConstraintsResult struct {
	Warnings []string `json:"warnings,omitempty"`
}

// A GetConstraintsResults is what ModelConfig 3 GetModelConstraints returns.
type GetConstraintsResults struct {
	Constraints constraints.Value `json:"constraints"`
}

// A SetMinUnits is what SetMinUnits takes, a method of ours: how many Alive units a service
// keeps, 0 for none.
type SetMinUnits struct {
	ApplicationName string `json:"application"`
	MinUnits        int    `json:"min-units"`
}

// An ApplicationExpose is what Expose takes.
type ApplicationExpose struct {
	ApplicationName  string                     `json:"application"`
	ExposedEndpoints map[string]ExposedEndpoint `json:"exposed-endpoints,omitempty"`
}

// An ExposeResult is what Expose returns; it is ours.
type ExposeResult struct {
	Warnings []string `json:"warnings,omitempty"`
}

// An ExposedEndpoint says to whom an endpoint is exposed.
type ExposedEndpoint struct {
	ExposeToSpaces []string `json:"expose-to-spaces,omitempty"`
	ExposeToCIDRs  []string `json:"expose-to-cidrs,omitempty"`
}

// An ApplicationUnexpose is what Unexpose takes.
type ApplicationUnexpose struct {
	ApplicationName  string   `json:"application"`
	ExposedEndpoints []string `json:"exposed-endpoints"`
}

// A UnitsResolved is what ResolveUnitErrors takes: units, or all whose hooks have failed.
type UnitsResolved struct {
	Tags  Entities `json:"tags"`
	Retry bool     `json:"retry,omitempty"`
	All   bool     `json:"all,omitempty"`
}

// An ApplicationInfoResults is what ApplicationsInfo returns.
type ApplicationInfoResults struct {
	Results []ApplicationInfoResult `json:"results"`
}

// An ApplicationInfoResult is one service, or an error.
type ApplicationInfoResult struct {
	Result *ApplicationResult `json:"result,omitempty"`
	Error  *Error             `json:"error,omitempty"`
}

// An ApplicationResult describes a service briefly.
type ApplicationResult struct {
	Tag         Tag                `json:"tag"`
	Charm       string             `json:"charm,omitempty"`
	Base        *entity.Base       `json:"base,omitempty"`
	Channel     string             `json:"channel,omitempty"`
	Constraints *constraints.Value `json:"constraints,omitempty"`
	Principal   bool               `json:"principal"`
	Exposed     bool               `json:"exposed"`
	Remote      bool               `json:"remote"`
	Life        string             `json:"life"`
}
