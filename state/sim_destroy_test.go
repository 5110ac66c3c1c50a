package state_test

import (
	"errors"
	"fmt"
	"strings"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/simulationtest"
)

func (s *sim) destroyUnit(u *simulationtest.Unit, how entity.Destruction) *simAction {
	if u == nil {
		return nil
	}
	return &simAction{what: fmt.Sprintf("destroy-unit %s %v %v machines=%t storage=%t", u.Name, how.Strength,
		how.Timeout, how.Machines, how.Storage), by: "user",
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
	if svc.Remote {
		how.Machines, how.Storage = false, false
	}
	return &simAction{what: fmt.Sprintf("destroy-service %s %v %v machines=%t storage=%t", svc.Name, how.Strength,
		how.Timeout, how.Machines, how.Storage), by: "user",
		may: []entity.Kind{entity.InUse},
		rival: func() *simAction {
			switch {
			case svc.Remote:
				return s.relate(s.rnd.IntN(len(simRelations)))
			case strings.HasPrefix(svc.Name, "db") && s.rnd.IntN(4) == 0:
				return s.addOffer("o1", svc.Name)
			case s.rnd.IntN(2) == 0:
				return s.addUnits(svc, 1, nil)
			}
			if members := svc.Members(); len(members) > 0 && s.rnd.IntN(2) == 0 {
				return s.enterAny(one(s, members))
			}
			return s.relate(s.rnd.IntN(len(simRelations)))
		},
		run: func() error {
			if svc.Remote {
				handle, err := s.st.CrossModel().Remote(s.ctx, svc.Name)
				if err == nil {
					err = handle.Destroy(s.ctx, how)
				}
				return err
			}
			handle, err := s.st.Service(s.ctx, svc.Name)
			if err == nil {
				err = handle.Destroy(s.ctx, how)
			}
			return err
		},
		expect: said(func() simulationtest.Answer { return s.model.DestroyService(svc, s.model.Begin(how)) })}
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

// waitsForStorage reports whether a cleanup is one of a machine that waits until units give up
// the storage on its disk.
func (s *sim) waitsForStorage(cleanup *simDoc) bool {
	x := s.model.Machines[strings.TrimPrefix(cleanup.Arg, "m#")]
	if cleanup.Kind != "destroy" || x == nil {
		return false
	}
	for on := range x.Storage {
		if on.Held != nil {
			return true
		}
	}
	return false
}

// leasesToEnd returns the services whose leases the cleaner will look at.
func (s *sim) leasesToEnd() (services []string) {
	for _, d := range s.shadow.docs["cleanups"] {
		if service, _, _ := strings.Cut(d.Arg, "#"); d.Kind == modeldb.CleanupLease {
			services = append(services, service)
		}
	}
	return services
}

// cleaner runs the cleaner until it has nothing to do.
func (s *sim) cleaner() *simAction {
	left := 0
	var leases []string // of services that are gone, perhaps with another of the same name
	return &simAction{what: "clean", by: "cleaner",
		run: func() (err error) {
			leases = s.leasesToEnd()
			for range 30 {
				before := s.shadow.transactions()
				if left, _, err = s.st.Cleaner().Cleanup(s.ctx); err != nil {
					return err
				}
				if s.shadow.transactions() == before {
					return nil
				}
			}
			return errors.New("the cleaner never ends")
		},
		expect: func(error) (simulationtest.Answer, error) {
			s.model.Look(leases)
			s.model.Clean()
			wait := 0
			for id, d := range s.shadow.docs["cleanups"] {
				// The cleanup of a model stays while machines wait for their containers.
				whole := strings.HasSuffix(id, "-destroy-e") && !s.model.IsEmpty()
				switch {
				case whole || s.waitsForStorage(d):
					wait++
				case d.Kind != "force":
					return nil, fmt.Errorf("cleanup %s was not done", id)
				}
			}
			if left > wait {
				return nil, fmt.Errorf("%d cleanups cannot be done, and %d wait", left, wait)
			}
			return nil, nil
		}}
}
