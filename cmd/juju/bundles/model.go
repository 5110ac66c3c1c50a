package bundles

import (
	"context"
	"maps"
	"strings"

	"juju/apiserver/bundlechanges"
	"juju/apiserver/client"
	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/constraints"
	"juju/state/entity"
)

// A readBundleAPI reads the part of a model that bundles describe.
type readBundleAPI interface {
	wait.StatusAPI
	ServiceConfig(ctx context.Context, service string) (client.ServiceConfig, error)
	charms.ArchiveAPI
	ServiceConstraints(ctx context.Context, service string) (constraints.Value, error)
	Annotations(ctx context.Context, of ...entity.Tag) ([]map[string]string, error)
	Resources(ctx context.Context, service string) (entity.ResourcesOf, error)
	FindOffers(ctx context.Context, f entity.OfferFilter) ([]entity.Offer, error)
	ConsumeDetails(ctx context.Context, url string) (entity.Offer, *entity.External, error)
	CheckUsers(ctx context.Context, names ...string) ([]error, error)
}

// A bundleAPI also makes the changes that deploy a bundle.
type bundleAPI interface {
	readBundleAPI
	charms.ResourcesAPI
	charms.UploadAPI
	CheckDeploy(ctx context.Context, args client.DeployArgs, charm entity.Platforms) (series string,
		warnings []string, err error)
	Deploy(ctx context.Context, args client.DeployArgs) (warnings []string, err error)
	SetCharm(ctx context.Context, args client.SetCharmArgs) (warnings []string, err error)
	AddUnits(ctx context.Context, service string, n int, placement []entity.Placement, attach ...string) (
		units, warnings []string, err error)
	AddRelation(ctx context.Context, ends ...string) (map[string]string, error)
	DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
	Expose(ctx context.Context, service string, endpoints entity.ExposedEndpoints) (warnings []string, err error)
	Unexpose(ctx context.Context, service string, endpoints ...string) error
	Bind(ctx context.Context, service string, bindings map[string]string, force bool) error
	AddMachine(ctx context.Context, args client.MachineArgs) (id string, warnings []string, err error)
	SetServiceConfig(ctx context.Context, service string, values map[string]string, yaml string) error
	SetServiceConstraints(ctx context.Context, service string, c constraints.Value) (warnings []string, err error)
	ResetServiceConfig(ctx context.Context, service string, options ...string) error
	SetAnnotations(ctx context.Context, of entity.Tag, values map[string]string) error
	Consume(ctx context.Context, url, name string) error
	AddOffer(ctx context.Context, model string, o entity.NewOffer) error
	ModifyOfferAccess(ctx context.Context, action, user, level string, urls ...string) ([]error, error)
	RemoveOffers(ctx context.Context, how entity.Destruction, urls ...string) ([]error, error)
	RemoveRemotes(ctx context.Context, how entity.Destruction, names ...string) ([]error, error)
	DestroyRelation(ctx context.Context, how entity.Destruction, endpoints ...string) error
	DestroyServices(ctx context.Context, how entity.Destruction, services ...string) ([]error, entity.DestroyInfo, error)
	DestroyUnits(ctx context.Context, how entity.Destruction, units ...string) ([]error, entity.DestroyInfo, error)
	CheckUnchanged(ctx context.Context) error
	Sequences(ctx context.Context) (map[string]int, error)
	KeepForPlan()
	PlanMachine() (id, host string)
	PlanKept(ctx context.Context) error
}

// A modelReader reads the part of a model that bundles describe. resources selects the services whose resource files it
// reads too.
type modelReader struct {
	api       readBundleAPI
	resources func(service string) bool
}

func (r modelReader) Status(ctx context.Context) (*entity.ModelStatus, error) {
	return r.api.Status(ctx)
}

func (r modelReader) ReadService(ctx context.Context, name string, s *bundlechanges.Service) error {
	config, err := r.api.ServiceConfig(ctx, name)
	if err != nil {
		return err
	}
	s.Options, s.Storage = config.Settings, config.Storage
	maps.Copy(s.Options, config.Own)
	if r.resources(name) {
		if s.Resources, err = readResources(ctx, r.api, name); err != nil {
			return err
		}
	}
	if !s.Subordinate {
		s.Constraints, err = r.api.ServiceConstraints(ctx, name)
	}
	return err
}

func (r modelReader) Offers(ctx context.Context, of entity.ModelHeader) ([]entity.Offer, error) {
	return r.api.FindOffers(ctx, entity.OfferFilter{Model: of.Name})
}

func (r modelReader) Annotations(ctx context.Context, of ...entity.Tag) ([]map[string]string, error) {
	return r.api.Annotations(ctx, of...)
}

// modelPath returns the name of the target model, with its owner's, and that alone.
func modelPath(s *cli.Session) (path, owner string, err error) {
	_, t, err := s.ReadModelTarget()
	owner, _, _ = strings.Cut(t.Model, "/")
	return t.Model, owner, err
}
