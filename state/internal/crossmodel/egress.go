package crossmodel

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/limits"
)

// egress returns the subnets that the connections of a model's units to a remote service come from, sorted: those of the
// relation or of the model, or else the units' own addresses, up to a limit. It does not read what units say in the relation,
// because whoever controls a unit could have ports opened to everyone.
func egress(ctx context.Context, db *modeltxn.DB, r modeldb.Relation, units []string) ([]string, error) {
	model, err := db.Model(ctx)
	if err != nil {
		return nil, err
	}
	all := r.Egress(model)
	if len(all) == 0 {
		if all, err = addresses(ctx, db, r, units); err != nil {
			return nil, err
		}
	}
	all = slices.Compact(slices.SortedFunc(slices.Values(all), entity.CompareCIDRs))
	return all[:min(len(all), limits.ExposedTo.Max)], nil
}

// addresses returns the subnets of the addresses that units use in a relation.
func addresses(ctx context.Context, db *modeltxn.DB, r modeldb.Relation, units []string) (all []string, err error) {
	if len(units) == 0 {
		return nil, nil
	}
	doc, err := db.Networks(ctx)
	if err != nil {
		return nil, err
	}
	far, _ := r.RemoteEnd()
	near := r.Counterpart(far.Service)
	service, err := db.Service(ctx, near.Service)
	if entity.IsNotFound(err) {
		return nil, nil // it was removed meanwhile
	} else if err != nil {
		return nil, err
	}
	docs, err := db.Units(ctx, bson.D{{"_id", bson.D{{"$in", units}}}})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, u := range docs {
		id, err := db.MachineOf(ctx, u)
		if err != nil && !entity.IsNotFound(err) {
			return nil, err
		}
		ids = append(ids, id)
	}
	machines, err := db.Machines(ctx, bson.D{{"_id", bson.D{{"$in", ids}}}})
	for _, m := range machines {
		address, _ := networks.AddressFor(doc, service, near.Name, m.Addresses)
		if subnet := entity.HostSubnet(address); subnet != "" {
			all = append(all, subnet)
		}
	}
	return all, err
}
