package machiner

import (
	"context"

	"juju/state/entity"
)

// API is what a machiner needs of the controller.
type API interface {
	Machine(ctx context.Context, machine entity.Tag) (entity.MachineInfo, error)
	// WatchMachine fires when the machine may have changed, or what bars its death:
	// the units that are assigned to it.
	WatchMachine(ctx context.Context, machine entity.Tag) (<-chan struct{}, error)
	SetMachineAddresses(ctx context.Context, machine entity.Tag, addresses []string) error
	SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// EnsureDead takes a Dying machine or unit to Dead; entity.InUse or
	// entity.HasSubordinates while something bars it, nil when it is Dead already.
	EnsureDead(ctx context.Context, tag entity.Tag) error
}
