package params

import "juju/state/entity"

// A PayloadList is the parameter of Payloads 1 List. Each pattern is all of a payload's unit, machine, class, type, id,
// status or one of its labels, in any case. Without patterns, all payloads are listed.
type PayloadList struct {
	Patterns []string `json:"patterns"`
}

// A Payload is a payload of a unit.
type Payload struct {
	Class   string   `json:"class"`
	Type    string   `json:"type"`
	ID      string   `json:"id"`
	Status  string   `json:"status"`
	Labels  []string `json:"labels"`
	Unit    Tag      `json:"unit"`
	Machine Tag      `json:"machine"`
}

// PayloadResults is the result of List, by unit and class.
type PayloadResults struct {
	Results []Payload `json:"results"`
}

// PayloadOf returns the wire format of a payload.
func PayloadOf(p entity.UnitPayload) Payload {
	wire := Payload{Class: p.Class, Type: p.Type, ID: p.ID, Status: p.Status, Labels: append([]string{}, p.Labels...),
		Unit: TagOf(entity.UnitTag(p.Unit))}
	if p.Machine != "" {
		wire.Machine = TagOf(entity.MachineTag(p.Machine))
	}
	return wire
}

// Read returns the payload.
func (p Payload) Read() entity.UnitPayload {
	return entity.UnitPayload{Unit: p.Unit.ID, Machine: p.Machine.ID,
		Payload: entity.Payload{Class: p.Class, Type: p.Type, ID: p.ID, Status: p.Status, Labels: p.Labels}}
}
