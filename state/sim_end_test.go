package state_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/state/entity"
)

// settle lets every agent act until nothing is left to do; every agent answers
// and every failed hook is resolved. Then nothing is Dying or Dead any more.
func (s *sim) settle() error {
	s.calm = true
	defer func() { s.calm = false }()
	for tag, a := range s.agents {
		if strings.HasPrefix(tag, "machine-") {
			delete(s.agents, tag)
		} else {
			a.down = false
		}
	}
	for range 60 {
		acted, err := s.round()
		if err != nil {
			return err
		}
		if !acted {
			return s.quiet("every agent has acted")
		}
	}
	return errors.New("the agents never finish")
}

// round lets each agent act once, and then the cleaner.
func (s *sim) round() (acted bool, err error) {
	act := func(a *simAction, err error) (bool, error) {
		if err != nil || a == nil {
			return false, err
		}
		acted = true
		return true, s.do(a, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(s.model.Units)) {
		u := s.model.Units[name]
		if u == nil {
			continue
		}
		if u.Erred && !u.Resolved && s.up(unitTag(u)) {
			if _, err := act(s.resolve(u), nil); err != nil {
				return false, err
			}
		}
		if _, err := act(s.deployer(u)); err != nil {
			return false, err
		}
		for range 50 {
			if u.Life.Life == entity.Gone {
				break
			}
			if more, err := act(s.unitAgent(u)); err != nil {
				return false, err
			} else if !more {
				break
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.model.Machines)) {
		for _, next := range []func() *simAction{
			func() *simAction { return s.provisioner(s.model.Machines[id]) },
			func() *simAction { return s.machineAgent(s.model.Machines[id]) },
		} {
			if _, err := act(next(), nil); err != nil {
				return false, err
			}
		}
	}
	for range len(s.model.Storage) {
		if more, err := act(s.storageProvisioner()); err != nil {
			return false, err
		} else if !more {
			break
		}
	}
	for a := s.otherModels(); a != nil; a = s.otherModels() {
		if _, err := act(a, nil); err != nil {
			return false, err
		}
	}
	if err := s.roll(act); err != nil {
		return false, err
	}
	before := s.shadow.transactions()
	err = s.do(s.cleaner(), nil)
	return acted || s.shadow.transactions() != before, err
}

// force destroys everything that is ending with force, and lets time pass. No
// agent acts.
func (s *sim) force() error {
	for range 4 {
		if err := s.do(s.cleaner(), nil); err != nil {
			return err
		}
		if len(s.model.Ends())+len(s.model.Ending()) == 0 {
			return s.quiet("forced, and time has passed")
		}
		how := entity.Destruction{Strength: entity.Force, Timeout: one(s, []time.Duration{0, 10 * time.Second, time.Minute})}
		if err := s.endAll(how, true); err != nil {
			return err
		}
		for range 3 { // the timeout of force, and the cloud's for a container and its host
			s.clock.Add((61 * time.Second).Milliseconds())
			if err := s.do(s.cleaner(), nil); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("these remain in spite of force: %v", s.model.Ends())
}

// endAll destroys everything, or with going only what is ending already.
func (s *sim) endAll(how entity.Destruction, going bool) error {
	var all []*simAction
	for _, name := range slices.Sorted(maps.Keys(s.model.Services)) { // after its offers
		if svc := s.model.Services[name]; !going || svc.Life.Life != entity.Alive {
			all = append(all, s.destroyService(svc, how))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.model.Offers)) { // after the relations that use it
		if o := s.model.Offers[name]; !going || o.Life.Life != entity.Alive {
			all = append(all, s.destroyOffer(o, how))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.model.Relations)) {
		if r := s.model.Relations[id]; going && r.Life.Life != entity.Alive || !going && r.Offer != nil {
			all = append(all, s.destroyRelation(r, how))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.model.Units)) {
		if u := s.model.Units[name]; going && u.Life.Life != entity.Alive {
			all = append(all, s.destroyUnit(u, how))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.model.Machines)) {
		if m := s.model.Machines[id]; !going || m.Life.Life != entity.Alive {
			all = append(all, s.destroyMachine(m, how))
		}
	}
	slices.Reverse(all) // containers before their hosts
	for _, id := range slices.Sorted(maps.Keys(s.model.Storage)) {
		if x := s.model.Storage[id]; !going || x.Life.Life != entity.Alive {
			all = append(all, s.removeStorage(x, how, false))
		} else if x.Held != nil && x.Held.Life.Life != entity.Alive {
			all = append(all, s.detach(x, how))
		}
	}
	for _, a := range all {
		if err := s.do(a, nil); err != nil && !errors.Is(err, entity.NotFound) {
			return err
		}
	}
	return nil
}

// quiet checks that nothing is ending, and no cleanup is left.
func (s *sim) quiet(after string) error {
	if err := s.readAll(); err != nil {
		return err
	}
	if ends := s.model.Ends(); len(ends) > 0 {
		return fmt.Errorf("%s, but these remain: %v", after, ends)
	}
	if ending := s.model.Ending(); len(ending) > 0 {
		return fmt.Errorf("%s, but these attachments remain: %v", after, ending)
	}
	if left := s.shadow.names("cleanups"); len(left) > 0 {
		return fmt.Errorf("%s, but these cleanups are left: %v", after, left)
	}
	findings, err := s.st.Check(s.ctx, false)
	if err == nil && len(findings) > 0 {
		err = fmt.Errorf("%s, but a check finds %v", after, findings)
	}
	return cmp.Or(err, s.checkSecrets())
}

// end destroys everything, and checks that the database is empty.
func (s *sim) end() error {
	settle := s.settle
	if s.rnd.IntN(2) == 0 {
		settle = s.force
	}
	if err := settle(); err != nil {
		return err
	}
	left := func() int { // what must still go: all but the last manager
		n := len(s.model.Storage)
		for _, m := range s.model.Machines {
			if !m.Manager {
				n++
			}
		}
		return n
	}
	// A machine with anything on it is refused, so nested containers go first.
	for rounds := 0; rounds < 3 || left() > 0 && rounds < 20; rounds++ {
		if err := s.endAll(s.destruction(), false); err != nil {
			return err
		}
		if err := s.settle(); err != nil {
			return err
		}
	}
	if err := s.forgetLeftovers(); err != nil {
		return err
	}
	if err := s.do(s.pruneOldTasks(), nil); err != nil {
		return err
	}
	if err := s.endSecrets(); err != nil {
		return err
	}
	return s.empty()
}

// forgetLeftovers removes the leftovers of force from the model and from state.
func (s *sim) forgetLeftovers() error {
	for _, r := range s.shadow.docs["leftovers"] {
		drop := func() error { return s.st.Provisioning().DropLeftovers(s.ctx, r.Instance) }
		if r.Filesystem != "" {
			drop = func() error { return s.st.Provisioning().DropFilesystem(s.ctx, r.Filesystem) }
		}
		if err := drop(); err != nil {
			return err
		}
	}
	s.model.Leftovers, s.model.Left = 0, 0
	return s.shadow.refresh(s.ctx, s.st)
}

// empty checks that the database holds only what outlives every entity, and the
// last manager with what it owns.
func (s *sim) empty() error {
	if err := s.readAll(); err != nil {
		return err
	}
	managers := 0
	for _, m := range s.model.Machines {
		if !m.Manager {
			return fmt.Errorf("machine %s is left", m.ID)
		}
		managers++
	}
	if managers > 1 {
		return fmt.Errorf("%d managers are left", managers)
	}
	counts, err := s.st.Counts(s.ctx)
	if err != nil {
		return err
	}
	users, err := s.shadow.hiding.onlyUsers() // end with the model
	if err != nil {
		return err
	}
	counts["secrets"] -= users
	for _, keep := range []string{"sequence", "charms", "statushistory", "model", "schema", "txns", "txns.log",
		"txns.stash", "refusals"} {
		delete(counts, keep)
	}
	for _, own := range []string{"machines", "counts"} {
		counts[own] -= managers
	}
	for collection, n := range counts {
		if n != 0 {
			return fmt.Errorf("%d documents are left in %s: %v", n, collection, s.shadow.docs[collection])
		}
	}
	return nil
}
