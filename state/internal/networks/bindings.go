package networks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// Bindings returns the names of the spaces to which a service's endpoints are bound, with the default at "".
func Bindings(ctx context.Context, db *modeltxn.DB, service modeldb.Service,
	meta *charm.Meta) (map[string]string, error) {
	var doc modeldb.Networks // which always has alpha
	var err error
	if len(service.Bindings) > 0 {
		doc, err = db.Networks(ctx)
	}
	all := map[string]string{}
	for _, endpoint := range append(meta.Endpoints(), "") {
		all[endpoint] = doc.NameOf(service.SpaceFor(endpoint))
	}
	return all, err
}

// Merge returns a service's bindings with others, given by the names of their spaces, merged in, and asserts that these
// spaces stay. An endpoint that was bound like the default follows it. The error is entity.NotFound for what the model or the
// charm does not have.
func Merge(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, meta *charm.Meta, was []modeldb.Binding,
	others map[string]string) ([]modeldb.Binding, error) {
	doc, err := db.Networks(ctx)
	if err != nil {
		return nil, err
	}
	now := map[string]string{}
	for _, b := range was {
		now[b.Endpoint] = b.Space
	}
	uses := false
	for _, endpoint := range slices.Sorted(maps.Keys(others)) {
		if endpoint != "" && endpoint != charm.ImplicitRelation().Name && !slices.Contains(meta.Endpoints(), endpoint) {
			return nil, entity.WithHint(entity.Errorf(entity.NotFound, "endpoint %q not found", endpoint),
				"The charm %s has: %s", meta.Name, strings.Join(meta.Endpoints(), ", "))
		}
		space, err := Named(doc, others[endpoint])
		if err != nil {
			return nil, err
		}
		now[endpoint] = space.ID
		uses = uses || space.ID != entity.AlphaSpaceID
	}
	if uses {
		Use(o, doc)
	}
	base, ok := now[""]
	if !ok {
		base = entity.AlphaSpaceID
	}
	merged := []modeldb.Binding{}
	for _, endpoint := range slices.Sorted(maps.Keys(now)) {
		if space := now[endpoint]; endpoint == "" && space != entity.AlphaSpaceID || endpoint != "" && space != base {
			merged = append(merged, modeldb.Binding{Endpoint: endpoint, Space: space})
		}
	}
	return merged, nil
}

// Usable returns the bindings of a service that a charm has endpoints for, and the names of the other endpoints.
func Usable(meta *charm.Meta, was []modeldb.Binding) (kept []modeldb.Binding, gone []string) {
	has := append(meta.Endpoints(), "", charm.ImplicitRelation().Name)
	for _, b := range was {
		if slices.Contains(has, b.Endpoint) {
			kept = append(kept, b)
		} else {
			gone = append(gone, b.Endpoint)
		}
	}
	return kept, gone
}

// SetBindings returns the update of a service that replaces its bindings.
func SetBindings(now []modeldb.Binding) bson.DocElem {
	if len(now) == 0 {
		return bson.DocElem{Name: "$unset", Value: bson.D{{"bindings", 1}}}
	}
	return bson.DocElem{Name: "$set", Value: bson.D{{"bindings", now}}}
}

// Use asserts that the spaces stay, in a transaction that makes something use one of them.
func Use(o *modeltxn.Ops, doc modeldb.Networks) {
	if doc.Missing { // the only space is alpha
		o.Assert(modeldb.NetworksC, modeldb.NetworksC, doc.AsRead())
		return
	}
	o.Update(modeldb.NetworksC, modeldb.NetworksC, doc.AsRead(), bson.D{{"$inc", bson.D{{"uses", 1}}}})
}

