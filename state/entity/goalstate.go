package entity

import "time"

// A GoalState is what a unit will see once the model has settled: the units of its service, including
// itself, and the units that it is or will be related to.
type GoalState struct {
	Units map[string]GoalStatus `json:"units"`
	// Relations maps the unit's own endpoints to the services at the other ends and their units. A
	// service's status is that of the relation. Peer relations have no entry.
	Relations map[string]map[string]GoalStatus `json:"relations"`
}

// A GoalStatus is one entry of a GoalState.
type GoalStatus struct {
	Status string    `json:"status"` // "dying" for what is being removed
	Since  time.Time `json:"since,omitzero"`
}
