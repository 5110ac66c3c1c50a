package entity

import (
	"slices"
	"time"
)

// A Status is a status word, a message, data and a time.
type Status struct {
	Status  StatusWord     `json:"status"`
	Message string         `json:"message,omitempty"`
	Data    map[string]any `json:"data,omitempty"`
	Since   time.Time      `json:"since"`
}

// Cause returns why the workload is in error: how the hook failed, and the last line it printed. It
// is "" for other statuses.
func (s Status) Cause() string {
	reason, _ := s.Data["reason"].(string)
	line, _ := s.Data["last-line"].(string)
	switch {
	case s.Status != StatusError:
		return ""
	case reason != "" && line != "":
		reason += ": " + line
	}
	return reason
}

// Explained returns the message, followed by the cause if the workload is in error.
func (s Status) Explained() string {
	if cause := s.Cause(); cause != "" {
		return s.Message + " (" + cause + ")"
	}
	return s.Message
}

// A StatusWord is one of the constants below.
type StatusWord string

// The statuses of a unit's workload. Charms may set the first four.
const (
	StatusMaintenance StatusWord = "maintenance"
	StatusBlocked     StatusWord = "blocked"
	StatusWaiting     StatusWord = "waiting"
	StatusActive      StatusWord = "active"
	StatusUnknown     StatusWord = "unknown"
	StatusTerminated  StatusWord = "terminated"
)

// The statuses of an agent or a machine. StatusError is also the status of a workload whose hook
// failed.
const (
	StatusAllocating StatusWord = "allocating"
	StatusExecuting  StatusWord = "executing"
	StatusIdle       StatusWord = "idle"
	StatusApplied    StatusWord = "applied" // of the profiles of an instance
	StatusError      StatusWord = "error"
	StatusFailed     StatusWord = "failed"
	StatusLost       StatusWord = "lost"
	StatusRebooting  StatusWord = "rebooting"
	StatusPending    StatusWord = "pending"
	StatusStarted    StatusWord = "started"
	StatusStopped    StatusWord = "stopped"
	StatusDown       StatusWord = "down"
	// StatusMissing is the status of an instance that the cloud no longer lists.
	StatusMissing StatusWord = "missing"
)

// The statuses of a model.
const (
	StatusAvailable  StatusWord = "available"
	StatusDestroying StatusWord = "destroying"
)

// WorkloadWords are the statuses that a charm may set, in the order in which errors list them.
var WorkloadWords = []StatusWord{StatusMaintenance, StatusBlocked, StatusWaiting, StatusActive}

// The statuses that each agent may set. Clouds have statuses of their own.
var (
	UnitWords  = append(slices.Clone(WorkloadWords), StatusError, StatusUnknown, StatusTerminated)
	AgentWords = []StatusWord{StatusAllocating, StatusExecuting, StatusIdle, StatusError, StatusFailed, StatusLost,
		StatusRebooting}
	StorageWords = []StatusWord{StatusError} // the others follow from the records
	MachineWords = []StatusWord{StatusPending, StatusStarted, StatusStopped, StatusError, StatusDown}
)

// CheckWorkload returns an Invalid error unless a charm may set w.
func CheckWorkload(w StatusWord) error {
	for _, ok := range WorkloadWords {
		if w == ok {
			return nil
		}
	}
	return Errorf(Invalid, "invalid status %q, expected one of %v", string(w), WorkloadWords)
}

// severity orders the statuses of units for the status of their service.
var severity = map[StatusWord]int{
	StatusError: 100, StatusBlocked: 90, StatusMaintenance: 80, StatusWaiting: 70,
	StatusActive: 60, StatusTerminated: 50, StatusUnknown: 40,
}

// Worst returns the most severe of the statuses, the first if several are equally severe, or unknown
// if there are none. It is the status of a service whose charm has not set one.
func Worst(all []Status) Status {
	worst := Status{Status: StatusUnknown}
	for i, s := range all {
		if i == 0 || severity[s.Status] > severity[worst.Status] {
			worst = s
		}
	}
	return worst
}
