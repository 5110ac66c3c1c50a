package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"juju/apiserver/client"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

// A plannedAct is a change that a user makes.
type plannedAct struct {
	what    string
	do      func(context.Context, *client.Conn) error
	several bool // requests, which are planned together
}

// end returns a change that destroys the model.
func (p *foreseer) end(*entity.ModelStatus) plannedAct {
	how := entity.Destruction{Strength: pick(p.rand, []entity.Strength{entity.Plain, entity.Lenient, entity.Force})}
	if how.Strength == entity.Force {
		how.Timeout = entity.ForceTimeout // within which the agents act
	}
	choice := p.rand.IntN(3) // without a choice it is refused if there is storage that outlives its machine
	how.Storage, how.Release = choice == 1, choice == 2
	return plannedAct{what: fmt.Sprintf("destroy the model %+v", how), do: func(ctx context.Context, c *client.Conn) error {
		return c.DestroyModel(ctx, p.model, how)
	}}
}

// A scene is the model before a change, with something in it that chance has chosen.
type scene struct {
	*entity.ModelStatus
	services               []string
	service, unit, machine string
	charm                  string // the name of the service's
	how                    entity.Destruction
	crowded, manyMachines  bool
}

// look returns the scene of the next change.
func (p *foreseer) look(m *entity.ModelStatus) scene {
	services := namesOf(m.Services, func(s entity.ServiceStatus) string { return s.Name })
	units := namesOf(m.AllUnits(), func(u entity.UnitStatus) string { return u.Name })
	machines := namesOf(m.AllMachines(), func(m entity.MachineStatus) string { return m.ID })
	s := scene{ModelStatus: m, services: services, service: pick(p.rand, services), unit: cmp.Or(pick(p.rand, units), "none/0"),
		machine: cmp.Or(pick(p.rand, machines), "99"), crowded: len(units) > 12, manyMachines: len(machines) > 12}
	if at := slices.Index(services, s.service); at >= 0 {
		s.charm = charmOf(m.Services[at].CharmURL)
	}
	s.how = entity.Destruction{Machines: p.rand.IntN(2) == 0, Storage: p.rand.IntN(2) == 0,
		Strength: pick(p.rand, []entity.Strength{entity.Plain, entity.Lenient, entity.Force})}
	if s.how.Strength == entity.Force {
		s.how.Timeout = entity.ForceTimeout // within which the agents act
	}
	return s
}

// act returns a random change.
func (p *foreseer) act(m *entity.ModelStatus) plannedAct {
	s := p.look(m)
	switch {
	case len(p.trouble) > 0 && p.rand.IntN(2) == 0:
		return p.mendingAct(s)
	case s.crowded:
		s.how.Machines = true
		return p.destroyUnits(s)
	case s.manyMachines:
		return p.destroyMachine(s)
	case len(s.services) == 0:
		return p.deploy(s)
	}
	of := pick(p.rand, []func(scene) plannedAct{p.addUnits, p.addUnits, p.destroyUnits, p.destroyUnits, p.relationAct, p.relationAct,
		p.relationAct, p.configAct, p.exposeAct, p.upgrade, p.upgrade, p.machineAct, p.limitAct, p.storageAct, p.storageAct, p.storageAct, p.poolAct,
		p.modelAct, p.offerAct, p.offerAct, p.spaceAct, p.bind, p.taskAct, p.mendingAct, p.severalAct, p.serviceAct, p.serviceAct})
	return of(s)
}

// each joins the errors of a request about several things.
func each(errs []error, err error) error { return errors.Join(append(errs, err)...) }

// ended joins the errors of a request that destroys things.
func ended(errs []error, _ entity.DestroyInfo, err error) error { return each(errs, err) }

func (p *foreseer) addUnits(s scene) plannedAct {
	n := 1 + p.rand.IntN(2)
	var to []entity.Placement
	if p.rand.IntN(3) == 0 {
		to = statetest.To(pick(p.rand, []string{s.machine, s.machine, "new"}))
	}
	return plannedAct{what: fmt.Sprintf("add %d units to %s on %v", n, s.service, to), do: func(ctx context.Context, c *client.Conn) error {
		_, _, err := c.AddUnits(ctx, s.service, n, to)
		return err
	}}
}

func (p *foreseer) destroyUnits(s scene) plannedAct {
	units := []string{s.unit}
	if more := pick(p.rand, []string{"", "", "site/999", p.look(s.ModelStatus).unit}); more != "" && more != s.unit {
		units = append(units, more)
	}
	return plannedAct{what: fmt.Sprintf("destroy units %v %+v", units, s.how), do: func(ctx context.Context, c *client.Conn) error {
		return ended(c.DestroyUnits(ctx, s.how, units...))
	}}
}

