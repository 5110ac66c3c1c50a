package state_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/simulationtest"
	"juju/state/statetest"
)

// simPals are the services with a revision of the charm that has another peer relation, and one where that has another
// interface.
var simPals = []string{"db", "db2", "web", "log"}

// addRevisions adds the revisions of a service's charm: two that are alike, or differ in a limit of relations, and some with
// other peer relations, or with an endpoint of container scope.
func (s *sim) addRevisions(service, metadata string) {
	s.revisions[service] = nil
	base := map[string]string{}
	add := func(old, now string, peers map[string]string, contained ...string) *simulationtest.Charm {
		c := &simulationtest.Charm{URL: statetest.Charm(s, s.st, strings.Replace(metadata, old, now, 1)), Peers: peers, Contained: contained}
		s.revisions[service] = append(s.revisions[service], c)
		s.charms[c.URL] = c
		return c
	}
	if service == "ring" {
		base["ring:ring"] = "riak"
	}
	add("", "", base)
	switch service {
	case "db":
		add("server: {interface: mysql}", "server: {interface: mysql, limit: 1}", base).Limits = map[string]int{"server": 1}
	case "web":
		add("db: {interface: mysql}", "db: {interface: mysql, limit: 2}", base).Limits = map[string]int{"db": 2}
	default:
		add("", "", base)
	}
	switch {
	case service == "ring":
		add("ring: {interface: riak}", "", nil)
		add("{interface: riak}", "{interface: talk}", map[string]string{"ring:ring": "talk"})
	case slices.Contains(simPals, service):
		for _, as := range []string{"pals", "mates"} {
			add("description: d,", "description: d, peers: {pals: {interface: "+as+"}},", map[string]string{service + ":pals": as})
		}
	}
	if service == "db" {
		add("server: {interface: mysql}", "server: {interface: mysql, scope: container}", base, "server")
	}
}

// peer returns the id that state gave to a peer relation. One that is gone already has none, and gets another.
func (s *sim) peer(key string) int {
	if r := s.shadow.docs["relations"][key]; r != nil && !s.model.Used(fmt.Sprintf("r#%d", r.Number)) {
		return r.Number
	}
	s.ghosts--
	return s.ghosts
}

// lackingPeers names the Alive services that lack a peer relation of their charm, or have one that it lacks. An old one may
// be ending, or its successor may be due.
func (s *sim) lackingPeers() (wrong []string) {
	due := map[string]bool{}
	for _, d := range s.shadow.docs["cleanups"] {
		due[d.Arg] = due[d.Arg] || d.Kind == modeldb.CleanupPeers
	}
	for name, d := range s.shadow.docs["services"] {
		if d.Life != entity.Alive {
			continue
		}
		peers := s.charms[d.Charm].Peers
		for key, as := range peers {
			if r := s.shadow.docs["relations"][key]; r == nil && !due[name] || r != nil && r.Life == entity.Alive && r.peers() != as {
				wrong = append(wrong, fmt.Sprintf("service %s lacks the peer relation %s of its charm, and nothing adds it", name, key))
			}
		}
		for key, r := range s.shadow.docs["relations"] {
			if r.peers() != "" && r.Endpoints[0].Service == name && r.Life == entity.Alive && peers[key] == "" {
				wrong = append(wrong, fmt.Sprintf("service %s has the peer relation %s, which its charm lacks", name, key))
			}
		}
	}
	return wrong
}

// useRollouts picks an action on a service's charm.
func (s *sim) useRollouts() *simAction {
	svc := s.someService()
	for i := 0; i < 8 && svc != nil && svc.Rollout == nil; i++ {
		if i > 2 && slices.ContainsFunc(svc.Members(), func(u *simulationtest.Unit) bool { return u.Charm != nil }) {
			break // one that could have one
		}
		svc = s.someService()
	}
	if svc == nil || svc.Remote {
		return nil
	}
	n, now := s.rnd.IntN(100), svc.Rollout
	var ending *simulationtest.Relation // an old peer relation
	for _, r := range svc.All() {
		if r.Life.Life == entity.Dying && r.Interface != "" {
			ending = r
		}
	}
	switch {
	case ending != nil && n >= 75:
		return s.destroyRelation(ending, entity.Destruction{Strength: entity.Force, Timeout: one(s, []time.Duration{0, time.Second})})
	case now != nil && now.Stopped && ending != nil && n < 50, now == nil && ending != nil: // the charm changes meanwhile
	case now != nil && !now.Stopped && n < 50:
		return s.advance(svc)
	case now != nil && !now.Stopped && n < 75:
		s.clock.Add(now.Timeout.Milliseconds())
		return s.advance(svc)
	case now != nil && (n < 85 && !now.Stopped || n < 30), n < 2:
		return s.resume(svc, s.rnd.IntN(3), one(s, []time.Duration{0, time.Second, time.Minute}))
	case now != nil && (n < 93 && !now.Stopped || n < 70), n < 4:
		return s.revert(svc, s.rnd.IntN(3), one(s, []time.Duration{0, time.Minute}))
	}
	to := simulationtest.Upgrade{Charm: one(s, s.revisions[svc.Name]), Force: s.rnd.IntN(3) == 0}
	for i := 0; i < 3 && to.Charm == svc.Charm; i++ {
		to.Charm = s.revisions[svc.Name][max(0, len(s.revisions[svc.Name])-1-s.rnd.IntN(4))]
	}
	if s.rnd.IntN(4) > 0 && (now == nil || s.rnd.IntN(2) == 0) {
		to.Batch, to.Timeout = 1+s.rnd.IntN(2), one(s, []time.Duration{time.Second, time.Minute, time.Hour})
	}
	return s.upgradeService(svc, to)
}

