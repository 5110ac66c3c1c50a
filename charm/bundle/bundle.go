package bundle

import (
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/charm/safeyaml"
)

// A Source is a file that holds a bundle or an overlay, or several of them as documents.
type Source struct {
	Name string // of the file, as errors show it
	Text []byte
	Dir  string // the directory that relative paths in the file begin in
	// Include reads the file at a path that an option or annotation includes.
	Include func(path string) ([]byte, error)
}

// A Bundle is a bundle merged with its overlays. Its maps are keyed by service name and by the bundle's
// machine ids.
type Bundle struct {
	Series   string // of services that name none; may be ""
	Base     string // as Juju 3 writes the series: "ubuntu@22.04"; see Verify
	Services map[string]*Service
	Machines map[string]*Machine
	// Relations are as written, each with two endpoints unless that is a mistake; an endpoint is
	// "service" or "service:relation".
	Relations [][]string
	// Unsupported are the parts that are not about single services and that Juju has and this
	// program does not: "saas".
	Unsupported []string
	// Warnings list content without effect.
	Warnings []string
}

// A Service is a service in a bundle.
type Service struct {
	Charm            string // a path or a URL
	Dir              string // the directory that a relative path begins in
	Series           string // "" if the bundle names none
	Base             string
	Units            int
	UnitsGiven       bool     // the bundle says how many units
	To               []string // placements of the first units, as written
	Expose           *bool    // nil if the bundle says nothing
	Annotations      map[string]string
	Resources        map[string]string // the paths of the files for the charm's resources
	Constraints      string
	ConstraintsGiven bool // even if as ""
	Trust            bool // the charm wants the cloud's credential
	// Storage is what the units get for the charm's stores, as users write it: "fast,10G".
	Storage map[string]string
	// Unsupported are the service's parts that Juju has and this program does not: "devices".
	Unsupported []string

	options map[string]*yaml.Node
}

// A Machine is a machine in a bundle.
type Machine struct {
	Constraints string
	Series      string
	Base        string
	Annotations map[string]string
}

// IsPath reports whether a charm is named by a path rather than by a URL.
func IsPath(charm string) bool { return strings.HasPrefix(charm, ".") || filepath.IsAbs(charm) }

// CharmPath returns the path of the charm, "" if it is named by a URL.
func (s *Service) CharmPath() string {
	switch {
	case !IsPath(s.Charm):
		return ""
	case filepath.IsAbs(s.Charm):
		return s.Charm
	}
	return filepath.Join(s.Dir, s.Charm)
}

// OptionsYAML returns the options as a YAML map of options below the service's name, or "" if
// there are none. Scalars are quoted as in the bundle, so that yes remains a boolean.
func (s *Service) OptionsYAML(name string) (string, error) {
	if len(s.options) == 0 {
		return "", nil
	}
	text, err := safeyaml.Marshal(map[string]map[string]*yaml.Node{name: s.options}, 4)
	return string(text), err
}

// Errors are all mistakes in a bundle.
type Errors []error

// Error has a line for each mistake after a first line, in Juju's words.
func (e Errors) Error() string {
	lines := []string{"the provided bundle has the following errors:"}
	for _, err := range e {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes.
func (e Errors) Unwrap() []error { return e }
