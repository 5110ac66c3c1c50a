package charm

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"juju/state/entity"
)

// Contract is the Juju release whose contract with charms is implemented here: hooks, their environment
// and the hook tools. Charms see it as JUJU_VERSION, and clients as the version of every agent.
var Contract = func() Version {
	v, err := ParseVersion(entity.JujuVersion)
	if err != nil {
		panic(err)
	}
	return v
}()

// Compare orders versions by release: 2.9-beta1 < 2.9-rc1 < 2.9.0. It returns a negative number if v is
// older than w, and 0 if they are equal.
func (v Version) Compare(w Version) int {
	tag := func(v Version) string { return cmp.Or(v.Tag, "release") } // alpha, beta and rc sort before it
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(tag(v), tag(w)),
		cmp.Compare(v.Patch, w.Patch), cmp.Compare(v.Build, w.Build))
}

// An Assumption is a requirement in the field assumes: a feature, or a list of requirements of which any
// (AnyOf) or all (AllOf) must be met.
type Assumption struct {
	AnyOf, AllOf []Assumption

	Feature string // "juju", "k8s-api"
	Op      string // ">=", "<", or "" for any version
	Version Version
}

// features are the supported features for assumes, with their versions.
var features = map[string]Version{"juju": Contract}

// parseAssumes parses a list of requirements.
func parseAssumes(f field) ([]Assumption, error) {
	items, err := f.items()
	if err != nil {
		return nil, err
	}
	var all []Assumption
	for _, item := range items {
		a, err := parseAssumption(item)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// parseAssumption reads "juju >= 2.9", or a map with the key any-of or all-of.
func parseAssumption(f field) (a Assumption, err error) {
	if s, err := f.text(); err == nil {
		words := strings.Fields(strings.NewReplacer(">=", " >= ", "<", " < ").Replace(s))
		wrong := f.errorf(`expected a feature such as k8s-api, or a version of one such as juju >= 2.9 or juju < 3.0, got `+
			`%q`, s)
		if len(words) != 1 && len(words) != 3 || !namePattern.MatchString(words[0]) {
			return a, wrong
		}
		if a.Feature = words[0]; len(words) == 1 {
			return a, nil
		}
		if a.Op = words[1]; a.Op != ">=" && a.Op != "<" {
			return a, wrong
		}
		if a.Version, err = ParseVersion(words[2]); err != nil {
			// Unlike min-juju-version, this may be a major version alone: juju < 3.
			var majorErr error
			if a.Version, majorErr = ParseVersion(words[2] + ".0"); majorErr != nil {
				return a, f.errorf("%w", err)
			}
		}
		return a, nil
	}
	entries, err := f.entries()
	if err != nil {
		return a, err
	}
	if len(entries) != 1 || entries[0].key != "any-of" && entries[0].key != "all-of" {
		return a, f.errorf("expected a feature, any-of or all-of")
	}
	list, err := parseAssumes(entries[0].value)
	if err == nil && len(list) == 0 {
		err = entries[0].value.expected("list")
	}
	if entries[0].key == "any-of" {
		a.AnyOf = list
	} else {
		a.AllOf = list
	}
	return a, err
}

// unmet returns why the requirement is not met, as the lines of a list; nil if it is met.
func (a Assumption) unmet() []string {
	switch {
	case a.Feature != "":
		have, ok := features[a.Feature]
		switch order := have.Compare(a.Version); {
		case !ok:
			return []string{fmt.Sprintf("charm requires feature %q but model does not support it", a.Feature)}
		case a.Op == ">=" && order < 0, a.Op == "<" && order >= 0:
			return []string{fmt.Sprintf("charm requires feature %q (version %s %s) but model currently supports version %s",
				a.Feature, a.Op, a.Version, have)}
		}
		return nil
	case len(a.AnyOf) > 0:
		var lines []string
		for _, b := range a.AnyOf {
			why := b.unmet()
			if len(why) == 0 {
				return nil
			}
			lines = append(lines, why...)
		}
		return indented("charm requires at least one of the following:", lines)
	}
	var lines []string
	for _, b := range a.AllOf {
		lines = append(lines, b.unmet()...)
	}
	return indented("charm requires all of the following:", lines)
}

// indented returns a list of lines below a title, or nothing if there are none.
func indented(title string, lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	all := []string{title}
	for _, line := range lines {
		item := "  " + line
		if !strings.HasPrefix(line, "  ") {
			item = "  - " + line
		}
		all = append(all, item)
	}
	return all
}

// checkContract rejects charms that require more than the contract: a later Juju, an unsupported
// feature, or something that gaps lists as refused.
func (c *Charm) checkContract() error {
	var errs []error
	help := fmt.Sprintf("Charms get what Juju %s gives them, whatever the version of this program, and this charm wants "+
		"another Juju: look for a release of it for Juju %d.%d", Contract, Contract.Major, Contract.Minor)
	refuse := func(field, format string, args ...any) {
		err := &helpError{fmt.Errorf(format, args...), help}
		errs = append(errs, &FileError{File: metaFile, Field: field, Err: err})
	}
	m := c.Meta
	if m.MinJujuVersion.Compare(Contract) > 0 {
		refuse("min-juju-version",
			"Charm's min version (%s) is higher than this juju environment's version (%s)", m.MinJujuVersion, Contract)
	}
	if why := (Assumption{AllOf: m.Assumes}).unmet(); len(why) > 0 {
		refuse("assumes", "Charm feature requirements cannot be met:\n    - %s", strings.Join(why, "\n    "))
	}
	for _, g := range gaps {
		if names := g.names(c); g.refused && len(names) > 0 {
			errs = append(errs, &FileError{File: g.file, Err: fmt.Errorf("%s %s: %s", g.what, listed(names), g.why)})
		}
	}
	return errors.Join(errs...)
}
