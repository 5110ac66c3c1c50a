package state

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/networks"
)

// Spaces returns the spaces that its constraints, and the bindings of the services with units on it, demand of the machine's
// instance. The error is entity.Invalid if the model lacks one of them.
func (m *Machine) Spaces(ctx context.Context) (entity.MachineSpaces, error) {
	text, err := m.st.db.Constraints(ctx, modeldb.MachineKey(m.doc.ID))
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	own, err := constraints.Parse(text)
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	units, err := m.st.units(ctx, bson.D{{"machine", m.doc.ID}})
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	names := mapped(units, func(u *Unit) string { return u.doc.Service })
	services, err := m.st.db.Services(ctx, bson.D{{"_id", bson.D{{"$in", notNil(names)}}}})
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	doc, err := m.st.db.Networks(ctx)
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	want, err := networks.DemandsOf(doc, own, services...)
	if entity.IsNotFound(err) { // to the caller, what is not found would be the machine
		err = entity.WithHint(entity.Errorf(entity.Invalid, "%v", err), "%s", entity.Hint(err))
	}
	return want, err
}

// DistributionGroup returns the other machines with units of the services that have units on the machine or its
// containers, and for a controller's machine those of the other controllers. The provisioner distributes them across the
// cloud's zones.
func (m *Machine) DistributionGroup(ctx context.Context) ([]string, error) {
	containers, err := m.containers(ctx)
	if err != nil {
		return nil, err
	}
	own := []string{m.doc.ID}
	for _, c := range containers {
		own = append(own, c.doc.ID)
	}
	mine, err := m.st.units(ctx, bson.D{{"machine", bson.D{{"$in", own}}}})
	if err != nil {
		return nil, err
	}
	var services []string
	for _, u := range mine {
		services = append(services, u.doc.Service)
	}
	group := []string{}
	all, err := m.st.units(ctx, bson.D{{"service", bson.D{{"$in", notNil(services)}}}, {"machine", bson.D{{"$nin", own}}}})
	for _, u := range all {
		if u.doc.Machine != "" {
			group = append(group, u.doc.Machine)
		}
	}
	if err == nil && m.IsManager() {
		var managers []modeldb.Machine
		err = m.st.db.All(ctx, modeldb.MachinesC, bson.D{{"jobs", modeldb.JobManageModel}, {"_id", bson.D{{"$ne", m.doc.ID}}}}, &managers)
		for _, other := range managers {
			group = append(group, other.ID)
		}
	}
	slices.SortFunc(group, entity.CompareNatural)
	return slices.Compact(group), err
}
