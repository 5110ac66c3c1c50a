package admission

import (
	"sync"

	"juju/state/entity"
)

// Members counts connections that have logged in, by user or agent, and their watches. Some connections are reserved for
// each kind of member, so that no kind can crowd out the others.
type Members struct {
	Max, Reserved, OfUser, OfAgent int
	MaxWatches                     int // of one user or agent

	mu      sync.Mutex
	all     int
	of      map[Member]int
	watches map[Member]int
	ofKinds [Kinds]int
}

// A Kind is a kind of member that has a reserve.
type Kind int

// Kinds is the number of kinds.
const (
	Superusers Kind = iota
	Users
	MachineAgents
	UnitAgents
	Consumers
	Kinds
)

// String returns the kind for error messages.
func (k Kind) String() string {
	return [Kinds]string{"superusers", "users", "machine agents", "unit agents", "other controllers"}[k]
}

// full reports whether there is no connection left for a kind: those that are left are reserved for others.
func (m *Members) full(kind Kind) bool {
	left := m.Max - m.all
	for other, n := range m.ofKinds {
		if Kind(other) != kind {
			left -= max(0, m.Reserved-n)
		}
	}
	return left <= 0
}

// A Member is a user, or an agent of a model.
type Member struct {
	Model string // "" for a user
	Tag   entity.Tag
}

// Enter counts a connection until leave is called. It returns Unavailable if there are too many.
func (m *Members) Enter(who Member, kind Kind) (leave func(), err error) {
	limit := m.OfAgent
	if who.Tag.Kind == entity.KindUser {
		limit = m.OfUser
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.of[who] >= limit:
		return nil, entity.WithHint(entity.Errorf(entity.Unavailable,
			"%s has %d connections to the controller, which is the limit", who.Tag, limit),
			"Close some of them, and try again.")
	case m.full(kind):
		return nil, entity.Errorf(entity.Unavailable, "the controller has no connections left for %s; try again",
			kind)
	}
	m.all++
	m.ofKinds[kind]++
	return m.count(&m.of, who, func() {
		m.all--
		m.ofKinds[kind]--
	}), nil
}

// Watch counts a watch until leave is called. It returns Unavailable if its user or agent has too many on all of its
// connections together.
func (m *Members) Watch(who Member) (leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watches[who] >= m.MaxWatches {
		return nil, entity.WithHint(entity.Errorf(entity.Unavailable,
			"%s has %d watchers on its connections to the controller, which is the limit", who.Tag, m.MaxWatches),
			"Stop some of them, and try again.")
	}
	return m.count(&m.watches, who, func() {}), nil
}

// Connections returns how many connections each kind has.
func (m *Members) Connections() [Kinds]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ofKinds
}

// count counts one more of a member until the returned function is called, which also calls leave. The caller holds
// m.mu.
func (m *Members) count(of *map[Member]int, who Member, leave func()) (end func()) {
	if *of == nil {
		*of = map[Member]int{}
	}
	(*of)[who]++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		leave()
		if (*of)[who]--; (*of)[who] == 0 {
			delete(*of, who)
		}
	})
}