// onService returns an action on a service.
func (s *sim) onService(by, what string, svc *simulationtest.Service, do func(*state.Service) error,
	expect func() simulationtest.Answer, may ...entity.Kind) *simAction {
	return &simAction{what: what + " " + svc.Name, by: by, may: may, expect: said(expect),
		run: func() error {
			handle, err := s.st.Service(s.ctx, svc.Name)
			if err == nil {
				err = do(handle)
			}
			return err
		}}
}

func (s *sim) upgradeService(svc *simulationtest.Service, to simulationtest.Upgrade) *simAction {
	a := s.onService("user", fmt.Sprintf("upgrade-charm %s force=%t batch=%d %v", to.Charm.URL, to.Force, to.Batch, to.Timeout), svc,
		func(h *state.Service) error {
			_, err := h.SetCharm(s.ctx, state.SetCharmParams{URL: to.Charm.URL, ForceUnits: to.Force, Batch: to.Batch, HealthTimeout: to.Timeout})
			return err
		}, func() simulationtest.Answer { return s.model.Upgrade(svc, to) }, entity.InUse, entity.Invalid, entity.NotAlive)
	a.rival = func() *simAction {
		if s.rnd.IntN(2) == 0 {
			return s.destroyService(svc, s.destruction())
		}
		return s.upgradeService(svc, simulationtest.Upgrade{Charm: one(s, s.revisions[svc.Name]), Batch: 1, Timeout: time.Minute})
	}
	return a
}

func (s *sim) revert(svc *simulationtest.Service, batch int, timeout time.Duration) *simAction {
	a := s.onService("user", fmt.Sprintf("upgrade-charm --revert by %d in %v", batch, timeout), svc, func(h *state.Service) error {
		_, err := h.RevertRollout(s.ctx, batch, timeout)
		return err
	}, func() simulationtest.Answer { return s.model.Revert(svc, batch, timeout) }, entity.InUse, entity.Invalid)
	a.rival = func() *simAction {
		if s.rnd.IntN(2) == 0 {
			return s.destroyService(svc, s.destruction())
		}
		return s.advance(svc)
	}
	return a
}

func (s *sim) resume(svc *simulationtest.Service, batch int, timeout time.Duration) *simAction {
	a := s.onService("user", fmt.Sprintf("upgrade-charm --resume by %d in %v", batch, timeout), svc,
		func(h *state.Service) error { return h.ResumeRollout(s.ctx, batch, timeout) },
		func() simulationtest.Answer { return s.model.Resume(svc, batch, timeout) }, entity.Invalid)
	a.rival = func() *simAction { return s.resume(svc, 1+s.rnd.IntN(2), 0) }
	return a
}

// advance is what the controller does with a rollout. It need not see a status that changes while it chooses a batch.
func (s *sim) advance(svc *simulationtest.Service) *simAction {
	lost := map[string]bool{}
	for _, u := range svc.Members() {
		lost[u.Name] = !s.up(unitTag(u)) || !s.calm && s.rnd.IntN(12) == 0 // its connection can be lost, too
	}
	return s.onService(simRollouts, "advance", svc, func(h *state.Service) error {
		_, err := h.AdvanceRollout(s.ctx, func(unit string) bool { return lost[unit] })
		return err
	}, func() simulationtest.Answer {
		return s.model.Advance(svc, func(u *simulationtest.Unit) bool { return lost[u.Name] })
	})
}

// simRollouts is who advances rollouts.
const simRollouts = "rollouts"

