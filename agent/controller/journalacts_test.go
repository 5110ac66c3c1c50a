package controller

import (
	"errors"
	"path/filepath"
	"strings"

	"juju/state"
	"juju/state/entity"
)

// act does something to the units. As many agents are killed for a number of hooks as in all.
func (p *player) act(hooks, kills int) {
	p.Helper()
	if p.kills*hooks < p.checker.Hooks*kills {
		p.kill()
		return
	}
	services := []string{"site", "store"}
	service := services[p.rand.IntN(2)]
	switch n := p.rand.IntN(32); {
	case n < 10:
		if p.rand.IntN(3) == 0 {
			service = "log"
		}
		p.setting++
		p.note("config %s %d", service, p.setting)
		p.ok(p.service(service).SetConfig(p.ctx, map[string]any{"n": p.setting}))
	case n < 13:
		if len(p.alive(service)) < 4 {
			_, err := p.service(service).AddUnits(p.ctx, 1, nil)
			p.ok(err)
		}
	case n < 16:
		p.destroyUnit(service)
	case n < 18:
		p.relate(relations[p.rand.IntN(len(relations))])
	case n < 21:
		if p.rand.IntN(3) == 0 {
			service = "log"
		}
		p.upgrade(service, p.rand.IntN(2) == 0)
	case n < 22:
		p.lose()
	case n < 26:
		p.store()
	case n < 30:
		p.enqueue()
	}
}

// upgrade gives a service the next version of its charm.
func (p *player) upgrade(service string, forced bool) {
	p.Helper()
	url, word := p.charm(service), ""
	if forced {
		word = "forced"
	}
	p.note("upgraded %s %d %s", service, p.version[service], word)
	_, err := p.service(service).SetCharm(p.ctx, state.SetCharmParams{URL: url, ForceUnits: forced})
	p.ok(err)
}

func (p *player) service(name string) *state.Service {
	p.Helper()
	svc, err := p.st.Service(p.ctx, name)
	p.ok(err)
	return svc
}

// alive returns the Alive units of a service.
func (p *player) alive(service string) (all []entity.UnitStatus) {
	p.Helper()
	m, err := p.st.Status(p.ctx)
	p.ok(err)
	for _, u := range everyUnit(m) {
		if entity.UnitService(u.Name) == service && u.Life == entity.Alive {
			all = append(all, u)
		}
	}
	return all
}

// destroyUnit destroys a unit of the service unless it is the only one; often the leader, so that
// another takes over.
func (p *player) destroyUnit(service string) {
	p.Helper()
	units := p.alive(service)
	if len(units) < 2 {
		return
	}
	u := units[p.rand.IntN(len(units))]
	for _, one := range units {
		if one.Leader && p.rand.IntN(2) == 0 {
			u = one
		}
	}
	unit, err := p.st.Unit(p.ctx, u.Name)
	p.ok(err)
	p.ok(unit.Destroy(p.ctx, entity.Destruction{}))
}

// relate adds a relation, or destroys it.
func (p *player) relate(ends []string) {
	p.Helper()
	r, err := p.st.Relation(p.ctx, ends...)
	switch {
	case errors.Is(err, entity.NotFound):
		_, err = p.st.AddRelation(p.ctx, ends...)
		p.ok(err)
	case err != nil:
		p.ok(err)
	case r.Life() == entity.Alive:
		p.ok(r.Destroy(p.ctx, entity.Destruction{}))
	}
}

// kill kills the agent of a unit.
func (p *player) kill() {
	p.Helper()
	units := p.checker.Units()
	if len(units) == 0 {
		return
	}
	unit := units[p.rand.IntN(len(units))]
	home := p.home(unit)
	if home == "" {
		return
	}
	killed, err := p.host.Units.Kill(p.ctx, home, func() { p.note("killed %s", unit) })
	p.ok(err)
	if killed {
		p.kills++
	}
}

// lose makes a machine vanish that has units.
func (p *player) lose() {
	p.Helper()
	m, err := p.st.Status(p.ctx)
	p.ok(err)
	machine := m.Machines[p.rand.IntN(len(m.Machines))]
	homes, err := filepath.Glob(filepath.Join(p.machines, machine.ID+"-*", "agents", "unit-*"))
	p.ok(err)
	if machine.InstanceID == "" || len(homes) == 0 {
		return
	}
	if !p.cloud.Lose(machine.InstanceID) {
		return
	}
	for _, home := range homes {
		tag, err := entity.ParseTag(filepath.Base(home))
		p.ok(err)
		place, _, _ := strings.Cut(strings.TrimPrefix(home, p.machines+"/"), "/")
		p.note("lost %s %s", tag.ID, place)
	}
}
