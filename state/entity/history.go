package entity

import "time"

// A HistoryKind selects which statuses of an entity a history contains. The names are Juju's.
type HistoryKind string

// The kinds. In a request, HistoryUnit selects both HistoryUnitAgent and HistoryWorkload, and
// HistoryMachine both kinds of a machine.
const (
	HistoryUnit         HistoryKind = "unit"
	HistoryUnitAgent    HistoryKind = "juju-unit"
	HistoryWorkload     HistoryKind = "workload"
	HistoryMachine      HistoryKind = "machine" // in a response: the instance's status
	HistoryMachineAgent HistoryKind = "juju-machine"
	HistoryService      HistoryKind = "application" // the statuses that the service's leader has set
	HistoryRemote       HistoryKind = "saas"        // of a service of another model
)

// HistoryKinds are all kinds, in the order in which errors list them.
var HistoryKinds = []HistoryKind{HistoryUnit, HistoryUnitAgent, HistoryWorkload, HistoryMachine, HistoryMachineAgent, HistoryService, HistoryRemote}

// A PastStatus is a past or current status of an entity. Its kind is never HistoryUnit.
type PastStatus struct {
	Kind HistoryKind
	Status
}

// A HistoryFilter selects a part of a history; the zero value selects everything.
type HistoryFilter struct {
	Size    int       // at most this many, the newest; 0 for no limit
	From    time.Time // omit older ones
	Exclude []string  // omit those with one of these messages
}
