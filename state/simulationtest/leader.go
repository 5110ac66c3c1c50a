package simulationtest

import (
	"time"

	"juju/state/entity"
)

// A Lead is who leads a service, and how long no other unit may.
type Lead struct {
	Leader *Unit // as the service knows; nil if it was released
	holder *Unit
	since  time.Time // zero while it is not known: a controller that has started counts from when it looks
	d      time.Duration
}

// left returns for how long no other unit may lead.
func (l *Lead) left(now time.Time) time.Duration {
	if l.since.IsZero() {
		l.since = now
	}
	return l.d - now.Sub(l.since)
}

// Leads reports whether a unit leads its service.
func (u *Unit) Leads() bool { return u.Service.Lead.Leader == u }

// mayLead reports whether a unit may lead its service: one that is Dying if all are.
func (u *Unit) mayLead() bool {
	return u.Life.Life == entity.Alive || u.Life.Life == entity.Dying && u.Service.Life.Life == entity.Dying
}

// Claim has a unit lead its service, or go on to lead it, for some time.
func (m *Model) Claim(u *Unit, d time.Duration) Answer {
	if u.Life.Life == entity.Gone {
		return Answer{entity.NotFound}
	}
	l := &u.Service.Lead
	left := l.left(m.Now)
	held := l.holder != nil && l.holder != u && left > 0 && l.holder.Life.Life < entity.Dead
	if held || !u.mayLead() {
		return Answer{entity.LeadershipRefused}
	}
	if l.holder == u {
		d = max(d, left)
	}
	*l = Lead{Leader: u, holder: u, since: m.Now, d: d}
	return nil
}

// Release ends a unit's leadership.
func (m *Model) Release(u *Unit) Answer {
	if u.Life.Life == entity.Gone {
		return Answer{entity.NotFound}
	}
	l := &u.Service.Lead
	l.left(m.Now) // a controller that has started looks now
	if l.holder == u {
		*l = Lead{}
	}
	return nil
}

// Look is when the controller looks at the leases of services: of one that it has not seen, the time begins.
func (m *Model) Look(services []string) {
	for _, name := range services {
		if s := m.Services[name]; s != nil {
			s.Lead.left(m.Now)
		}
	}
}

// Restart is a restart of the controller.
func (m *Model) Restart() {
	for _, s := range m.Services {
		s.Lead.since = time.Time{}
	}
}

// fact returns who leads a service.
func (l Lead) fact() string {
	if l.Leader == nil {
		return ""
	}
	return l.Leader.Name
}
