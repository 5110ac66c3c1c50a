package state_test

import (
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
)

func enqueue(s *scene, tasks ...state.NewTask) error {
	_, _, _, err := s.st.Tasks().Enqueue(s.ctx, tasks)
	return err
}

// tasked gives a unit or machine tasks: operations 1, 3 and 5 with the tasks 2, 4 and 6.
func tasked(unit string) func(*scene) {
	return func(s *scene) {
		for range 3 {
			s.ok(enqueue(s, command(unit)))
		}
	}
}

func begins(unit, task string) func(*scene) {
	return func(s *scene) { _, err := s.unit(unit).BeginTask(s.ctx, task); s.ok(err) }
}

func finishes(s *scene, u *state.Unit) error {
	return u.FinishTask(s.ctx, "2", entity.TaskOutcome{Status: entity.TaskCompleted, Message: "m", Results: "{}"})
}

func machineBegins(machine, task string) func(*scene) {
	return func(s *scene) {
		m, err := s.st.Machine(s.ctx, machine)
		s.ok(err)
		_, err = m.BeginTask(s.ctx, task)
		s.ok(err)
	}
}

// acts adds a service whose charm has actions.
func acts(s *scene) { s.busyService(1) }

var backup = state.NewTask{Receiver: "busy/0", Name: "backup"}

var taskMutators = []mutator{
	onModel("Tasks.Enqueue", "", func(s *scene) error { return enqueue(s, command("mysql/0"), command("riak/0")) }),
	onModel("Tasks.Enqueue", "again", func(s *scene) error { return enqueue(s, command("mysql/0")) }, tasked("mysql/0")),
	onModel("Tasks.Enqueue", "an action", func(s *scene) error { return enqueue(s, backup) }, acts),
	onModel("Tasks.Enqueue", "an action of the unit's charm", func(s *scene) error { return enqueue(s, backup) }, acts,
		func(s *scene) { s.ok(hasCharm("busy")(s, s.unit("busy/0"))) }),
	onModel("Tasks.Cancel", "", func(s *scene) error { return s.st.Tasks().Cancel(s.ctx, "2") }, tasked("mysql/0")),
	onModel("Tasks.Cancel", "one that runs", func(s *scene) error { return s.st.Tasks().Cancel(s.ctx, "2") },
		tasked("mysql/0"), begins("mysql/0", "2")),
	free(mutator{name: "Tasks.Prune", before: []func(*scene){tasked("mysql/0"), begins("mysql/0", "2"), func(s *scene) {
		s.ok(finishes(s, s.unit("mysql/0")))
		s.ok(s.st.Settings().SetConfig(s.ctx, map[string]string{modelconfig.TaskAge: "1m"}, nil))
	}}, take: func(s *scene) func() error {
		s.later.Store(int64(time.Hour))
		return func() error { _, err := s.st.Tasks().Prune(s.ctx); return err }
	}}),
	onUnit("BeginTask", "", "mysql/0", func(s *scene, u *state.Unit) error { _, err := u.BeginTask(s.ctx, "2"); return err },
		tasked("mysql/0")),
	onUnit("FinishTask", "", "mysql/0", finishes, tasked("mysql/0"), begins("mysql/0", "2")),
	onUnit("LogTask", "", "mysql/0", func(s *scene, u *state.Unit) error { return u.LogTask(s.ctx, "2", "m") },
		tasked("mysql/0"), begins("mysql/0", "2")),
	onUnit("Remove", "with tasks", "riak/0", removeUnit, tasked("riak/0"), starts("riak/0"),
		destroysUnit("riak/0", plain), kills("riak/0")),
	onModel("Tasks.Enqueue", "on a machine", func(s *scene) error { return enqueue(s, command("0"), command("4")) }),
	on("Machine.BeginTask", "", theMachine("4"), func(s *scene, m *state.Machine) error {
		_, err := m.BeginTask(s.ctx, "2")
		return err
	}, tasked("4")),
	on("Machine.FinishTask", "", theMachine("4"), func(s *scene, m *state.Machine) error {
		return m.FinishTask(s.ctx, "2", entity.TaskOutcome{Status: entity.TaskCompleted})
	}, tasked("4"), machineBegins("4", "2")),
	on("Machine.Remove", "with tasks", theMachine("4"), removeMachine, tasked("4"), provisions("4"),
		destroysMachine("4", plain), machineDead("4")),
	logging(onModel("Cleaner.Cleanup", "tasks of a machine", cleanup, tasked("0"), machineBegins("0", "2"),
		destroysMachine("0", forced))),
	logging(onModel("Cleaner.Cleanup", "tasks of a unit", cleanup, tasked("mysql/1"), begins("mysql/1", "2"),
		destroysUnit("mysql/1", plain))),
}
