package apiserver

import (
	"sync"

	"juju/state/entity"
)

// members counts the connections that have logged in, by user or agent. The controller's own
// have no limit.
type members struct {
	max, ofUser, ofAgent int

	mu  sync.Mutex
	all int
	of  map[member]int
}

// A member is a user, or an agent of a model.
type member struct {
	model string
	tag   entity.Tag
}

// enter counts a connection until leave is called. It returns Unavailable if there are too
// many.
func (m *members) enter(model string, id identity) (leave func(), err error) {
	if id.roles&controllerAgent != 0 {
		return func() {}, nil
	}
	who, limit := member{model, id.tag}, m.ofAgent
	if id.tag.Kind == entity.KindUser {
		who.model, limit = "", m.ofUser
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.of[who] >= limit:
		return nil, entity.WithHint(entity.Errorf(entity.Unavailable,
			"%s has %d connections to the controller, which is all it may have", id.tag, limit),
			"Close some of them, and try again.")
	case m.all >= m.max:
		return nil, entity.Errorf(entity.Unavailable, "the controller has all the connections it can have; try again")
	}
	if m.of == nil {
		m.of = map[member]int{}
	}
	m.all++
	m.of[who]++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all--
		if m.of[who]--; m.of[who] == 0 {
			delete(m.of, who)
		}
	}), nil
}
