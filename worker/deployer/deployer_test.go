package deployer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
	"juju/worker"
)

// A fakeMachine is both sides of a deployer: the units that the controller assigns to machine
// 0, and the agents deployed on it.
type fakeMachine struct {
	mu        sync.Mutex
	assigned  map[string]entity.Life
	agents    map[string]bool // running
	events    chan []string
	ended     chan struct{}
	log       []string
	faults    map[string]int // "deploy a/0" → how often it still fails
	starts    int            // by Ensure, of agents that were not running
	reads     int            // of the assigned units
	entangled string         // a unit that only its agent can end in order
	tie       entity.Kind    // the error of its removal
	gaveUp    string         // a unit whose agent believed it gone
	crash     bool           // every agent that Ensure starts ends at once
}

// act records what the deployer does, and calls then unless the action is to fail.
func (m *fakeMachine) act(what, unit string, then func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	call := what + " " + unit
	m.log = append(m.log, call)
	if m.faults[call] > 0 {
		m.faults[call]--
		return errors.New("no")
	}
	if then != nil {
		then()
	}
	return nil
}

func (m *fakeMachine) WatchDeployed(_ context.Context, parent entity.Tag) (<-chan []string, error) {
	if parent != entity.MachineTag("0") {
		return nil, fmt.Errorf("watch of %s", parent)
	}
	return m.events, nil
}

func (m *fakeMachine) DeployedUnits(context.Context, entity.Tag) ([]entity.AgentUnit, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	var units []entity.AgentUnit
	for name, life := range m.assigned {
		units = append(units, entity.AgentUnit{Name: name, Life: life})
	}
	return units, nil
}

func (m *fakeMachine) NewPassword(_ context.Context, tag entity.Tag) (string, error) {
	return "secret of " + tag.ID, m.act("password", tag.ID, nil)
}

func (m *fakeMachine) RemoveUnit(_ context.Context, tag entity.Tag) error {
	if m.entangled == tag.ID && m.assigned[tag.ID] != entity.Dead {
		return entity.Errorf(m.tie, "unit is not dead")
	}
	return m.act("remove", tag.ID, func() { delete(m.assigned, tag.ID) })
}

func (m *fakeMachine) Deployed() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.agents)), nil
}

func (m *fakeMachine) Deploy(_ context.Context, unit, password string) error {
	if password != "secret of "+unit {
		return fmt.Errorf("deployed with %q", password)
	}
	return m.act("deploy", unit, func() { m.agents[unit], m.gaveUp = true, "" })
}

func (m *fakeMachine) Ensure(_ context.Context, unit string) error {
	m.mu.Lock()
	running, gone := m.agents[unit], m.gaveUp == unit
	m.mu.Unlock()
	if gone {
		return fmt.Errorf("cannot start it: %w", ErrEnded)
	}
	if running {
		return nil
	}
	return m.act("start", unit, func() {
		m.starts++
		m.agents[unit] = !m.crash
		if m.crash {
			m.signal()
		}
	})
}

func (m *fakeMachine) Recall(_ context.Context, unit string) error {
	return m.act("recall", unit, func() { delete(m.agents, unit) })
}

func (m *fakeMachine) Ended() <-chan struct{} { return m.ended }

// end makes a unit's agent end by itself.
func (m *fakeMachine) end(unit string) {
	m.mu.Lock()
	m.agents[unit] = false
	m.mu.Unlock()
	m.signal()
}

func (m *fakeMachine) signal() {
	select {
	case m.ended <- struct{}{}:
	default:
	}
}

// story runs a deployer for a machine while tell runs.
func story(t *testing.T, assigned map[string]entity.Life, agents []string, tell func(t *testing.T, m *fakeMachine)) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMachine{assigned: assigned, agents: map[string]bool{}, faults: map[string]int{},
			events: make(chan []string), ended: make(chan struct{}, 1)}
		for _, name := range agents {
			m.agents[name] = true
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- New(Config{API: m, Agents: m, Parent: entity.MachineTag("0")})(ctx) }()
		tell(t, m)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the deployer ended with %v", err)
		}
	})
}

// expect tells the deployer that something changed, and compares what it did.
func (m *fakeMachine) expect(t *testing.T, want ...string) {
	t.Helper()
	m.events <- nil
	m.expectNow(t, want...)
}

func (m *fakeMachine) expectNow(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.log, want) {
		t.Errorf("the deployer did\n%s\nwant\n%s", strings.Join(m.log, "\n"), strings.Join(want, "\n"))
	}
	m.log = nil
}

func TestEveryCombination(t *testing.T) {
	assigned := map[string]entity.Life{
		"new/0": entity.Alive, "new/1": entity.Dying, "new/2": entity.Dead,
		"here/0": entity.Alive, "here/1": entity.Dying, "here/2": entity.Dead,
	}
	story(t, assigned, []string{"here/0", "here/1", "here/2", "lost/0"}, func(t *testing.T, m *fakeMachine) {
		m.expect(t,
			"recall here/2", "remove here/2",
			"recall lost/0",
			"password new/0", "deploy new/0",
			"remove new/1",
			"remove new/2")
		m.expect(t) // nothing to do
		reads := m.reads
		time.Sleep(time.Hour)
		if m.expectNow(t); m.reads != reads {
			t.Errorf("it read the units %d times in an hour without an event", m.reads-reads)
		}
	})
}

