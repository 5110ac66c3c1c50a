package presence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"juju/state/entity"
)

// A Recorder records which agents are connected. It is in memory only. After a restart of the
// controller agents have LostAfter to come back, and count as present until then.
type Recorder struct {
	now func() time.Time

	mu     sync.Mutex
	since  time.Time // when this process started
	agents map[key]*entry
	gone   int // number of agents that are not connected
	// departures are signalled when a machine's agent of the model is no longer connected.
	departures map[chan struct{}]string // model
}

type key struct {
	model string
	tag   entity.Tag
}

type entry struct {
	conns    []*Line
	left     time.Time              // when the last connection ended
	failures []entity.WorkerFailure // what the agent says of its workers
	programs entity.Binaries        // that the agent last came with
	upgrade  string                 // why it can't run others
	firewall string                 // why it can't close ports of its host
}

// A Line is a connection of an agent.
type Line struct {
	// asked is when the ping was sent that is not answered yet, in Unix nanoseconds; 0 if all
	// are answered. A stopped process keeps its connection, but does not answer.
	asked atomic.Int64
}

// Ping records that a ping was sent.
func (l *Line) Ping(now time.Time) { l.asked.CompareAndSwap(0, now.UnixNano()) }

// Heard records that it was answered.
func (l *Line) Heard() { l.asked.Store(0) }

const (
	// LostAfter is how long an agent can be away before users see it: longer than it takes to
	// restart an agent, or thousands.
	LostAfter = 30 * time.Second
	// AnswerTime is how long a ping can be unanswered before an explanation says so.
	AnswerTime = 10 * time.Second
	// tick is how often a watch looks for agents that are lost or have come back.
	tick = time.Second
	// goneKept is how many absent agents are kept. Beyond that the oldest are forgotten: all
	// that is known of them is that they were not connected lately.
	goneKept = 1000
)

// New returns a Recorder that no agent has connected to yet.
func New(now func() time.Time) *Recorder {
	return &Recorder{now: now, since: now(), agents: map[key]*entry{},
		departures: map[chan struct{}]string{}}
}

// Arrive records a connection of an agent; leave records its end.
func (p *Recorder) Arrive(model string, tag entity.Tag, conn *Line, programs entity.Binaries) (leave func()) {
	key := key{model, tag}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.agents[key]
	if e == nil {
		e = &entry{}
		p.agents[key] = e
	} else if len(e.conns) == 0 {
		p.gone--
	}
	e.conns, e.failures, e.programs, e.upgrade, e.firewall = append(e.conns, conn), nil, programs, "", ""
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		e.conns = slices.DeleteFunc(e.conns, func(other *Line) bool { return other == conn })
		if len(e.conns) > 0 {
			return
		}
		e.left, e.conns, e.failures = p.now(), nil, nil
		if tag.Kind == entity.KindMachine {
			p.signal(model)
		}
		if p.gone++; p.gone > goneKept {
			p.forget()
		}
	}
}

// signal tells those who wait for departures from a model. The caller holds p.mu.
func (p *Recorder) signal(model string) {
	for signals, of := range p.departures {
		if of != model {
			continue
		}
		select {
		case signals <- struct{}{}:
		default: // one is waiting to be read
		}
	}
}

// WatchDepartures returns a channel that fires at first, and whenever the agent of one of the model's
// machines is no longer connected. It ends with ctx.
func (p *Recorder) WatchDepartures(ctx context.Context, model string) <-chan struct{} {
	signals := make(chan struct{}, 1)
	signals <- struct{}{}
	p.mu.Lock()
	p.departures[signals] = model
	p.mu.Unlock()
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.departures, signals)
		close(signals)
	})
	return signals
}

// Connected reports whether an agent is connected now.
func (p *Recorder) Connected(model string, tag entity.Tag) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.agents[key{model, tag}]
	return e != nil && len(e.conns) > 0
}

// SetFailures records what a connected agent reports about its workers.
func (p *Recorder) SetFailures(model string, tag entity.Tag, failures []entity.WorkerFailure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.agents[key{model, tag}]; e != nil && len(e.conns) > 0 {
		e.failures = failures
	}
}

