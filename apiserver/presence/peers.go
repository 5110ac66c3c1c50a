package presence

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"juju/state/entity"
)

// A peer is what another controller knows.
type peer struct {
	agents map[key]entity.AgentPresence
	lost   time.Time // since when the controller is lost, and its agents with it; zero if it is up
}

// Changes returns what this controller knows about the agents of each model for which that has changed since the last
// call. Other controllers are to be told with SetPeer.
func (p *Recorder) Changes() map[string][]entity.AgentPresence {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, e := range p.agents {
		a := e.presence(key.tag)
		if silent := a.Connected && !a.Away.IsZero() && p.now().Sub(a.Away) > AnswerTime; silent != e.told {
			e.told, p.dirty[key.model] = silent, true
		}
	}
	if len(p.dirty) == 0 {
		return nil
	}
	changes := map[string][]entity.AgentPresence{}
	for model := range p.dirty {
		changes[model] = nil
	}
	for key, e := range p.agents {
		if p.dirty[key.model] {
			a := e.presence(key.tag)
			if a.Connected && !e.told {
				a.Away = time.Time{} // a ping that is not answered yet
			}
			changes[key.model] = append(changes[key.model], a)
		}
	}
	for _, agents := range changes {
		slices.SortFunc(agents, func(a, b entity.AgentPresence) int {
			return cmp.Compare(a.Agent.String(), b.Agent.String())
		})
	}
	p.dirty = map[string]bool{}
	return changes
}

// ChangeAll makes the next Changes return everything.
func (p *Recorder) ChangeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.agents {
		p.dirty[key.model] = true
	}
}

// SetPeer replaces what another controller knows about the agents of a model.
func (p *Recorder) SetPeer(node, model string, agents []entity.AgentPresence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.peer(node)
	was := map[key]entity.AgentPresence{}
	for key, a := range one.agents {
		if key.model == model {
			was[key] = a
			delete(one.agents, key)
		}
	}
	departed := false
	for _, a := range agents {
		key := key{model, a.Agent}
		if before, known := was[key]; !a.Connected && known {
			// The clocks of two hosts are not compared.
			if a.Away = before.Away; before.Connected {
				a.Away = p.now()
			}
		}
		one.agents[key] = a
		departed = departed || a.Agent.Kind == entity.KindMachine && !a.Connected && was[key].Connected
		delete(was, key)
	}
	for key, a := range was { // the other controller has restarted, or forgotten agents that are lost
		if a.Connected {
			a.Connected, a.Away = false, p.now()
			departed = departed || key.tag.Kind == entity.KindMachine
		}
		if p.now().Sub(a.Away) <= LostAfter {
			one.agents[key] = a
		}
	}
	if departed {
		p.signal(model)
	}
}

// Balance ends connections of agents if this controller has clearly more of them than the others that are up, so that
// the agents spread evenly after one has come back. It ends half of those that are too many, at least one, since the
// others report theirs with a delay.
func (p *Recorder) Balance() {
	for _, line := range p.surplus() {
		line.End(errUneven)
	}
}

// SendAway ends the connections of all agents, unless all other controllers were lost when they could be seen last. It
// is for a controller that can't reach the store, while others may.
func (p *Recorder) SendAway() {
	for _, line := range p.movable() {
		line.End(errNoStore)
	}
}

var (
	errUneven  = errors.New("another controller serves fewer agents")
	errNoStore = errors.New("this controller can't reach its store, another one may")
)

// movable returns the connections that SendAway ends.
func (p *Recorder) movable() (lines []*Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.peers {
		if one.lost.IsZero() {
			return p.lines()
		}
	}
	return nil
}

// lines returns a connection of each agent that can connect to another controller, in random order.
func (p *Recorder) lines() (lines []*Line) {
	for _, e := range p.agents {
		if len(e.conns) > 0 && e.conns[0].End != nil {
			lines = append(lines, e.conns[0])
		}
	}
	return lines
}

// surplus returns the connections that Balance ends.
func (p *Recorder) surplus() (lines []*Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	controllers, all := 1, 0
	for _, one := range p.peers {
		if !one.lost.IsZero() {
			continue
		}
		controllers++
		for _, a := range one.agents {
			if a.Connected {
				all++
			}
		}
	}
	lines = p.lines()
	own := len(lines)
	fair := (all + own + controllers - 1) / controllers
	if own <= fair+max(2, fair/10) {
		return nil
	}
	return lines[:max(1, (own-fair)/2)]
}

// SetPeers tells which other controllers are up. The agents of all others are treated as disconnected.
func (p *Recorder) SetPeers(up []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, node := range up {
		p.peer(node).lost = time.Time{}
	}
	for node, one := range p.peers {
		if slices.Contains(up, node) || !one.lost.IsZero() {
			continue
		}
		one.lost = p.now()
		models := map[string]bool{}
		for key := range one.agents {
			models[key.model] = true
		}
		for model := range models {
			p.signal(model)
		}
	}
}

// peer returns what another controller knows. A controller that is not known to be up is lost. The caller holds p.mu.
func (p *Recorder) peer(node string) *peer {
	one := p.peers[node]
	if one == nil {
		one = &peer{agents: map[key]entity.AgentPresence{}, lost: p.now()}
		p.peers[node] = one
	}
	return one
}

// presence returns what is known here about an agent.
func (e *entry) presence(tag entity.Tag) entity.AgentPresence {
	a := entity.AgentPresence{Agent: tag, Connected: len(e.conns) > 0, Away: e.left, Failures: e.failures,
		Binaries: e.binaries, UpgradeError: e.upgrade, FirewallError: e.firewall, Disk: e.disk}
	if !a.Connected {
		return a
	}
	a.Away = time.Time{}
	for _, conn := range e.conns {
		asked := conn.asked.Load()
		if asked == 0 {
			a.Away = time.Time{}
			break
		}
		if t := time.Unix(0, asked); t.After(a.Away) {
			a.Away = t
		}
	}
	return a
}

// find returns what is known about an agent, by the controller that it is connected to, or was last. The zero value
// means that no controller knows it. The caller holds p.mu.
func (p *Recorder) find(key key) (best entity.AgentPresence) {
	if e := p.agents[key]; e != nil {
		best = e.presence(key.tag)
	}
	for _, one := range p.peers {
		a, known := one.agents[key]
		if !known {
			continue
		}
		if a.Connected && !one.lost.IsZero() {
			a.Connected = false
			if a.Away.IsZero() {
				a.Away = one.lost
			}
		}
		if best.Agent.IsZero() || isBetter(a, best) {
			best = a
		}
	}
	return best
}

// isBetter reports whether what a says about an agent overrides what b says.
func isBetter(a, b entity.AgentPresence) bool {
	if a.Connected != b.Connected {
		return a.Connected
	}
	if b.Away.IsZero() {
		return false
	}
	return a.Away.IsZero() || a.Away.After(b.Away)
}

// tags returns the agents of a model that are known here or to another controller. The caller holds p.mu.
func (p *Recorder) tags(model string) (tags []entity.Tag) {
	known := map[entity.Tag]bool{}
	add := func(key key) {
		if key.model == model && !known[key.tag] {
			known[key.tag] = true
			tags = append(tags, key.tag)
		}
	}
	for key := range p.agents {
		add(key)
	}
	for _, one := range p.peers {
		for key := range one.agents {
			add(key)
		}
	}
	return tags
}
