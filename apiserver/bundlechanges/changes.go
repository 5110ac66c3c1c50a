package bundlechanges

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/charm/bundle"
	"juju/state/entity"
)

// A Change is one of the types below. Its String describes it in Juju's words. Values that are known only once a
// change is made, such as URLs, unit names and machine ids, are set by the caller.
type Change interface{ String() string }

// An AddCharm uploads a charm for one or more services.
type AddCharm struct {
	Charm  string // as the bundle names it
	Of     string // one of its services
	Series string
	URL    string // of the charm in the model
}

// An AddService deploys a service without units.
type AddService struct {
	Name   string
	Series string
	Charm  *AddCharm
}

// An UpgradeCharm changes a service's charm.
type UpgradeCharm struct {
	Service string
	Charm   *AddCharm
	Storage map[string]entity.StorageConstraints // as in SetStorage
}

// A SetStorage replaces the storage constraints of some stores for a service's new units.
type SetStorage struct {
	Service string
	Storage map[string]entity.StorageConstraints
}

// A SetOptions sets a service's options to those of the bundle.
type SetOptions struct{ Service string }

// An AttachResource uploads another file for a resource of a service.
type AttachResource struct{ Service, Resource string }

// A SetBindings binds endpoints of a service to spaces, the default at "".
type SetBindings struct {
	Service  string
	Bindings map[string]string
}

// A SetConstraints replaces a service's constraints.
type SetConstraints struct{ Service, Constraints string }

// An Expose exposes endpoints of a service, and replaces what they were exposed to.
type Expose struct {
	Service   string
	Endpoints entity.ExposedEndpoints
}

// An Unexpose unexposes endpoints of a service, or all if there are none.
type Unexpose struct {
	Service   string
	Endpoints []string
}

// A SetAnnotations sets annotations of a service or, if Service is "", of a machine.
type SetAnnotations struct {
	Service     string
	Machine     *Spot
	Annotations map[string]string
}

// An AddMachine adds a machine for the bundle's machine ID.
type AddMachine struct {
	ID   string
	For  string // the service of its first unit
	Spot *Spot
}

// An AddUnit adds a unit to a service, on a machine of its own if Own is set, which must be New if those without units are for
// the bundle's machines.
type AddUnit struct {
	Service   string
	Unit      string // its name
	Spot      *Spot
	Own, New  bool
	Directive string // the placement next to another unit, if that is why it goes there
}

// An AddRelation relates two services.
type AddRelation struct{ bundle.Relation }

// A ResetOptions sets a service's options back to what its charm says.
type ResetOptions struct {
	Service string
	Options []string
}

// The removals are what a declared bundle does not have; see Declare.
type (
	RemoveRelation struct{ bundle.Relation }
	RemoveService  struct{ Service string }
	RemoveUnit     struct{ Unit string }
	RemoveMachine  struct{ Machine string }
)

// IsRemoval reports whether a change removes something from the model.
func IsRemoval(c Change) bool {
	switch c := c.(type) {
	case *RemoveRelation, *RemoveService, *RemoveUnit, *RemoveMachine, *RemoveOffer, *RemoveSAAS:
		return true
	case *RevokeOfferAccess:
		return c.Left == ""
	}
	return false
}

// A Spot is a machine or container that hosts units.
type Spot struct {
	ID  string // the expected id for a machine yet to be added; "" for a container yet to be added
	New bool   // added by one of the changes
	// Container is the type of a container that is added with its unit, and On its machine. If Alone is set, the New
	// machine is added with the container.
	Container string
	On        *Spot
	Alone     bool
	For       string // the unit with which the container is added
}

// host returns the outermost machine that a container is on, or the machine itself.
func (s *Spot) host() *Spot {
	if s.Container != "" {
		return s.On
	}
	if kind, machine := entity.ContainerOf(s.ID); kind != "" {
		return &Spot{ID: machine}
	}
	return s
}

// Found records which machine or container the spot has become.
func (s *Spot) Found(id string, isNew bool) {
	s.ID, s.New = id, isNew
	if s.Container != "" {
		_, s.On.ID = entity.ContainerOf(id)
	}
}

// Placement returns the placement for AddUnits.
func (s *Spot) Placement() entity.Placement {
	switch {
	case s.ID != "":
		return entity.Placement{Machine: s.ID}
	case s.Alone:
		return entity.Placement{Container: s.Container}
	}
	return entity.Placement{Container: s.Container, Machine: s.On.ID}
}

