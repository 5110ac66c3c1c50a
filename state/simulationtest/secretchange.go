package simulationtest

import (
	"maps"
	"slices"
	"time"

	"juju/state/entity"
)

// How secrets change, and what users change of the model's.

// hidden is all that a change of secrets can change.
type hidden struct {
	secrets map[string]*Secret
	readers map[string]*Reader
	lingers map[string]int
	owed    int
}

// hidden returns a copy, for a change that fails halfway.
func (m *Model) hidden() hidden {
	h := hidden{map[string]*Secret{}, map[string]*Reader{}, maps.Clone(m.lingers), len(m.owed)}
	for id, x := range m.Secrets {
		copied := *x
		copied.Granted, copied.Revisions = maps.Clone(x.Granted), map[int]*Revision{}
		for n, r := range x.Revisions {
			revision := *r
			copied.Revisions[n] = &revision
		}
		h.secrets[id] = &copied
	}
	for key, r := range m.Readers {
		copied := *r
		h.readers[key] = &copied
	}
	return h
}

// attempt makes all of a change or nothing.
func (m *Model) attempt(change func() Answer) Answer {
	was := m.hidden()
	why := change()
	if why != nil {
		m.Secrets, m.Readers, m.lingers, m.owed = was.secrets, was.readers, was.lingers, m.owed[:was.owed]
		return why
	}
	m.prune()
	return nil
}

// add adds a secret, unless it was added before by the same owner.
func (m *Model) add(x *Secret, set entity.SecretSettings) Answer {
	switch there := m.Secrets[x.ID]; {
	case there != nil && there.Service == x.Service && there.Unit == x.Unit:
		m.hides("is made twice")
		return nil
	case m.lingers[x.ID] > 0:
		m.hides("leaves its ID for a while")
		return Answer{entity.AlreadyExists}
	case there != nil:
		return Answer{entity.AlreadyExists}
	}
	x.Granted, x.Revisions = map[string]*Relation{}, map[int]*Revision{}
	m.Secrets[x.ID] = x
	return m.set(x, set)
}

// set changes a secret. Other content than that of the latest revision makes a revision, of which the cleaner tells the
// units that read the secret.
func (m *Model) set(x *Secret, set entity.SecretSettings) Answer {
	latest := x.Revisions[x.Latest]
	if sum := set.Content.Checksum(); set.Content != nil && (latest == nil || latest.Sum != sum) {
		if latest == nil && x.Latest > 0 {
			m.hides("has its content set again")
		}
		latest = &Revision{Sum: sum}
		x.Latest++
		x.Revisions[x.Latest] = latest
		id := x.ID
		m.owe(func() { m.tell(id) })
	} else if set.Content != nil {
		m.hides("has content that it had")
	}
	if label := set.Label; label != nil && *label != x.Label {
		if *label != "" && m.isTaken(*label, x.Service, x.Unit) {
			m.hides("cannot have a label")
			return Answer{entity.AlreadyExists}
		}
		x.Label = *label
	}
	if set.Rotate != nil && *set.Rotate != x.Rotate {
		x.Rotate, x.NextRotate, x.Rotating = *set.Rotate, set.Rotate.Next(m.Now), 0
	}
	if set.Expire != nil && latest != nil && !latest.Expire.Equal(*set.Expire) {
		latest.Expire, latest.Retry, latest.Expired = *set.Expire, time.Time{}, false
	}
	return nil
}

// tell lets the units that read a secret know of its latest revision.
func (m *Model) tell(id string) {
	for _, r := range m.Readers {
		if x := m.Secrets[id]; x != nil && r.Secret == id {
			r.Latest = max(r.Latest, x.Latest)
		}
	}
}

