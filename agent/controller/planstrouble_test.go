package controller

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"juju/apiserver/client"
	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// inError returns the units whose hook has failed.
func inError(m *entity.ModelStatus) (names []string) {
	for _, u := range everyUnit(m) {
		if u.Workload.Status == entity.StatusError {
			names = append(names, u.Name)
		}
	}
	slices.SortFunc(names, entity.CompareNatural)
	return names
}

// makeTrouble has a hook of a unit fail: of an old one or of a new one, or in an upgrade in batches, which stops. Or the cloud
// refuses to start the machine of a new unit.
func (p *foreseer) makeTrouble() {
	p.Helper()
	m, err := p.st.Status(p.ctx)
	p.ok(err)
	services := slices.DeleteFunc(slices.Clone(m.Services), func(s entity.ServiceStatus) bool { return len(s.Units) == 0 || s.Rollout != nil })
	if len(services) == 0 {
		return
	}
	of := pick(p.rand, services)
	svc, err := p.st.Service(p.ctx, of.Name)
	p.ok(err)
	p.ok(p.st.Settings().SetConfig(p.ctx, map[string]string{modelconfig.RetryHooks: "false"}, nil))
	if p.rand.IntN(5) == 0 {
		p.refuseMachine(svc)
		return
	}
	unit, kind := pick(p.rand, of.Units).Name, p.rand.IntN(5)
	fails := unit + " " + []string{"config-changed", "upgrade-charm", "upgrade-charm", "install", "start"}[kind]
	if kind > 2 {
		fails = of.Name + "/* " + []string{"install", "start"}[kind-3]
	}
	p.ok(os.WriteFile(p.fail, []byte(fails), 0o600))
	if kind > 0 && kind < 3 {
		params := state.SetCharmParams{URL: p.charm(charmOf(of.CharmURL))}
		if kind == 2 {
			params.Batch, params.HealthTimeout = 1, time.Second
		}
		_, err = svc.SetCharm(p.ctx, params)
	} else if kind == 0 {
		err = svc.SetConfig(p.ctx, map[string]any{"n": int64(1000 + p.rounds)})
	} else {
		_, err = svc.AddUnits(p.ctx, 1, nil)
	}
	p.ok(err)
	wrong := p.untilRight(func(m *entity.ModelStatus) string {
		p.trouble = inError(m)
		at := slices.IndexFunc(m.Services, func(s entity.ServiceStatus) bool { return s.Name == of.Name })
		switch r := m.Services[at].Rollout; {
		case len(p.trouble) == 0 && r != nil && r.Stopped != "": // on a unit that was only slow
			p.try(svc.ResumeRollout(p.ctx, 0, 0))
			return "the upgrade goes on"
		case len(p.trouble) == 0 || r != nil && r.Stopped == "":
			return "no hook has failed, or the upgrade has not stopped"
		}
		return p.unsettled(m, p.trouble)
	})
	if wrong != "" {
		p.Fatalf("round %d: %s: %s", p.rounds, fails, wrong)
	}
	p.ok(os.WriteFile(p.fail, nil, 0o600))
	_, p.read = p.took()
}

// occupy has a unit run a command that ends when the change has been made.
func (p *foreseer) occupy() {
	p.Helper()
	m, err := p.st.Status(p.ctx)
	p.ok(err)
	unit := pick(p.rand, namesOf(everyUnit(m), func(u entity.UnitStatus) string { return u.Name }))
	if unit == "" {
		return
	}
	p.ok(os.RemoveAll(p.release))
	conn := p.dial()
	defer conn.Close()
	_, tasks, err := conn.RunCommand(p.ctx, client.RunArgs{Command: "until [ -e " + p.release + " ]; do sleep 0.05; done", Units: []string{unit}})
	p.ok(err)
	p.ok(tasks[0].Err)
	p.busy = unit
	if wrong := p.untilRight(func(m *entity.ModelStatus) string {
		for _, u := range everyUnit(m) {
			if u.Name == unit && strings.HasPrefix(u.Agent.Message, "running ") {
				return ""
			}
		}
		return "the command does not run"
	}); wrong != "" {
		p.Fatalf("round %d: %s", p.rounds, wrong)
	}
}

// refuseMachine adds a unit whose agent never begins.
func (p *foreseer) refuseMachine(svc *state.Service) {
	p.Helper()
	p.cloud.Fail("StartInstance", 1, errors.New("no"))
	_, err := svc.AddUnits(p.ctx, 1, statetest.To("new"))
	p.ok(err)
	p.refusal = true
	wrong := p.untilRight(func(m *entity.ModelStatus) string {
		if len(refusedMachines(m)) == 0 {
			return "the cloud has refused no machine"
		}
		return p.unsettled(m, nil)
	})
	if wrong != "" {
		p.Fatalf("round %d: %s", p.rounds, wrong)
	}
	_, p.read = p.took()
}

// mend ends the trouble: its hooks run again, machines start, and upgrades go on.
func (p *foreseer) mend() {
	p.Helper()
	p.busy = ""
	if len(p.trouble) == 0 && !p.refusal {
		return
	}
	p.trouble, p.refusal = nil, false
	wrong := p.untilRight(func(m *entity.ModelStatus) string {
		refused := refusedMachines(m)
		for _, id := range refused {
			if one, err := p.st.Machine(p.ctx, id); err == nil {
				p.try(one.RetryProvisioning(p.ctx, nil))
			}
		}
		if len(refused) > 0 {
			return "machines start"
		}
		for _, name := range inError(m) {
			if u, err := p.st.Unit(p.ctx, name); err == nil {
				p.try(u.Resolve(p.ctx, true))
			}
		}
		for _, s := range m.Services {
			if s.Rollout == nil {
				continue
			}
			if svc, err := p.st.Service(p.ctx, s.Name); err == nil && s.Rollout.Stopped != "" {
				p.try(svc.ResumeRollout(p.ctx, 0, 0))
			}
			return "an upgrade goes on"
		}
		return p.unsettled(m, nil)
	})
	if wrong != "" {
		p.Fatalf("round %d: %s", p.rounds, wrong)
	}
	_, p.read = p.took()
}

// try accepts that what was in trouble is gone or no longer is.
func (p *foreseer) try(err error) {
	p.Helper()
	if done := []entity.Kind{entity.NotFound, entity.NotAlive, entity.Invalid}; err != nil &&
		!slices.ContainsFunc(done, func(k entity.Kind) bool { return errors.Is(err, k) }) {
		p.Fatal(err)
	}
}