func (c *AddCharm) String() string {
	return "upload charm " + c.Charm + optional(" for series ", c.Series)
}

func (c *AddService) String() string {
	return "deploy application " + c.Name + optional(" on ", c.Series) + " using " + c.Charm.Charm
}

func (c *UpgradeCharm) String() string {
	return "upgrade " + c.Service + " using charm " + c.Charm.Charm + optional(" for series ", c.Charm.Series)
}

func (c *SetOptions) String() string { return "set application options for " + c.Service }

func (c *AttachResource) String() string {
	return fmt.Sprintf("attach resource %s to %s", c.Resource, c.Service)
}

func (c *SetConstraints) String() string {
	return fmt.Sprintf("set constraints for %s to %q", c.Service, c.Constraints)
}

func (c *SetBindings) String() string {
	text := "bind " + c.Service + " to spaces:"
	for _, endpoint := range slices.Sorted(maps.Keys(c.Bindings)) {
		text += fmt.Sprintf(" %s=%s", cmp.Or(endpoint, "(default)"), c.Bindings[endpoint])
	}
	return text
}

func (c *SetStorage) String() string {
	text := "set storage for new units of " + c.Service + " to"
	for _, store := range slices.Sorted(maps.Keys(c.Storage)) {
		text += fmt.Sprintf(" %s=%s", store, c.Storage[store])
	}
	return text
}

func (c *Expose) String() string {
	names := map[string][]string{} // endpoints by whom they are exposed to
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		to := c.Endpoints[name].String()
		names[to] = append(names[to], name)
	}
	var parts []string
	for _, to := range slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return strings.Compare(names[a][0], names[b][0])
	}) {
		what := "override expose settings for endpoint"
		switch all := names[to]; {
		case all[0] == entity.AllEndpoints:
			what = "expose all endpoints"
		case len(all) > 1:
			what += "s " + strings.Join(all, ",")
		default:
			what += " " + all[0]
		}
		parts = append(parts, fmt.Sprintf("%s of %s and allow access from %s", what, c.Service, to))
	}
	return strings.Join(parts, "; ")
}

func (c *Unexpose) String() string {
	if len(c.Endpoints) == 0 {
		return "unexpose " + c.Service
	}
	return fmt.Sprintf("unexpose endpoints %s of %s", strings.Join(quoted(c.Endpoints), ","), c.Service)
}

// quoted returns the names of endpoints, with * for entity.AllEndpoints.
func quoted(endpoints []string) []string {
	all := slices.Clone(endpoints)
	for i, name := range all {
		all[i] = cmp.Or(name, "*")
	}
	return all
}

func (c *SetAnnotations) String() string {
	if c.Service != "" {
		return "set annotations for " + c.Service
	}
	return "set annotations for " + c.Machine.String()
}

func (c *AddMachine) String() string {
	text := "add " + c.Spot.String()
	if c.Spot.ID != c.ID {
		text += " (bundle machine " + c.ID + ")"
	}
	return text
}

func (c *AddUnit) String() string {
	where := c.Spot.String()
	if c.Spot.For != "" && c.Spot.For != c.Unit {
		where = "the container of unit " + c.Spot.For
	}
	text := "add unit " + c.Unit + " to " + where
	if c.Directive != "" {
		text += " to satisfy [" + c.Directive + "]"
	}
	return text
}

func (c *AddRelation) String() string {
	return fmt.Sprintf("add relation %s - %s", c.Relation[0], c.Relation[1])
}

func (c *ResetOptions) String() string {
	return fmt.Sprintf("reset application options of %s to the charm's defaults: %s", c.Service,
		strings.Join(c.Options, ", "))
}

func (c *RemoveRelation) String() string {
	return fmt.Sprintf("remove relation %s - %s", c.Relation[0], c.Relation[1])
}

func (c *RemoveService) String() string { return "remove application " + c.Service }

func (c *RemoveUnit) String() string { return "remove unit " + c.Unit }

func (c *RemoveMachine) String() string { return "remove machine " + c.Machine }

func (s *Spot) String() string {
	if s.Container != "" && s.ID == "" {
		return "new " + s.Container + " container on " + s.On.String()
	}
	if kind, _ := entity.ContainerOf(s.ID); kind != "" {
		return "existing container " + s.ID
	}
	if s.New {
		return "new machine " + s.ID
	}
	return "existing machine " + s.ID
}

func optional(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}