// relationAct returns a change of relations: their suspension too, of which only those with other models know.
func (p *foreseer) relationAct(s scene) plannedAct {
	ends := pick(p.rand, foreseenRelations)
	switch p.rand.IntN(6) {
	case 0:
		return plannedAct{what: fmt.Sprintf("destroy relation %v", ends), do: func(ctx context.Context, c *client.Conn) error {
			return c.DestroyRelation(ctx, entity.Destruction{}, ends...)
		}}
	case 1:
		id, suspend := 999, p.rand.IntN(2) == 0
		if len(s.Relations) > 0 {
			id = pick(p.rand, s.Relations).ID
		}
		return plannedAct{what: fmt.Sprintf("suspend relation %d: %v", id, suspend), do: func(ctx context.Context, c *client.Conn) error {
			return each(c.SuspendRelations(ctx, suspend, "m", id))
		}}
	}
	return plannedAct{what: fmt.Sprintf("add relation %v", ends), do: func(ctx context.Context, c *client.Conn) error {
		_, err := c.AddRelation(ctx, ends...)
		return err
	}}
}

// configAct returns a change of settings, of trust, or of the number of units below which a service must not fall.
func (p *foreseer) configAct(s scene) plannedAct {
	set := func(key, value string) plannedAct {
		return plannedAct{what: "set " + key + " of " + s.service + " to " + value, do: func(ctx context.Context, c *client.Conn) error {
			return c.SetServiceConfig(ctx, s.service, map[string]string{key: value}, "")
		}}
	}
	key := pick(p.rand, []string{"n", "n", "trust", "nosuch"})
	switch p.rand.IntN(4) {
	case 0:
		return plannedAct{what: "reset " + key + " of " + s.service, do: func(ctx context.Context, c *client.Conn) error {
			return c.ResetServiceConfig(ctx, s.service, key)
		}}
	case 1:
		n := p.rand.IntN(4)
		return plannedAct{what: fmt.Sprintf("set the minimum of units of %s to %d", s.service, n), do: func(ctx context.Context, c *client.Conn) error {
			return c.SetMinUnits(ctx, s.service, n)
		}}
	}
	if key == "trust" {
		return set(key, pick(p.rand, []string{"true", "false", "maybe"}))
	}
	return set(key, pick(p.rand, []string{"0", "1", "2", "x"}))
}

func (p *foreseer) exposeAct(s scene) plannedAct {
	if p.rand.IntN(2) == 0 {
		return plannedAct{what: "unexpose " + s.service, do: func(ctx context.Context, c *client.Conn) error { return c.Unexpose(ctx, s.service) }}
	}
	return plannedAct{what: "expose " + s.service, do: func(ctx context.Context, c *client.Conn) error {
		_, err := c.Expose(ctx, s.service, nil)
		return err
	}}
}

func (p *foreseer) upgrade(s scene) plannedAct {
	args := client.SetCharmArgs{Service: s.service, CharmURL: p.charm(s.charm), Rollout: client.Rollout{Batch: p.rand.IntN(3)}} // 0: all at once
	if p.rand.IntN(3) == 0 {
		args.ForceUnits, args.Batch = true, 0
	}
	return plannedAct{what: fmt.Sprintf("upgrade %+v", args), do: func(ctx context.Context, c *client.Conn) error {
		_, err := c.SetCharm(ctx, args)
		return err
	}}
}

func (p *foreseer) destroyMachine(s scene) plannedAct {
	how := entity.Destruction{Strength: s.how.Strength, Timeout: s.how.Timeout}
	if how.Strength == entity.Lenient { // it is for units and services
		how.Strength = entity.Plain
	}
	return plannedAct{what: fmt.Sprintf("destroy machine %s %+v", s.machine, how), do: func(ctx context.Context, c *client.Conn) error {
		return ended(c.DestroyMachines(ctx, how, s.machine))
	}}
}

func (p *foreseer) machineAct(s scene) plannedAct {
	switch p.rand.IntN(4) {
	case 0:
		return p.destroyMachine(s)
	case 1:
		return plannedAct{what: "retry machine " + s.machine, do: func(ctx context.Context, c *client.Conn) error {
			errs, _, err := c.RetryProvisioning(ctx, nil, s.machine)
			return each(errs, err)
		}}
	}
	args := client.MachineArgs{Series: pick(p.rand, []string{"", "noble"})}
	if p.rand.IntN(2) == 0 {
		args.Constraints = p.mem()
	}
	return plannedAct{what: fmt.Sprintf("add a machine %+v", args), do: func(ctx context.Context, c *client.Conn) error {
		_, _, err := c.AddMachine(ctx, args)
		return err
	}}
}

