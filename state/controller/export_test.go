package controller

import (
	"maps"
	"slices"
)

// Checked returns the collections that have rules, and the reasons why the
// others have none.
func Checked() (ruled []string, unruledBecause map[string]string) {
	return slices.Collect(maps.Keys(fields)), unruled
}
