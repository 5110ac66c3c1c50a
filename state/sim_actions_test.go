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

// any picks the next action; nil if the actor that was picked has nothing to
// do.
func (s *sim) any() (*simAction, error) {
	full := len(s.model.Machines)+len(s.model.Units) > s.busy
	switch n := s.rnd.IntN(100); {
	case n < s.cleaning:
		return s.cleaner(), nil
	case n < s.cleaning+s.tasking:
		return s.useTasks(), nil
	case n < s.cleaning+s.tasking+s.offering:
		return s.useOffers(), nil
	case n < s.cleaning+s.tasking+s.offering+s.relating:
		return s.useRelations(), nil
	case n < s.cleaning+s.tasking+s.offering+s.relating+s.hiding:
		return s.useSecrets()
	case n < 63-s.rolling:
		return s.someAgent()
	case n < 63:
		return s.useRollouts(), nil
	case n < 68:
		return s.weather(), nil
	case n < 71:
		return s.useStorage(), nil
	case n < 75:
		return s.useOffers(), nil
	case n < 80:
		return s.unasked(), nil
	case n < 87 && !full, n < 90:
		return s.grow(), nil
	}
	return s.shrink(), nil
}

// someAgent picks an agent that has something to do.
func (s *sim) someAgent() (*simAction, error) {
	for range 8 {
		var (
			a   *simAction
			err error
		)
		switch s.rnd.IntN(9) {
		case 0:
			a = s.machineAgent(s.someMachine())
		case 1:
			a = s.provisioner(s.someMachine())
		case 2, 3:
			a, err = s.deployer(s.someUnit())
		case 4:
			a, err = s.storageProvisioner()
		default:
			if u := s.someUnit(); u != nil && (!u.IsIdle() || s.rnd.IntN(10) == 0) {
				a, err = s.unitAgent(u)
			}
		}
		if a != nil || err != nil {
			return a, err
		}
	}
	return nil, nil
}

func one[T any](s *sim, all []T) (none T) {
	if len(all) == 0 {
		return none
	}
	return all[s.rnd.IntN(len(all))]
}

func (s *sim) someUnit() *simulationtest.Unit {
	return s.model.Units[one(s, slices.Sorted(maps.Keys(s.model.Units)))]
}

func (s *sim) someMachine() *simulationtest.Machine {
	return s.model.Machines[one(s, slices.Sorted(maps.Keys(s.model.Machines)))]
}

func (s *sim) someService() *simulationtest.Service {
	return s.model.Services[one(s, slices.Sorted(maps.Keys(s.model.Services)))]
}

func (s *sim) someRelation() *simulationtest.Relation {
	if len(s.model.Relations) == 0 {
		return nil
	}
	return s.model.Relations[one(s, slices.Sorted(maps.Keys(s.model.Relations)))]
}

// grow picks a user's action that adds something.
func (s *sim) grow() *simAction {
	switch n := s.rnd.IntN(20); {
	case n < 5:
		name := one(s, simServices)
		for i := 0; i < 4 && s.model.Services[name] != nil; i++ {
			name = one(s, simServices)
		}
		return s.deploy(name, s.rnd.IntN(3), s.placement())
	case n < 9:
		svc := s.someService()
		for i := 0; i < 3 && svc != nil && (svc.Subordinate || svc.Remote); i++ {
			svc = s.someService()
		}
		return s.addUnits(svc, 1+s.rnd.IntN(2), s.placement())
	case n < 17:
		return s.relateSome()
	case n < 18:
		host := ""
		if m := s.someMachine(); m != nil {
			host = m.ID
		}
		return s.addMachine(host, s.rnd.IntN(3) > 0, false)
	}
	return s.addMachine("", false, !s.hosted && s.rnd.IntN(4) == 0)
}

func (s *sim) relateSome() *simAction {
	pair := s.rnd.IntN(len(simRelations))
	for i := 0; i < 8 && s.mayRelate(pair) != nil; i++ {
		pair = s.rnd.IntN(len(simRelations))
	}
	return s.relate(pair)
}

// useRelations picks a user's action on relations.
func (s *sim) useRelations() *simAction {
	if s.rnd.IntN(2) == 0 {
		return s.relateSome()
	}
	return s.destroyRelation(s.someRelation(), s.destruction())
}

