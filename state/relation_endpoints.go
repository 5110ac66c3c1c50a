package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
)

func ambiguous(names, keys []string) error {
	slices.Sort(keys)
	return entity.WithHint(
		entity.Errorf(entity.Invalid, "ambiguous relation: %q could refer to %s", strings.Join(names, " "), quoteAll(keys)),
		"Specify the endpoints: %s", keys[0])
}

// inferEndpoints returns the matching pairs of endpoints, at least one. Declared endpoints are preferred to implicit
// ones; others are the pairs omitted for that reason.
func (st *State) inferEndpoints(ctx context.Context, names []string) (found, others [][]modeldb.Endpoint, err error) {
	var sides [][]modeldb.Endpoint
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
				found = append(found, []modeldb.Endpoint{e})
			}
		}
	case 2:
		for _, a := range sides[0] {
			for _, b := range sides[1] {
				if a.CanRelateTo(b) {
					found = append(found, []modeldb.Endpoint{a, b})
				}
			}
		}
	default:
		return nil, nil, entity.Errorf(entity.Invalid, "a relation must involve two services")
	}
	implicit := func(ends []modeldb.Endpoint) bool {
		return slices.ContainsFunc(ends, func(e modeldb.Endpoint) bool { return e.Implicit })
	}
	if explicit := slices.DeleteFunc(slices.Clone(found), implicit); len(explicit) > 0 {
		found, others = explicit, slices.DeleteFunc(found, func(ends []modeldb.Endpoint) bool { return !implicit(ends) })
	}
	if len(found) == 0 {
		return nil, nil, entity.WithHint(entity.Errorf(entity.NotFound, "no relations found"),
			"The charms of %s have no endpoints with one interface in common.", strings.Join(names, " and "))
	}
	return found, others, nil
}

// endpointsNamed returns the endpoints that match "service" or "service:endpoint".
func (st *State) endpointsNamed(ctx context.Context, name string) ([]modeldb.Endpoint, error) {
	service, endpoint, named := strings.Cut(name, ":")
	if named && endpoint == "" || !entity.IsValidService(service) {
		return nil, entity.InvalidEndpoint(name)
	}
	all, err := st.endpointsIn(ctx, service)
	if err != nil {
		return nil, err
	}
	if !named {
		return all, nil
	}
	for _, e := range all {
		if e.Name == endpoint {
			return []modeldb.Endpoint{e}, nil
		}
	}
	return nil, noEndpoint(service, endpoint, all)
}

// noEndpoint returns the error of an endpoint that a service lacks. Its hint names those that the charm has itself, if any.
func noEndpoint(service, endpoint string, all []modeldb.Endpoint) error {
	var texts []string
	for _, e := range all {
		if !e.Implicit || len(all) == 1 {
			texts = append(texts, fmt.Sprintf("%s (%s, interface %s)", e.Name, e.Role, e.Interface))
		}
	}
	slices.Sort(texts)
	return entity.WithHint(entity.Errorf(entity.NotFound, "service %q has no %q relation", service, endpoint), "It has %s",
		strings.Join(texts, ", "))
}

// endpointsIn returns the endpoints of a service or remote service.
func (st *State) endpointsIn(ctx context.Context, service string) ([]modeldb.Endpoint, error) {
	svc, err := st.Service(ctx, service)
	if entity.IsNotFound(err) {
		if remote, rerr := st.db.Remote(ctx, service); !entity.IsNotFound(rerr) {
			return remote.Endpoints, rerr
		}
	}
	if err != nil {
		return nil, err
	}
	ch, err := st.db.Charm(ctx, svc.doc.CharmURL)
	if err != nil {
		return nil, err
	}
	return modeldb.EndpointsOf(service, ch.Meta), nil
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
