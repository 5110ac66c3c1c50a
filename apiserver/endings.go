package apiserver

import (
	"context"
	"sync"
	"time"

	"juju/state"
	"juju/state/entity"
)

// endings ends connections and streams whose access has ended: all of a model's when the model closes, and an agent's
// when the agent is removed or its password changes. Users and consumers are followed one by one, by followRights. There are
// thousands of agents, so each model has one watch for all of them, while any is connected.
type endings struct {
	mu     sync.Mutex
	models map[*state.State]*modelTies
}

// modelTies is the connections and streams to a model.
type modelTies struct {
	model *state.State
	ctx   context.Context // ends when nothing is tied to the model
	empty context.CancelFunc

	// Guarded by endings.mu.
	all     map[*tie]bool
	agents  map[entity.Tag]map[*tie]bool
	watched bool // passwords are watched, which starts with the first agent
	// listed is when the watch of passwords last named all agents, as it does first; zero before that.
	listed time.Time
	// changed is when the watch last named an agent, for agents whose login was in progress then.
	changed map[entity.Tag]time.Time
}

// A tie is a connection or stream that can be ended.
type tie struct {
	agent    entity.Tag // zero if it ends only with the model
	password string     // the stamp of the password used to log in
	since    time.Time  // before the password was looked up
	end      context.CancelCauseFunc
}

// changedKept is how long changed keeps an agent: longer than a login can take.
const changedKept = 10 * time.Minute

// join registers end, which is called when the access to a connection or stream ends; leave unregisters it.
func (e *endings) join(s *Server, model *state.State, id identity, end context.CancelCauseFunc) (leave func()) {
	t := &tie{end: end, since: id.since}
	home := model
	if !id.hasRights() {
		t.agent, t.password = id.Tag, id.password
		if id.home != nil {
			home = id.home
		}
	}
	if home == model {
		return e.tie(s, model, t)
	}
	// A machine of the controller's model that is connected to another model: the end of either ends it.
	leaveModel := e.tie(s, model, &tie{end: end})
	leaveHome := e.tie(s, home, t)
	return func() { leaveModel(); leaveHome() }
}

func (e *endings) tie(s *Server, model *state.State, t *tie) (leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.models == nil {
		e.models = map[*state.State]*modelTies{}
	}
	m := e.models[model]
	if m == nil {
		empty, cancel := context.WithCancel(context.Background())
		m = &modelTies{model: model, ctx: empty, empty: cancel, all: map[*tie]bool{},
			agents: map[entity.Tag]map[*tie]bool{}, changed: map[entity.Tag]time.Time{}}
		e.models[model] = m
		// While m is not empty, s.active includes one of its connections, so the server is still waiting.
		s.active.Go(func() { e.wait(empty, m) })
	}
	m.all[t] = true
	if t.agent != (entity.Tag{}) {
		if !m.watched {
			m.watched = true
			s.active.Go(func() { e.watchAgents(m.ctx, m) })
		}
		if m.agents[t.agent] == nil {
			m.agents[t.agent] = map[*tie]bool{}
		}
		m.agents[t.agent][t] = true
		if !m.listed.IsZero() && t.since.Before(m.listed) || m.changed[t.agent].After(t.since) {
			s.active.Go(func() { e.check(m, []*tie{t}) })
		}
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(m.all, t)
		if delete(m.agents[t.agent], t); len(m.agents[t.agent]) == 0 {
			delete(m.agents, t.agent)
		}
		if len(m.all) == 0 {
			m.empty()
			if e.models[model] == m {
				delete(e.models, model)
			}
		}
	}
}

// wait ends a model's ties when the model closes.
func (e *endings) wait(empty context.Context, m *modelTies) {
	select {
	case <-empty.Done():
		return
	case <-m.model.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for t := range m.all {
		t.end(errNoModel)
	}
}

// watchAgents ends the ties of agents, until the model closes or has no ties left.
func (e *endings) watchAgents(empty context.Context, m *modelTies) {
	for {
		passwords, err := m.model.Agents().WatchPasswords(empty)
		if err != nil {
			logger.Errorf("model %s: cannot watch its agents' passwords: %v", m.model.UUID(), err)
		} else {
			e.follow(empty, m, passwords)
		}
		select {
		case <-empty.Done():
			return
		case <-m.model.Done():
			return
		case <-time.After(time.Second): // the store is unavailable
		}
	}
}

// follow checks agents whose passwords may have changed, until the model closes, the watch ends, or the model has no
// ties left.
func (e *endings) follow(empty context.Context, m *modelTies, passwords <-chan []string) {
	for {
		select {
		case <-empty.Done():
			return
		case <-m.model.Done():
			return
		case names, open := <-passwords:
			if !open {
				return
			}
			e.check(m, e.concerned(m, names))
		}
	}
}

// concerned returns the ties of the agents that a watch names. Nil names all agents, as the first event does, which stands
// for all changes before it. It concerns all ties, and through listed also those whose login began before it.
func (e *endings) concerned(m *modelTies, names []string) (ties []*tie) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if names == nil {
		m.listed = now
		for _, of := range m.agents {
			for t := range of {
				ties = append(ties, t)
			}
		}
		return ties
	}
	for tag, at := range m.changed {
		if now.Sub(at) > changedKept {
			delete(m.changed, tag)
		}
	}
	for _, name := range names {
		tag, err := entity.ParseTag(name)
		if err != nil {
			continue
		}
		m.changed[tag] = now
		for t := range m.agents[tag] {
			ties = append(ties, t)
		}
	}
	return ties
}

// check ends the ties whose agent has a different password now, or none.
func (e *endings) check(m *modelTies, ties []*tie) {
	if len(ties) == 0 {
		return
	}
	tags := make([]entity.Tag, len(ties))
	for i, t := range ties {
		tags[i] = t.agent
	}
	now, err := m.model.Agents().Stamps(context.Background(), tags)
	for _, t := range ties {
		switch {
		case err != nil && isDone(m.model.Done()):
			t.end(errNoModel)
		case err != nil:
			t.end(errUnsure) // the agent reconnects
		case now[t.agent] != t.password:
			t.end(errRevoked)
		}
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