// Failures returns what an agent reports about its workers.
func (p *Recorder) Failures(model string, tag entity.Tag) []entity.WorkerFailure {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.agents[key{model, tag}]; e != nil {
		return e.failures
	}
	return nil
}

// SetUpgradeError records why a connected agent can't run the programs that it should.
func (p *Recorder) SetUpgradeError(model string, tag entity.Tag, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.agents[key{model, tag}]; e != nil && len(e.conns) > 0 {
		e.upgrade = text
	}
}

// SetFirewallError records why a connected agent can't close ports of its host; "" if it can.
func (p *Recorder) SetFirewallError(model string, tag entity.Tag, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.agents[key{model, tag}]; e != nil && len(e.conns) > 0 {
		e.firewall = text
	}
}

// FirewallErrors returns why connected agents of a model's machines can't close ports, by machine.
func (p *Recorder) FirewallErrors(model string) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	texts := map[string]string{}
	for key, e := range p.agents {
		if key.model == model && len(e.conns) > 0 && e.firewall != "" {
			texts[key.tag.ID] = e.firewall
		}
	}
	return texts
}

// programs returns those that an agent last came with, and why it can't run others.
func (p *Recorder) programs(model string, tag entity.Tag) (entity.Binaries, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.agents[key{model, tag}]; e != nil {
		return e.programs, e.upgrade
	}
	return entity.Binaries{}, ""
}

// forget drops agents that have been absent for longer than LostAfter: no entry means the
// same.
func (p *Recorder) forget() {
	for key, e := range p.agents {
		if len(e.conns) == 0 && p.now().Sub(e.left) > LostAfter {
			delete(p.agents, key)
			p.gone--
		}
	}
}

// away returns since when an agent has been away; the zero time if it is here. silent says
// that it is connected but does not answer.
func (p *Recorder) away(model string, tag entity.Tag) (since time.Time, silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.agents[key{model, tag}]
	if e == nil {
		return p.since, false
	}
	if len(e.conns) == 0 {
		return e.left, false
	}
	for _, conn := range e.conns {
		asked := conn.asked.Load()
		if asked == 0 {
			return time.Time{}, false
		}
		if t := time.Unix(0, asked); t.After(since) {
			since = t
		}
	}
	return since, true
}

// lost returns since when an agent has been away, if for longer than LostAfter.
func (p *Recorder) lost(model string, tag entity.Tag) (since time.Time, lost bool) {
	since, _ = p.away(model, tag)
	return since, !since.IsZero() && p.now().Sub(since) > LostAfter
}

// Missing returns since when an agent has been away, if that is long enough to be reported.
// silent says that the agent is connected but does not answer.
func (p *Recorder) Missing(model string, tag entity.Tag) (since time.Time, silent, missing bool) {
	since, silent = p.away(model, tag)
	bound := LostAfter
	if silent {
		bound = AnswerTime
	}
	return since, silent, !since.IsZero() && p.now().Sub(since) > bound
}

// A presentAgent is what a status shows of an agent that is present, and is not in the database.
type presentAgent struct {
	programs entity.Binaries
	upgrade  string
}

// present returns the agents of a model that are not lost. The zero tag is among them
// while agents that have not connected to this process yet count as present.
func (p *Recorder) present(model string) map[entity.Tag]presentAgent {
	tags := []entity.Tag{{}}
	p.mu.Lock()
	for key := range p.agents {
		if key.model == model {
			tags = append(tags, key.tag)
		}
	}
	p.mu.Unlock()
	present := map[entity.Tag]presentAgent{}
	for _, tag := range tags {
		if _, lost := p.lost(model, tag); !lost {
			programs, upgrade := p.programs(model, tag)
			present[tag] = presentAgent{programs, upgrade}
		}
	}
	return present
}

