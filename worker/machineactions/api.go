package machineactions

import (
	"context"

	"juju/state/entity"
)

// API is what the worker needs of the controller. Each method is about the machine named first.
type API interface {
	// Tasks returns the machine's unfinished tasks, oldest first.
	Tasks(ctx context.Context, machine entity.Tag) ([]entity.MachineTask, error)
	// WatchTasks fires when one of them may have changed.
	WatchTasks(ctx context.Context, machine entity.Tag) (<-chan struct{}, error)
	// BeginTask marks a task as running and returns it; entity.TaskGone if it has finished.
	BeginTask(ctx context.Context, machine entity.Tag, id string) (entity.Task, error)
	// FinishTask records a task's outcome; it does nothing if the task has already finished.
	FinishTask(ctx context.Context, machine entity.Tag, id string, outcome entity.TaskOutcome) error
}
