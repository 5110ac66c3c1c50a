package bundle

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

func base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// A layer is one document, or several that are laid over one another. Values are read only when
// all layers are merged.
type layer struct {
	values       map[string]field // by key: series, bundle
	services     map[string]*serviceLayer
	machines     map[string]field
	machinesHere bool
	relations    []field
	saas         map[string]field
}

// A serviceLayer is a service in a layer. It has no fields if the layer removes the service.
type serviceLayer struct {
	at     field
	values map[string]field
	maps   map[string]map[string]field
}

// The keys of a service, of which the second have maps as values. An overlay replaces the
// former, and merges the latter by key.
var (
	serviceValues = []string{"charm", "channel", "revision", "series", "base", "num_units", "to", "expose", "constraints",
		"plan", "trust"}
	serviceMaps = []string{"options", "annotations", "storage", "devices", "bindings", "resources", "offers",
		"exposed-endpoints"}
)

// described are the keys of a bundle that only describe it.
var described = []string{"name", "description", "tags", "docs", "website", "source", "issues", "variables"}

// layer reads a document.
func (r *reader) layer(root field) *layer {
	l := &layer{values: map[string]field{}, services: map[string]*serviceLayer{}, machines: map[string]field{},
		saas: map[string]field{}}
	entries := r.entries(root)
	switch names := basket(entries); {
	case len(names) > 1:
		r.fail(root, "holds several bundles, which is not supported: put each of %s in a file of its own",
			strings.Join(names, ", "))
		return l
	case len(names) == 1:
		entries = r.unpacked(entries, names[0])
	}
	named := "" // the key that the services are below
	for _, e := range entries {
		switch e.key {
		case "applications", "services":
			if named != "" {
				r.fail(e.value, "cannot specify both %s and %s", named, e.key)
				continue
			}
			named = e.key
			for _, s := range r.entries(e.value) {
				l.services[s.key] = r.service(s.value)
			}
		case "machines":
			l.machinesHere = true
			for _, m := range r.entries(e.value) {
				l.machines[m.key] = m.value
			}
		case "relations":
			l.relations = r.items(e.value)
		case "saas":
			for _, s := range r.entries(e.value) {
				l.saas[s.key] = s.value
			}
		case "series", "default-base", "bundle":
			l.values[e.key] = e.value
		default:
			if !slices.Contains(described, e.key) {
				r.warn(e.value, "unknown key, ignored")
			}
		}
	}
	return l
}

// basket returns the names of the bundles in a document of the oldest form, which can have
// several.
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

// unpacked returns the entries of the only bundle in a basket.
func (r *reader) unpacked(entries []entry, name string) (bundle []entry) {
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

func (r *reader) service(at field) *serviceLayer {
	s := &serviceLayer{at: at, values: map[string]field{}, maps: map[string]map[string]field{}}
	for _, e := range r.entries(at) {
		key := e.key
		if key == "scale" { // another name
			key = "num_units"
		}
		switch {
		case key == "num_units" && s.values[key].node != nil:
			name := at.path[strings.LastIndex(at.path, ".")+1:]
			r.fail(e.value, "cannot specify both scale and num_units for application %q", name)
		case slices.Contains(serviceValues, key):
			s.values[key] = e.value
		case slices.Contains(serviceMaps, key):
			s.maps[key] = map[string]field{}
			for _, v := range r.entries(e.value) {
				s.maps[key][v.key] = v.value
			}
		default:
			r.warn(e.value, "unknown key, ignored")
		}
	}
	return s
}

// overlay lays over over l. A service that over has as null is removed with its relations, and
// so is a key of a map.
func (l *layer) overlay(over *layer) {
	maps.Copy(l.values, over.values)
	if over.machinesHere {
		l.machines = over.machines
	}
	l.relations = append(l.relations, over.relations...)
	setOrDelete(l.saas, over.saas)
	for name, s := range over.services {
		if s.at.isEmpty() {
			delete(l.services, name)
			l.relations = slices.DeleteFunc(l.relations, func(f field) bool { return relates(f.node, name) })
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

// setOrDelete sets the values in to that from has, and deletes those that are null in from.
func setOrDelete(to, from map[string]field) {
	for key, f := range from {
		if to[key] = f; f.isNull() {
			delete(to, key)
		}
	}
}

// relates reports whether a relation, as written, has an endpoint of a service.
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