// placement names a machine for a unit, now and then, or a new container there or on a new machine.
func (s *sim) placement() []string {
	m := s.someMachine()
	switch n := s.rnd.IntN(12); {
	case m != nil && n < 4:
		return []string{m.ID}
	case m != nil && n == 4:
		return []string{"lxd:" + m.ID}
	case n == 5:
		return []string{"lxd"}
	}
	return nil
}

// placedOn returns the machine that a placement names; "" for none.
func placedOn(placement []string) string {
	if len(placement) == 0 || placement[0] == "lxd" {
		return ""
	}
	return strings.TrimPrefix(placement[0], "lxd:")
}

// shrink picks a user's action that removes something.
func (s *sim) shrink() *simAction {
	how := s.destruction()
	switch n := s.rnd.IntN(20); {
	case n < 7:
		u := s.someUnit()
		for i := 0; i < 6 && u != nil && (u.Started || !s.up(unitTag(u))); i++ { // one whose agent is starting
			u = s.someUnit()
		}
		how.Machines, how.Storage = s.rnd.IntN(2) == 0, s.rnd.IntN(4) == 0
		return s.destroyUnit(u, how)
	case n < 11:
		return s.destroyRelation(s.someRelation(), how)
	case n < 13:
		how.Machines, how.Storage = s.rnd.IntN(2) == 0, s.rnd.IntN(4) == 0
		return s.destroyService(s.someService(), how)
	}
	m := s.someMachine()
	for i := 0; i < 3 && m != nil && !m.IsEmpty(); i++ {
		m = s.someMachine()
	}
	return s.destroyMachine(m, how)
}

func (s *sim) destruction() entity.Destruction {
	switch n := s.rnd.IntN(100); {
	case n < 74:
		return entity.Destruction{}
	case n < 86:
		return entity.Destruction{Strength: entity.Lenient}
	}
	return entity.Destruction{Strength: entity.Force, Timeout: one(s, []time.Duration{0, 10 * time.Second, time.Minute})}
}

// said returns an answer that does not depend on what state returned.
func said(f func() simulationtest.Answer) func(error) (simulationtest.Answer, error) {
	return func(error) (simulationtest.Answer, error) { return f(), nil }
}

func (s *sim) deploy(name string, n int, placement []string) *simAction {
	if isSubordinate(name) {
		n = 0
	}
	if n == 0 {
		placement = nil
	}
	all := s.revisions[name]
	charm, stores := one(s, []*simulationtest.Charm{all[0], all[0], all[len(all)-1], one(s, all)}), s.someStores(name)
	return &simAction{what: fmt.Sprintf("deploy %s as %s -n %d --to %v --storage %v", charm.URL, name, n, placement, stores), by: "user",
		may: []entity.Kind{entity.AlreadyExists, entity.NotAlive, entity.Invalid, entity.NotSupported},
		run: func() error {
			_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: name, CharmURL: charm.URL, Units: n, Placement: statetest.To(placement...),
				Storage: stores})
			return err
		},
		expect: func(error) (simulationtest.Answer, error) {
			switch {
			case s.model.Life.Life != entity.Alive:
				return simulationtest.Answer{entity.NotAlive}, nil
			case s.model.Services[name] != nil:
				return simulationtest.Answer{entity.AlreadyExists}, nil
			}
			for _, id := range placement {
				if why := s.model.MayPlace(id); why != nil {
					return why, nil
				}
			}
			s.model.AddService(name, isSubordinate(name), charm)
			s.gives[name] = stores
			var units []string
			for unit, u := range s.shadow.docs["units"] {
				if u.Service == name && !s.model.Used("u#"+unit) {
					units = append(units, unit)
				}
			}
			return nil, s.placed(s.model.Services[name], n, units, placement)
		}}
}

