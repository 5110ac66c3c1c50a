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

// A Recorder tracks which agents are connected, in memory. After a restart of the controller, agents have LostAfter to
// reconnect, and are treated as present until then. Controllers that share a store tell each other what their Recorders
// have: see Changes and SetPeer.
type Recorder struct {
	now func() time.Time

	mu     sync.Mutex
	since  time.Time // when this process started
	agents map[key]*entry
	gone   int             // number of agents in the map that are not connected
	dirty  map[string]bool // models of which Changes has something new
	peers  map[string]*peer
	// departures receive a signal when a machine agent of the model disconnects.
	departures map[chan struct{}]string // model
}

type key struct {
	model string
	tag   entity.Tag
}

type entry struct {
	conns    []*Line
	left     time.Time              // when the last connection ended
	failures []entity.WorkerFailure // the agent's report on its workers
	binaries entity.Binaries        // those that the agent last connected with
	upgrade  string                 // why it can't run others
	firewall string                 // why it can't close ports of its host
	disk     entity.FullDisk        // that of its machine, which it has reported
	told     bool                   // the last result of Changes said that it is silent
}

// A Line is a connection of an agent.
type Line struct {
	// asked is when the oldest unanswered ping was sent, in Unix nanoseconds; 0 if all are answered. A stopped process
	// keeps its connection, but does not respond.
	asked atomic.Int64
	// End ends the connection, so that the agent connects to another controller; nil if it can't.
	End func(why error)
}

// Ping records that a ping was sent.
func (l *Line) Ping(now time.Time) { l.asked.CompareAndSwap(0, now.UnixNano()) }

// Heard records that the pings were answered.
func (l *Line) Heard() { l.asked.Store(0) }

const (
	// LostAfter is how long an agent can be disconnected before users see it: longer than it takes to restart an agent,
	// or thousands.
	LostAfter = 30 * time.Second
	// AnswerTime is how long a ping can be unanswered before an explanation mentions it.
	AnswerTime = 10 * time.Second
	// tick is how often a watch checks for agents that are lost or have reconnected.
	tick = time.Second
	// goneKept is how many disconnected agents are remembered. Beyond that, those that are lost are forgotten, which
	// does not change how they are reported.
	goneKept = 1000
)

// New returns a Recorder without connected agents.
func New(now func() time.Time) *Recorder {
	return &Recorder{now: now, since: now(), agents: map[key]*entry{}, dirty: map[string]bool{},
		peers: map[string]*peer{}, departures: map[chan struct{}]string{}}
}

// Arrive records a connection of an agent; leave records its end.
func (p *Recorder) Arrive(model string, tag entity.Tag, conn *Line, binaries entity.Binaries) (leave func()) {
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
	e.conns, e.failures, e.binaries, e.upgrade, e.firewall = append(e.conns, conn), nil, binaries, "", ""
	e.disk = entity.FullDisk{}
	p.dirty[model] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dirty[model] = true
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

// signal signals those who wait for departures from a model. The caller holds p.mu.
func (p *Recorder) signal(model string) {
	for signals, of := range p.departures {
		if of != model {
			continue
		}
		select {
		case signals <- struct{}{}:
		default: // a signal is already pending
		}
	}
}

// WatchDepartures returns a channel that receives an event immediately, and whenever the agent of one of the model's
// machines disconnects. It is closed when ctx ends.
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

// Connected reports whether an agent is connected.
func (p *Recorder) Connected(model string, tag entity.Tag) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.find(key{model, tag}).Connected
}

// update changes what a connected agent has reported.
func (p *Recorder) update(model string, tag entity.Tag, change func(*entry)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.agents[key{model, tag}]; e != nil && len(e.conns) > 0 {
		change(e)
		p.dirty[model] = true
	}
}

