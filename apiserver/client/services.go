package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

// application makes a request to the Application facade.
func (c *Conn) application(ctx context.Context, method string, args, result any) error {
	return c.call(ctx, "Application", 19, method, args, result)
}

// each returns the errors of the changes that were asked for, in their order, nil for each that succeeded. err is that of the
// request itself.
func each(asked int, results []params.ErrorResult, err error) ([]error, error) {
	if err == nil {
		err = areAll(asked, len(results))
	}
	return errorsOf(results), err
}

// errorsOf returns the errors of several changes in the order of the request, nil for each that succeeded.
func errorsOf(results []params.ErrorResult) []error {
	errs := make([]error, len(results))
	for i, r := range results {
		errs[i] = params.FromError(r.Error)
	}
	return errs
}

// only returns the error of a single change.
func only(results []params.ErrorResult) error {
	if err := isOne(len(results)); err != nil {
		return err
	}
	return params.FromError(results[0].Error)
}

// A DeployArgs describes a new service.
type DeployArgs struct {
	Service     string
	CharmURL    string       // of a charm in the model; see UploadCharm and AddCharm
	Origin      *CharmOrigin `json:",omitempty"` // of a charm from a store
	Series      string       // "" for the charm's own
	Units       int
	Placement   []entity.Placement // the first is for the first unit
	Config      map[string]string  // as users write it
	ConfigYAML  string             // settings by service; Config takes precedence
	Constraints constraints.Value
	Force       bool                                 // even if the charm is for other series
	Storage     map[string]entity.StorageConstraints `json:",omitempty"` // by store of the charm
	Attach      []string                             `json:",omitempty"` // storage instances, if there is one unit
	Resources   map[string]string                    `json:",omitempty"` // ids of AddPendingResources, by name
	Bindings    map[string]string                    `json:",omitempty"` // names of spaces by endpoint; "" for the default
}

// deployment returns args in the wire format.
func (args DeployArgs) deployment() params.ApplicationDeploy {
	deploy := params.ApplicationDeploy{
		ApplicationName: args.Service, CharmURL: args.CharmURL, NumUnits: args.Units, Placement: placements(args.Placement),
		Config: args.Config, ConfigYAML: args.ConfigYAML, Constraints: args.Constraints, Force: args.Force,
		Storage: args.Storage, AttachStorage: storageTags(args.Attach), Resources: args.Resources,
		EndpointBindings: args.Bindings,
		CharmOrigin:      &params.CharmOrigin{Source: "local", Type: "charm"},
	}
	if args.Origin != nil {
		*deploy.CharmOrigin = *args.Origin
	}
	if args.Series != "" {
		base := entity.BaseOf(args.Series)
		deploy.CharmOrigin.Base = &base
	}
	return deploy
}

// Deploy adds a service with its units. It returns warnings for the user.
func (c *Conn) Deploy(ctx context.Context, args DeployArgs) (warnings []string, err error) {
	var result params.DeployResults
	err = c.application(ctx, "Deploy",
		params.ApplicationsDeploy{Applications: []params.ApplicationDeploy{args.deployment()}}, &result)
	if err != nil {
		return nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return nil, err
	}
	return result.Results[0].Warnings, params.FromError(result.Results[0].Error)
}

// CheckDeploy checks whether the cloud can supply machines for a service, before its charm is uploaded. charm is what the charm
// runs on. It returns the series that the service would have, or "" if that is not decided yet,
// and the cloud's warnings.
func (c *Conn) CheckDeploy(
	ctx context.Context, args DeployArgs, charm entity.Platforms,
) (series string, warnings []string, err error) {
	var result params.CheckDeployResult
	err = c.application(ctx, "CheckDeploy", params.CheckDeploy{ApplicationDeploy: args.deployment(), CharmSeries: charm.Series,
		CharmBases: charm.Bases},
		&result)
	return result.Series, result.Warnings, err
}

func placements(all []entity.Placement) (list []*params.Placement) {
	for _, p := range all {
		list = append(list, params.PlacementOf(p))
	}
	return list
}

// AddUnits adds units to a service; a single one can be given existing storage. It returns the units' names, and
// warnings for the user.
func (c *Conn) AddUnits(
	ctx context.Context, service string, n int, placement []entity.Placement, attach ...string,
) (units, warnings []string, err error) {
	var result params.AddApplicationUnitsResults
	err = c.application(ctx, "AddUnits", params.AddApplicationUnits{
		ApplicationName: service, NumUnits: n, Placement: placements(placement), AttachStorage: storageTags(attach),
	}, &result)
	return result.Units, result.Warnings, err
}

