package facades

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"juju/apiserver/hub"
	"juju/apiserver/params"
	"juju/charm"
	"juju/charm/charmhub"
	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
)

// applicationSetCharm changes the charm of a service. It warns of settings that the new charm does not use, and of
// declarations in the charm that have no effect.
func applicationSetCharm(ctx context.Context, c *Caller, p params.ApplicationSetCharm) (params.SetCharmResult, error) {
	var result params.SetCharmResult
	var err error
	if p.CharmURL, err = hub.Stored(p.CharmURL); err != nil {
		return result, err
	}
	origin, err := hub.Origin(p.CharmOrigin)
	if err != nil {
		return result, err
	}
	if err := c.mayTake(ctx, c.Model, p.ResourceIDs); err != nil {
		return result, fmt.Errorf("cannot upgrade the charm of %q: %w", p.ApplicationName, err)
	}
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return result, err
	}
	ch, err := c.Model.Charms().Get(ctx, p.CharmURL)
	if err != nil {
		return result, err
	}
	var w warnings
	if p.CharmURL != svc.CharmURL() {
		err = w.checkUpgrade(ctx, c, svc, ch.Meta, p.Force || p.ForceSeries)
		if err == nil {
			err = w.profile(ctx, c, ch, p.Force || p.ForceSeries)
		}
		if err != nil {
			return result, fmt.Errorf("cannot upgrade service %q to charm %q: %w", p.ApplicationName, p.CharmURL, err)
		}
	}
	config, err := c.settings(ch, p.ApplicationName, p.ConfigSettings, p.ConfigSettingsYAML)
	if err != nil {
		return result, err
	}
	if err := c.checkSizes(ctx, p.Storage()); err != nil {
		return result, fmt.Errorf("cannot upgrade service %q: %w", p.ApplicationName, err)
	}
	if p.CharmURL != svc.CharmURL() && p.BatchSize == 0 { // a resource is for all units at once
		of, err := svc.Resources(ctx)
		if err != nil {
			return result, err
		}
		if p.ResourceIDs, err = c.storeResources(ctx, svc.Name(), p.CharmURL, ch.Meta, p.CharmOrigin, p.ResourceIDs, of.Resources); err != nil {
			return result, fmt.Errorf("cannot upgrade service %q to charm %q: %w", p.ApplicationName, p.CharmURL, err)
		}
	}
	left, err := svc.SetCharm(ctx, state.SetCharmParams{URL: p.CharmURL, Origin: origin, ForceUnits: p.Force || p.ForceUnits,
		ForceSeries: p.Force || p.ForceSeries || p.ForceBase, Bindings: p.EndpointBindings, ForceBindings: p.Force, Config: config, Resources: p.ResourceIDs,
		Storage: p.Storage(), Batch: p.BatchSize, HealthTimeout: p.HealthTimeout})
	if err != nil {
		return result, err
	}
	w.addLeft(left, ch)
	if err := warnOfResources(ctx, c, &w, p.ApplicationName); err != nil {
		return result, err
	}
	vain, err := c.Model.Charms().Warnings(ctx, p.CharmURL)
	for _, what := range vain {
		w.add("charm %q: %s", ch.Meta.Name, what)
	}
	result.Warnings = w.log(c)
	return result, err
}

// checkUpgrade refuses a charm that assumes another Juju, unless forced, or is for other machines than the service's.
func (w *warnings) checkUpgrade(ctx context.Context, c *Caller, svc *state.Service,
	meta *charm.Meta, force bool) error {
	if err := w.assumes(meta, "upgrade", svc.Name(), force); err != nil {
		return err
	}
	var own constraints.Value
	if !svc.IsSubordinate() {
		var err error
		if own, err = svc.Constraints(ctx); err != nil {
			return err
		}
	}
	return c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		merged, err := overModel(ctx, c, own)
		if err != nil {
			return err
		}
		return checkArch(ctx, cloud, meta.Platforms, svc.Series(), merged)
	})
}

func (w *warnings) addLeft(left state.Upgraded, ch *charm.Charm) {
	charm := ch.Meta.Name
	for _, name := range left.Unused {
		o, typed := ch.Config.Options[name]
		switch {
		case !typed:
			w.add("setting %q is kept, but charm %q does not use it", name, charm)
		case o.Default == nil:
			w.add("setting %q is kept, but charm %q has it as %s: it is not set there", name, charm, o.Type)
		default:
			w.add("setting %q is kept, but charm %q has it as %s: its default %v is used", name, charm, o.Type, o.Default)
		}
	}
	for _, name := range left.Unbound {
		w.add("endpoint %q is no longer bound to a space: charm %q does not have it", name, charm)
	}
}

func applicationResumeRollout(ctx context.Context, c *Caller, p params.Rollout) error {
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return err
	}
	return svc.ResumeRollout(ctx, p.BatchSize, p.HealthTimeout)
}

func applicationRevertRollout(ctx context.Context, c *Caller, p params.Rollout) (params.SetCharmResult, error) {
	var result params.SetCharmResult
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return result, err
	}
	settings, err := svc.RevertRollout(ctx, p.BatchSize, p.HealthTimeout)
	if err != nil {
		return result, err
	}
	ch, err := c.Model.Charms().Get(ctx, svc.CharmURL())
	if err != nil {
		return result, err
	}
	var w warnings
	w.addLeft(settings.Upgraded, ch)
	for _, name := range settings.Kept {
		w.add("setting %q is not restored: it was changed after the upgrade began", name)
	}
	result.Warnings, result.Restored = w.log(c), settings.Restored
	return result, nil
}

