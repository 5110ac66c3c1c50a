package state_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/simulationtest"
	"juju/state/statetest"
)

// begin makes a model for the simulation, and a reference model to compare it
// with.
func (s *sim) begin() (err error) {
	if s.st, err = s.ctrl.AddModel(s.ctx, controller.AddModelParams{Name: fmt.Sprintf("sim%d", s.steps),
		Owner: statetest.Admin, Series: "jammy"}); err != nil {
		return err
	}
	for name, metadata := range simCharms {
		s.addRevisions(name, metadata)
	}
	s.model, s.shadow, s.history, s.agents = simulationtest.New(), newShadow(), newHistory(), map[string]*simAgent{}
	s.epochs = map[string]int64{}
	s.model.Stores, s.model.Given, s.model.Peer, s.gives = simStores, s.given, s.peer, simGives{}
	if s.cover != nil {
		s.cover.follow(s.model)
	}
	s.watch()
	return nil
}

// life runs random actions in a model until it is empty, because everything in
// it or the model itself is destroyed. A model with managers is never
// destroyed.
func (s *sim) life(steps int) error {
	s.hosted = s.rnd.IntN(2) == 0
	if s.hosted && s.hasManagers() {
		if err := s.begin(); err != nil {
			return err
		}
	}
	if err := s.run(steps); err != nil {
		return err
	}
	if !s.hosted {
		return s.end()
	}
	if s.rnd.IntN(4) > 0 {
		if err := s.useRemotes(); err != nil {
			return err
		}
	}
	return s.endModel()
}

func (s *sim) hasManagers() bool {
	for _, m := range s.model.Machines {
		if m.Manager {
			return true
		}
	}
	return false
}

func (s *sim) destroyModel(how entity.Destruction) *simAction {
	return &simAction{what: fmt.Sprintf("destroy-model %v %v storage=%t release=%t", how.Strength, how.Timeout,
		how.Storage, how.Release), by: "user",
		run:    func() error { return s.st.Destroy(s.ctx, how) },
		expect: said(func() simulationtest.Answer { return s.model.Destroy(s.model.Begin(how), how.Release) })}
}

func (s *sim) modelDead() *simAction {
	return &simAction{what: "the model is dead", by: "controller",
		run:    func() error { return s.st.EnsureDead(s.ctx) },
		expect: said(func() simulationtest.Answer { return s.model.Dead() })}
}

func (s *sim) modelDestruction() entity.Destruction {
	how := s.destruction()
	how.Storage, how.Release = s.rnd.IntN(3) == 0, s.rnd.IntN(3) == 0
	return how
}

// endModel destroys the model with everything in it, and begins another.
func (s *sim) endModel() error {
	if err := s.do(s.destroyModel(s.modelDestruction()), nil); err != nil {
		return err
	}
	if s.model.Life.Life == entity.Alive {
		how := s.modelDestruction()
		how.Release = true
		if err := s.do(s.destroyModel(how), nil); err != nil {
			return err
		}
	}
	for range 100 {
		a, err := s.whileItEnds()
		if err == nil && a != nil {
			s.clock.Add(1)
			err = s.do(a, nil)
		}
		if err != nil {
			return fmt.Errorf("at step %d:\n%w", s.steps, err)
		}
	}
	settle := s.settle
	if s.rnd.IntN(2) == 0 {
		settle = s.forceModel
	}
	if err := settle(); err != nil {
		return err
	}
	if err := s.forgetLeftovers(); err != nil {
		return err
	}
	if err := s.do(s.pruneOldTasks(), nil); err != nil {
		return err
	}
	if err := s.empty(); err != nil {
		return err
	}
	if err := s.do(s.modelDead(), nil); err != nil {
		return err
	}
	if err := s.removeModel(); err != nil {
		return err
	}
	return s.begin()
}

// whileItEnds picks the next action in a model that is ending.
func (s *sim) whileItEnds() (*simAction, error) {
	switch n := s.rnd.IntN(100); {
	case n < 10:
		return s.cleaner(), nil
	case n < 68:
		return s.someAgent()
	case n < 70:
		return s.useSecrets()
	case n < 80:
		return s.weather(), nil
	case n < 90:
		return s.shrink(), nil
	case n < 91:
		return s.useOffersWhileItEnds(), nil
	case n < 94:
		return s.destroyModel(s.modelDestruction()), nil
	case !s.model.IsEmpty():
		return s.modelDead(), nil
	}
	return nil, nil
}

// forceModel destroys the model with force, and lets time pass. No agent acts.
func (s *sim) forceModel() error {
	if err := s.do(s.destroyModel(entity.Forced()), nil); err != nil {
		return err
	}
	for range 30 { // the timeout of force, and the cloud's for a container and its host
		if err := s.do(s.cleaner(), nil); err != nil {
			return err
		}
		if s.model.IsEmpty() {
			return s.quiet("the model was forced, and time has passed")
		}
		s.clock.Add(61_000)
	}
	return fmt.Errorf("these remain in spite of force: %v", s.model.Ends())
}

// removeModel removes a Dead model, as a controller does.
func (s *sim) removeModel() error {
	uuid := s.st.UUID()
	if err := s.ctrl.RemoveModel(s.ctx, uuid); err != nil {
		return err
	}
	unfinished, err := statetest.ResumeModels(s.ctx, s.ctrl, func(context.Context, controller.ModelRow) error { return nil }) // the cloud holds nothing
	if err != nil || unfinished > 0 {
		return errors.Join(err, fmt.Errorf("%d models are not removed", unfinished))
	}
	rows, err := s.ctrl.Models(s.ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(r controller.ModelRow) bool { return r.UUID == uuid }) {
		return errors.New("the model was not removed")
	}
	left, err := s.store.Databases(s.ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, uuid) }) {
		return errors.New("the model was removed, but not its database, with the secrets in it")
	}
	if s.cover != nil { // the model's row is in the controller's database, where moves are not counted
		s.cover.rows[moveRow(lifecycle.Move{Kind: lifecycle.Model, From: entity.Dead, To: entity.Gone,
			By: lifecycle.Controller})]++
	}
	return nil
}
