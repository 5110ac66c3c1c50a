package bundlechanges

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"juju/charm"
	"juju/charm/bundle"
	"juju/state/constraints"
	"juju/state/entity"
)

// A Wanted is a valid bundle, resolved against a model.
type Wanted struct {
	*bundle.Bundle
	Relations []bundle.Relation
	Charms    map[string]*charm.Charm   // by service
	Options   map[string]map[string]any // by service and option, as the charm's types
	// Series are the series of new services and machines; "" if unspecified.
	Series        map[string]string
	MachineSeries map[string]string
	// Machines maps machines of the bundle to the model's, as given by the user.
	Machines map[string]string
	// Force allows charms that do not support the series of their services.
	Force bool
	// SameCharm reports, for services in the model, whether they have the bundle's charm.
	SameCharm map[string]bool
	// Resources are the checksums of the bundle's resource files, for services in the model, by service and resource.
	Resources map[string]map[string]string
	// Storage has the bundle's storage constraints, by service and store.
	Storage map[string]map[string]entity.StorageConstraints
	// Owner is the user who owns the model, and so has all access to its offers; "" if that is not known.
	Owner string
	// Declared is set by Declare.
	Declared bool
	// CharmURLs are the URLs of charms that are already in the model, by service.
	CharmURLs map[string]string
}

// A Model is the part of a model that a bundle can describe.
type Model struct {
	Services  map[string]*Service
	Machines  map[string]*Machine // without containers
	Relations map[string]Relation // by bundle.Relation's Key
	SAAS      map[string]*Remote
	Offers    map[string]*Offer
	UUID      string
	// Next are the next numbers of machines and units, by the names that clients have for sequences. Without them they are
	// guessed from what the model has: what is removed may have had higher ones.
	Next map[string]int
}

type Service struct {
	Life        entity.Life
	CharmURL    string
	Series      string
	Exposed     entity.ExposedEndpoints // nil if it is not
	Subordinate bool
	Constraints constraints.Value
	Options     map[string]entity.ConfigSetting
	Annotations map[string]string
	Resources   map[string]string                    // checksums of its resources' files
	Storage     map[string]entity.StorageConstraints // of new units, by store
	Units       []Unit                               // Alive ones, by number
	NextUnit    int                                  // higher than all of its units' numbers
	Bindings    map[string]string                    // endpoint → space, the default at ""; others are like it
	MinUnits    int                                  // of which the controller keeps at least so many
}

type Unit struct{ Name, Machine string }

type Machine struct {
	Life        entity.Life
	Series      string
	Constraints constraints.Value
	Annotations map[string]string
	Unused      bool // it has neither units nor containers
	Hosts       bool // it has containers
}

// A Relation is a relation in a model, other than a peer relation.
type Relation struct {
	bundle.Relation
	Life entity.Life
}

// exposed returns what of a service is exposed. Controllers that don't say it expose all or nothing.
func exposed(s entity.ServiceStatus) entity.ExposedEndpoints {
	if s.Exposed && len(s.Endpoints) == 0 {
		return entity.Everywhere()
	}
	return s.Endpoints
}

// A Reader reads a model.
type Reader interface {
	Status(ctx context.Context) (*entity.ModelStatus, error)
	// ReadService reads what the status does not say of a service: its options, storage, resources and constraints.
	ReadService(ctx context.Context, name string, s *Service) error
	// Annotations returns the annotations of entities, in order.
	Annotations(ctx context.Context, of ...entity.Tag) ([]map[string]string, error)
	// Offers returns the offers of a model that the reader may see.
	Offers(ctx context.Context, of entity.ModelHeader) ([]entity.Offer, error)
}

// reads is how often ReadModel tries.
const reads = 5

// ReadModel reads the part of a model that a bundle can describe, of services that matters excludes only the status. It starts
// over if something is removed meanwhile.
func ReadModel(ctx context.Context, r Reader, matters func(service string) bool) (m *Model, err error) {
	for range reads {
		if m, err = readOnce(ctx, r, matters); !entity.IsNotFound(err) {
			break
		}
	}
	return m, err
}

func readOnce(ctx context.Context, r Reader, matters func(service string) bool) (*Model, error) {
	status, err := r.Status(ctx)
	if err != nil {
		return nil, err
	}
	m, err := modelOf(status)
	if err != nil {
		return nil, err
	}
	var found []entity.Offer
	if len(status.Offers) > 0 {
		if found, err = r.Offers(ctx, status.Model); err != nil {
			return nil, err
		}
	}
	m.crossModel(status, found)
	var services, machines []entity.Tag
	for _, name := range slices.Sorted(maps.Keys(m.Services)) {
		if !matters(name) {
			continue
		}
		services = append(services, entity.ServiceTag(name))
		if err := r.ReadService(ctx, name, m.Services[name]); err != nil {
			return nil, err
		}
	}
	notes, err := annotations(ctx, r, services)
	if err != nil {
		return nil, err
	}
	for i, tag := range services {
		m.Services[tag.ID].Annotations = notes[i]
	}
	for _, id := range slices.Sorted(maps.Keys(m.Machines)) {
		machines = append(machines, entity.MachineTag(id))
	}
	if notes, err = annotations(ctx, r, machines); err != nil {
		return nil, err
	}
	for i, tag := range machines {
		m.Machines[tag.ID].Annotations = notes[i]
	}
	return m, nil
}

// annotations makes no request for an empty list.
func annotations(ctx context.Context, r Reader, of []entity.Tag) ([]map[string]string, error) {
	if len(of) == 0 {
		return nil, nil
	}
	return r.Annotations(ctx, of...)
}

// modelOf returns what the status of a model says.
func modelOf(status *entity.ModelStatus) (*Model, error) {
	m := &Model{Services: map[string]*Service{}, Machines: map[string]*Machine{}, Relations: map[string]Relation{},
		SAAS: map[string]*Remote{}, Offers: map[string]*Offer{}, UUID: status.Model.UUID}
	for _, machine := range status.Machines {
		if machine.Manager {
			continue // no units are placed on it
		}
		c, err := constraints.Parse(machine.Constraints)
		if err != nil {
			return nil, err
		}
		m.Machines[machine.ID] = &Machine{Life: machine.Life, Series: machine.Series, Constraints: c,
			Unused: len(machine.Containers) == 0, Hosts: len(machine.Containers) > 0}
	}
	for _, s := range status.Services {
		svc := &Service{Life: s.Life, CharmURL: s.CharmURL, Series: s.Series, Exposed: exposed(s), Subordinate: s.Subordinate,
			MinUnits: s.MinUnits, Bindings: s.Bindings}
		m.Services[s.Name] = svc
		for _, u := range s.Units {
			if n, err := strconv.Atoi(strings.TrimPrefix(u.Name, s.Name+"/")); err == nil {
				svc.NextUnit = max(svc.NextUnit, n+1)
			}
			if machine := m.Machines[u.Machine]; machine != nil {
				machine.Unused = false
			}
			if u.Life == entity.Alive {
				svc.Units = append(svc.Units, Unit{Name: u.Name, Machine: u.Machine})
			}
		}
	}
	for _, r := range status.Relations {
		if len(r.Endpoints) != 2 {
			continue // between peers
		}
		ends := bundle.Relation{{Service: r.Endpoints[0].Service, Name: r.Endpoints[0].Name},
			{Service: r.Endpoints[1].Service, Name: r.Endpoints[1].Name}}
		m.Relations[ends.Key()] = Relation{Relation: ends, Life: r.Life}
	}
	return m, nil
}
