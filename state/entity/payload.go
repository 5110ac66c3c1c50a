package entity

import "slices"

// A Payload is something that a unit's charm runs outside of Juju, such as a container of Docker, as the charm reports it.
// A unit has one of each class.
type Payload struct {
	Class  string   `json:"class" bson:"class"` // as in the charm's metadata
	Type   string   `json:"type" bson:"type"`
	ID     string   `json:"id" bson:"id"` // what the charm calls it
	Status string   `json:"status" bson:"status"`
	Labels []string `json:"labels,omitempty" bson:"labels,omitempty"`
}

// PayloadStatuses are the statuses of payloads.
var PayloadStatuses = []string{"starting", "running", "stopping", "stopped"}

// Equal reports whether two payloads are the same.
func (p Payload) Equal(other Payload) bool {
	return p.Class == other.Class && p.Type == other.Type && p.ID == other.ID && p.Status == other.Status &&
		slices.Equal(p.Labels, other.Labels)
}

// A UnitPayload is a payload of a unit.
type UnitPayload struct {
	Unit    string
	Machine string // "" before the unit is assigned to one
	Payload
}
