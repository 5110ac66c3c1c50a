package facades

import (
	"context"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// applicationSetCharm changes the charm of a service. It warns of settings that the new charm does not use, and of
// declarations in the charm that have no effect.
func applicationSetCharm(ctx context.Context, c *Caller, p params.ApplicationSetCharm) (params.SetCharmResult, error) {
	var result params.SetCharmResult
	if len(p.EndpointBindings) > 0 {
		return result, entity.Errorf(entity.NotSupported,
			"cannot upgrade service %q: bindings are not supported yet", p.ApplicationName)
	}
	if err := noHub(p.CharmURL); err != nil {
		return result, err
	}
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return result, err
	}
	ch, err := c.Model.Charms().Get(ctx, p.CharmURL)
	if err != nil {
		return result, err
	}
	config, err := ch.Config.ParseSettings(p.ApplicationName, p.ConfigSettings, p.ConfigSettingsYAML)
	if err != nil {
		return result, err
	}
	unused, err := svc.SetCharm(ctx, state.SetCharmParams{URL: p.CharmURL, ForceUnits: p.Force || p.ForceUnits,
		ForceSeries: p.Force || p.ForceSeries || p.ForceBase, Config: config, Resources: p.ResourceIDs,
		Storage: p.StorageConstraints})
	if err != nil {
		return result, err
	}
	var w warnings
	for _, name := range unused {
		w.add("setting %q is kept, but charm %q does not use it", name, ch.Meta.Name)
	}
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
