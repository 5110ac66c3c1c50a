package apiserver

import (
	"strings"
	"sync"

	"juju/apiserver/facades"
	"juju/state/controller"
	"juju/state/entity"
)

// members counts connections that have logged in, by user or agent, and their watches. The controller's own connections
// are unlimited. Some connections are reserved for each kind of member, so that no kind can crowd out the others.
type members struct {
	max, reserved, ofUser, ofAgent int
	maxWatches                     int // of one user or agent

	mu      sync.Mutex
	all     int
	of      map[member]int
	watches map[member]int
	ofKinds [kinds]int
}

// A memberKind is a kind of member that has a reserve.
type memberKind int

const (
	superusers memberKind = iota
	otherUsers
	machineAgents
	unitAgents
	consumers
	kinds
)

// String returns the kind for error messages.
func (k memberKind) String() string {
	return [kinds]string{"superusers", "users", "machine agents", "unit agents", "other controllers"}[k]
}

func kindOf(id identity) memberKind {
	switch {
	case id.ControllerAccess == controller.AccessSuperuser:
		return superusers
	case id.Tag.Kind == entity.KindUser:
		return otherUsers
	case id.Tag.Kind == entity.KindMachine:
		return machineAgents
	case id.Tag.Kind == entity.KindConsumer:
		return consumers
	}
	return unitAgents
}

// full reports whether there is no connection left for a kind: those that are left are reserved for others.
func (m *members) full(kind memberKind) bool {
	left := m.max - m.all
	for other, n := range m.ofKinds {
		if memberKind(other) != kind {
			left -= max(0, m.reserved-n)
		}
	}
	return left <= 0
}

// A member is a user, or an agent of a model.
type member struct {
	model string
	tag   entity.Tag
}

// memberOf returns the member that an identity is counted as in a model ("" for the controller itself). A consumer counts as
// the user who got its token, of which a user can make any number.
func memberOf(model string, id identity) member {
	switch id.Tag.Kind {
	case entity.KindUser:
		return member{"", entity.UserTag(strings.ToLower(id.Tag.ID))}
	case entity.KindConsumer:
		return member{"", entity.UserTag(strings.ToLower(entity.UserOf(id.Consumer.User)))}
	}
	return member{model, id.Tag}
}

// enter counts a connection until leave is called. It returns Unavailable if there are too many.
func (m *members) enter(model string, id identity) (leave func(), err error) {
	if id.Roles&facades.ControllerAgent != 0 {
		return func() {}, nil
	}
	who, limit := memberOf(model, id), m.ofAgent
	if who.tag.Kind == entity.KindUser {
		limit = m.ofUser
	}
	kind := kindOf(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.of[who] >= limit:
		return nil, entity.WithHint(entity.Errorf(entity.Unavailable,
			"%s has %d connections to the controller, which is the limit", who.tag, limit),
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

// watch counts a watch until leave is called. It returns Unavailable if its user or agent has too many on all of its
// connections together.
func (m *members) watch(model string, id identity) (leave func(), err error) {
	if id.Roles&facades.ControllerAgent != 0 {
		return func() {}, nil
	}
	who := memberOf(model, id)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watches[who] >= m.maxWatches {
		return nil, entity.WithHint(entity.Errorf(entity.Unavailable,
			"%s has %d watchers on its connections to the controller, which is the limit", who.tag, m.maxWatches),
			"Stop some of them, and try again.")
	}
	return m.count(&m.watches, who, func() {}), nil
}

// count counts one more of a member until the returned function is called, which also calls leave. The caller holds
// m.mu.
func (m *members) count(of *map[member]int, who member, leave func()) (end func()) {
	if *of == nil {
		*of = map[member]int{}
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
