package bundle

import (
	"maps"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/charm"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// A Source is a file of one or more YAML documents, each a bundle or an overlay.
type Source struct {
	Name string // the file name shown in errors
	Text []byte
	Dir  string // relative paths in the file are relative to this directory
	// Include reads a file that an option or annotation includes.
	Include func(path string) ([]byte, error)
}

// A Bundle is a bundle merged with its overlays. Its maps are keyed by service name and by the bundle's
// machine ids.
type Bundle struct {
	Series   string // the default for services; may be ""
	Base     string // Juju 3's form of the series: "ubuntu@22.04"; see Verify
	Services map[string]*Service
	Machines map[string]*Machine
	// Relations are as written: each should have two endpoints, "service" or "service:relation".
	// Verify reports those that don't.
	Relations [][]string
	// SAAS maps the names of remote services to the URLs of the offers that they use. Relations can name them.
	SAAS map[string]string
	// Warnings lists content that has no effect.
	Warnings []string
}

// A Service is a service in a bundle.
type Service struct {
	Charm            string // a path or a URL
	Dir              string // a relative charm path is relative to this directory
	Series           string // "" if not set
	Base             string
	Units            int
	UnitsGiven       bool     // num_units is set
	To               []string // placements of the first units, as written
	Expose           *bool    // nil if not set
	ExposedEndpoints entity.ExposedEndpoints
	Annotations      map[string]string
	Resources        map[string]File // by resource name
	Constraints      string
	ConstraintsGiven bool              // constraints are set, possibly to ""
	Trust            bool              // the charm may use the cloud credential
	Bindings         map[string]string // endpoint → space, the default at ""
	// Storage maps the charm's stores to directives, as users write them: "fast,10G".
	Storage map[string]string
	Offers  map[string]*Offer // by name
	// Unsupported lists the service's keys that Juju supports but we don't: "devices".
	Unsupported []string

	options map[string]*yaml.Node
}

// A File is a file that a bundle names.
type File struct {
	Path string // resolved against Dir, if it is relative
	Dir  string // the directory of the source that names it
}

// Has reports whether the bundle has a service or remote service of this name.
func (b *Bundle) Has(name string) bool {
	_, remote := b.SAAS[name]
	return remote || b.Services[name] != nil
}

// An Offer lets services of other models use endpoints of a service.
type Offer struct {
	Endpoints []string          // sorted
	ACL       map[string]string // user → level of access
}

// A Machine is a machine in a bundle.
type Machine struct {
	Constraints string
	Series      string
	Base        string
	Annotations map[string]string
}

// Exposure returns what of the service is exposed, in normal form; given is false if the bundle does not say it.
func (s *Service) Exposure() (endpoints entity.ExposedEndpoints, given bool) {
	switch {
	case len(s.ExposedEndpoints) > 0:
		return s.ExposedEndpoints.Normal(), true
	case s.Expose != nil && *s.Expose:
		return entity.Everywhere(), true
	}
	return nil, s.Expose != nil
}

// IsPath reports whether charm is a path rather than a URL.
func IsPath(charm string) bool { return strings.HasPrefix(charm, ".") || filepath.IsAbs(charm) }

// CharmPath returns the path of the charm, or "" if Charm is a URL.
func (s *Service) CharmPath() string {
	switch {
	case !IsPath(s.Charm):
		return ""
	case filepath.IsAbs(s.Charm):
		return s.Charm
	}
	return filepath.Join(s.Dir, s.Charm)
}

// OptionsYAML returns the service's settings, its trust included, as a YAML map under its name, or "" if there are none.
// Scalars are quoted as in the bundle, so that yes remains a boolean.
func (s *Service) OptionsYAML(name string) (string, error) {
	settings := map[string]*yaml.Node{}
	maps.Copy(settings, s.options)
	if s.Trust {
		settings[charm.Trust] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
	}
	if len(settings) == 0 {
		return "", nil
	}
	text, err := safeyaml.Marshal(map[string]map[string]*yaml.Node{name: settings}, 4)
	return string(text), err
}

// Settings returns the service's settings, its trust included, as its charm's types; nil if there are none.
func (s *Service) Settings(name string, ch *charm.Charm) (map[string]any, error) {
	text, err := s.OptionsYAML(name)
	if err != nil || text == "" {
		return nil, err
	}
	return ch.Config.ForService().ParseSettingsYAML([]byte(text), name)
}

// Errors lists all errors in a bundle.
type Errors []error

// Error returns a heading in Juju's words, then one line per error.
func (e Errors) Error() string {
	lines := []string{"the provided bundle has the following errors:"}
	for _, err := range e {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors.
func (e Errors) Unwrap() []error { return e }
