package controller

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// untilRight waits until nothing is wrong with the model, checking it when something has changed. Not all that agents record on
// their disks is followed by a change of the model, so it also looks from time to time. It returns what was wrong when it gave
// up, or "".
func (p *foreseer) untilRight(check func(*entity.ModelStatus) string) (wrong string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	events, err := p.st.Watches().Status(ctx)
	p.ok(err)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return wrong
			}
		case <-again.C:
		}
		m, err := p.st.Status(p.ctx)
		p.ok(err)
		if wrong = check(m); wrong == "" {
			return ""
		}
	}
}

// unsettled says what still happens, or "", if the hooks of stuck units have failed.
func (p *foreseer) unsettled(m *entity.ModelStatus, stuck []string) (wrong string) {
	p.Helper()
	refused := refusedMachines(m)
	var agents []entity.UnitStatus
	for _, u := range everyUnit(m) {
		if slices.Contains(refused, u.Machine) {
			continue
		}
		agents = append(agents, u)
		isStuck := u.Workload.Status == entity.StatusError && slices.Contains(stuck, u.Name)
		if u.Resolved != entity.ResolvedNone || len(stuck) == 0 && u.Life != entity.Alive ||
			!isStuck && (u.Workload.Status == entity.StatusError || u.Agent.Status != entity.StatusIdle) {
			return fmt.Sprintf("%s: %s, %v, %v", u.Name, u.Life, u.Agent, u.Workload)
		}
	}
	for _, r := range m.Relations {
		if len(stuck) == 0 && r.Life != entity.Alive {
			return r.Key + " is " + r.Life.String()
		}
	}
	wrong = starting(m)
	for _, u := range agents {
		if wrong == "" {
			wrong = p.pending(u, len(stuck) > 0)
		}
	}
	return wrong
}

// pending says what the agent of an idle unit has yet to do, or "": it stays idle until it notices a change. The agent's own
// rules say so, from what it has recorded on its disk. Where units are stuck, others may wait for them.
func (p *foreseer) pending(u entity.UnitStatus, stuck bool) string {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(p.machines, "*", "agents", "unit-"+strings.ReplaceAll(u.Name, "/", "-"), "state", "uniter.json"))
	p.ok(err)
	if len(files) != 1 {
		return fmt.Sprintf("%s has the states %v", u.Name, files)
	}
	local, err := localstate.Open(files[0]).Read()
	p.ok(err)
	remote, err := p.remote(u, local)
	if err != nil {
		return err.Error()
	}
	op := resolver.NextOp(local, remote)
	for stuck && op.Verb == resolver.Enter {
		at := slices.IndexFunc(remote.Relations, func(r resolver.Relation) bool { return r.ID == op.Relation })
		remote.Relations[at].Barred = true
		op = resolver.NextOp(local, remote)
	}
	if op.Verb == resolver.Wait || stuck && (op.Verb == resolver.AwaitResolution || op.Verb == resolver.Die) {
		return ""
	}
	return fmt.Sprintf("%s has yet to %s", u.Name, op)
}

// remote returns what the agent of a unit finds when it reads all that the controller has.
func (p *foreseer) remote(u entity.UnitStatus, local localstate.State) (r resolver.Remote, err error) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	unit, err := p.st.Unit(ctx, u.Name)
	if err != nil {
		return r, err
	}
	r = resolver.Remote{Boot: local.Boot, EpochKnown: true, Asked: map[string]entity.Strength{},
		Hooks: hooks.Implemented{Dispatch: !strings.Contains(local.Charm, "/store-")}}
	if r.Unit, err = unit.Info(ctx); err != nil {
		return r, err
	}
	if u.Leader {
		r.Epoch = max(local.LeaderEpoch, 1)
	}
	for _, name := range r.Unit.Subordinates {
		r.Asked[name] = r.Unit.Strength
	}
	relations, err := unit.Relations(ctx)
	for _, info := range relations {
		rel := resolver.Relation{RelationInfo: info}
		if info.InScope {
			events, err := p.st.Watches().RelationUnits(ctx, u.Name, info.ID)
			if err != nil {
				return r, err
			}
			first := <-events
			rel.Members, rel.Application, rel.Known = first.Changed, first.Application, true
		}
		r.Relations = append(r.Relations, rel)
	}
	return r, err
}
