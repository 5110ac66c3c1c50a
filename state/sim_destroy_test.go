package state_test

import (
	"errors"
	"fmt"
	"strings"

	"juju/state/entity"
	"juju/state/simulationtest"
)

func (s *sim) destroyUnit(u *simulationtest.Unit, how entity.Destruction) *simAction {
	if u == nil {
		return nil
	}
	return &simAction{what: fmt.Sprintf("destroy-unit %s %v %v machines=%t", u.Name, how.Strength, how.Timeout,
		how.Machines), by: "user",
		may: []entity.Kind{entity.Invalid},
		rival: func() *simAction {
			if u.Started || !s.up(unitTag(u)) {
				return s.enterAny(u)
			}
			return s.start(u)
		},
		run: func() error {
			handle, err := s.st.Unit(s.ctx, u.Name)
			if err == nil {
				err = handle.Destroy(s.ctx, how)
			}
			return err
		},
		expect: said(func() simulationtest.Answer { return s.model.DestroyUnit(u, s.model.Begin(how)) })}
}

func (s *sim) destroyRelation(r *simulationtest.Relation, how entity.Destruction) *simAction {
	if r == nil {
		return nil
	}
	return &simAction{what: fmt.Sprintf("destroy-relation %d %s %v %v", r.ID, r.Key, how.Strength, how.Timeout),
		by:  "user",
		may: []entity.Kind{entity.Invalid},
		rival: func() *simAction {
			return s.enterAny(one(s, r.Members()))
		},
		run: func() error {
			handle, err := s.st.RelationByID(s.ctx, r.ID)
			if err == nil {
				err = handle.Destroy(s.ctx, how)
			}
			return err
		},
		expect: said(func() simulationtest.Answer { return s.model.DestroyRelation(r, s.model.Begin(how)) })}
}

func (s *sim) destroyService(svc *simulationtest.Service, how entity.Destruction) *simAction {
	if svc == nil {
		return nil
	}
	return &simAction{what: fmt.Sprintf("destroy-service %s %v %v machines=%t", svc.Name, how.Strength, how.Timeout,
		how.Machines), by: "user",
		rival: func() *simAction {
			if s.rnd.IntN(2) == 0 {
				return s.addUnits(svc, 1, nil)
			}
			if members := svc.Members(); len(members) > 0 && s.rnd.IntN(2) == 0 {
				return s.enterAny(one(s, members))
			}
			return s.relate(s.rnd.IntN(len(simRelations)))
		},
		run: func() error {
			handle, err := s.st.Service(s.ctx, svc.Name)
			if err == nil {
				err = handle.Destroy(s.ctx, how)
			}
			return err
		},
		expect: said(func() simulationtest.Answer { s.model.DestroyService(svc, s.model.Begin(how)); return nil })}
}

func (s *sim) destroyMachine(m *simulationtest.Machine, how entity.Destruction) *simAction {
	if m == nil {
		return nil
	}
	return &simAction{what: fmt.Sprintf("destroy-machine %s %v %v", m.ID, how.Strength, how.Timeout), by: "user",
		may: []entity.Kind{entity.InUse},
		rival: func() *simAction {
			if s.rnd.IntN(2) == 0 {
				return s.addMachine(m.ID, true, false)
			}
			return s.addUnits(s.someService(), 1, []string{m.ID})
		},
		run: func() error {
			handle, err := s.st.Machine(s.ctx, m.ID)
			if err == nil {
				err = handle.Destroy(s.ctx, how)
			}
			return err
		},
		expect: said(func() simulationtest.Answer { return s.model.DestroyMachine(m, s.model.Begin(how)) })}
}

// cleaner runs the cleaner until it has nothing to do.
func (s *sim) cleaner() *simAction {
	return &simAction{what: "clean", by: "cleaner",
		run: func() error {
			for range 30 {
				before := s.shadow.transactions()
				left, _, err := s.st.Cleaner().Cleanup(s.ctx)
				if err != nil {
					return err
				}
				if s.shadow.transactions() == before {
					if left > 0 && s.model.Life.Life == entity.Alive {
						return fmt.Errorf("%d cleanups cannot be done", left)
					}
					return nil
				}
			}
			return errors.New("the cleaner never ends")
		},
		expect: func(error) (simulationtest.Answer, error) {
			s.model.Clean()
			for id, d := range s.shadow.docs["cleanups"] {
				// The cleanup of a model stays while machines wait for their containers.
				if d.Kind != "force" && (!strings.HasSuffix(id, "-destroy-e") || len(s.model.Machines) == 0) {
					return nil, fmt.Errorf("cleanup %s was not done", id)
				}
			}
			return nil, nil
		}}
}
