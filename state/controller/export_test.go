package controller

import (
	"maps"
	"slices"
)

// Checked returns the collections that the rules of the check cover, and why the others are
// not covered.
func Checked() (ruled []string, unruledBecause map[string]string) {
	return slices.Collect(maps.Keys(fields)), unruled
}
