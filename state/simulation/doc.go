// Package simulation is a model of a model: what seeds/lifecycles.txt,
// death-and-destruction.txt, subordinates.txt and section 9 of the design say of
// machines, units, services and relations, written down a second time, by hand,
// without transactions, documents or tables. A test does to it what it does to
// the real state, and compares what both answer and what they have become.
//
// It imports nothing of state/lifecycle, and doc/layers.txt keeps it so.
package simulation
