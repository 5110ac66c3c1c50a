package controller

import (
	"maps"
	"slices"

	"juju/state"
)

// Checked returns the collections that have rules, and the reasons why the
// others have none.
func Checked() (ruled []string, unruledBecause map[string]string) {
	return slices.Collect(maps.Keys(fields)), unruled
}

// Archives returns the archives of a model.
func (c *Controller) Archives(model string) state.Archives { return archives{c, model} }