// DestroyUnits destroys units by name. It returns an error or nil for each, in order, and what happens to their
// machines and storage.
func (c *Conn) DestroyUnits(
	ctx context.Context, how entity.Destruction, units ...string,
) ([]error, entity.DestroyInfo, error) {
	var args params.DestroyUnitsParams
	for _, name := range units {
		args.Units = append(args.Units, params.DestroyUnitParams{
			UnitTag: params.TagOf(entity.UnitTag(name)), DestroyMachines: how.Machines, DestroyStorage: how.Storage,
			Destruction: params.FromDestruction(how)})
	}
	var result params.DestroyResults
	err := c.application(ctx, "DestroyUnit", args, &result)
	return destroyed(len(units), result.Results, err)
}

// destroyed returns an error or nil for each of the units, or services, that were to be destroyed, and what happens besides.
func destroyed(asked int, results []params.DestroyResult, err error) ([]error, entity.DestroyInfo, error) {
	if err == nil {
		err = areAll(asked, len(results))
	}
	errs := make([]error, len(results))
	var info entity.DestroyInfo
	for i, r := range results {
		errs[i] = params.FromError(r.Error)
		if r.Info != nil {
			info.Add(r.Info.DestroyedWith.Read(r.Info.MachinesLeft))
		}
	}
	return errs, info, err
}

// DestroyServices destroys services by name. It returns an error or nil for each, in order, and what happens to their
// machines and storage.
func (c *Conn) DestroyServices(
	ctx context.Context, how entity.Destruction, services ...string,
) ([]error, entity.DestroyInfo, error) {
	var args params.DestroyApplicationsParams
	for _, name := range services {
		args.Applications = append(args.Applications,
			params.DestroyApplicationParams{
				ApplicationTag: params.TagOf(entity.ServiceTag(name)), DestroyMachines: how.Machines,
				DestroyStorage: how.Storage, Destruction: params.FromDestruction(how)})
	}
	var result params.DestroyResults
	err := c.application(ctx, "DestroyApplication", args, &result)
	return destroyed(len(services), result.Results, err)
}

// AddRelation relates two services, named with or without their endpoints. It returns the
// names of the chosen endpoints, by service.
func (c *Conn) AddRelation(ctx context.Context, endpoints ...string) (names map[string]string, err error) {
	return c.AddRelationVia(ctx, nil, endpoints...)
}

// AddRelationVia is AddRelation with a service of another model, to which connections come from these subnets.
func (c *Conn) AddRelationVia(ctx context.Context, via []string,
	endpoints ...string) (names map[string]string, err error) {
	var result params.AddRelationResults
	err = c.application(ctx, "AddRelation", params.AddRelation{Endpoints: endpoints, ViaCIDRs: via}, &result)
	names = map[string]string{}
	for service, endpoint := range result.Endpoints {
		names[service] = endpoint.Name
	}
	return names, err
}

// DestroyRelation destroys the relation between two services, named with or without their endpoints.
func (c *Conn) DestroyRelation(ctx context.Context, how entity.Destruction, endpoints ...string) error {
	if len(endpoints) == 0 {
		return entity.Errorf(entity.Invalid, "a relation must involve two services")
	}
	return c.application(ctx, "DestroyRelation",
		params.DestroyRelation{Endpoints: endpoints, Destruction: params.FromDestruction(how)}, nil)
}

// DestroyRelationByID destroys the relation that has this id in the status.
func (c *Conn) DestroyRelationByID(ctx context.Context, how entity.Destruction, id int) error {
	return c.application(ctx, "DestroyRelation",
		params.DestroyRelation{RelationID: id, Destruction: params.FromDestruction(how)}, nil)
}

// A ServiceConfig has a service's settings, and the storage of new units.
type ServiceConfig struct {
	Service, Charm string                               // their names
	Settings       map[string]entity.ConfigSetting      // of its charm
	Own            map[string]entity.ConfigSetting      // that are not its charm's
	Storage        map[string]entity.StorageConstraints // by store
	Bindings       map[string]string                    // the space of each endpoint, with the default at ""
}

// ServiceConfig returns the settings of a service, as described by its charm, and the storage of new units.
func (c *Conn) ServiceConfig(ctx context.Context, service string) (ServiceConfig, error) {
	var result params.ApplicationGetResults
	err := c.application(ctx, "Get", params.ApplicationGet{ApplicationName: service}, &result)
	config := ServiceConfig{result.Application, result.Charm, plainSettings(result.Config),
		plainSettings(result.ApplicationConfig), result.Storage, result.EndpointBindings}
	return config, err
}

func plainSettings(settings map[string]params.ConfigSetting) map[string]entity.ConfigSetting {
	plain := map[string]entity.ConfigSetting{}
	for option, setting := range settings {
		plain[option] = setting.ConfigSetting
	}
	return plain
}

