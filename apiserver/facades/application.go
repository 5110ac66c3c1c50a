package facades

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"juju/apiserver/hub"
	"juju/apiserver/params"
	"juju/charm"
	"juju/state"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/modelconfig"
)

// each calls do for each element of a list and collects the results. If do fails, the result is that of failed, and the
// next element follows.
func each[P, R any](c *Caller, doing string, list []P, failed func(*params.Error) R, do func(P) (R, error)) []R {
	results := make([]R, 0, len(list))
	for _, p := range list {
		r, err := do(p)
		if err != nil {
			r = failed(c.wireError(doing, err))
		}
		results = append(results, r)
	}
	return results
}

// outcomes is each for methods without results.
func outcomes[P any](c *Caller, doing string, list []P, do func(P) error) params.ErrorResults {
	return params.ErrorResults{Results: each(c, doing, list,
		func(e *params.Error) params.ErrorResult { return params.ErrorResult{Error: e} },
		func(p P) (params.ErrorResult, error) { return params.ErrorResult{}, do(p) })}
}

func applicationDeploy(ctx context.Context, c *Caller, p params.ApplicationsDeploy) (params.DeployResults, error) {
	results := make([]params.DeployResult, 0, len(p.Applications))
	for _, a := range p.Applications {
		warnings, err := deploy(ctx, c, a)
		result := params.DeployResult{Warnings: warnings.log(c)}
		if err != nil {
			result.Error = c.wireError("Deploy", err)
		}
		results = append(results, result)
	}
	return params.DeployResults{Results: results}, nil
}

func deploy(ctx context.Context, c *Caller, a params.ApplicationDeploy) (w warnings, err error) {
	if len(a.Devices) > 0 {
		return nil, entity.Errorf(entity.NotSupported, "cannot deploy %q: devices are not supported yet",
			a.ApplicationName)
	}
	if a.CharmURL, err = hub.Stored(a.CharmURL); err != nil {
		return nil, err
	}
	origin, err := hub.Origin(a.CharmOrigin)
	if err != nil {
		return nil, err
	}
	if err := c.mayTake(ctx, c.Model, a.Resources); err != nil {
		return nil, fmt.Errorf("cannot deploy %q: %w", a.ApplicationName, err)
	}
	ch, err := c.Model.Charms().Get(ctx, a.CharmURL)
	if err != nil {
		return nil, err
	}
	if err := w.assumes(ch.Meta, "deployment", a.ApplicationName, a.Force); err != nil {
		return nil, fmt.Errorf("cannot deploy %q: %w", a.ApplicationName, err)
	}
	if err := w.profile(ctx, c, ch, a.Force); err != nil {
		return nil, fmt.Errorf("cannot deploy %q: %w", a.ApplicationName, err)
	}
	config, err := c.settings(ch, a.ApplicationName, a.Config, a.ConfigYAML)
	if err != nil {
		return nil, err
	}
	at, err := c.placements(a.Placement)
	if err != nil {
		return nil, fmt.Errorf("cannot deploy %q: %w", a.ApplicationName, err)
	}
	args := state.AddServiceParams{
		Name: a.ApplicationName, CharmURL: a.CharmURL, Origin: origin, Config: config,
		Constraints: a.Constraints, Units: a.NumUnits, Placement: at, Force: a.Force,
		Storage: a.Storage, Resources: a.Resources, Bindings: a.EndpointBindings,
	}
	if args.Attach, err = storageTags(a.AttachStorage); err != nil {
		return nil, err
	}
	var others warnings
	args.Series, args.Force, others, err = checkDeploy(ctx, c, a, at, ch.Meta.Platforms)
	if w = append(w, others...); err != nil {
		return w, err
	}
	// State rejects stores that the charm does not allow with a better error.
	if stores, err := c.Model.Pools().Stores(ctx, ch.Meta, a.Storage); err == nil {
		if err := c.checkSizes(ctx, stores); err != nil {
			return w, fmt.Errorf("cannot deploy %q: %w", a.ApplicationName, err)
		}
	}
	if args.Resources, err = c.storeResources(ctx, a.ApplicationName, a.CharmURL, ch.Meta, a.CharmOrigin, a.Resources, nil); err != nil {
		return w, fmt.Errorf("cannot deploy %q: %w", a.ApplicationName, err)
	}
	vain, err := c.Model.Charms().Warnings(ctx, a.CharmURL)
	if err != nil {
		return w, err
	}
	for _, what := range vain {
		w.add("charm %q: %s", ch.Meta.Name, what)
	}
	if _, err = c.Model.AddService(ctx, args); err == nil {
		err = warnOfResources(ctx, c, &w, a.ApplicationName)
	}
	return w, err
}