// SetFailures records the worker failures that a connected agent reports.
func (p *Recorder) SetFailures(model string, tag entity.Tag, failures []entity.WorkerFailure) {
	p.update(model, tag, func(e *entry) { e.failures = failures })
}

// Failures returns the worker failures that an agent reported last.
func (p *Recorder) Failures(model string, tag entity.Tag) []entity.WorkerFailure {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.find(key{model, tag}).Failures
}

// SetUpgradeError records why a connected agent can't run the binaries that it should.
func (p *Recorder) SetUpgradeError(model string, tag entity.Tag, text string) {
	p.update(model, tag, func(e *entry) { e.upgrade = text })
}

// SetFirewallError records why a connected agent can't close ports of its host; "" if it can.
func (p *Recorder) SetFirewallError(model string, tag entity.Tag, text string) {
	p.update(model, tag, func(e *entry) { e.firewall = text })
}

// FirewallErrors returns why connected agents of a model's machines can't close ports, by machine.
func (p *Recorder) FirewallErrors(model string) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	texts := map[string]string{}
	for _, tag := range p.tags(model) {
		if a := p.find(key{model, tag}); a.Connected && a.FirewallError != "" {
			texts[tag.ID] = a.FirewallError
		}
	}
	return texts
}

// SetFullDisk records that the disk of a connected agent's machine is full or nearly so; the zero value that it has room.
func (p *Recorder) SetFullDisk(model string, tag entity.Tag, disk entity.FullDisk) {
	p.update(model, tag, func(e *entry) { e.disk = disk })
}

// FullDisk returns what the agent of a machine has reported of its disk; the zero value if it is not connected.
func (p *Recorder) FullDisk(model string, machine entity.Tag) entity.FullDisk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.find(key{model, machine}); a.Connected {
		return a.Disk
	}
	return entity.FullDisk{}
}

// FullDisks returns what the connected agents of a model's machines have reported of disks that are full or nearly so.
func (p *Recorder) FullDisks(model string) map[entity.Tag]entity.FullDisk {
	p.mu.Lock()
	defer p.mu.Unlock()
	disks := map[entity.Tag]entity.FullDisk{}
	for _, tag := range p.tags(model) {
		if a := p.find(key{model, tag}); a.Connected && !a.Disk.IsZero() {
			disks[tag] = a.Disk
		}
	}
	return disks
}

// binaries returns the binaries that an agent last connected with, and why it can't run others.
func (p *Recorder) binaries(model string, tag entity.Tag) (entity.Binaries, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.find(key{model, tag})
	return a.Binaries, a.UpgradeError
}

// forget deletes agents that have been disconnected for longer than LostAfter; a missing entry means the same.
func (p *Recorder) forget() {
	for key, e := range p.agents {
		if len(e.conns) == 0 && p.now().Sub(e.left) > LostAfter {
			delete(p.agents, key)
			p.gone--
		}
	}
}

// away returns since when an agent has been disconnected or silent; the zero time if it is present. silent means that
// it is connected but does not respond.
func (p *Recorder) away(model string, tag entity.Tag) (since time.Time, silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.find(key{model, tag})
	if a.Agent.IsZero() {
		return p.since, false
	}
	return a.Away, a.Connected && !a.Away.IsZero()
}

// lost returns since when an agent has been away, and whether that is longer than LostAfter.
func (p *Recorder) lost(model string, tag entity.Tag) (since time.Time, lost bool) {
	since, _ = p.away(model, tag)
	return since, !since.IsZero() && p.now().Sub(since) > LostAfter
}

// Lost reports whether an agent has been away for longer than LostAfter.
func (p *Recorder) Lost(model string, tag entity.Tag) bool {
	_, lost := p.lost(model, tag)
	return lost
}

// Missing returns since when an agent has been away, and whether that is long enough to be reported. silent means that
// the agent is connected but does not respond.
func (p *Recorder) Missing(model string, tag entity.Tag) (since time.Time, silent, missing bool) {
	since, silent = p.away(model, tag)
	bound := LostAfter
	if silent {
		bound = AnswerTime
	}
	return since, silent, !since.IsZero() && p.now().Sub(since) > bound
}