// mem returns a constraint.
func (p *foreseer) mem() constraints.Value {
	p.Helper()
	mem, err := constraints.Parse(fmt.Sprintf("mem=%dM", 16+p.rand.IntN(2)))
	p.ok(err)
	return mem
}

func (p *foreseer) limitAct(s scene) plannedAct {
	if p.rand.IntN(2) == 0 {
		base := entity.BaseOf(pick(p.rand, []string{"jammy", "noble"}))
		return plannedAct{what: fmt.Sprintf("set the base of %s to %s", s.service, base), do: func(ctx context.Context, c *client.Conn) error {
			return c.SetBase(ctx, s.service, base, true)
		}}
	}
	mem := p.mem()
	return plannedAct{what: fmt.Sprintf("set constraints of %s to %s", s.service, mem), do: func(ctx context.Context, c *client.Conn) error {
		_, err := c.SetServiceConstraints(ctx, s.service, mem)
		return err
	}}
}

func (p *foreseer) serviceAct(s scene) plannedAct {
	if len(s.services) > 3 {
		return plannedAct{what: fmt.Sprintf("destroy service %s %+v", s.service, s.how), do: func(ctx context.Context, c *client.Conn) error {
			return ended(c.DestroyServices(ctx, s.how, s.service))
		}}
	}
	return p.deploy(s)
}

// deployment returns the arguments of a deployment.
func (p *foreseer) deployment(s scene) client.DeployArgs {
	p.Helper()
	name := pick(p.rand, []string{"site", "store", "log"})
	args := client.DeployArgs{Service: name, CharmURL: p.charm(name), Units: 1 + p.rand.IntN(2)}
	if slices.Contains(s.services, name) {
		args.Service = fmt.Sprintf("%s%d", name, p.next)
	}
	if p.rand.IntN(3) == 0 {
		args.Config = map[string]string{"n": pick(p.rand, []string{"1", "2", "x"})}
	}
	if name == "log" {
		args.Units = 0
		return args
	}
	switch p.rand.IntN(5) {
	case 0:
		args.Placement = statetest.To(pick(p.rand, []string{s.machine, s.machine, "new", "999"}))
	case 1:
		args.Constraints = p.mem()
	case 2:
		args.Bindings = map[string]string{"": "near"}
	case 3:
		args.Bindings = map[string]string{pick(p.rand, []string{"juju-info", "db", "nosuch"}): pick(p.rand, []string{"near", "alpha", "nosuch"})}
	}
	if name == "site" && p.rand.IntN(3) == 0 {
		args.Storage = map[string]entity.StorageConstraints{"data": {Pool: pick(p.rand, []string{entity.PoolRootFS, "local", "pool1"}), Size: 1, Count: 1}}
	}
	return args
}

func (p *foreseer) deploy(s scene) plannedAct {
	p.Helper()
	args := p.deployment(s)
	return plannedAct{what: fmt.Sprintf("deploy %+v", args), do: func(ctx context.Context, c *client.Conn) error {
		_, err := c.Deploy(ctx, args)
		return err
	}}
}

// severalAct returns several changes that are planned together, as apply makes those of a bundle: later ones name the machine
// that the first one adds.
func (p *foreseer) severalAct(s scene) plannedAct {
	p.Helper()
	args := p.deployment(s)
	args.Placement = nil
	ends, n := pick(p.rand, foreseenRelations), pick(p.rand, []string{"1", "2", "2", "x"})
	return plannedAct{several: true, what: fmt.Sprintf("add a machine, deploy %+v on it, expose that, relate %v, set n of %s to %s", args, ends, s.service, n),
		do: func(ctx context.Context, c *client.Conn) error {
			machine, _, err := c.AddMachine(ctx, client.MachineArgs{})
			if p.planning {
				machine, _ = c.PlanMachine()
			} else if err != nil {
				return err
			}
			if args.Units > 0 {
				args.Units, args.Placement = 1, statetest.To(machine)
			}
			for _, change := range []func() error{
				func() error { _, err := c.Deploy(ctx, args); return err },
				func() error { _, err := c.Expose(ctx, args.Service, nil); return err },
				func() error { _, err := c.AddRelation(ctx, ends...); return err },
				func() error { return c.SetServiceConfig(ctx, s.service, map[string]string{"n": n}, "") },
			} {
				if err := change(); err != nil && !errors.Is(err, client.ErrPlanned) {
					return err
				}
			}
			if p.planning {
				return c.PlanKept(ctx)
			}
			return nil
		}}
}
