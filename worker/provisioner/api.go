package provisioner

import (
	"context"

	"juju/state/entity"
)

// API is what a provisioner needs of the controller, for one model.
type API interface {
	// WatchMachines names machines that appeared, changed their life or were
	// removed; the first event names all.
	WatchMachines(ctx context.Context) (<-chan []string, error)
	// Machines returns the named machines that exist; all of them for no names.
	Machines(ctx context.Context, ids ...string) ([]entity.MachineInfo, error)
	// NewPassword makes a fresh password for a machine's agent.
	NewPassword(ctx context.Context, machine entity.Tag) (string, error)
	// SetProvisioned records the instance of an Alive machine that has none;
	// entity.NotAlive for one that is not Alive, entity.NotFound for one that is gone.
	SetProvisioned(ctx context.Context, machine entity.Tag, instance entity.Instance) error
	SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
	// EnsureDead takes a machine without an instance that is not Alive to Dead.
	EnsureDead(ctx context.Context, tag entity.Tag) error
	// RemoveMachine removes a Dead machine; nil when it is gone already.
	RemoveMachine(ctx context.Context, machine entity.Tag) error
}
