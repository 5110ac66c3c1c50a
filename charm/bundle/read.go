package bundle

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"juju/charm"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// Read reads a bundle from the first document of the first source and merges all other documents
// into it in order, as overlays. Its error is an Errors that lists every malformed value.
func Read(sources ...Source) (*Bundle, error) {
	r := &reader{}
	var all *layer
	for i := range sources {
		src := &sources[i]
		roots, err := safeyaml.ParseAll(src.Text, safeyaml.Default)
		if bad := (*safeyaml.Error)(nil); errors.As(err, &bad) {
			r.mistakes = append(r.mistakes, &charm.FileError{File: src.Name, Line: bad.Line, Err: bad.Err})
		} else if err != nil {
			return nil, err
		}
		for _, root := range roots {
			l := r.layer(field{src: src, node: root})
			if all == nil {
				all = l
			} else {
				all.overlay(l)
			}
		}
	}
	if all == nil {
		all = &layer{}
	}
	b := r.bundle(all)
	if len(r.mistakes) > 0 {
		return nil, Errors(r.mistakes)
	}
	b.Warnings = r.warnings
	return b, nil
}

// bundle parses the values of the merged layers.
func (r *reader) bundle(l *layer) *Bundle {
	b := &Bundle{Services: map[string]*Service{}, Machines: map[string]*Machine{}, SAAS: map[string]string{}}
	if f, ok := l.values["series"]; ok {
		b.Series = r.text(f)
	}
	if f, ok := l.values["default-base"]; ok {
		b.Base = r.text(f)
	}
	if f, ok := l.values["bundle"]; ok && r.text(f) != "" {
		if kind := r.text(f); kind == "kubernetes" {
			r.fail(f, "Kubernetes bundles are not supported")
		} else {
			r.fail(f, "bundle has an invalid type %q", kind)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.services)) {
		b.Services[name] = r.service(name, l.services[name])
	}
	for _, id := range slices.Sorted(maps.Keys(l.machines)) {
		b.Machines[id] = r.machine(l.machines[id])
	}
	for _, f := range l.relations {
		b.Relations = append(b.Relations, r.relation(f)...)
	}
	for _, name := range slices.Sorted(maps.Keys(l.saas)) {
		b.SAAS[name] = r.saas(l.saas[name])
	}
	return b
}

func (r *reader) service(name string, l *serviceLayer) *Service {
	s := &Service{Dir: l.at.src.Dir}
	if l.at.isNull() {
		r.fail(l.at, "bundle application for key %q is undefined", name)
		return s
	}
	for _, key := range serviceValues {
		f, ok := l.values[key]
		if !ok {
			continue
		}
		switch key {
		case "charm":
			s.Charm, s.Dir = r.text(f), f.src.Dir
		case "series":
			s.Series = r.text(f)
		case "base":
			s.Base = r.text(f)
		case "num_units":
			s.Units, s.UnitsGiven = r.integer(f), true
		case "to":
			for _, item := range r.items(f) {
				s.To = append(s.To, r.text(item))
			}
		case "expose":
			expose := r.boolean(f)
			s.Expose = &expose
		case "constraints":
			s.Constraints, s.ConstraintsGiven = r.text(f), true
		case "trust":
			s.Trust = r.boolean(f)
		default: // channel, revision, plan
			r.warn(f, "ignored: there is no charm store")
		}
	}
	for _, key := range serviceMaps {
		values := l.maps[key]
		if len(values) == 0 {
			continue
		}
		switch key {
		case "options":
			s.options = map[string]*yaml.Node{}
			for option, f := range values {
				if f.node.Kind != yaml.ScalarNode {
					r.expected(f, "one value")
				} else if !f.isNull() {
					s.options[option] = r.resolveInclude(f)
				}
			}
		case "annotations":
			s.Annotations = r.texts(r.included(values))
		case "storage":
			s.Storage = r.texts(values)
		case "bindings":
			s.Bindings = r.texts(values)
		case "resources":
			s.Resources = r.resources(values)
		case "offers":
			s.Offers = r.offers(values)
		case "exposed-endpoints":
			s.ExposedEndpoints = r.exposed(values)
			if s.Expose != nil && *s.Expose {
				r.fail(l.at, "exposed-endpoints cannot be specified together with \"exposed:true\" in application %q as this poses a "+
					"security risk when deploying bundles to older controllers", name)
			}
		default:
			s.Unsupported = append(s.Unsupported, key)
		}
	}
	return s
}

