package entity

import "time"

// A HistoryKind selects which statuses of an entity a history contains. The words are Juju's.
type HistoryKind string

// The kinds. HistoryUnit asks for both of the two that follow, HistoryMachine for both kinds of a
// machine.
const (
	HistoryUnit         HistoryKind = "unit"
	HistoryUnitAgent    HistoryKind = "juju-unit"
	HistoryWorkload     HistoryKind = "workload"
	HistoryMachine      HistoryKind = "machine" // in an answer: what the cloud says
	HistoryMachineAgent HistoryKind = "juju-machine"
)

// HistoryKinds are all kinds, in the order in which errors list them.
var HistoryKinds = []HistoryKind{HistoryUnit, HistoryUnitAgent, HistoryWorkload, HistoryMachine, HistoryMachineAgent}

// A PastStatus is a status that an entity had, or has now. Its kind is never HistoryUnit.
type PastStatus struct {
	Kind HistoryKind
	Status
}

// A HistoryFilter selects a part of a history; the zero value selects everything.
type HistoryFilter struct {
	Size    int       // the maximum number, of the newest; 0 for any number
	From    time.Time // none older than this
	Exclude []string  // none with one of these messages
}