// SetServiceConfig changes settings atomically. values are as users write them, and take precedence over a YAML file
// ({service: {option: value}}), which may be "".
func (c *Conn) SetServiceConfig(ctx context.Context, service string, values map[string]string, yaml string) error {
	var result params.ErrorResults
	err := c.application(ctx, "SetConfigs", params.ConfigSetArgs{Args: []params.ConfigSet{{
		ApplicationName: service, Config: values, ConfigYAML: yaml,
	}}}, &result)
	if err != nil {
		return err
	}
	return only(result.Results)
}

// ResetServiceConfig resets options to the charm's defaults.
func (c *Conn) ResetServiceConfig(ctx context.Context, service string, options ...string) error {
	var result params.ErrorResults
	err := c.application(ctx, "UnsetApplicationsConfig",
		params.ApplicationConfigUnsetArgs{Args: []params.ApplicationUnset{{
			ApplicationName: service, Options: options,
		}}}, &result)
	if err != nil {
		return err
	}
	return only(result.Results)
}

// Expose makes the ports that the service's units open for some endpoints reachable from some networks; all from
// everywhere if there are none. A warning says if this has no effect.
func (c *Conn) Expose(ctx context.Context, service string,
	endpoints entity.ExposedEndpoints) (warnings []string, err error) {
	var result params.ExposeResult
	err = c.application(ctx, "Expose", params.ApplicationExpose{ApplicationName: service, ExposedEndpoints: endpoints}, &result)
	return result.Warnings, err
}

// Unexpose reverts Expose for some endpoints; for all if there are none.
func (c *Conn) Unexpose(ctx context.Context, service string, endpoints ...string) error {
	return c.application(ctx, "Unexpose", params.ApplicationUnexpose{ApplicationName: service, ExposedEndpoints: endpoints}, nil)
}

// Resolve resolves failed hooks of units: they are run again (retry) or skipped. It returns an error or nil for each
// unit, in order.
func (c *Conn) Resolve(ctx context.Context, retry bool, units ...string) ([]error, error) {
	args := params.UnitsResolved{Retry: retry}
	for _, name := range units {
		args.Tags.Entities = append(args.Tags.Entities, params.Entity{Tag: params.TagOf(entity.UnitTag(name))})
	}
	var result params.ErrorResults
	err := c.application(ctx, "ResolveUnitErrors", args, &result)
	return each(len(units), result.Results, err)
}

// ResolveAll is Resolve for every unit whose hook has failed.
func (c *Conn) ResolveAll(ctx context.Context, retry bool) ([]error, error) {
	var result params.ErrorResults
	err := c.application(ctx, "ResolveUnitErrors", params.UnitsResolved{Retry: retry, All: true}, &result)
	return errorsOf(result.Results), err
}

// Leader returns the unit that leads a service. It fails while none does.
func (c *Conn) Leader(ctx context.Context, service string) (string, error) {
	var result params.StringResult
	if err := c.application(ctx, "Leader", entities(entity.KindService, service).Entities[0], &result); err != nil {
		return "", err
	}
	return result.Result, params.FromError(result.Error)
}

// A UnitInfo describes a unit, with what is set in its relations.
type UnitInfo struct {
	WorkloadVersion string
	Machine         string
	OpenedPorts     []string // "80/tcp"
	PublicAddress   string
	Charm           string // URL
	Leader          bool
	Life            string
	Relations       []entity.RelationData
}

// UnitInfo describes a unit.
func (c *Conn) UnitInfo(ctx context.Context, unit string) (UnitInfo, error) {
	var result params.UnitInfoResults
	if err := c.application(ctx, "UnitsInfo", entities(entity.KindUnit, unit), &result); err != nil {
		return UnitInfo{}, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return UnitInfo{}, err
	}
	r := result.Results[0].Result
	if r == nil {
		return UnitInfo{}, params.FromError(result.Results[0].Error)
	}
	info := UnitInfo{r.WorkloadVersion, r.Machine, r.OpenedPorts, r.PublicAddress, r.Charm, r.Leader, r.Life, nil}
	for _, one := range r.RelationData {
		data := entity.RelationData{ID: one.RelationID, Endpoint: one.Endpoint, RelatedEndpoint: one.RelatedEndpoint, CrossModel: one.CrossModel,
			Application: one.ApplicationData, Units: map[string]entity.UnitRelationData{}}
		for name, of := range one.Units {
			data.Units[name] = entity.UnitRelationData{InScope: of.InScope, Settings: of.UnitData}
		}
		info.Relations = append(info.Relations, data)
	}
	return info, nil
}
