package state_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/simulationtest"
)

func (s *sim) someTask() *simulationtest.Task {
	return s.model.Tasks[one(s, slices.Sorted(maps.Keys(s.model.Tasks)))]
}

// useTasks picks a user's action on tasks, or lets them be old enough to be pruned.
func (s *sim) useTasks() *simAction {
	if s.rnd.IntN(20) == 0 {
		return s.pruneOldTasks()
	}
	if t := s.someTask(); t != nil && s.rnd.IntN(3) == 0 {
		return s.cancelTask(t)
	}
	var units []*simulationtest.Unit
	for range 1 + s.rnd.IntN(2) {
		if u := s.someUnit(); u != nil && !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	if len(units) == 0 {
		return nil
	}
	return s.enqueue(units)
}

func (s *sim) enqueue(units []*simulationtest.Unit) *simAction {
	var tasks []state.NewTask
	var names []string
	for _, u := range units {
		names = append(names, u.Name)
		tasks = append(tasks, state.NewTask{Receiver: u.Name, Name: entity.CommandTask,
			Params: map[string]any{entity.CommandParam: "true"}})
	}
	var operation string
	var ids []string
	var errs []error
	return &simAction{what: fmt.Sprintf("run on %v", names), by: "user",
		rival: func() *simAction { return s.destroyUnit(units[0], s.destruction()) },
		run: func() (err error) {
			operation, ids, errs, err = s.st.Tasks().Enqueue(s.ctx, tasks)
			return err
		},
		expect: func(error) (simulationtest.Answer, error) {
			added := 0
			for i, u := range units {
				why := s.model.MayEnqueue(u)
				if kind := entity.KindOf(errs[i]); !why.Allows(kind) || (ids[i] == "") != (kind != "") {
					return nil, fmt.Errorf("task %q for %s: %w, want %v", ids[i], u.Name, errs[i], why)
				}
				if why == nil {
					s.model.Enqueue(ids[i], operation, u)
					added++
				}
			}
			if (added == 0) != (operation == "") {
				return nil, fmt.Errorf("%d tasks are in operation %q", added, operation)
			}
			return nil, nil
		}}
}

func (s *sim) cancelTask(t *simulationtest.Task) *simAction {
	return &simAction{what: "cancel-task " + t.ID, by: "user",
		rival: func() *simAction {
			if u := s.model.Units[t.Unit]; u != nil {
				return s.runTask(u, t)
			}
			return nil
		},
		run:    func() error { return s.st.Tasks().Cancel(s.ctx, t.ID) },
		expect: said(func() simulationtest.Answer { return s.model.Cancel(t) })}
}

// nextTask is what the agent of a unit does about the first of its tasks; nil if it has none.
func (s *sim) nextTask(u *simulationtest.Unit, info entity.UnitInfo) (*simAction, error) {
	if want := s.model.Unfinished(u.Name); !slices.Equal(info.Tasks, want) {
		return nil, fmt.Errorf("unit %s has the tasks %v, want %v", u.Name, info.Tasks, want)
	}
	if len(info.Tasks) == 0 {
		return nil, nil
	}
	return s.runTask(u, s.model.Tasks[info.Tasks[0].ID]), nil
}

// runTask takes a task of a unit a step on.
func (s *sim) runTask(u *simulationtest.Unit, t *simulationtest.Task) *simAction {
	n := s.rnd.IntN(4)
	switch {
	case t.Status == entity.TaskPending && n > 0:
		a := s.onUnit("unit agent", "begin task "+t.ID+" of", u, func(h *state.Unit) error {
			_, err := h.BeginTask(s.ctx, t.ID)
			return err
		}, func() simulationtest.Answer { return s.model.BeginTask(t) }, entity.TaskGone)
		a.rival = func() *simAction { return s.cancelTask(t) }
		return a
	case n == 0 && !s.calm:
		return s.onUnit("unit agent", "log of task "+t.ID+" of", u,
			func(h *state.Unit) error { return h.LogTask(s.ctx, t.ID, "half way") },
			func() simulationtest.Answer { return s.model.LogTask(t) }, entity.Invalid)
	}
	outcome := entity.TaskOutcome{Status: entity.TaskCompleted}
	if n == 1 {
		outcome = entity.TaskOutcome{Status: entity.TaskFailed, Message: "exit status 1"}
	}
	return s.onUnit("unit agent", fmt.Sprintf("task %s is %s:", t.ID, outcome.Status), u,
		func(h *state.Unit) error { return h.FinishTask(s.ctx, t.ID, outcome) },
		func() simulationtest.Answer { s.model.FinishTask(t, n != 1); return nil })
}

// simTaskAge is how long tasks are kept unless the model's settings say otherwise.
const simTaskAge = 336 * time.Hour

// pruneOldTasks lets all tasks be old enough.
func (s *sim) pruneOldTasks() *simAction {
	s.clock.Add((simTaskAge + time.Millisecond).Milliseconds())
	return s.pruneTasks()
}

func (s *sim) pruneTasks() *simAction {
	return &simAction{what: "prune tasks", by: "pruner",
		run:    func() error { _, err := s.st.Tasks().Prune(s.ctx); return err },
		expect: said(func() simulationtest.Answer { s.model.Prune(simTaskAge); return nil })}
}
