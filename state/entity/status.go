package entity

import "time"

// A Status is a word, the explanation that goes with it, and since when.
type Status struct {
	Status  StatusWord     `json:"status"`
	Message string         `json:"message,omitempty"`
	Data    map[string]any `json:"data,omitempty"`
	Since   time.Time      `json:"since"`
}

// Cause returns why it is so, of a workload that is in error: how the hook has failed,
// and the last line that it printed; "" when that is not known.
func (s Status) Cause() string {
	reason, _ := s.Data["reason"].(string)
	line, _ := s.Data["last-line"].(string)
	if reason == "" || line == "" {
		return reason
	}
	return reason + ": " + line
}

// A StatusWord is one of the constants below.
type StatusWord string

// What a unit's workload can be. The first four are for charms to set.
const (
	StatusMaintenance StatusWord = "maintenance"
	StatusBlocked     StatusWord = "blocked"
	StatusWaiting     StatusWord = "waiting"
	StatusActive      StatusWord = "active"
	StatusUnknown     StatusWord = "unknown"
	StatusTerminated  StatusWord = "terminated"
)

// What an agent, or a machine, can be. StatusError is also what a workload
// shows while a hook of it has failed.
const (
	StatusAllocating StatusWord = "allocating"
	StatusExecuting  StatusWord = "executing"
	StatusIdle       StatusWord = "idle"
	StatusError      StatusWord = "error"
	StatusFailed     StatusWord = "failed"
	StatusLost       StatusWord = "lost"
	StatusPending    StatusWord = "pending"
	StatusStarted    StatusWord = "started"
	StatusStopped    StatusWord = "stopped"
	StatusDown       StatusWord = "down"
)

// What a model can be.
const (
	StatusAvailable  StatusWord = "available"
	StatusDestroying StatusWord = "destroying"
)

// WorkloadWords are those a charm may set, in the order in which the refusal of
// any other lists them.
var WorkloadWords = []StatusWord{StatusMaintenance, StatusBlocked, StatusWaiting, StatusActive}

// CheckWorkload returns an Invalid error unless w is one a charm may set.
func CheckWorkload(w StatusWord) error {
	for _, ok := range WorkloadWords {
		if w == ok {
			return nil
		}
	}
	return Errorf(Invalid, "invalid status %q, expected one of %v", string(w), WorkloadWords)
}

// severity is how much a service's status is moved by a unit's: features.md 1c.
var severity = map[StatusWord]int{
	StatusError: 100, StatusBlocked: 90, StatusMaintenance: 80, StatusWaiting: 70,
	StatusActive: 60, StatusTerminated: 50, StatusUnknown: 40,
}

// Worst returns the most severe of the statuses, the first of equals; it is what
// a service that has set none of its own shows. Of none at all it is unknown.
func Worst(all []Status) Status {
	worst := Status{Status: StatusUnknown}
	for i, s := range all {
		if i == 0 || severity[s.Status] > severity[worst.Status] {
			worst = s
		}
	}
	return worst
}
