// Package simulationtest is a reference model of a model: the rules for machines,
// units, services and relations, written a second time by hand, without
// transactions, documents or tables. A test applies the same actions to the
// reference model and to the real state, and compares their answers and what
// they hold afterwards.
//
// It imports nothing of state/lifecycle, and doc/layers.txt keeps it so.
package simulationtest
