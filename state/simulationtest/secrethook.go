package simulationtest

import (
	"time"

	"juju/state/entity"
)

// What hooks do with secrets.

// each does what a hook asks for, one after the other.
func each[T any](all []T, do func(T) Answer) Answer {
	for _, one := range all {
		if why := do(one); why != nil {
			return why
		}
	}
	return nil
}

// A Hook is a hook of a unit that changes secrets. Leads is set if the unit leads its service. Reads reports whether the
// unit may read a secret, or might do so a moment ago.
type Hook struct {
	Unit  *Unit
	Leads bool
	Reads func(*Secret) bool
}

// CommitHook makes the changes of a hook.
func (m *Model) CommitHook(h Hook, c entity.SecretChanges) Answer {
	switch h.Unit.Life.Life {
	case entity.Gone:
		return Answer{entity.NotFound}
	case entity.Dead:
		return Answer{entity.NotAlive}
	}
	return m.attempt(func() Answer {
		for _, step := range []func() Answer{
			func() Answer { return each(c.Create, func(n entity.NewSecret) Answer { return m.create(h, n) }) },
			func() Answer { return each(c.Update, func(u entity.SecretUpdate) Answer { return m.update(h, u) }) },
			func() Answer { return each(c.Track, func(t entity.SecretTracking) Answer { return m.track(h, t) }) },
			func() Answer { return each(c.Revoke, func(r entity.SecretRevocation) Answer { return m.revoke(h, r) }) },
			func() Answer { return each(c.Grant, func(g entity.SecretGrant) Answer { return m.grant(h, g) }) },
			func() Answer { return each(c.Remove, func(r entity.SecretRemoval) Answer { return m.remove(h, r) }) },
		} {
			if why := step(); why != nil {
				return why
			}
		}
		if c.Told == nil {
			return nil
		}
		return m.told(h, *c.Told)
	})
}

// managed returns a secret that the unit may change.
func (m *Model) managed(h Hook, id string) (*Secret, Answer) {
	switch x := m.Secrets[id]; {
	case x == nil || !h.Unit.Owns(x):
		return nil, Answer{entity.NotFound}
	case x.Service != nil && !h.Leads:
		m.hides("is refused to a former leader")
		return nil, Answer{entity.LeadershipRefused}
	default:
		return x, nil
	}
}

func (m *Model) create(h Hook, n entity.NewSecret) Answer {
	x := &Secret{ID: n.ID, Service: h.Unit.Service}
	if n.OfUnit {
		x.Service, x.Unit = nil, h.Unit
	} else if !h.Leads {
		return Answer{entity.LeadershipRefused}
	}
	return m.add(x, n.SecretSettings)
}

func (m *Model) update(h Hook, u entity.SecretUpdate) Answer {
	x, why := m.managed(h, u.ID)
	if why != nil {
		return why
	}
	return m.set(x, u.SecretSettings)
}

// track has the unit read a revision of a secret from now on: the latest, if the one that it names is gone.
func (m *Model) track(h Hook, t entity.SecretTracking) Answer {
	x := m.Secrets[t.ID]
	if x == nil || !h.Reads(x) {
		return nil
	}
	revision := t.Revision
	if x.Revisions[revision] == nil {
		revision = x.Latest
	}
	r := m.Reader(h.Unit, x.ID)
	if r == nil {
		r = &Reader{Unit: h.Unit, Secret: x.ID}
		m.AddReader(r)
	}
	r.Tracked, r.Told, r.Latest = revision, max(r.Told, revision), max(r.Latest, x.Latest)
	if t.Label == "" || t.Label == r.Label || x.Service == h.Unit.Service {
		return nil
	}
	if m.isTaken(t.Label, nil, h.Unit) {
		m.hides("cannot have a label")
		return Answer{entity.AlreadyExists}
	}
	m.hides("is read under a name of the unit's")
	r.Label = t.Label
	return nil
}

func (m *Model) revoke(h Hook, r entity.SecretRevocation) Answer {
	x, why := m.managed(h, r.ID)
	if x == nil {
		return gone(why)
	}
	delete(x.Granted, r.Subject)
	return nil
}

// gone takes it for success that there is no such secret.
func gone(why Answer) Answer {
	if why.Allows(entity.NotFound) {
		return nil
	}
	return why
}

func (m *Model) grant(h Hook, g entity.SecretGrant) Answer {
	x, why := m.managed(h, g.ID)
	if why != nil {
		return why
	}
	r := m.Relations[g.Relation]
	switch {
	case r == nil || !h.Unit.Service.Relations[r]:
		return Answer{entity.NotFound}
	case r.Life.Life != entity.Alive:
		m.hides("is not granted to what ends")
		return Answer{entity.NotAlive}
	}
	far := r.other(h.Unit.Service)
	if g.Subject != far.Name && entity.UnitService(g.Subject) != far.Name {
		return Answer{entity.Invalid}
	}
	if far.Remote {
		if r.Offer == nil || g.Subject != far.Name {
			return Answer{entity.NotSupported}
		}
		m.hides("is shared with another model")
		return m.let(x, g.Subject, r)
	}
	if why := m.mayGet(g.Subject); why != nil {
		return why
	}
	if x.Service != nil && g.Subject == x.Service.Name || x.Unit != nil && g.Subject == x.Unit.Name {
		return Answer{entity.Invalid}
	}
	return m.let(x, g.Subject, r)
}

func (m *Model) remove(h Hook, r entity.SecretRemoval) Answer {
	x, why := m.managed(h, r.ID)
	if x == nil {
		return gone(why)
	}
	m.removeRevision(x, r.Revision)
	return nil
}

// told records that the unit was told of an event.
func (m *Model) told(h Hook, e entity.SecretEvent) Answer {
	if e.Kind == entity.SecretChanged {
		if r := m.Reader(h.Unit, e.ID); r != nil {
			r.Told = max(r.Told, min(e.Revision, r.Latest))
		}
		return nil
	}
	x, why := m.managed(h, e.ID)
	if x == nil {
		return gone(why)
	}
	r := x.Revisions[e.Revision]
	switch {
	case e.Kind == entity.SecretRotate && x.Rotating > 0:
		m.rotated(x)
	case e.Kind == entity.SecretExpired && r != nil && r.Expired:
		r.Expired, r.Retry = false, m.Now.Add(soon)
	case e.Kind == entity.SecretRemove && r != nil:
		m.hides("has a revision that nothing reads")
		r.Told = true
	}
	return nil
}

// soon is when the owner is told again of what it has not done.
const soon = 5 * time.Minute

// rotated plans the next rotation: regularly from when the last one was planned, or from now if that would be over too;
// soon, if the secret was not rotated or its new revision expires earlier.
func (m *Model) rotated(x *Secret) {
	later := func(planned, otherwise time.Time) time.Time {
		if planned.After(m.Now) {
			return planned
		}
		return otherwise
	}
	again := later(x.NextRotate.Add(soon), m.Now.Add(soon))
	next := later(x.Rotate.Next(x.NextRotate), x.Rotate.Next(m.Now))
	r := x.Revisions[x.Latest]
	switch {
	case x.Latest == x.Rotating:
		m.hides("is not rotated in time")
		next = again
	case r != nil && !r.Expire.IsZero() && r.Expire.Before(next):
		next = again
	default:
		m.hides("is rotated in time")
	}
	x.NextRotate, x.Rotating = next, 0
}
