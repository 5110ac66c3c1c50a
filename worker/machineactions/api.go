package machineactions

import (
	"context"

	"juju/state/entity"
)

// API is what the worker needs of the controller. Each method is about the machine named first.
type API interface {
	// Tasks returns the machine's tasks that are not over, the oldest first.
	Tasks(ctx context.Context, machine entity.Tag) ([]entity.TaskRef, error)
	// WatchTasks fires when one of them may have changed.
	WatchTasks(ctx context.Context, machine entity.Tag) (<-chan struct{}, error)
	// BeginTask returns a task that the machine begins; entity.TaskGone if it is over.
	BeginTask(ctx context.Context, machine entity.Tag, id string) (entity.Task, error)
	// FinishTask ends a task; nil if it is over.
	FinishTask(ctx context.Context, machine entity.Tag, id string, outcome entity.TaskOutcome) error
}
