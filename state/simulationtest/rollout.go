package simulationtest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"juju/state/entity"
)

// How the units of a service get another charm: at once, or in batches.

// A Rollout is an upgrade in batches.
type Rollout struct {
	Former  *Charm
	Reverts bool
	Batch   int
	Timeout time.Duration
	Since   time.Time
	Stopped bool
}

// A Turn is when a rollout came to a unit.
type Turn struct {
	Rollout *Rollout
	At      time.Time
	Was     entity.StatusWord
}

// rolloutEvents is all that can happen to a rollout.
var rolloutEvents = []string{"begins", "gives turns", "waits for a unit", "stops", "is resumed", "changes its pace", "ends", "is reverted",
	"is reverted after it has stopped", "takes back a peer relation", "has a failed hook run again", "is replaced", "is replaced by an upgrade of all units",
	"bars another", "is of a service that is destroyed", "passes a unit in error by force",
	"waits for a lost unit", "has a unit destroyed that is held", "has a unit destroyed whose turn it is",
	"comes to the leader last"}

func (m *Model) rolls(event string) { m.happens("a rollout " + event) }

// An Upgrade is another charm for a service.
type Upgrade struct {
	Charm   *Charm
	Force   bool // upgrade units in error too
	Batch   int  // 0 for all units at once
	Timeout time.Duration
}

// inTurn reports whether the rollout of its service has come to a unit.
func (u *Unit) inTurn() bool {
	return u.Service.Rollout != nil && u.Turn != nil && u.Turn.Rollout == u.Service.Rollout
}

// isHeld reports whether a unit waits for its turn.
func (u *Unit) isHeld() bool {
	return u.Service.Rollout != nil && u.Charm != nil && u.Charm != u.Service.Charm && !u.inTurn()
}

// Wanted returns the charm that a unit should run.
func (u *Unit) Wanted() *Charm {
	if u.Service.Rollout == nil || u.Charm == nil || u.inTurn() {
		return u.Service.Charm
	}
	return u.Charm
}

// said returns what a unit's workload says about itself, as far as a rollout depends on that.
func (u *Unit) said() entity.StatusWord {
	switch {
	case u.Erred:
		return entity.StatusError
	case u.Maintained:
		return entity.StatusMaintenance
	}
	return entity.StatusActive
}

// ails reports whether a unit keeps a rollout from going on. last is when the latest turns were given.
func (u *Unit) ails(last time.Time) bool {
	s, said := u.Service, u.said()
	if said == entity.StatusError && !(s.Forced && !s.Rollout.Reverts && u.Turn.Was == said) {
		return true
	}
	return u.Turn.At.Equal(last) && (u.Charm != s.Charm || u.Busy || said == entity.StatusMaintenance && u.Turn.Was != said)
}

// Upgrade is juju upgrade-charm.
func (m *Model) Upgrade(s *Service, to Upgrade) Answer {
	now := s.Rollout
	switch {
	case s.Life.Life == entity.Gone || s.Remote:
		return Answer{entity.NotFound}
	case now != nil && !now.Stopped && (to.Batch > 0 || to.Charm != s.Charm):
		m.rolls("bars another")
		return Answer{entity.InUse}
	case to.Batch > 0 && s.Life.Life != entity.Alive:
		return Answer{entity.NotAlive}
	case to.Batch > 0 && to.Charm == s.Charm:
		return Answer{entity.Invalid}
	case to.Batch == 0 && to.Charm == s.Charm && to.Force == s.Forced:
		return nil
	}
	former := s.Charm
	if now != nil && !now.Reverts && now.Former != to.Charm {
		former = now.Former
	}
	why := m.change(s, to, former, false)
	switch {
	case why != nil:
	case now != nil && to.Batch > 0:
		m.rolls("is replaced")
	case now != nil && s.Rollout == nil:
		m.rolls("is replaced by an upgrade of all units")
	case to.Batch > 0:
		m.rolls("begins")
	}
	return why
}

// Revert is juju upgrade-charm --revert.
func (m *Model) Revert(s *Service, batch int, timeout time.Duration) Answer {
	now := s.Rollout
	switch {
	case s.Life.Life == entity.Gone || s.Remote:
		return Answer{entity.NotFound}
	case now == nil || now.Reverts:
		return Answer{entity.Invalid}
	}
	to := Upgrade{now.Former, true, cmp.Or(batch, now.Batch), cmp.Or(timeout, now.Timeout)}
	why := m.change(s, to, s.Charm, true)
	if why == nil {
		m.rolls("is reverted")
		if now.Stopped {
			m.rolls("is reverted after it has stopped")
		}
	}
	return why
}

// change gives a service another charm, with the peer relations of that.
func (m *Model) change(s *Service, to Upgrade, former *Charm, reverts bool) Answer {
	if why := m.mayHave(s, to.Charm, to.Batch > 0 && !reverts); why != nil {
		return why
	}
	m.endPeers(s, to.Charm, reverts)
	other := to.Charm != s.Charm
	s.Charm, s.Forced = to.Charm, to.Force
	switch {
	case to.Batch > 0:
		s.Rollout = &Rollout{former, reverts, to.Batch, to.Timeout, m.Now, false}
	case other:
		s.Rollout = nil
	}
	return nil
}

