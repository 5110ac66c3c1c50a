package clouds

import (
	"context"

	"juju/apiserver/facades"
	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

// Facade returns a model on a cloud as the API server asks it.
func Facade(environ provider.Environ) facades.Cloud { return model{environ} }

type model struct{ provider.Environ }

// Precheck implements facades.Cloud.
func (m model) Precheck(ctx context.Context, series string, constraints constraints.Value, spaces entity.MachineSpaces,
	at entity.Placement) error {
	return m.PrecheckInstance(ctx, provider.PrecheckParams{Series: series, Constraints: constraints, Spaces: spaces,
		Placement: at.Directive, Container: at.Container})
}

// TakesProfiles implements facades.Cloud.
func (m model) TakesProfiles() bool { return m.Profiler() != nil }

// InstancesOf implements facades.Cloud.
func (m model) InstancesOf(ctx context.Context) ([]facades.CloudInstance, error) {
	all, err := m.Instances(ctx)
	instances := make([]facades.CloudInstance, len(all))
	for i, in := range all {
		instances[i] = facades.CloudInstance{ID: in.ID, Machine: in.MachineID}
	}
	return instances, err
}

// IsAttached implements facades.Cloud.
func (m model) IsAttached(ctx context.Context, a entity.Attached) (bool, error) {
	return m.IsFilesystemAttached(ctx, attachmentOf(a))
}

// Detach implements facades.Cloud.
func (m model) Detach(ctx context.Context, a entity.Attached) error {
	return m.DetachFilesystem(ctx, attachmentOf(a))
}

// Import implements facades.Cloud.
func (m model) Import(ctx context.Context, filesystem, storage string,
	pool entity.StoragePool) (entity.Filesystem, error) {
	return m.ImportFilesystem(ctx, provider.ImportParams{ID: filesystem, Storage: storage, Pool: pool})
}

func attachmentOf(a entity.Attached) provider.AttachmentParams {
	return provider.AttachmentParams{Filesystem: a.Filesystem, Instance: a.Instance, Mount: a.Mount}
}
