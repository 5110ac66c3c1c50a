package charm

import (
	"slices"
	"strings"

	"juju/state/entity"
)

// ReadManifest adds to m the bases in manifest.yaml, which charmcraft puts into a charm. They go before the series of
// metadata.yaml. The other keys are about the build.
func (m *Meta) ReadManifest(data []byte) error {
	root, err := parseYAML(manifestFile, data)
	if err != nil {
		return err
	}
	fs, err := root.fields()
	if err != nil {
		return err
	}
	items, err := fs.get("bases").items()
	if err != nil {
		return err
	}
	for _, item := range items {
		b, err := parseBase(item)
		if err != nil {
			return err
		}
		m.Bases = append(m.Bases, b)
	}
	if len(m.Bases) == 0 {
		return nil
	}
	m.Series = nil
	for _, b := range m.Bases {
		if series := entity.SeriesOf(b.String()); series != "" && !slices.Contains(m.Series, series) {
			m.Series = append(m.Series, series)
		}
	}
	return nil
}

// checkFormat rejects fields that the charm's format forbids. A charm has format 2 if its manifest has bases and its
// metadata has no series, else 1.
func (m *Meta) checkFormat(metadataSeries bool) error {
	field, format, help := "", "v1", ""
	switch v2 := len(m.Bases) > 0 && !metadataSeries; {
	case v2 && m.MinJujuVersion != Version{}:
		field, format, help = "min-juju-version", "v2", "Say it with assumes: [juju >= "+m.MinJujuVersion.String()+"]"
	case v2 && m.Deployment:
		field, format, help = "deployment", "v2", "It was for Kubernetes charms of format 1: leave it out"
	case !v2 && len(m.Assumes) > 0:
		field, help = "assumes", "It is for charms that charmcraft has packed, which have bases in "+manifestFile+
			" and no series in "+metaFile
	default:
		return nil
	}
	return &helpError{&FileError{File: metaFile, Field: field, Err: invalidf("%s in metadata %s not valid", field, format)}, help}
}

// archNames are the names that Juju gives to architectures which others call differently.
var archNames = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el"}

// parseBase reads one of the bases: {name: ubuntu, channel: "24.04", architectures: [amd64]}.
func parseBase(f field) (b entity.CharmBase, err error) {
	fs, err := f.fields()
	if err != nil {
		return b, err
	}
	name, channel := fs.get("name"), fs.get("channel")
	if b.Name, err = name.text(); err != nil {
		return b, err
	}
	if b.Channel, err = channel.written(); err != nil {
		return b, err
	}
	b.Name = strings.ToLower(b.Name)
	if b.Name == "" || strings.ContainsAny(b.Name, "@/ ") {
		return b, name.errorf("expected the name of a base, got %q", b.Name)
	}
	if b.Channel == "" || strings.ContainsAny(b.Channel, "@ ") {
		return b, channel.errorf("expected the channel of a base, got %q", b.Channel)
	}
	if !strings.Contains(b.Channel, "/") {
		b.Channel += "/stable"
	}
	all, err := fs.get("architectures").texts()
	for _, arch := range all {
		if arch == "all" {
			b.Architectures = nil
			break
		}
		if known, ok := archNames[arch]; ok {
			arch = known
		}
		b.Architectures = append(b.Architectures, arch)
	}
	return b, err
}
