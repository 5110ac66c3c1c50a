package deployer

import (
	"context"
	"errors"

	"juju/state/entity"
)

// API is what a deployer needs of the controller. Its parent is a machine, for principals, or a
// unit, for that unit's subordinates.
type API interface {
	// WatchDeployed reports the names of the parent's units that were assigned or unassigned, or whose life
	// changed; the first event names all of them.
	WatchDeployed(ctx context.Context, parent entity.Tag) (<-chan []string, error)
	// DeployedUnits returns the parent's units with their lives, sorted by name.
	DeployedUnits(ctx context.Context, parent entity.Tag) ([]entity.AgentUnit, error)
	// NewPassword sets a new password for the unit's agent and returns it; the old one becomes
	// invalid. The unit must be assigned to the parent.
	NewPassword(ctx context.Context, unit entity.Tag) (string, error)
	// RemoveUnit removes a unit that is Dead, or that is Dying and whose agent never came up.
	// It returns nil if the unit is already removed, and entity.InUse or entity.HasSubordinates
	// while only the unit's own agent can shut it down in order.
	RemoveUnit(ctx context.Context, unit entity.Tag) error
}

// ErrEnded is the error of Agents.Ensure for an agent that has marked itself as terminated.
var ErrEnded = errors.New("the agent has terminated")

// Agents starts and stops the agents of units. The agent that runs the deployer implements it, because it
// knows what a unit agent consists of.
type Agents interface {
	// Deployed returns the units that have an agent directory here, sorted.
	Deployed() ([]string, error)
	// Deploy writes the agent's configuration and starts the agent. If the unit is already
	// deployed, it only makes sure that the agent runs.
	Deploy(ctx context.Context, unit, password string) error
	// Ensure starts the agent of a deployed unit if it is not running. The error wraps ErrEnded if the agent
	// has terminated.
	Ensure(ctx context.Context, unit string) error
	// Recall stops the agent and removes its files.
	Recall(ctx context.Context, unit string) error
	// Ended receives a value when the agent of a deployed unit exits on its own.
	Ended() <-chan struct{}
}