// A presentAgent is the part of an agent's status that is not in the database.
type presentAgent struct {
	binaries entity.Binaries
	upgrade  string
	disk     entity.FullDisk
}

// present returns the agents of a model that are not lost. They include the zero tag while agents that have not yet
// connected to this process are treated as present.
func (p *Recorder) present(model string) map[entity.Tag]presentAgent {
	p.mu.Lock()
	tags := append(p.tags(model), entity.Tag{})
	p.mu.Unlock()
	present := map[entity.Tag]presentAgent{}
	for _, tag := range tags {
		if _, lost := p.lost(model, tag); !lost {
			binaries, upgrade := p.binaries(model, tag)
			present[tag] = presentAgent{binaries, upgrade, p.FullDisk(model, tag)}
		}
	}
	return present
}

// Watch returns a channel that forwards the events of changes, and also receives an event when an agent of the model is
// lost, reconnects, or runs other binaries. It is closed with ctx or changes.
//
// Whether an agent is lost is not in the database, and depends only on time once the agent stops responding. So watch
// compares every tick, in memory.
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

// halted returns why the agents of some machines can't reconnect: their instances are missing or stopped.
func halted(machines []entity.MachineStatus) map[string]string {
	halted := map[string]string{}
	for _, m := range machines {
		if s := m.InstanceStatus.Status; s == entity.StatusMissing || s == entity.StatusStopped {
			halted[m.ID] = fmt.Sprintf("instance %s is %s", m.InstanceID, s)
		}
	}
	return halted
}

// Mark marks lost agents and full disks in a status, and sets which binaries each agent runs and whether it should run
// the wanted ones instead. This is done in the server, so that all clients show the same.
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
			if disk := p.FullDisk(model, entity.MachineTag(m.ID)); !disk.IsZero() {
				addMessage(&m.Status, entity.StatusStarted, disk.String())
			}
			runs, failed := p.binaries(model, entity.MachineTag(m.ID))
			m.AgentVersion, m.AgentCommit = runs.Version, runs.Commit
			if m.Status.Status == entity.StatusStarted && m.Status.Message == "" {
				m.Status.Message = upgradeText(runs, wanted, failed)
			}
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
			if p.FullDisk(model, entity.MachineTag(u.Machine)).Stops {
				addMessage(&u.Agent, entity.StatusIdle, "the disk of machine "+u.Machine+" is full")
			}
			runs, failed := p.binaries(model, entity.UnitTag(u.Name))
			u.AgentVersion, u.AgentCommit = runs.Version, runs.Commit
			if u.Agent.Status == entity.StatusIdle && u.Agent.Message == "" {
				u.Agent.Message = upgradeText(runs, wanted, failed)
			}
			units(u.Subordinates)
		}
	}
	for i := range status.Services {
		units(status.Services[i].Units)
	}
}

// addMessage puts text before the message of a status that is well.
func addMessage(status *entity.Status, well entity.StatusWord, text string) {
	switch {
	case status.Status != well:
	case status.Message == "":
		status.Message = text
	default:
		status.Message = text + "; " + status.Message
	}
}

// upgradeText returns what an agent that runs other binaries than those wanted says beside a status that is well: that the upgrade
// is pending, or why it failed. It returns "" if there is nothing to say.
func upgradeText(runs, wanted entity.Binaries, failed string) string {
	if runs.Version == "" || wanted.SHA256 == "" || runs.Are(wanted) {
		return ""
	}
	if newer, err := entity.CompareVersions(runs.Version, wanted.Version); err != nil || newer > 0 {
		return ""
	}
	return cmp.Or(failed, "upgrade to "+wanted.Version+" is pending")
}

const agentLost = "agent is not communicating with the server"
