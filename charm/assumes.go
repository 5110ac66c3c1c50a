package charm

import (
	"errors"
	"fmt"
	"strings"
)

// An Assumption is a requirement in the field assumes: a feature, or a list of requirements of which any
// (AnyOf) or all (AllOf) must be met.
type Assumption struct {
	AnyOf, AllOf []Assumption

	Feature string // "juju", "k8s-api"
	Op      string // ">=", "<", or "" for any version
	Version Version
}

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
		wrong := f.refuse("A feature has a version at most, with >= or <: k8s-api, juju >= 3.6, juju < 4",
			"malformed feature expression %q", s)
		if len(words) != 1 && len(words) != 3 || !featurePattern.MatchString(words[0]) {
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
		return a, f.errorf(`malformed composite expression; expected an "any-of" or "all-of" block`)
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

// Unmet returns the error that lists which requirements in assumes are not met, or nil. A charm can be deployed all the
// same; who does that has to be warned.
func (m *Meta) Unmet() error {
	var why []string
	for _, a := range m.Assumes {
		why = append(why, a.unmet()...)
	}
	if len(why) == 0 {
		return nil
	}
	return &helpError{&ruleError{errors.New(strings.Join(listOf("Charm cannot be deployed because:", why), "\n"))},
		"Look for a release of the charm for Juju " + Contract.String() + ". To run this one all the same: --force"}
}

// unmet returns why the requirement is not met, as the lines of an item of a list; nil if it is met.
func (a Assumption) unmet() []string {
	switch {
	case a.Feature == "juju":
		if order := Contract.Compare(a.Version); a.Op == ">=" && order < 0 || a.Op == "<" && order >= 0 {
			return []string{fmt.Sprintf("- charm requires Juju version %s %s, model has version %s", a.Op, a.Version, Contract)}
		}
		return nil
	case a.Feature == "k8s-api":
		return []string{"- charm must be deployed on a Kubernetes cloud"}
	case a.Feature != "":
		return []string{fmt.Sprintf("- charm requires feature %q but model does not support it", a.Feature)}
	}
	title, all := "- charm requires all of the following:", a.AllOf
	if len(a.AnyOf) > 0 {
		title, all = "- charm requires at least one of the following:", a.AnyOf
	}
	var lines []string
	for _, b := range all {
		why := b.unmet()
		if len(why) == 0 && len(a.AnyOf) > 0 {
			return nil
		}
		lines = append(lines, why...)
	}
	if len(lines) == 0 {
		return nil
	}
	return listOf(title, lines)
}

// listOf returns lines below a title, indented.
func listOf(title string, lines []string) []string {
	all := []string{title}
	for _, line := range lines {
		all = append(all, "  "+line)
	}
	return all
}