// assumes refuses a charm whose requirements are not met, or by force warns of that.
func (w *warnings) assumes(meta *charm.Meta, what, service string, force bool) error {
	err := meta.Unmet()
	if err == nil {
		return nil
	}
	if !force {
		return entity.WithHint(entity.Errorf(entity.NotSupported, "%w", err), "%s", charm.Help(err))
	}
	w.add("proceeding with %s of application %q even though the charm feature requirements could not be met as --force was specified",
		what, service)
	return nil
}

// profile refuses a charm whose LXD profile has what charms may not have, or by force warns of that. It also warns if the
// cloud's machines can't have the profile.
func (w *warnings) profile(ctx context.Context, c *Caller, ch *charm.Charm, force bool) error {
	if ch.Profile == nil || ch.Profile.IsEmpty() {
		return nil
	}
	if err := ch.Profile.Check(); err != nil {
		if !force {
			return entity.WithHint(entity.Errorf(entity.Invalid, "%w", err), "%s", charm.Help(err))
		}
		w.add("charm %q: proceeding as --force was specified: %v", ch.Meta.Name, err)
	}
	return c.askCloud(ctx, func(_ context.Context, cloud Cloud) error {
		if !cloud.TakesProfiles() {
			w.add("charm %q: lxd-profile.yaml is not applied: the machines of cloud %q are no containers of LXD",
				ch.Meta.Name, c.cloudName())
		}
		return nil
	})
}

func applicationAddUnits(
	ctx context.Context, c *Caller, p params.AddApplicationUnits,
) (params.AddApplicationUnitsResults, error) {
	attach, err := storageTags(p.AttachStorage)
	if err != nil {
		return params.AddApplicationUnitsResults{}, err
	}
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return params.AddApplicationUnitsResults{}, err
	}
	if err := limits.CheckAtOnce("units", p.NumUnits); err != nil {
		return params.AddApplicationUnitsResults{}, err
	}
	at, err := c.placements(p.Placement)
	if err != nil {
		return params.AddApplicationUnitsResults{}, fmt.Errorf("cannot add a unit to service %q: %w", p.ApplicationName, err)
	}
	// State rejects units of a subordinate service with a better error.
	var warnings warnings
	if !svc.IsSubordinate() {
		if warnings, err = checkUnits(ctx, c, svc, p.NumUnits, at); err != nil {
			return params.AddApplicationUnitsResults{}, err
		}
	}
	units, err := svc.AddUnits(ctx, p.NumUnits, at, attach...)
	return params.AddApplicationUnitsResults{Units: units, Warnings: warnings.log(c)}, err
}

