package facades

import (
	"context"

	"juju/apiserver/hub"
	"juju/apiserver/params"
	"juju/charm"
	"juju/state/constraints"
	"juju/state/entity"
)

// applicationDeployFromRepository deploys services with charms of the model's store.
func applicationDeployFromRepository(ctx context.Context, c *Caller,
	p params.DeployFromRepositoryArgs) (params.DeployFromRepositoryResults, error) {
	return params.DeployFromRepositoryResults{Results: each(c, "DeployFromRepository", p.Args,
		func(e *params.Error) params.DeployFromRepositoryResult {
			return params.DeployFromRepositoryResult{Errors: []*params.Error{e}}
		},
		func(a params.DeployFromRepositoryArg) (params.DeployFromRepositoryResult, error) {
			return deployFromRepository(ctx, c, a)
		})}, nil
}

func deployFromRepository(ctx context.Context, c *Caller,
	a params.DeployFromRepositoryArg) (result params.DeployFromRepositoryResult, err error) {
	wanted, err := wantedOrigin(a)
	if err != nil {
		return result, err
	}
	r, err := hub.Resolve(ctx, c.Model, a.CharmName, wanted)
	if err != nil {
		return result, err
	}
	d := params.ApplicationDeploy{ApplicationName: a.ApplicationName, CharmURL: r.URL.String(), CharmOrigin: &r.Origin, NumUnits: 1,
		ConfigYAML: a.ConfigYAML, Constraints: a.Cons, Placement: a.Placement, EndpointBindings: a.EndpointBindings, Force: a.Force,
		Storage: a.Storage, AttachStorage: a.AttachStorage, Devices: a.Devices}
	if d.ApplicationName == "" {
		d.ApplicationName = r.URL.Name
	}
	if a.Trust {
		d.Config = map[string]string{charm.Trust: "true"}
	}
	result.Info = params.DeployFromRepositoryInfo{Architecture: r.URL.Architecture, Base: *r.Origin.Base, Name: r.URL.Name,
		Revision: r.URL.Revision, Channel: hub.ChannelOf(r.Origin)}
	if r.Found != "" && r.Found != result.Info.Channel {
		result.Info.EffectiveChannel = &r.Found
	}
	if !entity.IsValidService(d.ApplicationName) {
		return result, entity.InvalidService(d.ApplicationName)
	}
	if a.DryRun {
		if _, err := c.Model.Service(ctx, d.ApplicationName); err == nil {
			return result, entity.Errorf(entity.AlreadyExists, "service %q already exists", d.ApplicationName)
		} else if !entity.IsNotFound(err) {
			return result, err
		}
		return result, nil
	}
	if _, err := c.Hub.Add(ctx, c.Model, d.CharmURL, r.Origin); err != nil {
		return result, err
	}
	ch, err := c.Model.Charms().Get(ctx, d.CharmURL)
	if err != nil {
		return result, err
	}
	if a.NumUnits != nil {
		d.NumUnits = *a.NumUnits
	}
	if ch.Meta.Subordinate {
		d.NumUnits = 0
	}
	w, err := deploy(ctx, c, d)
	w.log(c)
	return result, err
}

// wantedOrigin returns which charm a client asks for.
func wantedOrigin(a params.DeployFromRepositoryArg) (o params.CharmOrigin, err error) {
	u, err := charm.ParseURL(a.CharmName)
	switch {
	case err != nil:
		return o, entity.Errorf(entity.Invalid, "%w", err)
	case u.Revision >= 0:
		return o, entity.Errorf(entity.Invalid, "cannot specify revision in a charm or bundle name. Please use --revision.")
	case a.Revision != nil && (a.Channel == nil || *a.Channel == ""):
		return o, entity.Errorf(entity.Invalid, "specifying a revision requires a channel for future upgrades. Please use --channel")
	}
	o = params.CharmOrigin{Revision: a.Revision, Base: a.Base}
	o.Architecture, _ = a.Cons.Get(constraints.Arch)
	if a.Channel != nil {
		err = hub.SetChannel(&o, *a.Channel)
	}
	return o, err
}