// Resume is juju upgrade-charm --resume.
func (m *Model) Resume(s *Service, batch int, timeout time.Duration) Answer {
	r := s.Rollout
	switch {
	case s.Life.Life == entity.Gone || s.Remote:
		return Answer{entity.NotFound}
	case r == nil, !r.Stopped && batch == 0 && timeout == 0:
		return Answer{entity.Invalid}
	case r.Stopped:
		m.rolls("is resumed")
	default:
		m.rolls("changes its pace")
	}
	r.Batch, r.Timeout, r.Since, r.Stopped = cmp.Or(batch, r.Batch), cmp.Or(timeout, r.Timeout), m.Now, false
	return nil
}

// Advance models the controller, which takes the next step of a rollout. lost reports whether a unit's agent is lost.
func (m *Model) Advance(s *Service, lost func(*Unit) bool) Answer {
	r := s.Rollout
	switch {
	case s.Life.Life == entity.Gone || s.Remote:
		return Answer{entity.NotFound}
	case r == nil || r.Stopped:
		return nil
	}
	var last time.Time
	for u := range s.Units {
		if u.Life.Life == entity.Alive && u.inTurn() && u.Turn.At.After(last) {
			last = u.Turn.At
		}
	}
	ails := false
	var held []*Unit
	for _, u := range s.Members() {
		switch {
		case u.Life.Life != entity.Alive:
		case u.inTurn() && u.ails(last):
			ails = true
		case u.inTurn() && lost(u):
			m.rolls("waits for a lost unit")
			ails = true
		case u.inTurn() && u.Erred:
			m.rolls("passes a unit in error by force")
		case u.isHeld():
			held = append(held, u)
		}
	}
	began := last
	if r.Since.After(began) {
		began = r.Since
	}
	switch {
	case ails && m.Now.Before(began.Add(r.Timeout)):
		m.rolls("waits for a unit")
	case ails:
		m.rolls("stops")
		r.Stopped, r.Since = true, m.Now
	case len(held) == 0:
		m.rolls("ends")
		s.Rollout = nil
	default:
		m.rolls("gives turns")
		m.giveTurns(r, held, last)
	}
	return nil
}

// giveTurns begins the next batch. The leader is the last of all, and alone.
func (m *Model) giveTurns(r *Rollout, held []*Unit, last time.Time) {
	slices.SortFunc(held, func(a, b *Unit) int {
		return cmp.Or(btoi(a.Leads())-btoi(b.Leads()), entity.CompareNatural(a.Name, b.Name))
	})
	at := m.Now
	if !at.After(last) {
		at = last.Add(time.Millisecond)
	}
	batch := held[:min(len(held), r.Batch)]
	if n := len(batch) - 1; n > 0 && batch[n].Leads() {
		m.rolls("comes to the leader last")
		batch = batch[:n]
	}
	for _, u := range batch {
		u.Turn = &Turn{r, at, u.said()}
		if r.Reverts && u.Erred && !u.Resolved {
			m.rolls("has a failed hook run again")
			u.Resolved = true
		}
	}
}

// endsInRollout counts a unit that is destroyed in the middle of a rollout.
func (m *Model) endsInRollout(u *Unit) {
	if u.isHeld() {
		m.rolls("has a unit destroyed that is held")
	}
	if u.inTurn() {
		m.rolls("has a unit destroyed whose turn it is")
	}
}

// RunCharm models the agent of a unit, which has upgraded the charm, and what it says then; "" keeps that.
func (m *Model) RunCharm(u *Unit, to *Charm, says entity.StatusWord, busy bool) Answer {
	switch {
	case u.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case u.Life.Life == entity.Dead && u.Charm != to:
		return Answer{entity.NotAlive}
	}
	if says != "" {
		u.Erred, u.Maintained = says == entity.StatusError, says == entity.StatusMaintenance
	}
	u.Charm, u.Busy = to, busy
	return nil
}

// ServiceFact returns the line of a service.
func ServiceFact(l Life, charm string, forced bool, rollout string) string {
	return fmt.Sprintf("%s charm=%s forced=%t %s", l, charm, forced, rollout)
}

// RolloutFact returns the part of a rollout in the line of its service.
func RolloutFact(former string, reverts bool, batch int, timeout time.Duration, since time.Time, stopped bool) string {
	return fmt.Sprintf("rollout from %s reverts=%t by %d in %v since %d stopped=%t", former, reverts, batch, timeout, since.UnixMilli(), stopped)
}

func (s *Service) fact() string {
	if s.Remote {
		return s.Life.String()
	}
	rollout := ""
	if r := s.Rollout; r != nil {
		rollout = RolloutFact(r.Former.URL, r.Reverts, r.Batch, r.Timeout, r.Since, r.Stopped)
	}
	return ServiceFact(s.Life, s.Charm.URL, s.Forced, rollout)
}

// CharmFact returns the part of a unit's charm in its line. turn is zero unless the unit has one in the rollout of its
// service.
func CharmFact(url string, turn time.Time) string {
	if turn.IsZero() {
		return " charm=" + url
	}
	return fmt.Sprintf(" charm=%s turn=%d", url, turn.UnixMilli())
}

func (u *Unit) charmFact() string {
	url, turn := "", time.Time{}
	if u.Charm != nil {
		url = u.Charm.URL
	}
	if u.inTurn() {
		turn = u.Turn.At
	}
	return CharmFact(url, turn)
}
