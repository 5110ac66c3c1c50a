package provisioner

import (
	"context"

	"juju/state/entity"
	"juju/state/modelconfig"
)

// API is what a provisioner needs of the controller, for one model.
type API interface {
	// WatchMachines names machines that appeared, changed their life, were removed or are to be
	// tried again; the first event names all machines.
	WatchMachines(ctx context.Context) (<-chan []string, error)
	// WatchAgents fires when the agent of a machine is no longer connected.
	WatchAgents(ctx context.Context) (<-chan struct{}, error)
	// ModelConfig returns the model's settings, of which a provisioner uses the harvest mode.
	ModelConfig(ctx context.Context) (modelconfig.Config, error)
	// WatchForModelConfigChanges fires when the settings may have changed.
	WatchForModelConfigChanges(ctx context.Context) (<-chan struct{}, error)
	// Machines returns the named machines that exist, or all machines if no ids are given.
	Machines(ctx context.Context, ids ...string) ([]entity.MachineInfo, error)
	// NewPassword sets a new password for a machine's agent and returns it.
	NewPassword(ctx context.Context, machine entity.Tag) (string, error)
	// SetProvisioned records the instance of a machine that has none, and is Alive, or Dying
	// with units on it. It returns entity.NotAlive for a machine that needs no instance,
	// entity.NotFound for one that is gone.
	SetProvisioned(ctx context.Context, machine entity.Tag, instance entity.Instance) error
	// DistributionGroup returns the other machines with units of the services that have units on
	// this one.
	DistributionGroup(ctx context.Context, machine entity.Tag) ([]string, error)
	SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// SetInstanceStatus reports what happened to the machine's instance in the cloud. The data
	// of an error may hold a "hint": how to remove the instance by hand.
	SetInstanceStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// Observe records what the cloud reports of the machine's instance, with its status in a word.
	Observe(ctx context.Context, machine entity.Tag, instance entity.Instance, status string) error
	// LoseInstance clears the machine's instance, which the cloud no longer has. It returns
	// entity.InUse if the machine's agent is connected, which shows that the instance exists.
	LoseInstance(ctx context.Context, machine entity.Tag, missed entity.Instance) error
	// Leftovers returns what forced removals have left in the cloud.
	Leftovers(ctx context.Context) ([]entity.Leftover, error)
	// DropLeftovers deletes the leftovers of an instance that is gone.
	DropLeftovers(ctx context.Context, instance string) error
	// EnsureDead makes a machine that has no instance and is not Alive Dead; entity.InUse while
	// units are on it.
	EnsureDead(ctx context.Context, tag entity.Tag) error
	// RemoveMachine removes a Dead machine; nil when it is already gone, and entity.InUse for a
	// manual one whose agent is connected.
	RemoveMachine(ctx context.Context, machine entity.Tag) error
}
