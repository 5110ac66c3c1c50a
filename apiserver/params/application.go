package params

import (
	"encoding/json"

	"juju/state/constraints"
	"juju/state/entity"
)

// An ApplicationsDeploy is the parameter of Application 19 Deploy.
type ApplicationsDeploy struct {
	Applications []ApplicationDeploy `json:"applications"`
}

// An ApplicationDeploy describes a new service.
type ApplicationDeploy struct {
	ApplicationName  string            `json:"application"`
	CharmURL         string            `json:"charm-url"`
	CharmOrigin      *CharmOrigin      `json:"charm-origin,omitempty"` // its base becomes the service's
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

	Devices map[string]any `json:"devices,omitempty"` // the controller rejects them
}

// A DeployResults is the result of Deploy.
type DeployResults struct {
	Results []DeployResult `json:"results"`
}

// A DeployResult is the result for one service. Juju does not have Warnings.
type DeployResult struct {
	Error    *Error   `json:"error,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// A DeployFromRepositoryArgs is the parameter of DeployFromRepository. It has the keys of a Go program that names none.
type DeployFromRepositoryArgs struct {
	Args []DeployFromRepositoryArg `json:"Args"`
}

// A DeployFromRepositoryArg describes a new service with a charm from a store.
type DeployFromRepositoryArg struct {
	CharmName        string                               `json:"CharmName"`
	ApplicationName  string                               `json:"ApplicationName"`
	AttachStorage    []Tag                                `json:"AttachStorage"`
	Base             *entity.Base                         `json:"base,omitempty"`
	Channel          *string                              `json:"channel,omitempty"`
	ConfigYAML       string                               `json:"ConfigYAML" limit:"file"` // {application: {key: value}}
	Cons             constraints.Value                    `json:"Cons"`
	Devices          map[string]any                       `json:"Devices,omitempty"` // the controller rejects them
	DryRun           bool                                 `json:"DryRun"`
	EndpointBindings map[string]string                    `json:"endpoint-bindings,omitempty"`
	Force            bool                                 `json:"force,omitempty"`
	NumUnits         *int                                 `json:"num-units,omitempty"`
	Placement        []*Placement                         `json:"Placement"`
	Revision         *int                                 `json:"revision,omitempty"`
	Resources        map[string]string                    `json:"resources,omitempty"` // revisions in the store, by name
	Storage          map[string]entity.StorageConstraints `json:"Storage,omitempty"`   // by store
	Trust            bool                                 `json:"Trust"`
}

// A DeployFromRepositoryResults is the result of DeployFromRepository.
type DeployFromRepositoryResults struct {
	Results []DeployFromRepositoryResult `json:"Results"`
}

// A DeployFromRepositoryResult is the result for one service.
type DeployFromRepositoryResult struct {
	Errors                 []*Error                 `json:"Errors"`
	Info                   DeployFromRepositoryInfo `json:"Info"`
	PendingResourceUploads []PendingResourceUpload  `json:"PendingResourceUploads"`
}

// A DeployFromRepositoryInfo says which charm it is.
type DeployFromRepositoryInfo struct {
	Architecture     string      `json:"architecture"`
	Base             entity.Base `json:"base"`
	Channel          string      `json:"channel"`
	EffectiveChannel *string     `json:"effective-channel,omitempty"` // where the store found it, if that is another
	Name             string      `json:"name"`
	Revision         int         `json:"revision"`
}

// A PendingResourceUpload is a resource that the client is to upload, as its value is a file's name.
type PendingResourceUpload struct {
	Name     string `json:"Name"`
	Filename string `json:"Filename"`
	Type     string `json:"Type"`
}

// A CheckDeploy is the parameter of CheckDeploy, a method that Juju does not have: the parameters of Deploy, before the
// controller has the charm.
type CheckDeploy struct {
	ApplicationDeploy
	CharmSeries []string           `json:"charm-series,omitempty"` // that the charm supports
	CharmBases  []entity.CharmBase `json:"charm-bases,omitempty"`  // of its manifest
}

// A CheckDeployResult is the series that the service would have; "" if it is not decided yet. Warnings are the cloud's
// warnings that Deploy would return.
type CheckDeployResult struct {
	Series   string   `json:"series,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// FromStore is the Source of a charm from a charm store.
const FromStore = "charm-hub"

// A CharmOrigin is where a charm came from. Track, Risk and Branch are the channel of a charm from a store.
type CharmOrigin struct {
	ID           string       `json:"id"`
	Source       string       `json:"source"`         // "local", or FromStore
	Type         string       `json:"type"`           // "charm"
	Hash         string       `json:"hash,omitempty"` // SHA-256 of the archive, in hex
	Risk         string       `json:"risk,omitempty"`
	Revision     *int         `json:"revision,omitempty"`
	Track        string       `json:"track,omitempty"`
	Branch       string       `json:"branch,omitempty"`
	Architecture string       `json:"architecture,omitempty"`
	Base         *entity.Base `json:"base,omitempty"`
}

// An AddApplicationUnits is the parameter of AddUnits.
type AddApplicationUnits struct {
	ApplicationName string       `json:"application"`
	NumUnits        int          `json:"num-units"`
	Placement       []*Placement `json:"placement"`
	AttachStorage   []Tag        `json:"attach-storage,omitempty"`
}

// An AddApplicationUnitsResults has the names of the new units.
type AddApplicationUnitsResults struct {
	Units    []string `json:"units"`
	Warnings []string `json:"warnings,omitempty"` // not in Juju
}

// A DestroyUnitsParams is the parameter of DestroyUnit.
type DestroyUnitsParams struct {
	Units []DestroyUnitParams `json:"units"`
}

// A DestroyUnitParams names one unit to destroy.
type DestroyUnitParams struct {
	UnitTag Tag  `json:"unit-tag"`
	DryRun  bool `json:"dry-run,omitempty"`
	// DestroyMachines, which Juju does not have, also destroys the unit's machine if deploy or add-unit created it and
	// nothing else is on it.
	DestroyMachines bool `json:"destroy-machines,omitempty"`
	// DestroyStorage destroys the unit's storage, which otherwise is detached and kept.
	DestroyStorage bool `json:"destroy-storage,omitempty"`
	Destruction
}

// A DestroyResults has the result for each unit, or service.
type DestroyResults struct {
	Results []DestroyResult `json:"results"`
}

// A DestroyResult is the result for one of them.
type DestroyResult struct {
	Error *Error       `json:"error,omitempty"`
	Info  *DestroyInfo `json:"info,omitempty"`
}

// A DestroyInfo describes what happens to the storage and the machines of a unit, or of a service's units. Juju also lists
// these units, which can be any number, and which no client reads here.
type DestroyInfo struct {
	DestroyedWith
	entity.MachinesLeft
}

// A DestroyedWith lists the storage of destroyed units that is kept, and that is destroyed with them.
type DestroyedWith struct {
	DetachedStorage  []Entity `json:"detached-storage,omitempty"`
	DestroyedStorage []Entity `json:"destroyed-storage,omitempty"`
}

// Read returns the ids, with the machines that remain.
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

// A DestroyApplicationsParams is the parameter of DestroyApplication.
type DestroyApplicationsParams struct {
	Applications []DestroyApplicationParams `json:"applications"`
}

// A DestroyApplicationParams names one service to destroy.
type DestroyApplicationParams struct {
	ApplicationTag Tag  `json:"application-tag"`
	DryRun         bool `json:"dry-run,omitempty"`
	// DestroyMachines is as in DestroyUnitParams.
	DestroyMachines bool `json:"destroy-machines,omitempty"`
	DestroyStorage  bool `json:"destroy-storage,omitempty"` // as in DestroyUnitParams
	Destruction
}

// An AddRelation is the parameter of AddRelation: two endpoints, "service" or "service:relation".
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
	// Storage, which Juju does not have, is the storage of new units by store.
	Storage map[string]entity.StorageConstraints `json:"storage-constraints,omitempty"`
}

