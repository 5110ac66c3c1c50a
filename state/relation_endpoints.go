package state

import (
	"context"
	"slices"
	"strings"

	"juju/charm"
	"juju/state/entity"
)

// An Endpoint is one end of a relation: a service, and a relation that its charm
// declares.
type Endpoint struct {
	Service   string `bson:"service"`
	Name      string `bson:"name"`
	Role      string `bson:"role"`
	Interface string `bson:"interface"`
	Scope     string `bson:"scope"`
	Implicit  bool   `bson:"implicit,omitempty"`
}

// String returns the form that users write, such as "mysql:server".
func (e Endpoint) String() string { return e.Service + ":" + e.Name }

// endpointsOf returns the endpoints of a service with this charm, including those that
// every charm has without declaring them.
func endpointsOf(service string, meta *charm.Meta) []Endpoint {
	var ends []Endpoint
	for name, r := range meta.Relations() {
		ends = append(ends, Endpoint{service, name, string(r.Role), r.Interface, string(r.Scope), false})
	}
	if r := charm.ImplicitRelation(); !slices.ContainsFunc(ends, func(e Endpoint) bool { return e.Name == r.Name }) {
		ends = append(ends, Endpoint{service, r.Name, string(r.Role), r.Interface, string(r.Scope), true})
	}
	entity.SortBy(ends, Endpoint.String)
	return ends
}

func (e Endpoint) canRelateTo(o Endpoint) bool {
	peer := string(charm.RolePeer)
	return e.Service != o.Service && e.Interface == o.Interface && e.Role != peer && o.Role != peer && e.Role != o.Role
}

func ambiguous(names, keys []string) error {
	slices.Sort(keys)
	return entity.WithHint(
		entity.Errorf(entity.Invalid, "ambiguous relation: %q could refer to %s", strings.Join(names, " "), quoteAll(keys)),
		"Name the endpoints, as in: %s", keys[0])
}

// inferEndpoints returns the pairs of endpoints that the names can mean, at least one. Endpoints that
// charms declare are preferred to those that every charm has: the others are those left out for that.
func (st *State) inferEndpoints(ctx context.Context, names []string) (found, others [][]Endpoint, err error) {
	var sides [][]Endpoint
	for _, name := range names {
		ends, err := st.endpointsNamed(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		sides = append(sides, ends)
	}
	switch len(sides) {
	case 1:
		for _, e := range sides[0] {
			if e.Role == string(charm.RolePeer) {
				found = append(found, []Endpoint{e})
			}
		}
	case 2:
		for _, a := range sides[0] {
			for _, b := range sides[1] {
				if a.canRelateTo(b) {
					found = append(found, []Endpoint{a, b})
				}
			}
		}
	default:
		return nil, nil, entity.Errorf(entity.Invalid, "a relation must involve two services")
	}
	implicit := func(ends []Endpoint) bool {
		return slices.ContainsFunc(ends, func(e Endpoint) bool { return e.Implicit })
	}
	if explicit := slices.DeleteFunc(slices.Clone(found), implicit); len(explicit) > 0 {
		found, others = explicit, slices.DeleteFunc(found, func(ends []Endpoint) bool { return !implicit(ends) })
	}
	if len(found) == 0 {
		return nil, nil, entity.WithHint(entity.Errorf(entity.NotFound, "no relations found"),
			"The charms of %s have no endpoints with one interface in common.", strings.Join(names, " and "))
	}
	return found, others, nil
}

// endpointsNamed returns the endpoints that "service" or "service:endpoint" can mean.
func (st *State) endpointsNamed(ctx context.Context, name string) ([]Endpoint, error) {
	service, endpoint, named := strings.Cut(name, ":")
	if named && endpoint == "" || !entity.IsValidService(service) {
		return nil, entity.InvalidEndpoint(name)
	}
	svc, err := st.Service(ctx, service)
	if err != nil {
		return nil, err
	}
	ch, err := st.Charms().Get(ctx, svc.doc.CharmURL)
	if err != nil {
		return nil, err
	}
	all := endpointsOf(service, ch.Meta)
	if !named {
		return all, nil
	}
	for _, e := range all {
		if e.Name == endpoint {
			return []Endpoint{e}, nil
		}
	}
	return nil, entity.Errorf(entity.NotFound, "service %q has no %q relation", service, endpoint)
}

// sameServices reports whether two relation keys are between the same services.
func sameServices(key, other string) bool {
	a, b := endpointServices(key), endpointServices(other)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// endpointServices returns the services in a relation's key.
func endpointServices(key string) []string {
	var services []string
	for _, end := range strings.Fields(key) {
		service, _, _ := strings.Cut(end, ":")
		services = append(services, service)
	}
	return services
}