func applicationDestroyUnit(ctx context.Context, c *Caller, p params.DestroyUnitsParams) (params.DestroyResults, error) {
	with := storageWith(ctx, c)
	return destroyEach(c, "DestroyUnit", p.Units, func(one params.DestroyUnitParams) (r params.DestroyInfo, err error) {
		how, err := one.Destruction.Read()
		if err != nil {
			return r, err
		}
		how.Machines, how.Storage = one.DestroyMachines, one.DestroyStorage
		if err := isKind(one.UnitTag, entity.KindUnit); err != nil {
			return r, err
		}
		u, err := c.Model.Unit(ctx, one.UnitTag.ID)
		if errors.Is(err, entity.NotFound) {
			return r, entity.Errorf(entity.NotFound, "unit %q does not exist", one.UnitTag.ID)
		}
		if err != nil {
			return r, err
		}
		r.DestroyedWith, err = with(how, func(s entity.StorageStatus) bool { return s.Unit == one.UnitTag.ID })
		if err != nil || one.DryRun {
			return r, err
		}
		if err := u.Destroy(ctx, how); err != nil {
			return r, err
		}
		left, err := u.MachineLeft(ctx, how)
		if err == nil && left != "" {
			r.MachinesLeft.Machines = []string{left}
		}
		return r, err
	}), nil
}

func applicationDestroyApplication(ctx context.Context, c *Caller,
	p params.DestroyApplicationsParams) (params.DestroyResults, error) {
	with := storageWith(ctx, c)
	return destroyEach(c, "DestroyApplication", p.Applications, func(one params.DestroyApplicationParams) (r params.DestroyInfo, err error) {
		how, err := one.Destruction.Read()
		if err != nil {
			return r, err
		}
		how.Machines, how.Storage = one.DestroyMachines, one.DestroyStorage
		if err := isKind(one.ApplicationTag, entity.KindService); err != nil {
			return r, err
		}
		svc, err := c.Model.Service(ctx, one.ApplicationTag.ID)
		if err != nil {
			return r, err
		}
		r.DestroyedWith, err = with(how, func(s entity.StorageStatus) bool {
			return s.Unit != "" && entity.UnitService(s.Unit) == one.ApplicationTag.ID
		})
		if err != nil || one.DryRun {
			return r, err
		}
		r.MachinesLeft.Machines, r.Uncounted, err = svc.MachinesLeft(ctx, how)
		if err != nil {
			return r, err
		}
		return r, svc.Destroy(ctx, how)
	}), nil
}

// destroyEach is each for methods that destroy units or services.
func destroyEach[P any](c *Caller, doing string, list []P, do func(P) (params.DestroyInfo, error)) params.DestroyResults {
	return params.DestroyResults{Results: each(c, doing, list,
		func(e *params.Error) params.DestroyResult { return params.DestroyResult{Error: e} },
		func(p P) (params.DestroyResult, error) {
			info, err := do(p)
			return params.DestroyResult{Info: &info}, err
		})}
}

// storageWith returns a function that says what happens to the attached storage that matches when its units are destroyed in
// some way. The model's storage is read once, however often that is asked.
func storageWith(ctx context.Context, c *Caller,
) func(entity.Destruction, func(entity.StorageStatus) bool) (params.DestroyedWith, error) {
	read := sync.OnceValues(func() ([]entity.StorageStatus, error) { return c.Model.StorageStatus(ctx) })
	return func(how entity.Destruction, match func(entity.StorageStatus) bool) (with params.DestroyedWith, err error) {
		all, err := read()
		for _, s := range all {
			e := params.Entity{Tag: params.TagOf(entity.StorageTag(s.ID))}
			switch {
			case !match(s):
			case s.Persistent && !how.Storage:
				with.DetachedStorage = append(with.DetachedStorage, e)
			default:
				with.DestroyedStorage = append(with.DestroyedStorage, e)
			}
		}
		return with, err
	}
}

// isKind rejects tags of another kind.
func isKind(tag params.Tag, kind entity.TagKind) error {
	if tag.Kind != kind {
		return entity.Errorf(entity.Invalid, "%q is not a valid %s tag", tag.String(), kind)
	}
	return nil
}

