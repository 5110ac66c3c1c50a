package state_test

import (
	"fmt"
	"strings"

	"juju/state"
	"juju/state/entity"
	"juju/state/simulationtest"
)

// A simAgent is the agent of a unit or machine. It only remembers whether it
// runs and whether its hook has failed; what it has to do is in state.
type simAgent struct {
	down   bool
	failed bool
}

func unitTag(u *simulationtest.Unit) string { return entity.UnitTag(u.Name).String() }

func machineTag(m *simulationtest.Machine) string { return entity.MachineTag(m.ID).String() }

// up reports whether the agent with the given tag runs.
func (s *sim) up(tag string) bool { a := s.agents[tag]; return a != nil && !a.down }

// machineUp is up for a machine, whose agent starts with its instance.
func (s *sim) machineUp(m *simulationtest.Machine) bool {
	return m.Instance && (s.agents[machineTag(m)] == nil || s.up(machineTag(m)))
}

// unitAgent returns the next action of a unit's agent; nil if it is away, waits
// for its failed hook to be resolved, or has nothing to do.
func (s *sim) unitAgent(u *simulationtest.Unit) (*simAction, error) {
	if u == nil || !s.up(unitTag(u)) {
		return nil, nil
	}
	handle, err := s.st.Unit(s.ctx, u.Name)
	if err != nil {
		return nil, err
	}
	info, err := handle.Info(s.ctx)
	if err != nil {
		return nil, err
	}
	relations, err := handle.Relations(s.ctx)
	if err != nil {
		return nil, err
	}
	agent := s.agents[unitTag(u)]
	task, err := s.nextTask(u, info)
	if err != nil {
		return nil, err
	}
	secret, err := s.aboutSecret(u, info.Secrets)
	if err != nil {
		return nil, err
	}
	switch {
	case info.Started && info.Life != entity.Dead && task != nil && s.rnd.IntN(2) == 0:
		return task, nil
	case info.Started && info.Life != entity.Dead && secret != nil && s.rnd.IntN(2) == 0:
		return secret, nil
	case info.Started && info.Life == entity.Alive && !s.calm && u.Service.Lead.Leader == nil && s.rnd.IntN(4) == 0:
		return s.claim(u), nil
	case !info.Started && info.Life == entity.Alive && info.ServiceLife != entity.Alive && s.rnd.IntN(2) == 0:
		return s.destroySelf(u), nil
	case !info.Started && info.Life == entity.Dying && !s.calm && s.rnd.IntN(2) == 0:
		delete(s.agents, unitTag(u)) // it never starts
		return nil, nil
	case !info.Started:
		return s.start(u), nil
	case !s.calm && info.Life == entity.Dying && s.rnd.IntN(6) == 0:
		return s.unitDead(u), nil
	case info.Life == entity.Dead:
		return nil, nil
	case agent.failed && info.Resolved != entity.ResolvedNone:
		return s.goOn(u), nil
	case info.CharmURL != info.ServiceCharmURL && !agent.failed && info.Life == entity.Alive && s.oldPeers(relations) != nil:
		return s.leave(u, s.oldPeers(relations)), nil // with the hooks of the old charm
	case info.CharmURL != info.ServiceCharmURL && (!agent.failed || info.ForceCharm) && (s.calm || s.rnd.IntN(3) > 0):
		return s.runCharm(u), nil
	case u.Busy || u.Maintained:
		return s.settleDown(u), nil
	case agent.failed && info.Strength == entity.Plain:
		for _, r := range relations { // all Dying relations are left, whatever their strength
			if r.InScope && r.Life == entity.Dying && r.Strength > entity.Plain {
				return s.leave(u, s.model.Relations[r.ID]), nil
			}
		}
		return nil, nil
	case info.Life == entity.Alive && (info.ServiceLife != entity.Alive || info.OrphanedBySubRel):
		return s.destroySelf(u), nil
	}
	for _, r := range relations {
		rel := s.model.Relations[r.ID]
		switch {
		case rel == nil:
			return nil, fmt.Errorf("%s sees relation %d, which is gone", u.Name, r.ID)
		case r.InScope && (info.Life == entity.Dying || r.Life == entity.Dying):
			return s.leave(u, rel), nil
		case !r.InScope && info.Life == entity.Alive && r.Life == entity.Alive && !s.waitsForOld(u, rel):
			return s.enter(u, rel), nil
		}
	}
	for _, x := range info.Storage {
		if x.Life == entity.Dying || info.Life != entity.Alive && s.rnd.IntN(2) == 0 {
			return s.giveUp(u, x.ID), nil
		}
	}
	if info.Life == entity.Alive {
		return task, nil
	}
	for sub := range u.Subs {
		if sub.Life.Life == entity.Alive {
			return s.destroySubordinates(u), nil
		}
	}
	for a := range u.Attached {
		if a.Life.Life == entity.Alive {
			return s.destroySubordinates(u), nil
		}
	}
	if len(u.Subs) > 0 || len(u.Attached) > 0 && s.calm {
		return nil, nil
	}
	return s.unitDead(u), nil
}