// A ConfigSetting is an entity.ConfigSetting in the wire format.
type ConfigSetting struct{ entity.ConfigSetting }

// MarshalJSON preserves the types of numbers, as Values does.
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

// UnmarshalJSON preserves the types of numbers, as Values does.
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

// An ApplicationGetConfigResults is the result of CharmConfig and GetConfig.
type ApplicationGetConfigResults struct {
	Results []ConfigResult `json:"Results"`
}

// A ConfigResult is the settings of one service.
type ConfigResult struct {
	Config map[string]ConfigSetting `json:"config"`
	Error  *Error                   `json:"error,omitempty"`
}

// A ConfigSetArgs is the parameter of SetConfigs.
type ConfigSetArgs struct {
	Args []ConfigSet `json:"Args"`
}

// A ConfigSet changes settings of one service atomically.
type ConfigSet struct {
	ApplicationName string            `json:"application"`
	Generation      string            `json:"generation"`
	Config          map[string]string `json:"config" limit:"file"`
	ConfigYAML      string            `json:"config-yaml" limit:"file"` // {application: {key: value}}
}

// An ApplicationConfigUnsetArgs is the parameter of UnsetApplicationsConfig.
type ApplicationConfigUnsetArgs struct {
	Args []ApplicationUnset `json:"Args"`
}

// An ApplicationUnset names options to reset to their defaults.
type ApplicationUnset struct {
	ApplicationName string   `json:"application"`
	BranchName      string   `json:"branch"`
	Options         []string `json:"options"`
}

// An ApplicationGetConstraintsResults is the result of GetConstraints.
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

// A SetConstraintsResult is the result of both methods that set constraints. In Juju they return nothing.
type SetConstraintsResult struct {
	Warnings []string `json:"warnings,omitempty"`
}

// A GetConstraintsResults is the result of ModelConfig 3 GetModelConstraints.
type GetConstraintsResults struct {
	Constraints constraints.Value `json:"constraints"`
}

// A SetMinUnits is the parameter of SetMinUnits, a method that Juju does not have: the minimum number of Alive units of
// a service, 0 for none.
type SetMinUnits struct {
	ApplicationName string `json:"application"`
	MinUnits        int    `json:"min-units"`
}