func applicationAddRelation(ctx context.Context, c *Caller, p params.AddRelation) (params.AddRelationResults, error) {
	if len(p.Endpoints) != 2 {
		return params.AddRelationResults{}, entity.Errorf(entity.Invalid, "a relation must involve two services")
	}
	if err := c.mayRelate(ctx, p.Endpoints); err != nil {
		return params.AddRelationResults{}, err
	}
	r, err := c.Model.CrossModel().AddRelationVia(ctx, p.ViaCIDRs, p.Endpoints...)
	if err != nil {
		return params.AddRelationResults{}, err
	}
	result := params.AddRelationResults{Endpoints: map[string]params.CharmRelation{}}
	for _, e := range r.Endpoints() {
		result.Endpoints[e.Service] = params.CharmRelation{Name: e.Name, Role: e.Role, Interface: e.Interface, Scope: e.Scope}
	}
	return result, nil
}

func applicationDestroyRelation(ctx context.Context, c *Caller, p params.DestroyRelation) error {
	how, err := p.Destruction.Read()
	if err != nil {
		return err
	}
	var r *state.Relation
	if len(p.Endpoints) > 0 {
		r, err = c.Model.Relation(ctx, p.Endpoints...)
	} else {
		r, err = c.Model.RelationByID(ctx, p.RelationID)
	}
	if err != nil {
		return err
	}
	return r.Destroy(ctx, how)
}

func applicationExpose(ctx context.Context, c *Caller, p params.ApplicationExpose) (params.ExposeResult, error) {
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return params.ExposeResult{}, err
	}
	if p.ExposedEndpoints.HasSpaces() { // until the cloud has told its subnets, not even alpha has any
		if _, err := c.spaces(ctx); err != nil {
			return params.ExposeResult{}, err
		}
	}
	if err := svc.Expose(ctx, p.ExposedEndpoints); err != nil {
		return params.ExposeResult{}, err
	}
	return params.ExposeResult{Warnings: unenforced(ctx, c).log(c)}, nil
}

// cloudOfHost is the cloud whose machines are this host itself. All who use it know that, and its help says that no ports are
// closed: who exposes a service can do nothing about it.
const cloudOfHost = "local"

// unenforced warns if the ports of the model, or of a manual machine, are open to everyone regardless.
func unenforced(ctx context.Context, c *Caller) (w warnings) {
	if c.Controller.Cloud() == cloudOfHost {
		return nil
	}
	const all = "are reachable, whether their services are exposed or not"
	config, err := c.Model.Settings().Config(ctx)
	var hosts map[string]string
	if err == nil && config[modelconfig.FirewallMode].Value == modelconfig.FirewallNone {
		err = entity.Errorf(entity.NotSupported, "the model's firewall-mode is none")
	} else if err == nil {
		hosts = c.Presence.FirewallErrors(c.Model.UUID())
		err = c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error { return cloud.CheckFirewall(ctx) })
	}
	switch {
	case errors.Is(err, entity.NotSupported):
		w.add("all ports "+all+": %v", err)
	case err != nil:
		logger.Debugf("cannot find out whether ports are closed: %v", err)
	}
	for _, id := range entity.NaturalKeys(hosts) {
		w.add("all ports of machine %s "+all+": %s", id, hosts[id])
	}
	return w
}

func applicationUnexpose(ctx context.Context, c *Caller, p params.ApplicationUnexpose) error {
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return err
	}
	return svc.Unexpose(ctx, p.ExposedEndpoints...)
}

func applicationResolveUnitErrors(ctx context.Context, c *Caller, p params.UnitsResolved) (params.ErrorResults, error) {
	units := p.Tags.Entities
	if p.All {
		if len(units) > 0 {
			return params.ErrorResults{}, entity.Errorf(entity.Invalid, "cannot resolve all units and some by name")
		}
		status, err := c.Model.Status(ctx)
		if err != nil {
			return params.ErrorResults{}, err
		}
		for _, u := range status.AllUnits() {
			if u.Workload.Status == entity.StatusError {
				units = append(units, params.Entity{Tag: params.TagOf(entity.UnitTag(u.Name))})
			}
		}
	}
	return outcomes(c, "ResolveUnitErrors", units, func(e params.Entity) error {
		if err := isKind(e.Tag, entity.KindUnit); err != nil {
			return err
		}
		u, err := c.Model.Unit(ctx, e.Tag.ID)
		if err != nil {
			return err
		}
		return u.Resolve(ctx, p.Retry)
	}), nil
}