// oldPeers returns a peer relation that a unit is in and that is ending, if any.
func (s *sim) oldPeers(relations []entity.RelationInfo) *simulationtest.Relation {
	for _, r := range relations {
		if r.InScope && r.Role == "peer" && r.Life == entity.Dying {
			return s.model.Relations[r.ID]
		}
	}
	return nil
}

// waitsForOld reports whether a principal cannot enter a relation yet because
// of its old subordinate. It tries anyway now and then.
func (s *sim) waitsForOld(u *simulationtest.Unit, r *simulationtest.Relation) bool {
	if !r.Container || u.Principal != nil {
		return false
	}
	for sub := range u.Subs {
		if sub.Service.Relations[r] && sub.Life.Life != entity.Alive {
			return s.calm || s.rnd.IntN(4) > 0
		}
	}
	return false
}

// onUnit returns an action on a unit.
func (s *sim) onUnit(by, what string, u *simulationtest.Unit, do func(*state.Unit) error,
	expect func() simulationtest.Answer, may ...entity.Kind) *simAction {
	return &simAction{what: what + " " + u.Name, by: by, may: may, expect: said(expect),
		run: func() error {
			handle, err := s.st.Unit(s.ctx, u.Name)
			if err == nil {
				err = do(handle)
			}
			return err
		}}
}

func (s *sim) start(u *simulationtest.Unit) *simAction {
	return s.onUnit("unit agent", "start", u, func(h *state.Unit) error {
		if err := s.st.Agents().SetPassword(s.ctx, entity.UnitTag(u.Name), state.NewAgentPassword()); err != nil {
			return err
		}
		return h.SetAgentStatus(s.ctx, entity.Status{Status: entity.StatusIdle})
	}, func() simulationtest.Answer { return s.model.Start(u) })
}

func (s *sim) destroySelf(u *simulationtest.Unit) *simAction {
	return s.onUnit("unit agent", "destroy itself:", u, func(h *state.Unit) error { return h.DestroySelf(s.ctx) },
		func() simulationtest.Answer { s.model.DestroySelf(u); return nil })
}

func (s *sim) destroySubordinates(u *simulationtest.Unit) *simAction {
	return s.onUnit("unit agent", "destroy subordinates of", u,
		func(h *state.Unit) error { return h.DestroySubordinates(s.ctx) },
		func() simulationtest.Answer { s.model.DestroySubordinates(u); return nil })
}

func (s *sim) enter(u *simulationtest.Unit, r *simulationtest.Relation) *simAction {
	a := s.onUnit("unit agent", fmt.Sprintf("enter %d:", r.ID), u,
		func(h *state.Unit) error { return h.EnterScope(s.ctx, r.ID) },
		func() simulationtest.Answer {
			return s.model.EnterScope(u, r, func(principal, service string) string {
				return s.shadow.subordinate(principal, service, func(name string) bool { return s.model.Used("u#" + name) })
			})
		}, entity.CannotEnter, entity.CannotEnterYet)
	a.rival = func() *simAction {
		if s.rnd.IntN(2) == 0 {
			return s.destroyUnit(u, s.destruction())
		}
		return s.destroyRelation(r, s.destruction())
	}
	return a
}

// enterAny enters one of the relations of the unit's service, if the agent has
// started.
func (s *sim) enterAny(u *simulationtest.Unit) *simAction {
	if u == nil || !u.Started {
		return nil
	}
	if r := one(s, u.Service.All()); r != nil {
		return s.enter(u, r)
	}
	return nil
}

