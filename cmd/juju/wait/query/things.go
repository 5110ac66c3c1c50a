package query

import (
	"slices"

	"juju/state/entity"
)

// A Kind is what a query is about.
type Kind string

const (
	Model       Kind = "model"
	Application Kind = "application"
	Unit        Kind = "unit"
	Machine     Kind = "machine"
)

// A thing is the model, or a service, unit or machine of it.
type thing struct {
	in      *entity.ModelStatus
	service entity.ServiceStatus
	unit    entity.UnitStatus
	machine entity.MachineStatus
}

// An attribute is what a query can ask of a kind of thing.
type attribute struct {
	value func(thing) any // a string, int, bool or []thing
	typed
}

func text[S ~string](value func(thing) S) attribute {
	return attribute{func(t thing) any { return string(value(t)) }, typed{kind: textType}}
}

func number(value func(thing) int) attribute {
	return attribute{func(t thing) any { return value(t) }, typed{kind: numberType}}
}

func truth(value func(thing) bool) attribute {
	return attribute{func(t thing) any { return value(t) }, typed{kind: boolType}}
}

func list(of Kind, value func(thing) []thing) attribute {
	return attribute{func(t thing) any { return value(t) }, typed{kind: listType, of: of}}
}

// attributes are those that Juju has, as far as a status has them.
var attributes map[Kind]map[string]attribute

func init() { // its functions refer to one another
	attributes = map[Kind]map[string]attribute{
		Model: {
			"name":          text(func(t thing) string { return t.in.Model.Name }),
			"life":          text(func(t thing) string { return t.in.Model.Life.String() }),
			"status":        text(func(t thing) entity.StatusWord { return t.in.Model.Status.Status }),
			"cloud":         text(func(t thing) string { return t.in.Model.ShownCloud() }),
			"is-controller": truth(func(t thing) bool { return t.in.Model.Controller }),
			"applications":  list(Application, thing.services),
			"units":         list(Unit, func(t thing) []thing { return t.units(func(entity.UnitStatus) bool { return true }) }),
			"machines":      list(Machine, func(t thing) []thing { return t.machines(func(string) bool { return true }) }),
		},
		Application: {
			"name":             text(func(t thing) string { return t.service.Name }),
			"life":             text(func(t thing) string { return t.service.Life.String() }),
			"status":           text(func(t thing) entity.StatusWord { return t.service.Status.Status }),
			"status-message":   text(func(t thing) string { return t.service.Status.Message }),
			"charm-url":        text(func(t thing) string { return t.service.CharmURL }),
			"exposed":          truth(func(t thing) bool { return t.service.Exposed }),
			"subordinate":      truth(func(t thing) bool { return t.service.Subordinate }),
			"min-units":        number(func(t thing) int { return t.service.MinUnits }),
			"workload-version": text(func(t thing) string { return t.service.WorkloadVersion }),
			"units":            list(Unit, thing.unitsOfService),
			"machines":         list(Machine, thing.machinesOfService),
		},
		Unit: {
			"name":             text(func(t thing) string { return t.unit.Name }),
			"application":      text(func(t thing) string { return entity.UnitService(t.unit.Name) }),
			"life":             text(func(t thing) string { return t.unit.Life.String() }),
			"status":           text(func(t thing) entity.StatusWord { return t.unit.Workload.Status }),
			"workload-status":  text(func(t thing) entity.StatusWord { return t.unit.Workload.Status }),
			"workload-message": text(func(t thing) string { return t.unit.Workload.Message }),
			"agent-status":     text(func(t thing) entity.StatusWord { return t.unit.Agent.Status }),
			"leader":           truth(func(t thing) bool { return t.unit.Leader }),
			"machine-id":       text(func(t thing) string { return t.unit.Machine }),
			"public-address":   text(func(t thing) string { return t.unit.PublicAddress }),
			"workload-version": text(func(t thing) string { return t.unit.WorkloadVersion }),
			"machines":         list(Machine, func(t thing) []thing { return t.machines(func(id string) bool { return id == t.unit.Machine }) }),
		},
		Machine: {
			"id":              text(func(t thing) string { return t.machine.ID }),
			"life":            text(func(t thing) string { return t.machine.Life.String() }),
			"status":          text(func(t thing) entity.StatusWord { return t.machine.Status.Status }),
			"instance-status": text(func(t thing) entity.StatusWord { return t.machine.InstanceStatus.Status }),
			"instance-id":     text(func(t thing) string { return t.machine.InstanceID }),
			"hardware":        text(func(t thing) string { return t.machine.Hardware }),
			"units": list(Unit, func(t thing) []thing {
				return t.units(func(u entity.UnitStatus) bool { return u.Machine == t.machine.ID })
			}),
		},
	}
}

func (t thing) services() (all []thing) {
	for _, s := range t.in.Services {
		all = append(all, thing{in: t.in, service: s})
	}
	return all
}

func (t thing) units(which func(entity.UnitStatus) bool) (all []thing) {
	for _, u := range t.in.AllUnits() {
		if which(u) {
			all = append(all, thing{in: t.in, unit: u})
		}
	}
	return all
}

func (t thing) machines(which func(id string) bool) (all []thing) {
	for _, one := range t.in.AllMachines() {
		if which(one.ID) {
			all = append(all, thing{in: t.in, machine: one})
		}
	}
	return all
}

func (t thing) unitsOfService() []thing {
	return t.units(func(u entity.UnitStatus) bool { return entity.UnitService(u.Name) == t.service.Name })
}

func (t thing) machinesOfService() []thing {
	units := t.unitsOfService()
	return t.machines(func(id string) bool {
		return slices.ContainsFunc(units, func(u thing) bool { return u.unit.Machine == id })
	})
}

// find returns the thing of that name, if there is one.
func find(m *entity.ModelStatus, kind Kind, name string) (thing, bool) {
	root := thing{in: m}
	var all []thing
	switch kind {
	case Model:
		return root, true
	case Application:
		all = root.services()
		all = slices.DeleteFunc(all, func(t thing) bool { return t.service.Name != name })
	case Unit:
		all = root.units(func(u entity.UnitStatus) bool { return u.Name == name })
	case Machine:
		all = root.machines(func(id string) bool { return id == name })
	}
	if len(all) == 0 {
		return thing{}, false
	}
	return all[0], true
}

// name returns how messages call a thing.
func (t thing) name() string {
	switch {
	case t.unit.Name != "":
		return t.unit.Name
	case t.service.Name != "":
		return t.service.Name
	case t.machine.ID != "":
		return "machine " + t.machine.ID
	}
	return "model " + t.in.Model.Name
}
