package apiserver

import (
	"sync"
	"time"

	"juju/state/entity"
)

// presence knows which agents are connected. It lives in memory only: after a
// restart of the controller everybody is given lostAfter to come back, and until
// then counts as present.
type presence struct {
	now func() time.Time

	mu     sync.Mutex
	since  time.Time // when this process began to know
	agents map[presenceKey]*presenceEntry
	gone   int // entries of agents that are not connected
}

type presenceKey struct {
	model string
	tag   entity.Tag
}

type presenceEntry struct {
	conns int
	left  time.Time // when the last of them ended
}

const (
	// lostAfter is how long an agent may be away before users hear of it: longer
	// than it takes to restart one, or thousands.
	lostAfter = 30 * time.Second
	// goneKept is from how many absent agents on the oldest are forgotten; of
	// these one knows only that they have not been here lately.
	goneKept = 1000
)

func newPresence(now func() time.Time) *presence {
	return &presence{now: now, since: now(), agents: map[presenceKey]*presenceEntry{}}
}

// arrive notes a connection of an agent; the function it returns notes its end.
func (p *presence) arrive(model string, tag entity.Tag) (leave func()) {
	key := presenceKey{model, tag}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.agents[key]
	if e == nil {
		e = &presenceEntry{}
		p.agents[key] = e
	} else if e.conns == 0 {
		p.gone--
	}
	e.conns++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if e.conns--; e.conns > 0 {
			return
		}
		e.left = p.now()
		if p.gone++; p.gone > goneKept {
			p.forget()
		}
	}
}

// connected reports whether an agent is connected now.
func (p *presence) connected(model string, tag entity.Tag) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.agents[presenceKey{model, tag}]
	return e != nil && e.conns > 0
}

// forget drops those absent agents that have been so for longer than lostAfter:
// what is said of them needs no entry.
func (p *presence) forget() {
	for key, e := range p.agents {
		if e.conns == 0 && p.now().Sub(e.left) > lostAfter {
			delete(p.agents, key)
			p.gone--
		}
	}
}

// lost returns since when an agent has been away, if for too long.
func (p *presence) lost(model string, tag entity.Tag) (since time.Time, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.since
	if e := p.agents[presenceKey{model, tag}]; e != nil {
		if e.conns > 0 {
			return time.Time{}, false
		}
		left = e.left
	}
	return left, p.now().Sub(left) > lostAfter
}

// mark puts into a status which agents are lost. It is done here, so that every
// client shows the same.
func (p *presence) mark(status *entity.ModelStatus) {
	model := status.Model.UUID
	var machines func([]entity.MachineStatus)
	machines = func(list []entity.MachineStatus) {
		for i := range list {
			m := &list[i]
			// One that has never started is pending, and a Dead one has no agent.
			if since, lost := p.lost(model, entity.MachineTag(m.ID)); lost && m.Life != entity.Dead && m.Status.Status == entity.StatusStarted {
				m.Status = entity.Status{Status: entity.StatusDown, Message: agentLost, Since: since}
			}
			machines(m.Containers)
		}
	}
	machines(status.Machines)
	var units func([]entity.UnitStatus)
	units = func(list []entity.UnitStatus) {
		for i := range list {
			u := &list[i]
			if since, lost := p.lost(model, entity.UnitTag(u.Name)); lost && u.Life != entity.Dead && u.Agent.Status != entity.StatusAllocating {
				u.Agent = entity.Status{Status: entity.StatusLost, Message: agentLost, Since: since}
				if u.Workload.Status != entity.StatusError && u.Workload.Status != entity.StatusTerminated {
					u.Workload = entity.Status{
						Status: entity.StatusUnknown, Since: since,
						Message: "agent lost, see 'juju show-status-log " + u.Name + "'",
					}
				}
			}
			units(u.Subordinates)
		}
	}
	for i := range status.Services {
		units(status.Services[i].Units)
	}
}

const agentLost = "agent is not communicating with the server"
