package uniter

import (
	"context"
	"slices"

	"juju/state/entity"
)

// refs returns the tasks that are not over. The caller holds the lock.
func (c *controller) refs() (refs []entity.TaskRef) {
	for _, t := range c.tasks {
		if !t.Status.IsOver() {
			refs = append(refs, entity.TaskRef{ID: t.ID, Status: t.Status})
		}
	}
	return refs
}

// task finds a task. The caller holds the lock.
func (c *controller) task(id string) *entity.Task {
	i := slices.IndexFunc(c.tasks, func(t entity.Task) bool { return t.ID == id })
	return &c.tasks[i]
}

func (c *controller) BeginTask(_ context.Context, _ entity.Tag, id string) (task entity.Task, err error) {
	err = c.call("BeginTask", func() error {
		t := c.task(id)
		if t.Status != entity.TaskPending && t.Status != entity.TaskRunning {
			return entity.Errorf(entity.TaskGone, "action no longer available")
		}
		t.Status = entity.TaskRunning
		task = *t
		return nil
	})
	return task, err
}

func (c *controller) FinishTask(_ context.Context, _ entity.Tag, id string, outcome entity.TaskOutcome) error {
	return c.call("FinishTask", func() error {
		if t := c.task(id); !t.Status.IsOver() {
			t.Status, t.Message, t.Results = outcome.Status, outcome.Message, []byte(outcome.Results)
		}
		return nil
	})
}

func (c *controller) LogTask(_ context.Context, _ entity.Tag, id, message string) error {
	return c.call("LogTask", func() error {
		t := c.task(id)
		t.Log = append(t.Log, entity.TaskMessage{Message: message})
		return nil
	})
}
