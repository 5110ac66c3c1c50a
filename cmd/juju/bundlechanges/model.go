package bundlechanges

import (
	"juju/charm"
	"juju/charm/bundle"
	"juju/state/constraints"
	"juju/state/entity"
)

// A Wanted is a valid bundle with what its words mean in a model.
type Wanted struct {
	*bundle.Bundle
	Relations []bundle.Relation
	Charms    map[string]*charm.Charm   // by service
	Options   map[string]map[string]any // by service and option, as the charm's types
	// Series are the series that new services and machines get; "" if that is open.
	Series        map[string]string
	MachineSeries map[string]string
	// Machines are machines of the model that the user named for those of the bundle.
	Machines map[string]string
	// Force allows charms that are not for the series of their services.
	Force bool
	// SameCharm says of a service that is in the model whether it has the bundle's charm.
	SameCharm map[string]bool
	// Resources are the sums of the files that the bundle names for services in the model, by
	// service and resource.
	Resources map[string]map[string]string
	// Storage is what the bundle says that units get, by service and store.
	Storage map[string]map[string]entity.StorageConstraints
	// CharmURLs are the charms of services whose charm is in the model already.
	CharmURLs map[string]string
}

// A Model is what is in a model, as far as a bundle can say it.
type Model struct {
	Services  map[string]*Service
	Machines  map[string]*Machine // without containers
	Relations map[string]Relation // by bundle.Relation's Key
}

// A Service is a service in a model.
type Service struct {
	Life        entity.Life
	CharmURL    string
	Series      string
	Exposed     bool
	Subordinate bool
	Constraints constraints.Value
	Options     map[string]entity.ConfigSetting
	Annotations map[string]string
	Resources   map[string]string                    // the sums of the files of its resources
	Storage     map[string]entity.StorageConstraints // that its units get, by store
	Units       []Unit                               // Alive ones, in the order of their numbers
	NextUnit    int                                  // more than the number of any of its units
}

// A Unit is a unit of a service.
type Unit struct{ Name, Machine string }

// A Machine is a machine in a model.
type Machine struct {
	Life        entity.Life
	Series      string
	Constraints constraints.Value
	Annotations map[string]string
}

// A Relation is a relation in a model that is not between peers.
type Relation struct {
	bundle.Relation
	Life entity.Life
}
