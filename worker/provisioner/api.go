package provisioner

import (
	"context"

	"juju/state/entity"
)

// API is what a provisioner needs of the controller, for one model.
type API interface {
	// WatchMachines names machines that appeared, changed their life, were removed or
	// shall be tried again; the first event names all.
	WatchMachines(ctx context.Context) (<-chan []string, error)
	// ModelConfig returns the model's settings; a provisioner heeds the harvest mode.
	ModelConfig(ctx context.Context) (entity.ModelConfig, error)
	// WatchForModelConfigChanges fires when those may have changed.
	WatchForModelConfigChanges(ctx context.Context) (<-chan struct{}, error)
	// Machines returns the named machines that exist; all of them for no names.
	Machines(ctx context.Context, ids ...string) ([]entity.MachineInfo, error)
	// NewPassword makes a fresh password for a machine's agent.
	NewPassword(ctx context.Context, machine entity.Tag) (string, error)
	// SetProvisioned records the instance of a machine that has none and is Alive, or
	// Dying with units on it; entity.NotAlive for one that wants none, entity.NotFound
	// for one that is gone.
	SetProvisioned(ctx context.Context, machine entity.Tag, instance entity.Instance) error
	SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// SetInstanceStatus says what the cloud made of the machine's instance; an error's
	// data may hold a "hint": how to remove it by hand.
	SetInstanceStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// LoseInstance takes off a machine the instance that the cloud has not any more;
	// entity.InUse when its agent is connected all the same.
	LoseInstance(ctx context.Context, machine entity.Tag, missed entity.Instance) error
	// Leftovers returns what destructions with force have left in the cloud.
	Leftovers(ctx context.Context) ([]entity.Leftover, error)
	// DropLeftovers forgets those of an instance that is gone.
	DropLeftovers(ctx context.Context, instance string) error
	// EnsureDead takes a machine without an instance that is not Alive to Dead;
	// entity.InUse while units are on it.
	EnsureDead(ctx context.Context, tag entity.Tag) error
	// RemoveMachine removes a Dead machine; nil when it is gone already.
	RemoveMachine(ctx context.Context, machine entity.Tag) error
}