// runCharm is an agent that upgrades the charm of its unit. A unit in error stays so.
func (s *sim) runCharm(u *simulationtest.Unit) *simAction {
	says, busy := entity.StatusActive, !s.calm && s.rnd.IntN(4) == 0
	switch n := s.rnd.IntN(8); {
	case u.Erred:
		says = ""
	case n < 2 && !s.calm:
		says = entity.StatusError
	case n < 4 && !s.calm:
		says = entity.StatusMaintenance
	}
	var url string
	return s.onUnit("unit agent", fmt.Sprintf("run the charm, say %q, busy=%t:", says, busy), u, func(h *state.Unit) error {
		info, err := h.Info(s.ctx)
		if err != nil {
			return err
		}
		url = info.ServiceCharmURL
		if err := h.SetCharm(s.ctx, url); err != nil {
			return err
		}
		if says != "" {
			if err := h.SetStatus(s.ctx, entity.Status{Status: says, Message: "upgraded"}); err != nil {
				return err
			}
		}
		word := entity.StatusIdle
		if busy {
			word = entity.StatusExecuting
		}
		return h.SetAgentStatus(s.ctx, entity.Status{Status: word})
	}, func() simulationtest.Answer {
		why := s.model.RunCharm(u, s.charms[url], says, busy)
		if a := s.agents[unitTag(u)]; a != nil {
			a.failed = u.Erred
		}
		return why
	}, entity.NotAlive)
}

// settleDown is an agent that has finished what its unit does.
func (s *sim) settleDown(u *simulationtest.Unit) *simAction {
	failed := u.Erred
	return s.onUnit("unit agent", "idle:", u, func(h *state.Unit) error {
		if err := h.SetAgentStatus(s.ctx, entity.Status{Status: entity.StatusIdle}); err != nil || failed {
			return err
		}
		return h.SetStatus(s.ctx, entity.Status{Status: entity.StatusActive})
	}, func() simulationtest.Answer {
		if u.Life.Life == entity.Gone {
			return simulationtest.Answer{entity.NotFound}
		}
		u.Busy, u.Maintained, u.Erred = false, false, u.Erred && failed
		if a := s.agents[unitTag(u)]; a != nil {
			a.failed = u.Erred
		}
		return nil
	})
}

// roll continues all rollouts, while calm returns: stopped ones are resumed.
func (s *sim) roll(act func(*simAction, error) (bool, error)) error {
	for _, name := range slices.Sorted(maps.Keys(s.model.Services)) {
		svc := s.model.Services[name]
		if svc.Rollout == nil {
			continue
		}
		if svc.Rollout.Stopped {
			if _, err := act(s.resume(svc, 0, 0), nil); err != nil {
				return err
			}
		}
		if _, err := act(s.advance(svc), nil); err != nil {
			return err
		}
	}
	return nil
}

// rolloutFact returns the part of a rollout in the line of its service.
func (d *simDoc) rolloutFact() string {
	r := d.Rollout
	if r.ID == "" {
		return ""
	}
	return simulationtest.RolloutFact(r.Former, r.Reverts, r.Batch, r.Timeout, r.Since, r.Stopped != "")
}

// charmFact returns the part of a unit's charm in its line.
func (s *shadow) charmFact(u *simDoc) string {
	var turn time.Time
	if svc := s.docs["services"][u.Service]; svc != nil && svc.Rollout.ID != "" && u.Turn.Rollout == svc.Rollout.ID {
		turn = u.Turn.At
	}
	return simulationtest.CharmFact(u.Charm, turn)
}

// adoptRollout sets the charm of a service of the model to what state holds.
func (s *sim) adoptRollout(svc *simulationtest.Service, d *simDoc) {
	svc.Charm, svc.Forced = s.charms[d.Charm], d.ForceCharm
	if r := d.Rollout; r.ID != "" {
		svc.Rollout = &simulationtest.Rollout{Former: s.charms[r.Former], Reverts: r.Reverts, Batch: r.Batch, Timeout: r.Timeout,
			Since: r.Since, Stopped: r.Stopped != ""}
	}
}

// adoptTurn sets the charm of a unit of the model to what state holds.
func (s *sim) adoptTurn(u *simulationtest.Unit, d *simDoc) {
	key := "u#" + u.Name
	u.Charm, u.Maintained = s.charms[d.Charm], s.shadow.status(key+"#workload") == entity.StatusMaintenance
	u.Busy = s.shadow.status(key) == entity.StatusExecuting
	if svc := s.shadow.docs["services"][d.Service]; d.Turn.Rollout != "" && d.Turn.Rollout == svc.Rollout.ID {
		u.Turn = &simulationtest.Turn{Rollout: u.Service.Rollout, At: d.Turn.At, Was: d.Turn.Was}
		if u.Turn.Was == "" || u.Turn.Was == entity.StatusUnknown {
			u.Turn.Was = entity.StatusActive
		}
	}
}