// Watch returns a channel that passes on the events of changes, and also fires when an
// agent of the model is lost or comes back, or runs other programs. It ends with ctx or with changes.
//
// Whether an agent is lost is not in the database, and follows from time alone when it
// stops answering. So watch compares every tick, in memory.
func (p *Recorder) Watch(ctx context.Context, model string, changes <-chan struct{}) <-chan struct{} {
	out := make(chan struct{})
	before := p.present(model)
	go func() {
		defer close(out)
		tick := time.NewTicker(tick)
		defer tick.Stop()
		var send chan<- struct{}
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-changes:
				if !open {
					return
				}
				send = out
			case <-tick.C:
				if now := p.present(model); !maps.Equal(now, before) {
					before, send = now, out
				}
			case send <- struct{}{}:
				send = nil
			}
		}
	}()
	return out
}

// halted returns what keeps the agents of machines from coming back: their instances are missing or
// stopped.
func halted(machines []entity.MachineStatus) map[string]string {
	halted := map[string]string{}
	for _, m := range machines {
		if s := m.InstanceStatus.Status; s == entity.StatusMissing || s == entity.StatusStopped {
			halted[m.ID] = fmt.Sprintf("instance %s is %s", m.InstanceID, s)
		}
	}
	return halted
}

// Mark marks lost agents in a status, and says which programs each agent runs and whether it is to run
// those that are wanted instead. This is done here, so that all clients show the same.
func (p *Recorder) Mark(status *entity.ModelStatus, wanted entity.Binaries) {
	model := status.Model.UUID
	halted := halted(status.AllMachines())
	lost := func(tag entity.Tag, machine string) (since time.Time, message string, lost bool) {
		since, lost = p.lost(model, tag)
		if message = halted[machine]; message != "" && !lost {
			away, silent := p.away(model, tag)
			since, lost = away, !away.IsZero() && !silent
		}
		return since, cmp.Or(message, agentLost), lost
	}
	var machines func([]entity.MachineStatus)
	machines = func(list []entity.MachineStatus) {
		for i := range list {
			m := &list[i]
			// A machine that has never started is pending, and a Dead one has no agent.
			if since, message, lost := lost(entity.MachineTag(m.ID), m.ID); lost && m.Life != entity.Dead &&
				m.Status.Status == entity.StatusStarted {
				m.Status = entity.Status{Status: entity.StatusDown, Message: message, Since: since}
			}
			p.markBinaries(model, entity.MachineTag(m.ID), wanted, &m.AgentVersion, &m.AgentCommit, &m.Status, entity.StatusStarted)
			machines(m.Containers)
		}
	}
	machines(status.Machines)
	var units func([]entity.UnitStatus)
	units = func(list []entity.UnitStatus) {
		for i := range list {
			u := &list[i]
			if since, message, lost := lost(entity.UnitTag(u.Name), u.Machine); lost && u.Life != entity.Dead &&
				u.Agent.Status != entity.StatusAllocating {
				u.Agent = entity.Status{Status: entity.StatusLost, Message: message, Since: since}
				if u.Workload.Status != entity.StatusError && u.Workload.Status != entity.StatusTerminated {
					u.Workload = entity.Status{
						Status: entity.StatusUnknown, Since: since,
						Message: "agent lost, see 'juju show-status-log " + u.Name + "'",
					}
				}
			}
			p.markBinaries(model, entity.UnitTag(u.Name), wanted, &u.AgentVersion, &u.AgentCommit, &u.Agent, entity.StatusIdle)
			units(u.Subordinates)
		}
	}
	for i := range status.Services {
		units(status.Services[i].Units)
	}
}

// markBinaries says which version an agent runs. If its status is the word for all is well, and has no
// message, it says that the agent has yet to be upgraded, or why it can't be.
func (p *Recorder) markBinaries(
	model string, tag entity.Tag, wanted entity.Binaries, version, commit *string, status *entity.Status, well entity.StatusWord,
) {
	runs, failed := p.programs(model, tag)
	*version, *commit = runs.Version, runs.Commit
	if runs.Version == "" || wanted.SHA256 == "" || runs.Are(wanted) || status.Status != well || status.Message != "" {
		return
	}
	if newer, err := entity.CompareVersions(runs.Version, wanted.Version); err != nil || newer > 0 {
		return
	}
	status.Message = failed
	if failed == "" {
		status.Message = "upgrade to " + wanted.Version + " is pending"
	}
}

const agentLost = "agent is not communicating with the server"
