package bundlechanges

import (
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
	// CharmURLs are the URLs of charms that are already in the model, by service.
	CharmURLs map[string]string
}

// A Model is the part of a model that a bundle can describe.
type Model struct {
	Services  map[string]*Service
	Machines  map[string]*Machine // without containers
	Relations map[string]Relation // by bundle.Relation's Key
}

type Service struct {
	Life        entity.Life
	CharmURL    string
	Series      string
	Exposed     bool
	Subordinate bool
	Constraints constraints.Value
	Options     map[string]entity.ConfigSetting
	Annotations map[string]string
	Resources   map[string]string                    // checksums of its resources' files
	Storage     map[string]entity.StorageConstraints // of new units, by store
	Units       []Unit                               // Alive ones, by number
	NextUnit    int                                  // higher than all of its units' numbers
}

type Unit struct{ Name, Machine string }

type Machine struct {
	Life        entity.Life
	Series      string
	Constraints constraints.Value
	Annotations map[string]string
}

// A Relation is a relation in a model, other than a peer relation.
type Relation struct {
	bundle.Relation
	Life entity.Life
}
