package simulationtest

import (
	"maps"
	"slices"

	"juju/state/entity"
)

// How a model ends, together with everything in it.

// Destroy is juju destroy-model. keep releases the storage that outlives machines. For a model that
// is no longer Alive, the latest choice about storage wins.
func (m *Model) Destroy(d Destruction, keep bool) (answer Answer) {
	keep = keep && !d.Storage
	switch {
	case m.Life.Life == entity.Alive:
	case d.Storage:
		m.Released = false
	case keep && !m.Released:
		for _, s := range m.Storage {
			if s.Life.Life == entity.Dead && s.Made && s.Machine == nil && !m.Keeps(s) {
				answer = Answer{entity.NotAlive}
			}
		}
		if m.Left > 0 {
			answer = Answer{entity.NotAlive}
		}
		m.Released, m.Life.WithStorage = true, false
	}
	if m.Life.Life == entity.Dead || m.Life.Life == entity.Dying && !m.Life.raise(d) {
		return answer
	}
	if m.Life.Life == entity.Alive {
		for _, s := range m.Storage {
			if s.Machine == nil && !keep && !d.Storage {
				return Answer{entity.PersistentStorage}
			}
		}
		m.Life.Life, m.Released = entity.Dying, keep
		m.Life.raise(d)
	}
	m.wants = append(m.wants, d.alone())
	return answer
}

// endAll destroys everything in a Dying model that nothing blocks, and reports whether it changed
// anything.
func (m *Model) endAll() (did bool) {
	before := m.Facts()
	for _, d := range m.wants {
		goes := func(l Life) bool { return l.Life == entity.Alive || d.Strength > entity.Plain }
		for _, s := range values(m.Services) {
			if goes(s.Life) {
				m.DestroyService(s, d)
			}
		}
		for _, o := range values(m.Offers) {
			if goes(o.Life) {
				m.endOffer(o, d)
			}
		}
		for _, u := range values(m.Units) {
			if goes(u.Life) {
				m.endUnit(u, d, false)
			}
		}
		for _, x := range slices.Backward(values(m.Machines)) { // containers before their hosts
			m.DestroyMachine(x, d)
		}
		for _, s := range values(m.Storage) {
			if goes(s.Life) {
				m.endStorage(s, d)
			}
		}
	}
	return !maps.Equal(before, m.Facts())
}

// Dead sets a model Dead.
func (m *Model) Dead() Answer {
	if len(m.Machines) > 0 {
		m.bar("machine", "model", "dead")
	}
	for _, s := range m.Services {
		m.bar(s.kind(), "model", "dead")
	}
	if len(m.Offers) > 0 {
		m.bar("offer", "model", "dead")
	}
	if len(m.Storage) > 0 {
		m.bar("storage", "model", "dead")
	}
	switch {
	case m.Life.Life == entity.Alive:
		return Answer{entity.Invalid}
	case !m.IsEmpty():
		return Answer{entity.InUse}
	}
	m.Life.Life = entity.Dead
	return nil
}

// IsEmpty reports whether nothing is left that keeps the model from being Dead.
func (m *Model) IsEmpty() bool {
	return len(m.Machines)+len(m.Services)+len(m.Offers)+len(m.Storage) == 0
}