func TestLifeOfAUnit(t *testing.T) {
	story(t, map[string]entity.Life{}, nil, func(t *testing.T, m *fakeMachine) {
		m.expect(t)
		m.assigned["web/0"] = entity.Alive
		m.expect(t, "password web/0", "deploy web/0")
		m.assigned["web/0"] = entity.Dying // its own agent handles that
		m.expect(t)
		m.assigned["web/0"] = entity.Dead
		m.expect(t, "recall web/0", "remove web/0")
		m.expect(t)
	})
}

func TestADyingUnitFromALostMachineGetsAnAgentToEndIt(t *testing.T) {
	for _, tie := range []entity.Kind{entity.InUse, entity.HasSubordinates} {
		story(t, map[string]entity.Life{"web/0": entity.Dying}, nil, func(t *testing.T, m *fakeMachine) {
			m.entangled, m.tie = "web/0", tie
			m.expect(t, "password web/0", "deploy web/0")
			m.assigned["web/0"] = entity.Dead
			m.expect(t, "recall web/0", "remove web/0")
		})
	}
}

// An agent was deployed and could never be started, so no one else would remove its unit. The
// deployer waits for an agent that was up before.
func TestADyingUnitWhoseAgentCannotBeStarted(t *testing.T) {
	for _, cameUp := range []bool{false, true} {
		story(t, map[string]entity.Life{"web/0": entity.Dying}, []string{"web/0"}, func(t *testing.T, m *fakeMachine) {
			m.agents["web/0"] = false
			m.faults["start web/0"] = 2
			want := []string{"start web/0", "remove web/0", "recall web/0"}
			if cameUp {
				m.entangled, m.tie = "web/0", entity.InUse
				want = []string{"start web/0", "start web/0", "start web/0"}
			}
			m.events <- nil
			time.Sleep(time.Minute)
			synctest.Wait()
			if !slices.Equal(m.log, want) {
				t.Errorf("came up before: %v: the deployer did %q, want %q", cameUp, m.log, want)
			}
		})
	}
}

func TestAnAgentThatBelievedItsUnitGoneIsDeployedAgain(t *testing.T) {
	story(t, map[string]entity.Life{"web/0": entity.Alive}, []string{"web/0"}, func(t *testing.T, m *fakeMachine) {
		m.expect(t)
		m.mu.Lock()
		m.gaveUp = "web/0"
		m.mu.Unlock()
		m.end("web/0")
		m.expectNow(t, "password web/0", "deploy web/0")
		m.expect(t)
	})
}

func TestDeadUnitIsNotStartedAgain(t *testing.T) {
	story(t, map[string]entity.Life{"web/0": entity.Dying}, []string{"web/0"}, func(t *testing.T, m *fakeMachine) {
		m.expect(t)
		m.assigned["web/0"] = entity.Dead
		m.end("web/0") // the agent ends before the watch fires
		m.expectNow(t, "recall web/0", "remove web/0")
	})
}

func TestEndedAgentsStartAgain(t *testing.T) {
	story(t, map[string]entity.Life{"web/0": entity.Alive, "web/1": entity.Dying}, []string{"web/0", "web/1"},
		func(t *testing.T, m *fakeMachine) {
			m.expect(t)
			m.end("web/0")
			m.expectNow(t, "start web/0")
			m.end("web/1") // a moment later: after the pause
			m.expectNow(t)
			time.Sleep(4 * time.Second)
			m.expectNow(t, "start web/1")
		})
}

func TestAgentThatCannotLive(t *testing.T) {
	story(t, map[string]entity.Life{"web/0": entity.Alive, "web/1": entity.Alive}, []string{"web/0", "web/1"},
		func(t *testing.T, m *fakeMachine) {
			m.expect(t)
			m.mu.Lock()
			m.crash = true
			m.mu.Unlock()
			m.end("web/0")
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := m.starts; n < 10 || n > 41 {
				t.Errorf("started %d times in a minute", n)
			}
			m.mu.Lock()
			m.crash = false
			m.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			if !m.agents["web/0"] {
				t.Error("healed, but it doesn't run")
			}
		})
}

func TestAFailureOnOneUnitDoesNotHoldUpTheOthers(t *testing.T) {
	assigned := map[string]entity.Life{"a/0": entity.Alive, "b/0": entity.Dead, "c/0": entity.Alive}
	story(t, assigned, []string{"b/0"}, func(t *testing.T, m *fakeMachine) {
		m.faults = map[string]int{"deploy a/0": 1, "recall b/0": 2}
		m.expect(t, "password a/0", "deploy a/0", "recall b/0", "password c/0", "deploy c/0")
		time.Sleep(3 * time.Second)
		m.expectNow(t, "password a/0", "deploy a/0", "recall b/0")
		time.Sleep(3 * time.Second)
		m.expectNow(t, "recall b/0", "remove b/0")
		time.Sleep(time.Hour)
		m.expectNow(t)
	})
}

func TestAgentsOutliveTheDeployer(t *testing.T) {
	var machine *fakeMachine
	story(t, map[string]entity.Life{"web/0": entity.Alive}, []string{"web/0"}, func(t *testing.T, m *fakeMachine) {
		machine = m
		m.expect(t)
	})
	if !machine.agents["web/0"] || len(machine.log) > 0 {
		t.Errorf("the deployer took an agent with it: %q", machine.log)
	}
}

func TestWatchEnds(t *testing.T) {
	m := &fakeMachine{events: make(chan []string)}
	close(m.events)
	err := New(Config{API: m, Agents: m, Parent: entity.MachineTag("0")})(t.Context())
	if !errors.Is(err, worker.ErrWatchEnded) {
		t.Errorf("got %v", err)
	}
}
