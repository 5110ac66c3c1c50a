package modeldb

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/limits"
)

// A Status is a status that was set. The initial status of a unit or machine is not
// stored, because it follows from the entity.
type Status struct {
	ID      string            `bson:"_id"`
	Status  entity.StatusWord `bson:"status"`
	Message string            `bson:"message"`
	Data    map[string]any    `bson:"data,omitempty"`
	Since   time.Time         `bson:"since"`
	// Kept is set once the status is in the history. An initial status is added there
	// when it is replaced.
	Kept bool `bson:"kept,omitempty"`
	// Version is the workload version of a service, or of a unit with the status of its workload; it changes
	// independently of the status.
	Version string `bson:"version,omitempty"`

	Unset bool `bson:"-"` // an initial status, which is not stored
}

// Mended returns the status with any damage repaired for display; the zero Status if
// the document is missing.
func (d Status) Mended() entity.Status {
	if d.ID == "" {
		return entity.Status{}
	}
	return limits.MendStatus(entity.Status{Status: d.Status, Message: d.Message, Data: UnescapeKeys(d.Data), Since: d.Since})
}

func NewStatus(key string, s entity.Status, now time.Time) Status {
	if s.Since.IsZero() {
		s.Since = now
	}
	// Truncate to MongoDB's precision, so that reads return exactly what was written.
	return Status{ID: key, Status: s.Status, Message: s.Message, Data: EscapeKeys(s.Data),
		Since: s.Since.UTC().Truncate(time.Millisecond)}
}

// FirstStatus returns the initial status of a unit or machine under a key.
func FirstStatus(key string, its Birth) Status {
	first := entity.Status{Status: entity.StatusPending, Since: its.Born}
	switch {
	case strings.HasSuffix(key, "#workload"):
		first.Status, first.Message = entity.StatusWaiting, WaitsForMachine
	case strings.HasPrefix(key, "u#"):
		first.Status = entity.StatusAllocating
	}
	doc := NewStatus(key, first, its.Born)
	doc.Unset = true
	return doc
}

// WaitsForMachine is the status message of a new unit.
const WaitsForMachine = "waiting for machine"

// InstanceRuns is the status of an instance that the cloud has not reported on.
const InstanceRuns = "running"

// Repeats reports whether a status says the same as the previous one.
func (d Status) Repeats(was Status) bool {
	if d.Status != was.Status || d.Message != was.Message || len(d.Data) != len(was.Data) {
		return false
	}
	// Numbers read from the store may have other types than those to be written.
	now, err1 := json.Marshal(d.Data)
	then, err2 := json.Marshal(was.Data)
	return len(d.Data) == 0 || err1 == nil && err2 == nil && bytes.Equal(now, then)
}

type PastStatus struct {
	ID      bson.ObjectId     `bson:"_id"`
	Key     string            `bson:"key"`
	Status  entity.StatusWord `bson:"status"`
	Message string            `bson:"message"`
	Cause   string            `bson:"cause,omitempty"` // see entity.Status.Cause
	Since   time.Time         `bson:"since"`
}
