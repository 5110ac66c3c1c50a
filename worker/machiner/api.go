package machiner

import (
	"context"

	"juju/state/entity"
	"juju/state/modelconfig"
)

// API is what a machiner needs of the controller.
type API interface {
	Machine(ctx context.Context, machine entity.Tag) (entity.MachineInfo, error)
	// WatchMachine fires when the machine or the model's settings may have changed, and when units were
	// assigned to the machine or removed from it. The machine can't become Dead while it has units.
	WatchMachine(ctx context.Context, machine entity.Tag) (<-chan struct{}, error)
	// ModelConfig returns the settings of the machine's model.
	ModelConfig(ctx context.Context, machine entity.Tag) (modelconfig.Config, error)
	SetMachineAddresses(ctx context.Context, machine entity.Tag, addresses []string) error
	SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// EnsureDead makes a Dying machine or unit Dead. It returns nil if the entity is already Dead, and
	// entity.InUse or entity.HasSubordinates while something refers to it.
	EnsureDead(ctx context.Context, tag entity.Tag) error
}