// An ApplicationExpose is the parameter of Expose.
type ApplicationExpose struct {
	ApplicationName  string                  `json:"application"`
	ExposedEndpoints entity.ExposedEndpoints `json:"exposed-endpoints,omitempty"`
}

// An ExposeResult is the result of Expose; in Juju it returns nothing.
type ExposeResult struct {
	Warnings []string `json:"warnings,omitempty"`
}

// An ApplicationUnexpose is the parameter of Unexpose.
type ApplicationUnexpose struct {
	ApplicationName  string   `json:"application"`
	ExposedEndpoints []string `json:"exposed-endpoints"`
}

// A UnitsResolved is the parameter of ResolveUnitErrors: units, or all units whose hooks have failed.
type UnitsResolved struct {
	Tags  Entities `json:"tags"`
	Retry bool     `json:"retry,omitempty"`
	All   bool     `json:"all,omitempty"`
}

// A UnitInfoResults is the result of UnitsInfo.
type UnitInfoResults struct {
	Results []UnitInfoResult `json:"results"`
}

// A UnitInfoResult is one unit, or an error.
type UnitInfoResult struct {
	Result *UnitResult `json:"result,omitempty"`
	Error  *Error      `json:"error,omitempty"`
}

// A UnitResult describes a unit.
type UnitResult struct {
	Tag             Tag                    `json:"tag"`
	WorkloadVersion string                 `json:"workload-version"`
	Machine         string                 `json:"machine,omitempty"`
	OpenedPorts     []string               `json:"opened-ports"`
	PublicAddress   string                 `json:"public-address,omitempty"`
	Charm           string                 `json:"charm"`
	Leader          bool                   `json:"leader,omitempty"`
	Life            string                 `json:"life,omitempty"`
	RelationData    []EndpointRelationData `json:"relation-data,omitempty"`
}

// An EndpointRelationData is what is set in one of the unit's relations.
type EndpointRelationData struct {
	RelationID      int                     `json:"relation-id"`
	Endpoint        string                  `json:"endpoint"`
	CrossModel      bool                    `json:"cross-model"`
	RelatedEndpoint string                  `json:"related-endpoint"`
	ApplicationData map[string]string       `json:"ApplicationData"` // of the service at the other end
	Units           map[string]RelationData `json:"unit-relation-data"`
}

// A RelationData is what a unit has set in a relation. The keys are Juju's.
type RelationData struct {
	InScope  bool              `json:"InScope"`
	UnitData map[string]string `json:"UnitData"`
}

// An ApplicationInfoResults is the result of ApplicationsInfo.
type ApplicationInfoResults struct {
	Results []ApplicationInfoResult `json:"results"`
}

// An ApplicationInfoResult is one service, or an error.
type ApplicationInfoResult struct {
	Result *ApplicationResult `json:"result,omitempty"`
	Error  *Error             `json:"error,omitempty"`
}

// An ApplicationResult is a short description of a service.
type ApplicationResult struct {
	Tag              Tag                     `json:"tag"`
	Charm            string                  `json:"charm,omitempty"`
	Base             *entity.Base            `json:"base,omitempty"`
	Channel          string                  `json:"channel,omitempty"`
	Constraints      *constraints.Value      `json:"constraints,omitempty"`
	Principal        bool                    `json:"principal"`
	Exposed          bool                    `json:"exposed"`
	ExposedEndpoints entity.ExposedEndpoints `json:"exposed-endpoints,omitempty"`
	Remote           bool                    `json:"remote"`
	Life             string                  `json:"life"`
	EndpointBindings map[string]string       `json:"endpoint-bindings,omitempty"` // of all endpoints; the default at ""
}

// A CharmURLOriginResult is the result of GetCharmURLOrigin.
type CharmURLOriginResult struct {
	URL    string      `json:"url"`
	Origin CharmOrigin `json:"charm-origin"`
	Error  *Error      `json:"error,omitempty"`
}

// A CharmRelationsResult lists the endpoints of a service.
type CharmRelationsResult struct {
	CharmRelations []string `json:"charm-relations"`
}

// A StringResult is a text, or an error.
type StringResult struct {
	Error  *Error `json:"error,omitempty"`
	Result string `json:"result"`
}

// A ScaleApplications is the parameter of ScaleApplications.
type ScaleApplications struct {
	Applications []ScaleApplication `json:"applications"`
}

// A ScaleApplication is the number of units that a service should have.
type ScaleApplication struct {
	ApplicationTag Tag  `json:"application-tag"`
	Scale          int  `json:"scale"`
	ScaleChange    int  `json:"scale-change,omitempty"`
	Force          bool `json:"force"`
}

// An ApplicationMergeBindingsArgs is the parameter of MergeBindings.
type ApplicationMergeBindingsArgs struct {
	Args []ApplicationMergeBindings `json:"args"`
}

// An ApplicationMergeBindings is the spaces of some endpoints; "" is the default of the others.
type ApplicationMergeBindings struct {
	ApplicationTag Tag               `json:"application-tag"`
	Bindings       map[string]string `json:"bindings"`
	Force          bool              `json:"force"`
}