func applicationApplicationsInfo(
	ctx context.Context, c *Caller, p params.Entities,
) (params.ApplicationInfoResults, error) {
	results := make([]params.ApplicationInfoResult, 0, len(p.Entities))
	for _, e := range p.Entities {
		svc, err := c.Model.Service(ctx, e.Tag.ID)
		if kindErr := isKind(e.Tag, entity.KindService); kindErr != nil {
			err = kindErr
		}
		if err != nil {
			results = append(results, params.ApplicationInfoResult{Error: c.wireError("ApplicationsInfo", err)})
			continue
		}
		bindings, err := svc.Bindings(ctx)
		if err != nil {
			results = append(results, params.ApplicationInfoResult{Error: c.wireError("ApplicationsInfo", err)})
			continue
		}
		base := entity.BaseOf(svc.Series())
		results = append(results, params.ApplicationInfoResult{Result: &params.ApplicationResult{
			EndpointBindings: bindings,
			Tag:              e.Tag, Charm: svc.CharmURL(), Base: &base, Principal: !svc.IsSubordinate(),
			Exposed: svc.ExposedEndpoints() != nil, ExposedEndpoints: svc.ExposedEndpoints(), Life: svc.Life().String(),
		}})
	}
	return params.ApplicationInfoResults{Results: results}, nil
}

func applicationUnitsInfo(ctx context.Context, c *Caller, p params.Entities) (params.UnitInfoResults, error) {
	results := make([]params.UnitInfoResult, len(p.Entities))
	for i, e := range p.Entities {
		r, err := unitResult(ctx, c, e.Tag)
		results[i] = params.UnitInfoResult{Result: r, Error: c.wireError("UnitsInfo", err)}
	}
	return params.UnitInfoResults{Results: results}, nil
}

func unitResult(ctx context.Context, c *Caller, tag params.Tag) (*params.UnitResult, error) {
	if err := isKind(tag, entity.KindUnit); err != nil {
		return nil, err
	}
	unit, err := c.Model.Unit(ctx, tag.ID)
	if err != nil {
		return nil, err
	}
	svc, err := c.Model.Service(ctx, unit.Service())
	if err != nil {
		return nil, err
	}
	info, err := unit.Info(ctx)
	if err != nil {
		return nil, err
	}
	if info.Principal != "" {
		principal, err := c.Model.Unit(ctx, info.Principal)
		if err != nil {
			return nil, err
		}
		info.Machine = principal.Machine()
	}
	leader, err := svc.Leader(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := unit.OpenedPorts(ctx)
	if err != nil {
		return nil, err
	}
	relations, err := unit.RelationData(ctx)
	if err != nil {
		return nil, err
	}
	r := &params.UnitResult{Tag: tag, Machine: info.Machine, OpenedPorts: []string{}, PublicAddress: info.PublicAddress,
		Charm: cmp.Or(info.CharmURL, svc.CharmURL()), Leader: leader == tag.ID, Life: info.Life.String()}
	for _, p := range ports[tag.ID] {
		r.OpenedPorts = append(r.OpenedPorts, p.PortRange.String())
	}
	for _, one := range relations {
		data := params.EndpointRelationData{RelationID: one.ID, Endpoint: one.Endpoint, RelatedEndpoint: one.RelatedEndpoint, CrossModel: one.CrossModel,
			ApplicationData: one.Application, Units: map[string]params.RelationData{}}
		for name, of := range one.Units {
			data.Units[name] = params.RelationData{InScope: of.InScope, UnitData: of.Settings}
		}
		r.RelationData = append(r.RelationData, data)
	}
	return r, nil
}

func applicationSetMinUnits(ctx context.Context, c *Caller, p params.SetMinUnits) error {
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return err
	}
	return svc.SetMinUnits(ctx, p.MinUnits)
}
