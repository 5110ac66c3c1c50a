package deployer

import (
	"context"
	"errors"

	"juju/state/entity"
)

// API is what a deployer needs of the controller. Its parent is a machine, for principals, or a
// unit, for that unit's subordinates.
type API interface {
	// WatchDeployed names the parent's units that were assigned, recalled, or changed their
	// life; the first event names all of them.
	WatchDeployed(ctx context.Context, parent entity.Tag) (<-chan []string, error)
	// DeployedUnits returns the parent's units with their lives, sorted by name.
	DeployedUnits(ctx context.Context, parent entity.Tag) ([]entity.AgentUnit, error)
	// NewPassword sets a new password for the unit's agent and returns it; the old one becomes
	// invalid. The unit must be assigned to the parent.
	NewPassword(ctx context.Context, unit entity.Tag) (string, error)
	// RemoveUnit removes a unit that is Dead, or that is Dying and whose agent never came up.
	// It returns nil when the unit is already gone, and entity.InUse or entity.HasSubordinates
	// while only the unit's own agent can end it in order.
	RemoveUnit(ctx context.Context, unit entity.Tag) error
}

// ErrEnded is the error of Agents.Ensure for an agent that has marked itself as ended for good.
var ErrEnded = errors.New("the agent has ended for good")

// Agents starts and ends the agents of units. The agent that runs the deployer provides it,
// since it knows what a unit agent consists of.
type Agents interface {
	// Deployed returns the units that have an agent directory here, sorted.
	Deployed() ([]string, error)
	// Deploy writes the agent's configuration and starts the agent. If the unit is already
	// deployed, it only makes sure that the agent runs.
	Deploy(ctx context.Context, unit, password string) error
	// Ensure starts the agent of a deployed unit unless it runs. The error wraps ErrEnded when
	// the agent has ended for good.
	Ensure(ctx context.Context, unit string) error
	// Recall ends the agent and removes its files.
	Recall(ctx context.Context, unit string) error
	// Ended receives a value when the agent of a deployed unit ends by itself.
	Ended() <-chan struct{}
}