func (s *sim) addUnits(svc *simulationtest.Service, n int, placement []string) *simAction {
	if svc == nil {
		return nil
	}
	var names, attach []string
	if x := s.someStorage(); x != nil && svc.Name == "disk" && n == 1 && s.rnd.IntN(2) == 0 {
		attach = []string{x.ID}
	}
	what := fmt.Sprintf("add-unit %s -n %d --to %v --attach %v", svc.Name, n, placement, attach)
	return &simAction{what: what, by: "user",
		may: []entity.Kind{entity.NotAlive, entity.Invalid, entity.InUse, entity.NotSupported},
		rival: func() *simAction {
			if on := placedOn(placement); on != "" && s.rnd.IntN(2) == 0 {
				return s.destroyMachine(s.model.Machines[on], s.destruction())
			}
			return s.destroyService(svc, s.destruction())
		},
		run: func() error {
			handle, err := s.st.Service(s.ctx, svc.Name)
			if err == nil {
				names, err = handle.AddUnits(s.ctx, n, statetest.To(placement...), attach...)
			}
			return err
		},
		expect: func(error) (simulationtest.Answer, error) {
			if why := s.model.MayAddUnits(svc); why != nil {
				return why, nil
			}
			for _, id := range placement {
				if why := s.model.MayPlace(id); why != nil {
					return why, nil
				}
			}
			for _, id := range attach {
				x := s.model.Storage[id]
				if x == nil {
					return simulationtest.Answer{entity.NotFound}, nil
				}
				if why := s.model.MayAttachNew(x, svc, strings.Join(placement, " ")); why != nil {
					return why, nil
				}
			}
			s.attaching = attach
			defer func() { s.attaching = nil }()
			return nil, s.placed(svc, n, names, placement)
		}}
}

// placed adds the units that state has added to the model.
func (s *sim) placed(svc *simulationtest.Service, n int, names, placement []string) error {
	if len(names) != n {
		return fmt.Errorf("added %v, want %d units", names, n)
	}
	slices.SortFunc(names, entity.CompareNatural)
	var placed []simulationtest.Placed
	for _, name := range names {
		u := s.shadow.docs["units"][name]
		if u == nil {
			return fmt.Errorf("unit %s was added but does not exist", name)
		}
		placed = append(placed, simulationtest.Placed{Unit: name, Machine: u.Machine})
	}
	return s.model.AddUnits(svc, placed, placement, s.raced)
}

func (s *sim) addMachine(host string, container, manager bool) *simAction {
	var p state.AddMachineParams
	if container {
		p.Placement = entity.Placement{Container: "lxd", Machine: host}
	}
	if manager {
		p.Jobs = []string{modeldb.JobManageModel}
	}
	var id string
	return &simAction{what: fmt.Sprintf("add-machine %+v", p), by: "user",
		may: []entity.Kind{entity.NotAlive, entity.NotSupported},
		rival: func() *simAction {
			return s.destroyMachine(s.model.Machines[host], s.destruction())
		},
		run: func() error {
			m, err := s.st.AddMachine(s.ctx, p)
			if err == nil {
				id = m.ID()
			}
			return err
		},
		expect: func(error) (simulationtest.Answer, error) {
			on := ""
			if container {
				if host != "" {
					if why := s.model.MayHost(host); why != nil {
						return why, nil
					}
				}
				on = id[:max(0, strings.LastIndex(id, "/lxd/"))]
			}
			s.model.AddMachine(id, on, manager)
			if host != "" && on != host && container {
				return nil, fmt.Errorf("container %s is not on machine %s", id, host)
			}
			return nil, nil
		}}
}

// relationOf returns the services of simRelations[i], and the relation's key.
func relationOf(i int) (a, b, key string) {
	p := simRelations[i]
	a, _, _ = strings.Cut(p.a, ":")
	b, _, _ = strings.Cut(p.b, ":")
	return a, b, p.a + " " + p.b
}

func (s *sim) mayRelate(i int) simulationtest.Answer {
	a, b, key := relationOf(i)
	return s.model.MayRelate(a, b, key, simRelations[i].container)
}

func (s *sim) relate(i int) *simAction {
	p := simRelations[i]
	a, b, key := relationOf(i)
	var id int
	return &simAction{what: "add-relation " + key, by: "user",
		may: []entity.Kind{entity.NotAlive, entity.AlreadyExists, entity.Invalid},
		rival: func() *simAction {
			if s.rnd.IntN(2) == 0 {
				return s.relateSome()
			}
			return s.destroyService(s.model.Services[one(s, []string{a, b})], s.destruction())
		},
		run: func() error {
			r, err := s.st.AddRelation(s.ctx, p.a, p.b)
			if err == nil {
				id = r.ID()
			}
			return err
		},
		expect: func(error) (simulationtest.Answer, error) {
			if why := s.mayRelate(i); why != nil {
				return why, nil
			}
			s.model.Relate(id, key, a, b, p.container)
			return nil, nil
		}}
}
