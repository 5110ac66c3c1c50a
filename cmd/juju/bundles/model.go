package bundles

import (
	"context"
	"strconv"
	"strings"

	"juju/apiserver/client"
	"juju/charm/bundle"
	"juju/cmd/juju/bundlechanges"
	"juju/cmd/juju/charms"
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
}

// A bundleAPI also makes the changes that deploy a bundle.
type bundleAPI interface {
	readBundleAPI
	charms.ResourcesAPI
	charms.UploadAPI
	CheckDeploy(ctx context.Context, args client.DeployArgs, charm []string) (series string, warnings []string, err error)
	Deploy(ctx context.Context, args client.DeployArgs) (warnings []string, err error)
	SetCharm(ctx context.Context, args client.SetCharmArgs) (warnings []string, err error)
	AddUnits(ctx context.Context, service string, n int, placement []string, attach ...string) (
		units, warnings []string, err error)
	AddRelation(ctx context.Context, ends ...string) (map[string]string, error)
	DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
	Expose(ctx context.Context, service string) (warnings []string, err error)
	Unexpose(ctx context.Context, service string) error
	AddMachine(ctx context.Context, args client.MachineArgs) (id string, warnings []string, err error)
	SetServiceConfig(ctx context.Context, service string, values map[string]string, yaml string) error
	SetServiceConstraints(ctx context.Context, service string, c constraints.Value) (warnings []string, err error)
	SetAnnotations(ctx context.Context, of entity.Tag, values map[string]string) error
}

// readModel reads the part of a model that a bundle can describe. For services that matters excludes it reads only the
// status; resources selects the services whose resource files it reads too. If an entity is removed meanwhile, it
// starts over.
func readModel(ctx context.Context, api readBundleAPI, matters, resources func(service string) bool) (
	m *bundlechanges.Model, err error,
) {
	for range modelReads {
		if m, err = readModelOnce(ctx, api, matters, resources); !entity.IsNotFound(err) {
			break
		}
	}
	return m, err
}

// modelReads is how often readModel tries.
const modelReads = 5

func readModelOnce(ctx context.Context, api readBundleAPI, matters, resources func(service string) bool) (
	*bundlechanges.Model, error,
) {
	status, err := api.Status(ctx)
	if err != nil {
		return nil, err
	}
	m := &bundlechanges.Model{Services: map[string]*bundlechanges.Service{},
		Machines: map[string]*bundlechanges.Machine{}, Relations: map[string]bundlechanges.Relation{}}
	if err := readMachines(ctx, api, status, m); err != nil {
		return nil, err
	}
	var names []entity.Tag
	for _, s := range status.Services {
		svc := &bundlechanges.Service{Life: s.Life, CharmURL: s.CharmURL, Series: s.Series, Exposed: s.Exposed,
			Subordinate: s.Subordinate}
		m.Services[s.Name] = svc
		for _, u := range s.Units {
			if n, err := strconv.Atoi(strings.TrimPrefix(u.Name, s.Name+"/")); err == nil {
				svc.NextUnit = max(svc.NextUnit, n+1)
			}
			if u.Life == entity.Alive {
				svc.Units = append(svc.Units, bundlechanges.Unit{Name: u.Name, Machine: u.Machine})
			}
		}
		if !matters(s.Name) {
			continue
		}
		names = append(names, entity.ServiceTag(s.Name))
		config, err := api.ServiceConfig(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		svc.Options, svc.Storage = config.Settings, config.Storage
		if resources(s.Name) {
			if svc.Resources, err = readResources(ctx, api, s.Name); err != nil {
				return nil, err
			}
		}
		if s.Subordinate {
			continue
		}
		if svc.Constraints, err = api.ServiceConstraints(ctx, s.Name); err != nil {
			return nil, err
		}
	}
	notes, err := annotations(ctx, api, names)
	if err != nil {
		return nil, err
	}
	for i, tag := range names {
		m.Services[tag.ID].Annotations = notes[i]
	}
	for _, r := range status.Relations {
		if len(r.Endpoints) != 2 {
			continue // between peers
		}
		ends := bundle.Relation{{Service: r.Endpoints[0].Service, Name: r.Endpoints[0].Name},
			{Service: r.Endpoints[1].Service, Name: r.Endpoints[1].Name}}
		m.Relations[ends.Key()] = bundlechanges.Relation{Relation: ends, Life: r.Life}
	}
	return m, nil
}

// readMachines reads the machines that can host units, without containers.
func readMachines(ctx context.Context, api readBundleAPI, status *entity.ModelStatus, m *bundlechanges.Model) error {
	var ids []entity.Tag
	for _, machine := range status.Machines {
		if machine.Manager {
			continue
		}
		c, err := constraints.Parse(machine.Constraints)
		if err != nil {
			return err
		}
		m.Machines[machine.ID] = &bundlechanges.Machine{Life: machine.Life, Series: machine.Series, Constraints: c}
		ids = append(ids, entity.MachineTag(machine.ID))
	}
	notes, err := annotations(ctx, api, ids)
	if err != nil {
		return err
	}
	for i, tag := range ids {
		m.Machines[tag.ID].Annotations = notes[i]
	}
	return nil
}

// annotations returns the annotations of entities, in order. It makes no request for an empty list.
func annotations(ctx context.Context, api readBundleAPI, of []entity.Tag) ([]map[string]string, error) {
	if len(of) == 0 {
		return nil, nil
	}
	return api.Annotations(ctx, of...)
}