// exposed returns to whom endpoints are exposed.
func (r *reader) exposed(values map[string]field) entity.ExposedEndpoints {
	all := entity.ExposedEndpoints{}
	for _, endpoint := range slices.Sorted(maps.Keys(values)) {
		var to entity.ExposedTo
		for _, e := range r.entries(values[endpoint]) {
			var names []string
			for _, item := range r.items(e.value) {
				names = append(names, r.text(item))
			}
			switch e.key {
			case "expose-to-spaces":
				to.Spaces = names
			case "expose-to-cidrs":
				to.CIDRs = names
			default:
				r.warn(e.value, "unknown key, ignored")
			}
		}
		if err := to.Check(); err != nil {
			r.fail(values[endpoint], "%v", err)
		}
		all[endpoint] = to
	}
	return all
}

// saas returns the URL of the offer that a remote service uses.
func (r *reader) saas(at field) (url string) {
	for _, e := range r.entries(at) {
		if e.key == "url" {
			url = r.text(e.value)
		} else {
			r.warn(e.value, "unknown key, ignored")
		}
	}
	return url
}

// offers returns the offers of a service.
func (r *reader) offers(values map[string]field) map[string]*Offer {
	all := map[string]*Offer{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		o := &Offer{}
		for _, e := range r.entries(values[name]) {
			switch e.key {
			case "endpoints":
				for _, item := range r.items(e.value) {
					o.Endpoints = append(o.Endpoints, r.text(item))
				}
				slices.Sort(o.Endpoints)
				o.Endpoints = slices.Compact(o.Endpoints)
			case "acl":
				o.ACL = r.texts(r.fields(e.value))
			default:
				r.warn(e.value, "unknown key, ignored")
			}
		}
		all[name] = o
	}
	return all
}

// resources returns the files of resources. A number is a charm store revision, and is ignored.
func (r *reader) resources(values map[string]field) map[string]File {
	files := map[string]File{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f := values[name]
		if f.node.Kind == yaml.ScalarNode && f.node.ShortTag() == "!!int" {
			r.warn(f, "ignored: there is no charm store")
			continue
		}
		path := r.text(f)
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(f.src.Dir, path)
		}
		files[name] = File{path, f.src.Dir}
	}
	return files
}

func (r *reader) machine(at field) *Machine {
	m := &Machine{}
	for _, e := range r.entries(at) {
		switch e.key {
		case "constraints":
			m.Constraints = r.text(e.value)
		case "series":
			m.Series = r.text(e.value)
		case "base":
			m.Base = r.text(e.value)
		case "annotations":
			m.Annotations = r.texts(r.included(r.fields(e.value)))
		default:
			r.warn(e.value, "unknown key, ignored")
		}
	}
	return m
}

// relation returns the endpoint pairs of one element of relations. If the second endpoint is a
// list, the first is related to each endpoint in it.
func (r *reader) relation(f field) (pairs [][]string) {
	if f.node.Kind != yaml.SequenceNode {
		r.expected(f, "list of two endpoints")
		return nil
	}
	items := r.items(f)
	if len(items) == 2 && items[1].node.Kind == yaml.SequenceNode {
		first := r.text(items[0])
		for _, item := range r.items(items[1]) {
			pairs = append(pairs, []string{first, r.text(item)})
		}
		return pairs
	}
	pair := []string{}
	for _, item := range items {
		pair = append(pair, r.text(item))
	}
	return [][]string{pair}
}
