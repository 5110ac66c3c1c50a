package state_test

import (
	"fmt"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/simulationtest"
)

// simLease is for how long units claim to lead.
const simLease = time.Minute

// claim has a unit lead its service.
func (s *sim) claim(u *simulationtest.Unit) *simAction {
	var epoch int64
	a := s.onUnit("unit agent", "claim leadership for", u, func(h *state.Unit) (err error) {
		epoch, err = h.ClaimLeadership(s.ctx, simLease)
		return err
	}, nil, entity.LeadershipRefused)
	a.alone = true
	a.expect = func(error) (simulationtest.Answer, error) {
		led := u.Leads()
		if why := s.model.Claim(u, simLease); why != nil {
			return why, nil
		}
		if was := s.epochs[u.Name]; epoch < was || epoch == was && !led {
			return nil, fmt.Errorf("%s leads by the claim %d, as it did before", u.Name, epoch)
		}
		s.epochs[u.Name] = epoch
		return nil, nil
	}
	return a
}

// release ends a unit's leadership.
func (s *sim) release(u *simulationtest.Unit) *simAction {
	a := s.onUnit("unit agent", "release leadership of", u, func(h *state.Unit) error { return h.ReleaseLeadership(s.ctx) },
		func() simulationtest.Answer { return s.model.Release(u) })
	a.alone = true
	return a
}

// someLeader picks a unit that leads its service; nil if none does.
func (s *sim) someLeader() *simulationtest.Unit {
	for range 4 {
		if svc := s.someService(); svc != nil && svc.Lead.Leader != nil {
			return svc.Lead.Leader
		}
	}
	return nil
}

// adoptLeader sets who leads a service, and by which claim, to what state holds. It says nothing of the lease.
func (s *sim) adoptLeader(svc *simulationtest.Service, units map[string]*simulationtest.Unit) {
	d := s.shadow.docs["leaders"][svc.Name]
	if d == nil {
		return
	}
	holder, _ := d.More["holder"].(string)
	if holder == "" {
		return
	}
	if svc.Lead.Leader = units[holder]; svc.Lead.Leader == nil {
		svc.Lead.Leader = &simulationtest.Unit{Name: holder, Life: simulationtest.Life{Life: entity.Gone}}
	}
	s.epochs[holder], _ = d.More["epoch"].(int64)
}
