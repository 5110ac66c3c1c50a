// Package simulationtest is a reference implementation of a model: the rules for
// machines, units, services and relations, written by hand a second time, without
// transactions, documents or tables. Tests apply the same actions to the
// reference and to the real state, and compare the results and the data.
//
// It imports nothing from state/lifecycle, and doc/layers.txt enforces that.
package simulationtest
