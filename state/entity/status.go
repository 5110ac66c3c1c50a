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

// Cause returns why the workload is in error: how the hook failed, and the last line that it
// printed. It is "" for other statuses.
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

// Explained returns the message and, if the workload is in error, the cause.
func (s Status) Explained() string {
	if cause := s.Cause(); cause != "" {
		return s.Message + " (" + cause + ")"
	}
	return s.Message
}

// A StatusWord is one of the constants below.
type StatusWord string

// The words for a unit's workload. Charms may set the first four.
const (
	StatusMaintenance StatusWord = "maintenance"
	StatusBlocked     StatusWord = "blocked"
	StatusWaiting     StatusWord = "waiting"
	StatusActive      StatusWord = "active"
	StatusUnknown     StatusWord = "unknown"
	StatusTerminated  StatusWord = "terminated"
)

// The words for an agent or a machine. StatusError is also that of a workload whose hook has
// failed.
const (
	StatusAllocating StatusWord = "allocating"
	StatusExecuting  StatusWord = "executing"
	StatusIdle       StatusWord = "idle"
	StatusError      StatusWord = "error"
	StatusFailed     StatusWord = "failed"
	StatusLost       StatusWord = "lost"
	StatusRebooting  StatusWord = "rebooting"
	StatusPending    StatusWord = "pending"
	StatusStarted    StatusWord = "started"
	StatusStopped    StatusWord = "stopped"
	StatusDown       StatusWord = "down"
	// StatusMissing is that of an instance which the cloud does not list any more.
	StatusMissing StatusWord = "missing"
)

// The words for a model.
const (
	StatusAvailable  StatusWord = "available"
	StatusDestroying StatusWord = "destroying"
)

// WorkloadWords are the words that a charm may set, in the order in which errors list them.
var WorkloadWords = []StatusWord{StatusMaintenance, StatusBlocked, StatusWaiting, StatusActive}

// The words that each agent may set. A cloud has words of its own.
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

// Worst returns the most severe of the statuses, the first of equals. It is the status of a
// service that has set none. Without any it is unknown.
func Worst(all []Status) Status {
	worst := Status{Status: StatusUnknown}
	for i, s := range all {
		if i == 0 || severity[s.Status] > severity[worst.Status] {
			worst = s
		}
	}
	return worst
}