// Bind merges bindings into those of an Alive service.
func Bind(ctx context.Context, db *modeltxn.DB, name string, bindings map[string]string, force bool) error {
	token := mongo.NewID()
	err := db.Change(ctx, func(o *modeltxn.Ops) error {
		service, err := db.Service(ctx, name)
		if err != nil {
			return err
		}
		ch, err := db.Charm(ctx, service.CharmURL)
		if err != nil {
			return err
		}
		merged, err := Rebinding{token, ch.Meta, bindings, force}.Of(ctx, db, o, service)
		if err != nil {
			return err
		}
		if slices.Equal(merged, service.Bindings) {
			return mongo.ErrNothing
		}
		o.Update(modeldb.ServicesC, name, append(bson.D{{"life", entity.Alive}, {"charm", service.CharmURL}}, service.KeepsBindings()), bson.D{SetBindings(merged)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot bind service %q: %w", name, err)
	}
	return nil
}

// A Rebinding merges bindings into those of an Alive service, which has this charm or gets it.
type Rebinding struct {
	Token    string // distinguishes it from others of the service
	Meta     *charm.Meta
	Bindings map[string]string
	Force    bool // also if units are on machines that have no address in one of the spaces
}

// Of returns the service's bindings with the others merged in. The error is entity.Invalid, and names the machines, if units are
// on machines that have no address in one of the spaces, unless that is forced. What these units have published in their
// relations is left to a cleanup.
func (r Rebinding) Of(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops,
	service modeldb.Service) ([]modeldb.Binding, error) {
	if service.Life != entity.Alive {
		return nil, entity.Errorf(entity.NotAlive, "service is not alive")
	}
	merged, err := Merge(ctx, db, o, r.Meta, service.Bindings, r.Bindings)
	if err != nil || slices.Equal(merged, service.Bindings) {
		return merged, err
	}
	if !r.Force {
		doc, err := db.Networks(ctx)
		if err != nil {
			return nil, err
		}
		places, err := placesOf(ctx, db, o, service)
		if err != nil {
			return nil, err
		}
		now := service // with those that are changed: others may have been forced
		now.Bindings = slices.DeleteFunc(slices.Clone(merged), func(b modeldb.Binding) bool {
			_, changed := r.Bindings[b.Endpoint]
			return !changed
		})
		if err := fulfilled(doc, now, places[service.Name]); err != nil {
			return nil, err
		}
	}
	publish(o, r.Token, service.Name)
	return merged, nil
}

// publish adds the cleanup that has a service's units publish their addresses anew in their relations.
func publish(o *modeltxn.Ops, token, service string) {
	id := modeldb.CleanupAddresses + "-" + token
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: modeldb.CleanupAddresses, Arg: service})
}

// placesOf reads the machines of services' units, by service, in a fixed number of queries. It asserts that the services get no
// other units: what is decided about these machines would not be about theirs.
func placesOf(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops,
	services ...modeldb.Service) (map[string][]modeldb.Machine, error) {
	names, keys := make([]string, len(services)), make([]string, len(services))
	for i, s := range services {
		names[i], keys[i] = s.Name, modeldb.ServiceKey(s.Name)
	}
	if err := o.KeepCounts(ctx, db, keys...); err != nil {
		return nil, err
	}
	units, err := db.Units(ctx, bson.D{{"service", bson.D{{"$in", names}}}})
	if err != nil {
		return nil, err
	}
	principals := []string{}
	for _, u := range units {
		if u.Principal != "" {
			principals = append(principals, u.Principal)
		}
	}
	hosts, err := db.Units(ctx, bson.D{{"_id", bson.D{{"$in", principals}}}})
	if err != nil {
		return nil, err
	}
	on, ids := map[string]string{}, []string{} // the machines of units
	for _, u := range append(hosts, units...) {
		if u.Principal == "" {
			on[u.Name] = u.Machine
			ids = append(ids, u.Machine)
		}
	}
	machines, err := db.Machines(ctx, bson.D{{"_id", bson.D{{"$in", ids}}}})
	if err != nil {
		return nil, err
	}
	byID := map[string]modeldb.Machine{}
	for _, m := range machines {
		byID[m.ID] = m
	}
	of := map[string][]modeldb.Machine{}
	for _, u := range units {
		if m, ok := byID[on[cmp.Or(u.Principal, u.Name)]]; ok {
			of[u.Service] = append(of[u.Service], m)
		}
	}
	return of, nil
}

// fulfilled returns an error that names those of the machines of a service's units that have no address in a space to which
// it is bound. What addresses a machine has is not known before it has some.
func fulfilled(doc modeldb.Networks, service modeldb.Service, machines []modeldb.Machine) error {
	lacking := map[string][]string{}
	for _, m := range machines {
		for _, space := range Lacks(doc, service, m) {
			if !slices.Contains(lacking[space], m.ID) {
				lacking[space] = append(lacking[space], m.ID)
			}
		}
	}
	for _, space := range slices.Sorted(maps.Keys(lacking)) {
		slices.SortFunc(lacking[space], entity.CompareNatural)
		return entity.WithHint(entity.Errorf(entity.Invalid, "machines without an address in space %q: %s", space,
			strings.Join(lacking[space], ", ")), "Their units can't use it. To bind it nevertheless, for other machines: --force")
	}
	return nil
}

// Lacks returns the names of the spaces to which a service is bound and in which a machine has no address; none while it is
// not known which addresses it has.
func Lacks(doc modeldb.Networks, service modeldb.Service, m modeldb.Machine) (names []string) {
	if len(m.Addresses) == 0 {
		return nil
	}
	for _, b := range service.Bindings {
		if name := doc.NameOf(b.Space); name != entity.AlphaSpace && doc.InSpace(b.Space, m.Addresses) == "" &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// AddressFor returns the address of a machine that an endpoint of a service uses: the first in its space. Those that are
// bound to alpha, which is whatever the cloud gives, use the preferred one; so do those that are bound, by force, to a space
// in which the machine has no address, and then ok is false.
func AddressFor(doc modeldb.Networks, service modeldb.Service, endpoint string,
	addresses []string) (address string, ok bool) {
	space := service.SpaceFor(endpoint)
	if len(addresses) == 0 {
		return "", false
	}
	if doc.NameOf(space) == entity.AlphaSpace {
		return addresses[0], true
	}
	if a := doc.InSpace(space, addresses); a != "" {
		return a, true
	}
	return addresses[0], false
}
