package entity

import "time"

// A GoalState is what a unit will see when everything has come to rest: the units of its service,
// itself included, and those it is or will be related to.
type GoalState struct {
	Units map[string]GoalStatus `json:"units"`
	// Relations has, by the unit's own endpoint, the services at the other ends and their units.
	// A service's status is that of the relation. Peer relations have no entry.
	Relations map[string]map[string]GoalStatus `json:"relations"`
}

// A GoalStatus is one entry of a GoalState.
type GoalStatus struct {
	Status string    `json:"status"` // "dying" for what is going
	Since  time.Time `json:"since,omitzero"`
}
