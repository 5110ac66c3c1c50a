package state_test

import (
	"fmt"
	"time"

	"juju/state/entity"
	"juju/state/simulationtest"
)

// nothing returns an action that does not involve state.
func nothing(what string) *simAction {
	return &simAction{what: what, by: "time", run: func() error { return nil },
		expect: said(func() simulationtest.Answer { return nil })}
}

// weather is what happens to agents, machines, hooks and the clock.
func (s *sim) weather() *simAction {
	u, m := s.someUnit(), s.someMachine()
	switch n := s.rnd.IntN(40); {
	case n < 5:
		d := one(s, []time.Duration{time.Second, 11 * time.Second, 61 * time.Second, time.Hour, 100 * time.Hour})
		s.clock.Add(d.Milliseconds())
		return nothing("later by " + d.String())
	case n == 5:
		return s.pruneTasks()
	case n == 8 && s.rnd.IntN(4) == 0:
		if err := s.restart(); err != nil {
			return &simAction{what: "restart", run: func() error { return err },
				expect: said(func() simulationtest.Answer { return nil })}
		}
		return nothing("the controller restarts")
	case n < 14 && u != nil && s.up(unitTag(u)) && u.Started && u.Life.Life != entity.Dead:
		return s.fail(u)
	case n < 19 && u != nil:
		return s.resolve(u)
	case n < 21 && m != nil && m.Instance:
		return s.lose(m)
	case n < 23 && m != nil:
		s.agents[machineTag(m)] = &simAgent{down: s.machineUp(m)}
		return nothing("the agent comes or goes: machine " + m.ID)
	case u != nil && s.agents[unitTag(u)] != nil:
		a := s.agents[unitTag(u)]
		a.down = !a.down && s.rnd.IntN(2) == 0
		return nothing(fmt.Sprintf("down %t: %s", a.down, u.Name))
	}
	return nil
}

// lose takes a machine away with all agents on it. A fresh one replaces it,
// which does not know what was deployed.
func (s *sim) lose(m *simulationtest.Machine) *simAction {
	for u := range m.Units {
		delete(s.agents, unitTag(u))
		for sub := range u.Subs {
			delete(s.agents, unitTag(sub))
		}
	}
	s.agents[machineTag(m)] = &simAgent{down: s.rnd.IntN(2) == 0}
	return nothing("machine is lost: " + m.ID)
}

// unasked is an action out of turn.
func (s *sim) unasked() *simAction {
	u, m, r := s.someUnit(), s.someMachine(), s.someRelation()
	switch s.rnd.IntN(7) {
	case 0:
		if u != nil {
			return s.unitDead(u)
		}
	case 1:
		if u != nil {
			return s.removeUnit(u)
		}
	case 2:
		if u != nil && r != nil && u.Started {
			return s.enter(u, r)
		}
	case 3:
		if m != nil {
			return s.machineDead(m, "machine agent")
		}
	case 4:
		if m != nil {
			return s.removeMachine(m)
		}
	case 5:
		if u != nil && u.Started {
			return s.openPort(u)
		}
	case 6:
		if x := s.someStorage(); x != nil {
			return s.storageUnasked(x)
		}
	}
	return nil
}
