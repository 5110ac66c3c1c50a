package ports

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/limits"
	"juju/state/mongo"
)

// Expose exposes endpoints of a service, and replaces what they were exposed to; all endpoints to everyone if there are
// none. Other endpoints stay as they are.
func Expose(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, service modeldb.Service,
	endpoints entity.ExposedEndpoints) error {
	if len(endpoints) == 0 {
		endpoints = entity.Everywhere()
	}
	endpoints = endpoints.Normal()
	if err := checkExposed(ctx, db, o, service, endpoints); err != nil {
		return fmt.Errorf("cannot expose %s: %w", service.Name, err)
	}
	after := maps.Clone(service.ExposedEndpoints())
	if after == nil {
		after = entity.ExposedEndpoints{}
	}
	maps.Copy(after, endpoints)
	count := 0
	for _, to := range after {
		count += len(to.CIDRs) + len(to.Spaces)
	}
	if err := limits.ExposedTo.Check(count); err != nil {
		return fmt.Errorf("cannot expose %s: %w", service.Name, err)
	}
	return setExposed(o, service, after)
}

// checkExposed checks that the charm has the endpoints, and that the spaces exist, and asserts that these stay.
func checkExposed(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, service modeldb.Service,
	endpoints entity.ExposedEndpoints) error {
	ch, err := db.Charm(ctx, service.CharmURL)
	if err != nil {
		return err
	}
	doc, err := db.Networks(ctx)
	if err != nil {
		return err
	}
	has, uses := ch.Meta.Endpoints(), false
	for _, name := range slices.Sorted(maps.Keys(endpoints)) {
		if name != entity.AllEndpoints && !slices.Contains(has, name) {
			return entity.WithHint(entity.Errorf(entity.NotFound, "endpoint %q not found", name),
				"The charm's endpoints: %s", strings.Join(has, ", "))
		}
		to := endpoints[name]
		if err := to.Check(); err != nil {
			return err
		}
		for _, space := range to.Spaces {
			if _, err := networks.Named(doc, space); err != nil {
				return err
			}
			uses = uses || space != entity.AlphaSpace
		}
	}
	if uses {
		networks.Use(o, doc)
	}
	return nil
}

// Unexpose reverts Expose for some endpoints, or for all of the service if there are none. It does not need the charm to
// have them: an upgrade keeps what is exposed.
func Unexpose(o *modeltxn.Ops, service modeldb.Service, endpoints []string) error {
	after := maps.Clone(service.ExposedEndpoints())
	for _, name := range endpoints {
		if _, ok := after[name]; !ok {
			return fmt.Errorf("cannot unexpose %s: %w", service.Name, entity.WithHint(
				entity.Errorf(entity.Invalid, "endpoint %q is not exposed", name), "Exposed are: %v", service.ExposedEndpoints()))
		}
	}
	if len(endpoints) == 0 {
		after = nil
	}
	maps.DeleteFunc(after, func(name string, _ entity.ExposedTo) bool { return slices.Contains(endpoints, name) })
	return setExposed(o, service, after)
}

func setExposed(o *modeltxn.Ops, service modeldb.Service, after entity.ExposedEndpoints) error {
	if after.Equal(service.ExposedEndpoints()) {
		return mongo.ErrNothing
	}
	o.Update(modeldb.ServicesC, service.Name, append(service.KeepsExposed(), modeltxn.IsAlive...),
		modeldb.SetExposed(after))
	return nil
}

// A reach is who can reach the open ports of services, by service.
type reach struct {
	networks modeldb.Networks
	services map[string]entity.ExposedEndpoints
	offered  []modeldb.Relation // those with other models that use offers
}

// reachOf returns the reach of the services that are exposed.
func reachOf(ctx context.Context, db *modeltxn.DB) (reach, error) {
	doc, err := db.Networks(ctx)
	r := reach{networks: doc, services: map[string]entity.ExposedEndpoints{}}
	if err != nil {
		return r, err
	}
	var services []modeldb.Service
	err = db.All(ctx, modeldb.ServicesC, bson.D{{"$or", []bson.D{{{"exposed", true}}, {{"exposures", bson.D{{"$exists", true}}}}}}}, &services)
	for _, s := range services {
		r.services[s.Name] = s.ExposedEndpoints()
	}
	if err != nil {
		return r, err
	}
	err = db.All(ctx, modeldb.RelationsC, bson.D{{"ingress.0", bson.D{{"$exists", true}}}, {"life", entity.Alive},
		{"suspended", bson.D{{"$ne", true}}}}, &r.offered)
	return r, err
}

// consumers returns the subnets from which the models that use a service connect to a port.
func (r reach) consumers(service string, port modeldb.OpenPort) (cidrs []string) {
	for _, d := range r.offered {
		end, err := d.Endpoint(service)
		if err == nil && (len(port.Endpoints) == 0 || slices.Contains(port.Endpoints, end.Name)) {
			cidrs = append(cidrs, d.Ingress...)
		}
	}
	return cidrs
}

// of returns whether everyone can reach a port, or else the networks that can.
func (r reach) of(port modeldb.OpenPort) (everyone bool, cidrs []string) {
	service := entity.UnitService(port.Unit)
	cidrs = r.consumers(service, port)
	for _, to := range r.services[service].Sources(port.Endpoints) {
		cidrs = append(cidrs, to.CIDRs...)
		for _, space := range to.Spaces {
			of, _ := r.networks.SpaceNamed(space)
			for _, s := range of.Subnets {
				cidrs = append(cidrs, s.CIDR)
			}
		}
	}
	if slices.Contains(cidrs, entity.AllIPv4) && slices.Contains(cidrs, entity.AllIPv6) {
		return true, nil
	}
	slices.Sort(cidrs)
	return false, slices.Compact(cidrs)
}

// addFrom adds a port that is open to some networks.
func addFrom(all []entity.PortsFrom, cidrs []string, port entity.PortRange) []entity.PortsFrom {
	for _, cidr := range cidrs {
		i := slices.IndexFunc(all, func(f entity.PortsFrom) bool { return f.CIDR == cidr })
		if i < 0 {
			i, all = len(all), append(all, entity.PortsFrom{CIDR: cidr})
		}
		all[i].Ports = append(all[i].Ports, port)
	}
	return all
}