func (s *sim) leave(u *simulationtest.Unit, r *simulationtest.Relation) *simAction {
	return s.onUnit("unit agent", fmt.Sprintf("leave %d:", r.ID), u,
		func(h *state.Unit) error { return h.LeaveScope(s.ctx, r.ID) },
		func() simulationtest.Answer { s.model.LeaveScope(u, r); return nil })
}

func (s *sim) unitDead(u *simulationtest.Unit) *simAction {
	return s.onUnit("unit agent", "ensure dead", u, func(h *state.Unit) error { return h.EnsureDead(s.ctx) },
		func() simulationtest.Answer { return s.model.UnitDead(u) }, entity.InUse, entity.HasSubordinates, entity.Invalid)
}

// goOn is what an agent does after its failed hook is resolved.
func (s *sim) goOn(u *simulationtest.Unit) *simAction {
	return s.onUnit("unit agent", "go on:", u, func(h *state.Unit) error {
		if err := h.ClearResolved(s.ctx); err != nil {
			return err
		}
		return h.SetStatus(s.ctx, entity.Status{Status: entity.StatusActive})
	}, func() simulationtest.Answer {
		if u.Life.Life == entity.Gone {
			return simulationtest.Answer{entity.NotFound}
		}
		u.Resolved, u.Erred, u.Maintained = false, false, false
		if a := s.agents[unitTag(u)]; a != nil {
			a.failed = false
		}
		return nil
	})
}

// fail is a hook that fails.
func (s *sim) fail(u *simulationtest.Unit) *simAction {
	return s.onUnit("unit agent", "hook fails:", u, func(h *state.Unit) error {
		return h.SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "hook failed"})
	}, func() simulationtest.Answer {
		if u.Life.Life == entity.Gone {
			return simulationtest.Answer{entity.NotFound}
		}
		u.Erred, u.Maintained = true, false
		if a := s.agents[unitTag(u)]; a != nil {
			a.failed = true
		}
		return nil
	})
}

func (s *sim) resolve(u *simulationtest.Unit) *simAction {
	return s.onUnit("user", "resolved", u, func(h *state.Unit) error { return h.Resolve(s.ctx, true) },
		func() simulationtest.Answer { return s.model.Resolve(u) }, entity.Invalid)
}

// openPort is a hook that succeeds: it opens a port, keeps it in the charm's state, registers a
// payload, and sets something in a relation.
func (s *sim) openPort(u *simulationtest.Unit) *simAction {
	s.ports++
	port := 1 + s.ports%60000
	changes := entity.HookChanges{OpenPorts: []entity.PortRange{{From: port, To: port, Protocol: "tcp"}}}
	changes.CharmState = entity.CharmState{"port": fmt.Sprint(port)}
	changes.Payloads = []entity.Payload{{Class: "web", Type: "docker", ID: fmt.Sprint(port), Status: "running"}}
	for r := range u.Scopes {
		changes.Relations = map[int]map[string]string{r.ID: {"port": fmt.Sprint(port)}}
	}
	return s.onUnit("unit agent", "hook:", u, func(h *state.Unit) error { return h.CommitHook(s.ctx, changes) },
		func() simulationtest.Answer {
			switch u.Life.Life {
			case entity.Gone:
				return simulationtest.Answer{entity.NotFound}
			case entity.Dead:
				return simulationtest.Answer{entity.NotAlive}
			}
			return nil
		}, entity.NotAlive, entity.InUse)
}

// deployer is what the machine or principal of a unit does with it.
func (s *sim) deployer(u *simulationtest.Unit) (*simAction, error) {
	if u == nil {
		return nil, nil
	}
	tag, parent := unitTag(u), ""
	if u.Principal != nil {
		if parent = unitTag(u.Principal); !s.up(parent) {
			return nil, nil
		}
	} else {
		if parent = machineTag(u.Machine); !s.machineUp(u.Machine) {
			return nil, nil
		}
	}
	here := false
	for _, name := range s.shadow.deployed(parent) {
		here = here || name == u.Name
	}
	agent := s.agents[tag]
	switch {
	case !here:
		return nil, fmt.Errorf("%s does not see %s", parent, u.Name)
	case u.Life.Life == entity.Dead:
		delete(s.agents, tag)
		return s.removeUnit(u), nil
	case agent == nil && u.Life.Life == entity.Dying && !u.Started &&
		(len(u.Attached) == 0 || !s.calm && s.rnd.IntN(2) == 0):
		return s.removeUnit(u), nil
	case agent == nil:
		s.agents[tag] = &simAgent{failed: u.Erred}
	}
	return nil, nil
}

