package entity

import (
	"slices"
	"strings"
)

// A Base is an operating system and its channel, which Juju's clients use instead of a series. The
// zero Base means that none was given.
type Base struct {
	Name    string `json:"name"`
	Channel string `json:"channel"`
}

// bases lists the series whose base has a different name. Any other series is sent as a base of the
// same name without a channel, so that no series is lost on the wire.
var bases = []struct{ series, name, release string }{
	{"precise", "ubuntu", "12.04"},
	{"trusty", "ubuntu", "14.04"},
	{"xenial", "ubuntu", "16.04"},
	{"bionic", "ubuntu", "18.04"},
	{"focal", "ubuntu", "20.04"},
	{"jammy", "ubuntu", "22.04"},
	{"noble", "ubuntu", "24.04"},
	{"resolute", "ubuntu", "26.04"},
	{"buster", "debian", "10"},
	{"bullseye", "debian", "11"},
	{"bookworm", "debian", "12"},
	{"trixie", "debian", "13"},
}

// BaseOf returns the base of a series.
func BaseOf(series string) Base {
	for _, b := range bases {
		if b.series == series {
			return Base{Name: b.name, Channel: b.release + "/stable"}
		}
	}
	return Base{Name: series}
}

// ParseBase parses a base such as "ubuntu@22.04" or "ubuntu@22.04/stable", or the series of one, such as "jammy". os is
// the operating system of a text that lacks it, such as "22.04"; "" if it must not. The error is Invalid if no series has
// the base.
func ParseBase(text, os string) (Base, error) {
	name, channel, ok := strings.Cut(text, "@")
	switch base := BaseOf(text); {
	case ok:
	case base.Channel != "":
		return base, nil
	case os != "":
		text, name, channel = os+"@"+text, os, text
	default:
		return Base{}, WithHint(Errorf(Invalid, "expected base string to contain os and channel separated by '@', got %q", text),
			"Give a base as in ubuntu@22.04 or debian@12")
	}
	release, risk, hasRisk := strings.Cut(channel, "/")
	for _, known := range bases {
		if known.name == name && known.release == release && (!hasRisk || risk == "stable") {
			return BaseOf(known.series), nil
		}
	}
	var all []string
	for _, known := range bases {
		all = append(all, known.name+"@"+known.release)
	}
	return Base{}, WithHint(Errorf(Invalid, "unknown base %q", text), "Known bases: %s", strings.Join(all, ", "))
}

// String returns the base as ParseBase reads it, such as "ubuntu@22.04/stable".
func (b Base) String() string {
	if b.Channel == "" {
		return b.Name
	}
	return b.Name + "@" + b.Channel
}

// Short returns the base as people write it, such as "ubuntu@22.04".
func (b Base) Short() string { return strings.TrimSuffix(b.String(), "/stable") }

// Series returns the series of the base; "" for the zero Base. It ignores the risk in a channel such
// as "22.04/edge".
func (b Base) Series() string {
	release, _, _ := strings.Cut(b.Channel, "/")
	for _, known := range bases {
		if known.name == b.Name && known.release == release {
			return known.series
		}
	}
	return b.Name
}

// SeriesOf returns the series of a base as bundles write it, "" if it is not known.
func SeriesOf(base string) string {
	name, channel, _ := strings.Cut(base, "@")
	if series := (Base{Name: name, Channel: channel}).Series(); series != name {
		return series
	}
	return ""
}

// DefaultBase is the base of new machines for charms that support it and users who ask for no other.
var DefaultBase = Base{Name: "ubuntu", Channel: "24.04/stable"}

// A CharmBase is a base that a charm was built for, and the architectures of its machines; none for all.
type CharmBase struct {
	Base
	Architectures []string `json:"architectures,omitempty"`
}

// Platforms are what a charm says that it runs on. Bases are those of its manifest, in order. Series are the known ones
// of Bases, or without Bases those that its metadata lists, the preferred one first. Without either, it runs on all.
type Platforms struct {
	Series []string
	Bases  []CharmBase
}

// Supports reports whether the charm runs on a series.
func (p Platforms) Supports(series string) bool {
	return len(p.Series) == 0 && len(p.Bases) == 0 || slices.Contains(p.Series, series)
}

// BaseNames returns the charm's bases as people write them, each once: "ubuntu@22.04".
func (p Platforms) BaseNames() (names []string) {
	for _, b := range p.Bases {
		if name := b.Short(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(p.Bases) == 0 {
		for _, series := range p.Series {
			names = append(names, BaseOf(series).Short())
		}
	}
	return names
}

// Unsupported returns the error for a base that a user wants and the charm does not support.
func (p Platforms) Unsupported(series string) error {
	if len(p.Bases) == 0 {
		return Errorf(Invalid, "series %q not supported by charm, supported series are: %s", series,
			strings.Join(p.Series, ","))
	}
	return Errorf(Invalid, "base %q is not supported, supported bases are: %s", BaseOf(series),
		strings.Join(p.BaseNames(), ", "))
}

// Architectures returns those of the machines that the charm runs on; none for all. If series is one of the charm's, they
// are those of its bases only.
func (p Platforms) Architectures(series string) (all []string) {
	for _, b := range p.Bases {
		switch {
		case slices.Contains(p.Series, series) && b.Series() != series:
		case len(b.Architectures) == 0:
			return nil
		default:
			all = append(all, b.Architectures...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
