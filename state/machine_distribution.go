package state

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// DistributionGroup returns the other machines with units of the services that have units on the
// machine or on its containers. The provisioner spreads them over the cloud's zones.
func (m *Machine) DistributionGroup(ctx context.Context) ([]string, error) {
	containers, err := m.containers()
	if err != nil {
		return nil, err
	}
	own := []string{m.doc.ID}
	for _, c := range containers {
		own = append(own, c.doc.ID)
	}
	mine, err := m.st.units(bson.D{{"machine", bson.D{{"$in", own}}}})
	if err != nil {
		return nil, err
	}
	var services []string
	for _, u := range mine {
		services = append(services, u.doc.Service)
	}
	group := []string{}
	all, err := m.st.units(bson.D{{"service", bson.D{{"$in", notNil(services)}}}, {"machine", bson.D{{"$nin", own}}}})
	for _, u := range all {
		if u.doc.Machine != "" {
			group = append(group, u.doc.Machine)
		}
	}
	slices.SortFunc(group, entity.CompareNatural)
	return slices.Compact(group), err
}