// advanceRollout takes the next step of a service's upgrade in batches, for which lost agents matter too.
func (c *Caller) advanceRollout(ctx context.Context, service entity.Tag) (again time.Duration, err error) {
	svc, err := c.Model.Service(ctx, service.ID)
	if err != nil {
		return 0, err
	}
	return svc.AdvanceRollout(ctx, func(unit string) bool { return c.Presence.Lost(c.Model.UUID(), entity.UnitTag(unit)) })
}

// watchRollout fires when the next step of a service's upgrade in batches may be due.
func (c *Caller) watchRollout(ctx context.Context, service entity.Tag) (<-chan struct{}, error) {
	changes, err := c.Model.Watches().Rollout(ctx, service.ID)
	if err != nil {
		return nil, err
	}
	return c.Presence.Watch(ctx, c.Model.UUID(), changes), nil
}

// applicationCharmOrigin returns the URL of a service's charm, and where the charm came from. Its architecture is that of all
// machines, which run the controller's programs.
func applicationCharmOrigin(ctx context.Context, c *Caller,
	p params.ApplicationGet) (params.CharmURLOriginResult, error) {
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return params.CharmURLOriginResult{Error: c.wireError("GetCharmURLOrigin", err)}, nil
	}
	url, err := charm.ParseURL(svc.CharmURL())
	if err != nil {
		return params.CharmURLOriginResult{}, err
	}
	sum, err := c.Model.Charms().Sum(ctx, svc.CharmURL())
	if err != nil {
		return params.CharmURLOriginResult{}, err
	}
	base := entity.BaseOf(svc.Series())
	origin := params.CharmOrigin{Source: "local", Type: "charm", Hash: sum, Revision: &url.Revision,
		Architecture: cmp.Or(url.Architecture, runtime.GOARCH), Base: &base}
	if from := svc.Origin(); from != nil {
		origin.Source, origin.ID = params.FromStore, from.ID
		if channel, err := charmhub.ParseChannel(from.Channel); err == nil {
			origin.Track, origin.Risk, origin.Branch = channel.Track, channel.Risk, channel.Branch
		}
	}
	return params.CharmURLOriginResult{URL: svc.CharmURL(), Origin: origin}, nil
}

// applicationCharmRelations lists the endpoints of a service: those of its charm, and the one that every service has.
func applicationCharmRelations(ctx context.Context, c *Caller,
	p params.ApplicationGet) (params.CharmRelationsResult, error) {
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return params.CharmRelationsResult{}, err
	}
	ch, err := c.Model.Charms().Get(ctx, svc.CharmURL())
	if err != nil {
		return params.CharmRelationsResult{}, err
	}
	names := append(slices.Sorted(maps.Keys(ch.Meta.Relations())), "juju-info")
	return params.CharmRelationsResult{CharmRelations: names}, nil
}

// applicationLeader returns the unit that leads a service.
func applicationLeader(ctx context.Context, c *Caller, p params.Entity) (params.StringResult, error) {
	leader, err := func() (string, error) {
		if err := isKind(p.Tag, entity.KindService); err != nil {
			return "", err
		}
		svc, err := c.Model.Service(ctx, p.Tag.ID)
		if entity.IsNotFound(err) {
			return "", entity.Errorf(entity.NotFound, "application %q not found", p.Tag.ID)
		} else if err != nil {
			return "", err
		}
		leader, err := svc.Leader(ctx)
		if err == nil && leader == "" {
			err = entity.WithHint(entity.Errorf(entity.NotFound, "leader for application %q not found", p.Tag.ID),
				"The service currently has no leader: specify a unit, or try again.")
		}
		return leader, err
	}()
	return params.StringResult{Result: leader, Error: c.wireError("Leader", err)}, nil
}

// applicationScale refuses: only in Kubernetes models is a number of units set as a whole.
func applicationScale(_ context.Context, c *Caller, p params.ScaleApplications) (params.ErrorResults, error) {
	return outcomes(c, "ScaleApplications", p.Applications, func(params.ScaleApplication) error {
		return entity.WithHint(entity.Errorf(entity.NotSupported,
			"scaling applications on a non-container model not supported"),
			"Add units with add-unit, and remove them with remove-unit")
	}), nil
}

// controllerAPIInfo returns how the controller of models is reached. All models are this controller's.
func controllerAPIInfo(ctx context.Context, c *Caller, p params.Entities) (params.ControllerAPIInfoResults, error) {
	rows, _, err := c.Controller.ModelsOf(ctx, c.Tag.ID)
	if err != nil {
		return params.ControllerAPIInfoResults{}, err
	}
	mine := map[string]bool{}
	for _, row := range rows {
		mine[row.UUID] = true
	}
	return params.ControllerAPIInfoResults{Results: each(c, "ControllerAPIInfoForModels", p.Entities,
		func(e *params.Error) params.ControllerAPIInfoResult { return params.ControllerAPIInfoResult{Error: e} },
		func(e params.Entity) (params.ControllerAPIInfoResult, error) {
			switch {
			case e.Tag.Kind != entity.KindModel || !mine[e.Tag.ID]:
				return params.ControllerAPIInfoResult{}, entity.Errorf(entity.NotFound, "model %q not found", e.Tag.ID)
			case c.API == nil:
				return params.ControllerAPIInfoResult{}, entity.Errorf(entity.NotSupported, "the controller is not reachable from other hosts")
			}
			addresses, ca := c.API()
			return params.ControllerAPIInfoResult{Addresses: addresses, CACert: ca}, nil
		})}, nil
}
