package deployer

import (
	"context"
	"errors"

	"juju/state/entity"
)

// API is what a deployer needs of the controller. Its parent is a machine, for
// principals, or a unit, for that unit's subordinates.
type API interface {
	// WatchDeployed names units of the parent's that were assigned to it, recalled,
	// or changed their life; the first event names all.
	WatchDeployed(ctx context.Context, parent entity.Tag) (<-chan []string, error)
	// DeployedUnits returns the parent's units with their lives, sorted by name.
	DeployedUnits(ctx context.Context, parent entity.Tag) ([]entity.AgentUnit, error)
	// NewPassword makes a fresh password for the unit's agent and returns it; the
	// one before is void. The unit must be in the parent's charge.
	NewPassword(ctx context.Context, unit entity.Tag) (string, error)
	// RemoveUnit removes a Dead unit, or one whose agent never came up and that is
	// not Alive; nil when it is gone already. entity.InUse or entity.HasSubordinates
	// while only the unit's own agent can end it in order.
	RemoveUnit(ctx context.Context, unit entity.Tag) error
}

// ErrEnded is what Agents.Ensure says of an agent that marked itself as not to be
// started again.
var ErrEnded = errors.New("the agent has ended for good")

// Agents starts and ends the agents of units. It is handed in by the agent that
// runs the deployer, which knows what a unit agent is made of.
type Agents interface {
	// Deployed returns the units that have an agent directory here, sorted.
	Deployed() ([]string, error)
	// Deploy writes the agent's configuration and starts it; on a unit that is
	// deployed already it only makes sure that the agent runs.
	Deploy(ctx context.Context, unit, password string) error
	// Ensure starts the agent of a deployed unit if it does not run. The error wraps
	// ErrEnded when the agent has ended for good.
	Ensure(ctx context.Context, unit string) error
	// Recall ends the agent and removes all it had here.
	Recall(ctx context.Context, unit string) error
	// Ended is signalled when an agent of a deployed unit has ended by itself.
	Ended() <-chan struct{}
}