// isTaken reports whether an owner can't give a label to one more secret: a service and its units share no label, and each
// of them has a label once. The model's names are its own.
func (m *Model) isTaken(label string, s *Service, u *Unit) bool {
	bars := func(service *Service, unit *Unit) bool {
		switch {
		case service == s && unit == u:
			return true
		case u != nil:
			return service == u.Service
		default:
			return unit != nil && unit.Service == s
		}
	}
	for _, x := range m.Secrets {
		if x.Label == label && bars(x.Service, x.Unit) {
			return true
		}
	}
	for _, r := range m.Readers {
		if r.Label == label && m.Secrets[r.Secret] != nil && r.Unit.Life.Life != entity.Gone && bars(nil, r.Unit) {
			return true
		}
	}
	return false
}

// mayGet returns the errors that granting a secret to a service or unit may return.
func (m *Model) mayGet(subject string) Answer {
	var life Life
	switch s, u := m.Services[subject], m.Units[subject]; {
	case s == nil && u == nil:
		return Answer{entity.NotFound}
	case s != nil && s.Remote:
		return Answer{entity.NotSupported}
	case s != nil:
		life = s.Life
	default:
		life = u.Life
	}
	if life.Life != entity.Alive {
		m.hides("is not granted to what ends")
		return Answer{entity.NotAlive}
	}
	return nil
}

// let grants a secret to a service or unit, which can have it in one way only.
func (m *Model) let(x *Secret, subject string, while *Relation) Answer {
	if in, granted := x.Granted[subject]; granted && in != while {
		return Answer{entity.Invalid}
	}
	x.Granted[subject] = while
	return nil
}

// removeRevision removes a revision of a secret; with the last of them, or if it is 0, the secret.
func (m *Model) removeRevision(x *Secret, revision int) {
	if m.readers(x.ID, revision) > 0 {
		m.hides("has a revision removed that a unit reads")
	}
	there := x.Revisions[revision] != nil
	switch {
	case revision == 0 || there && len(x.Revisions) == 1:
		m.hides("is removed")
		m.endSecret(x)
	default:
		delete(x.Revisions, revision)
	}
}

// AddSecret is juju add-secret.
func (m *Model) AddSecret(id string, set entity.SecretSettings) Answer {
	if m.Life.Life != entity.Alive {
		return Answer{entity.NotAlive}
	}
	return m.attempt(func() Answer { return m.add(&Secret{ID: id}, set) })
}

// byUser changes a secret of the model.
func (m *Model) byUser(id string, change func(*Secret) Answer) Answer {
	x := m.Secrets[id]
	switch {
	case m.Life.Life != entity.Alive:
		return Answer{entity.NotAlive}
	case x == nil:
		return Answer{entity.NotFound}
	case !x.OfModel():
		return Answer{entity.Unauthorized}
	}
	return m.attempt(func() Answer { return change(m.Secrets[id]) })
}

// UpdateSecret is juju update-secret.
func (m *Model) UpdateSecret(id string, set entity.SecretSettings, prunes *bool) Answer {
	return m.byUser(id, func(x *Secret) Answer {
		if prunes != nil {
			x.Prunes = *prunes
		}
		return m.set(x, set)
	})
}

// RemoveSecret is juju remove-secret, of some revisions or, if none is named, all of it.
func (m *Model) RemoveSecret(id string, revisions []int) Answer {
	return m.byUser(id, func(x *Secret) Answer {
		if len(revisions) == 0 {
			m.removeRevision(x, 0)
		}
		for _, n := range slices.Sorted(slices.Values(revisions)) {
			if x.Revisions[n] == nil {
				return Answer{entity.NotFound}
			}
			m.removeRevision(x, n)
		}
		return nil
	})
}

// GrantSecret is juju grant-secret.
func (m *Model) GrantSecret(id, service string) Answer {
	return m.byUser(id, func(x *Secret) Answer {
		if why := m.mayGet(service); why != nil {
			return why
		}
		return m.let(x, service, nil)
	})
}

// RevokeSecret is juju revoke-secret.
func (m *Model) RevokeSecret(id, service string) Answer {
	return m.byUser(id, func(x *Secret) Answer {
		delete(x.Granted, service)
		return nil
	})
}
