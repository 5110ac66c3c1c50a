package entity

import "time"

// A HistoryKind says which statuses of an entity a history is of. The words are
// Juju's.
type HistoryKind string

// The kinds. What is asked for by HistoryUnit is of the two that follow, what by
// HistoryMachine is of both kinds that a machine has.
const (
	HistoryUnit         HistoryKind = "unit"
	HistoryUnitAgent    HistoryKind = "juju-unit"
	HistoryWorkload     HistoryKind = "workload"
	HistoryMachine      HistoryKind = "machine" // in an answer: what the cloud says
	HistoryMachineAgent HistoryKind = "juju-machine"
)

// HistoryKinds are all kinds, as a refusal lists them.
var HistoryKinds = []HistoryKind{HistoryUnit, HistoryUnitAgent, HistoryWorkload, HistoryMachine, HistoryMachineAgent}

// A PastStatus is one that an entity had, or has now. Its kind is never HistoryUnit.
type PastStatus struct {
	Kind HistoryKind
	Status
}

// A HistoryFilter chooses from a history; the zero value chooses all.
type HistoryFilter struct {
	Size    int       // how many at the most, the newest; 0 for any number
	From    time.Time // none that is older
	Exclude []string  // none with one of these messages
}
