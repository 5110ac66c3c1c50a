package bundle

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"juju/charm"
)

// An Endpoint is one end of a relation.
type Endpoint struct {
	Service string
	Name    string // of the relation in the service's charm; "" if not given
}

// String formats e as bundles do.
func (e Endpoint) String() string {
	if e.Name == "" {
		return e.Service
	}
	return e.Service + ":" + e.Name
}

// A Relation is a relation between two services. Both endpoints have names; their order is that in
// the bundle.
type Relation [2]Endpoint

// Key identifies the relation, whatever the order of its endpoints.
func (r Relation) Key() string {
	ends := []string{r[0].String(), r[1].String()}
	slices.Sort(ends)
	return strings.Join(ends, " ")
}

var endpointPattern = regexp.MustCompile(`^(` + nameSnippet + `)(?::([a-z][a-z0-9]*(?:[_-][a-z0-9]+)*))?$`)

func parseEndpoint(text string) (Endpoint, error) {
	m := endpointPattern.FindStringSubmatch(text)
	if m == nil {
		return Endpoint{}, fmt.Errorf("invalid relation syntax %q", text)
	}
	return Endpoint{m[1], m[2]}, nil
}

// ends are the relations that a charm or an offer has, by name.
type ends map[string]charm.Relation

// endsOf returns the relations of a charm, with the implicit one.
func endsOf(meta *charm.Meta) ends {
	declared := meta.Relations()
	if implicit := charm.ImplicitRelation(); declared[implicit.Name].Name == "" {
		declared[implicit.Name] = implicit
	}
	return declared
}

// relations returns the relations that e can refer to: the one that it names, or all of them if it
// names none. Peer relations are left out.
func (e Endpoint) relations(has ends) (all []charm.Relation) {
	for name, r := range has {
		if r.Role != charm.RolePeer && (e.Name == "" || e.Name == name) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b charm.Relation) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// A match is a pair of compatible endpoints.
type match struct {
	relation Relation
	ends     [2]charm.Relation
}

// matches returns the compatible pairs of endpoints that a and b can refer to.
func matches(a, b Endpoint, hasA, hasB ends) (all []match) {
	for _, ra := range a.relations(hasA) {
		for _, rb := range b.relations(hasB) {
			if ra.Interface == rb.Interface && ra.Role.Counterpart() == rb.Role {
				all = append(all, match{Relation{{a.Service, ra.Name}, {b.Service, rb.Name}}, [2]charm.Relation{ra, rb}})
			}
		}
	}
	return all
}

// infer returns the only compatible pair of endpoints that a and b can refer to. An explicit pair
// is preferred to one with the implicit endpoint juju-info.
func infer(a, b Endpoint, hasA, hasB ends) (match, error) {
	all := matches(a, b, hasA, hasB)
	if len(all) == 0 {
		return match{}, errors.New("no relations found")
	}
	if len(all) > 1 {
		implicit := charm.ImplicitRelation().Name
		explicit := slices.DeleteFunc(slices.Clone(all), func(m match) bool {
			return m.ends[0].Name == implicit || m.ends[1].Name == implicit
		})
		if len(explicit) == 1 {
			all = explicit
		}
	}
	if len(all) > 1 {
		var keys []string
		for _, m := range all {
			keys = append(keys, fmt.Sprintf("%q", m.relation.Key()))
		}
		slices.Sort(keys)
		return match{}, fmt.Errorf("ambiguous relation: %q could refer to %s", a.String()+" "+b.String(),
			strings.Join(keys, "; "))
	}
	return all[0], nil
}

// check matches two endpoints that are both named, or returns why they can't be related. whatA and
// whatB describe what has the endpoints.
func check(a, b Endpoint, whatA, whatB string, hasA, hasB ends) (match, []error) {
	ra, rb := a.relations(hasA), b.relations(hasB)
	var mistakes []error
	if len(ra) == 0 {
		mistakes = append(mistakes, fmt.Errorf("%s does not define relation %q", whatA, a.Name))
	}
	if len(rb) == 0 {
		mistakes = append(mistakes, fmt.Errorf("%s does not define relation %q", whatB, b.Name))
	}
	switch {
	case len(mistakes) > 0:
	case ra[0].Role == rb[0].Role:
		mistakes = append(mistakes, fmt.Errorf("relation %q to %q relates %s to %s", a, b, ra[0].Role, rb[0].Role))
	case ra[0].Interface != rb[0].Interface && ra[0].Role == charm.RoleProvider:
		mistakes = append(mistakes, mismatch(a, b, ra[0], rb[0]))
	case ra[0].Interface != rb[0].Interface:
		mistakes = append(mistakes, mismatch(b, a, rb[0], ra[0]))
	default:
		return match{Relation{a, b}, [2]charm.Relation{ra[0], rb[0]}}, nil
	}
	return match{}, mistakes
}

func mismatch(provider, requirer Endpoint, p, r charm.Relation) error {
	return fmt.Errorf("mismatched interface between %q and %q (%q vs %q)", provider, requirer, p.Interface, r.Interface)
}
