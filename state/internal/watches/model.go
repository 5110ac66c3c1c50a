package watches

import (
	"context"
	"strconv"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/tasks"
	"juju/state/lifecycle"
	"juju/state/modelconfig"
	"juju/state/watcher"
)

// End fires when the model may have become Dying, or empty.
func (w Watches) End(ctx context.Context) (<-chan struct{}, error) {
	topics := []watcher.Topic{watcher.Doc(modeldb.ModelC, modeldb.ModelC)}
	for _, ref := range lifecycle.RefsTo(lifecycle.Model) { // what a model must be empty of
		topics = append(topics, watcher.Collection(ref.In))
	}
	return watcher.Notify(ctx, w.hub, topics...), nil
}

// ModelConfig fires when a setting of the model may have changed.
func (w Watches) ModelConfig(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.hub, watcher.Doc(modeldb.ModelC, modeldb.ModelC)), nil
}

// Binaries fires when the binaries that agents should run may have changed.
func (w Watches) Binaries(ctx context.Context, _ entity.Tag) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.hub, watcher.Doc(modeldb.ModelC, modeldb.ModelC)), nil
}

// HostExposure fires when the result of Exposure of the machine may have changed.
func (w Watches) HostExposure(ctx context.Context, machine string) (<-chan struct{}, error) {
	model, err := w.db.Model(ctx)
	if err != nil {
		return nil, err
	}
	open := watcher.Doc(modeldb.PortsC, machine)
	if model.Settings()[modelconfig.FirewallMode].Value == modelconfig.FirewallGlobal {
		open = watcher.Collection(modeldb.PortsC)
	}
	return watcher.Notify(ctx, w.hub, open, watcher.Collection(modeldb.ServicesC), watcher.Collection(modeldb.MachinesC),
		watcher.Collection(modeldb.NetworksC)), nil
}

// MachineTasks fires when a task of the machine may have changed.
func (w Watches) MachineTasks(ctx context.Context, id string) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.hub, watcher.Prefix(modeldb.TasksC, entity.MachineTag(id).String()+"#")), nil
}

// Operation fires when a task of the operation may have changed.
func (w Watches) Operation(ctx context.Context, id string) (<-chan struct{}, error) {
	operation, err := tasks.Of(w.db).Operation(ctx, id)
	if err != nil {
		return nil, err
	}
	var topics []watcher.Topic
	for _, t := range operation.Tasks {
		number, err := strconv.Atoi(t.ID)
		if err != nil {
			return nil, err
		}
		topics = append(topics, watcher.Doc(modeldb.TasksC, modeldb.TaskID(t.Receiver, number)))
	}
	return watcher.Notify(ctx, w.hub, topics...), nil
}
