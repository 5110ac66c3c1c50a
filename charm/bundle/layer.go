package bundle

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// A layer is one document, or several merged ones. Values are parsed only once all layers are
// merged.
type layer struct {
	values      map[string]field // top-level scalars by key: series, bundle
	services    map[string]*serviceLayer
	machines    map[string]field
	hasMachines bool // there is a machines section, even if it is empty
	relations   []field
	saas        map[string]field
}

// A serviceLayer is a service in a layer. It is empty if the layer removes the service.
type serviceLayer struct {
	at     field
	values map[string]field
	maps   map[string]map[string]field
}

// The keys of a service. An overlay replaces values and merges maps by key.
var (
	serviceValues = []string{"charm", "channel", "revision", "series", "base", "num_units", "to", "expose", "constraints",
		"plan", "trust"}
	serviceMaps = []string{"options", "annotations", "storage", "devices", "bindings", "resources", "offers",
		"exposed-endpoints"}
)

// ignoredKeys are the keys of a bundle that are ignored without a warning.
var ignoredKeys = []string{"name", "description", "tags", "docs", "website", "source", "issues", "variables"}

// layer splits a document into its sections.
func (r *reader) layer(root field) *layer {
	l := &layer{values: map[string]field{}, services: map[string]*serviceLayer{}, machines: map[string]field{},
		saas: map[string]field{}}
	entries := r.entries(root)
	switch names := basket(entries); {
	case len(names) > 1:
		r.fail(root, "contains several bundles, which is not supported: put each of %s in its own file",
			strings.Join(names, ", "))
		return l
	case len(names) == 1:
		entries = r.unpackBasket(entries, names[0])
	}
	servicesKey := ""
	for _, e := range entries {
		switch e.key {
		case "applications", "services":
			if servicesKey != "" {
				r.fail(e.value, "cannot specify both %s and %s", servicesKey, e.key)
				continue
			}
			servicesKey = e.key
			for _, s := range r.entries(e.value) {
				l.services[s.key] = r.serviceLayer(s.value)
			}
		case "machines":
			l.hasMachines = true
			l.machines = r.fields(e.value)
		case "relations":
			l.relations = r.items(e.value)
		case "saas":
			l.saas = r.fields(e.value)
		case "series", "default-base", "bundle":
			l.values[e.key] = e.value
		default:
			if !slices.Contains(ignoredKeys, e.key) {
				r.warn(e.value, "unknown key, ignored")
			}
		}
	}
	return l
}

// basket returns the names of the bundles in a basket, Juju's oldest format: a map of named
// bundles. It returns nil for any other document.
func basket(entries []entry) (names []string) {
	for _, e := range entries {
		if e.key == "services" || e.key == "applications" || e.key == "relations" {
			return nil
		}
		value := e.value.node
		for j := 0; value.Kind == yaml.MappingNode && j+1 < len(value.Content); j += 2 {
			if inner := value.Content[j].Value; inner == "services" || inner == "inherits" {
				names = append(names, e.key)
				break
			}
		}
	}
	return names
}

// unpackBasket returns the entries of the named bundle, the only one in its basket.
func (r *reader) unpackBasket(entries []entry, name string) (bundle []entry) {
	for _, e := range entries {
		if e.key != name {
			r.warn(e.value, "unknown key, ignored")
			continue
		}
		bundle = r.entries(e.value)
	}
	for _, e := range bundle {
		if e.key == "inherits" {
			r.fail(e.value, "inherits from a bundle that is not in the file")
		}
	}
	return bundle
}

func (r *reader) serviceLayer(at field) *serviceLayer {
	s := &serviceLayer{at: at, values: map[string]field{}, maps: map[string]map[string]field{}}
	for _, e := range r.entries(at) {
		key := e.key
		if key == "scale" { // the Kubernetes name
			key = "num_units"
		}
		switch {
		case key == "num_units" && s.values[key].node != nil:
			name := at.path[strings.LastIndex(at.path, ".")+1:]
			r.fail(e.value, "cannot specify both scale and num_units for application %q", name)
		case slices.Contains(serviceValues, key):
			s.values[key] = e.value
		case slices.Contains(serviceMaps, key):
			s.maps[key] = r.fields(e.value)
		default:
			r.warn(e.value, "unknown key, ignored")
		}
	}
	return s
}

// unrelate removes the relations of a service.
func (l *layer) unrelate(name string) {
	l.relations = slices.DeleteFunc(l.relations, func(f field) bool { return relates(f.node, name) })
}

// overlay merges over into l. A null service or saas removes it and its relations; a null value in
// a map removes its key.
func (l *layer) overlay(over *layer) {
	maps.Copy(l.values, over.values)
	if over.hasMachines {
		l.machines = over.machines
	}
	l.relations = append(l.relations, over.relations...)
	setOrDelete(l.saas, over.saas)
	for name, f := range over.saas {
		if f.isNull() {
			l.unrelate(name)
		}
	}
	for name, s := range over.services {
		if s.at.isEmpty() {
			delete(l.services, name)
			l.unrelate(name)
			continue
		}
		below, ok := l.services[name]
		if !ok {
			l.services[name] = s
			continue
		}
		setOrDelete(below.values, s.values)
		for key, values := range s.maps {
			if len(values) == 0 || below.maps[key] == nil {
				below.maps[key] = map[string]field{}
			}
			setOrDelete(below.maps[key], values)
		}
	}
}

// setOrDelete copies from into to, where a null value deletes the key.
func setOrDelete(to, from map[string]field) {
	for key, f := range from {
		if to[key] = f; f.isNull() {
			delete(to, key)
		}
	}
}

// relates reports whether a relation, as written, has an endpoint of service.
func relates(n *yaml.Node, service string) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode {
		name, _, _ := strings.Cut(n.Value, ":")
		return name == service
	}
	return slices.ContainsFunc(n.Content, func(end *yaml.Node) bool { return relates(end, service) })
}
