package provisioner

import (
	"context"

	"juju/state/entity"
	"juju/state/modelconfig"
)

// API is what a provisioner needs of the controller, for one model.
type API interface {
	// WatchMachines reports the ids of machines that were added or removed, whose life changed, or that a user
	// has retried; the first event names all machines.
	WatchMachines(ctx context.Context) (<-chan []string, error)
	// WatchAgents fires when the agent of a machine is no longer connected.
	WatchAgents(ctx context.Context) (<-chan struct{}, error)
	// ModelConfig returns the model's settings. The provisioner uses the harvest mode.
	ModelConfig(ctx context.Context) (modelconfig.Config, error)
	// WatchForModelConfigChanges fires when the settings may have changed.
	WatchForModelConfigChanges(ctx context.Context) (<-chan struct{}, error)
	// Machines returns the named machines that exist, or all machines if no ids are given.
	Machines(ctx context.Context, ids ...string) ([]entity.MachineInfo, error)
	// NewPassword sets a new password for a machine's agent and returns it.
	NewPassword(ctx context.Context, machine entity.Tag) (string, error)
	// SetProvisioned records the instance of a machine that has none and is Alive, or Dying with units on it.
	// It returns entity.NotAlive for a machine that needs no instance, entity.NotFound for one that was removed.
	SetProvisioned(ctx context.Context, machine entity.Tag, instance entity.Instance) error
	// DistributionGroup returns the other machines that share a service with this one.
	DistributionGroup(ctx context.Context, machine entity.Tag) ([]string, error)
	// MachineSpaces returns the spaces that are demanded of the machine's instance.
	MachineSpaces(ctx context.Context, machine entity.Tag) (entity.MachineSpaces, error)
	// CharmProfiles returns the profiles of charms that the machine's instance should have.
	CharmProfiles(ctx context.Context, machine entity.Tag) ([]entity.CharmProfile, error)
	SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// SetInstanceStatus sets the status of the machine's instance. The data of an error may have a "hint" on
	// how to remove the instance by hand.
	SetInstanceStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// Observe records the addresses, hardware and status that the cloud reports for the machine's instance.
	Observe(ctx context.Context, machine entity.Tag, instance entity.Instance, status string) error
	// LoseInstance clears the machine's instance, which the cloud no longer has. It returns
	// entity.InUse if the machine's agent is connected, because then the instance must exist.
	LoseInstance(ctx context.Context, machine entity.Tag, missed entity.Instance) error
	// Leftovers returns the records of what forced removals left in the cloud.
	Leftovers(ctx context.Context) ([]entity.Leftover, error)
	// DropLeftovers deletes the records of an instance that no longer exists.
	DropLeftovers(ctx context.Context, instance string) error
	// EnsureDead makes a Dying machine without an instance Dead. It returns entity.InUse while the machine has
	// units.
	EnsureDead(ctx context.Context, tag entity.Tag) error
	// RemoveMachine removes a Dead machine. It returns nil if the machine is already removed, and entity.InUse
	// for a manual one whose agent is connected.
	RemoveMachine(ctx context.Context, machine entity.Tag) error
}