func (s *sim) removeUnit(u *simulationtest.Unit) *simAction {
	return s.onUnit("deployer", "remove", u, func(h *state.Unit) error { return h.Remove(s.ctx) },
		func() simulationtest.Answer { return s.model.RemoveUnit(u) }, entity.InUse, entity.HasSubordinates)
}

// onMachine returns an action on a machine.
func (s *sim) onMachine(by, what string, m *simulationtest.Machine, do func(*state.Machine) error,
	expect func() simulationtest.Answer, may ...entity.Kind) *simAction {
	return &simAction{what: what + " " + m.ID, by: by, may: may, expect: said(expect),
		run: func() error {
			handle, err := s.st.Machine(s.ctx, m.ID)
			if err == nil {
				err = do(handle)
			}
			return err
		}}
}

// machineAgent is what the agent of a machine does with the machine itself.
func (s *sim) machineAgent(m *simulationtest.Machine) *simAction {
	if m == nil || !s.machineUp(m) || m.Life.Life != entity.Dying {
		return nil
	}
	holds := len(m.Units)+len(m.Containers)+len(m.Storage) > 0
	rarely := len(m.Units)+len(m.Containers) > 0 && s.rnd.IntN(4) > 0
	if holds && (s.calm || rarely) {
		return nil
	}
	return s.machineDead(m, "machine agent")
}

func (s *sim) machineDead(m *simulationtest.Machine, by string) *simAction {
	return s.onMachine(by, "ensure dead", m, func(h *state.Machine) error { return h.EnsureDead(s.ctx) },
		func() simulationtest.Answer { return s.model.MachineDead(m) }, entity.InUse, entity.Invalid)
}

// provisioner is what the provisioner does with a machine.
func (s *sim) provisioner(m *simulationtest.Machine) *simAction {
	switch {
	case m == nil:
		return nil
	case !m.Instance && (m.Life.Life == entity.Alive || m.Life.Life == entity.Dying && len(m.Units) > 0):
		return s.provision(m)
	case m.Life.Life == entity.Dying && !m.Instance &&
		(len(m.Units)+len(m.Containers)+len(m.Storage) == 0 || !s.calm && s.rnd.IntN(4) == 0):
		return s.machineDead(m, "provisioner")
	case m.Life.Life == entity.Dead && m.Instance && !s.calm && s.rnd.IntN(5) == 0:
		return s.cloudSays(m, true)
	case m.Life.Life == entity.Dead:
		return s.removeMachine(m)
	}
	return nil
}

func (s *sim) provision(m *simulationtest.Machine) *simAction {
	return s.onMachine("provisioner", "provision", m, func(h *state.Machine) error {
		return h.SetProvisioned(s.ctx, entity.Instance{ID: "i-" + strings.ReplaceAll(m.ID, "/", "-"), Nonce: "n"})
	}, func() simulationtest.Answer { return s.model.Provision(m) }, entity.NotAlive)
}

func (s *sim) removeMachine(m *simulationtest.Machine) *simAction {
	return s.onMachine("provisioner", "remove", m, func(h *state.Machine) error { return h.Remove(s.ctx) },
		func() simulationtest.Answer { return s.model.RemoveMachine(m) }, entity.Invalid, entity.InUse)
}

func (s *sim) cloudSays(m *simulationtest.Machine, erred bool) *simAction {
	status := entity.Status{Status: entity.StatusStarted}
	if erred {
		status = entity.Status{Status: entity.StatusError, Message: "quota"}
	}
	return s.onMachine("provisioner", fmt.Sprintf("cloud errs: %t", erred), m, func(h *state.Machine) error {
		return h.SetInstanceStatus(s.ctx, status)
	}, func() simulationtest.Answer { return s.model.CloudSays(m, erred) })
}
