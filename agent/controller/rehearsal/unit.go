package rehearsal

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"juju/charm"
	"juju/hooks"
	"juju/state"
	"juju/state/entity"
	"juju/worker/leadership"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/operation"
	"juju/worker/uniter/resolver"
)

// boot identifies the boot of all machines.
const boot = "rehearsed"

// A unit is a unit with its agent.
type unit struct {
	*rehearsal
	tag      entity.Tag
	executor *operation.Executor
	factory  operation.Factory
	remote   resolver.Remote
	running  resolver.Op
	seen     int64  // the changes that were known when remote was read
	hook     string // the name of the hook that the unit was running when the copy was made; "" if none
}

// unwritten is the store of a unit's local state.
type unwritten struct{}

func (unwritten) Write(localstate.State) error { return nil }

// newUnit returns the agent of a unit, as far as the controller knows what it has done.
func (r *rehearsal) newUnit(ctx context.Context, name string, was entity.UnitStatus) (*unit, error) {
	u := &unit{rehearsal: r, tag: entity.UnitTag(name), remote: resolver.Remote{Boot: boot, Asked: map[string]bool{}}}
	api := unitAPI{st: r.st}
	u.factory = operation.Factory{API: api, Unit: u.tag, Runner: u, Deploy: u.deploy,
		EndInterrupted: func(hooks.Process) error { return nil },
		SetAgentStatus: func(context.Context, entity.StatusWord, string) error { return nil }}
	if err := u.read(ctx); err != nil {
		return nil, err
	}
	local, err := u.recall(ctx, was)
	if err != nil {
		return nil, err
	}
	u.executor = operation.NewExecutor(unwritten{}, local)
	return u, nil
}

// Run implements operation.Runner: it notes the hook.
func (u *unit) Run(_ context.Context, hctx *hooks.Context, _ func(hooks.Process) error) error {
	if name := hctx.HookName(); u.remote.Hooks.Has(name) {
		about := u.running.Hook.Remote()
		if u.running.Hook.Storage != "" {
			about = u.running.Hook.Storage
		}
		u.hooks = append(u.hooks, entity.PlannedHook{Unit: u.tag.ID, Hook: name, About: about})
	}
	return nil
}

func (u *unit) deploy(ctx context.Context, url string) (*charm.Meta, error) {
	ch, err := u.st.Charms().Get(ctx, url)
	if err != nil {
		return nil, err
	}
	return ch.Meta, nil
}

// read reads what the agent would know now.
func (u *unit) read(ctx context.Context) error {
	handle, err := u.st.Unit(ctx, u.tag.ID)
	if err != nil {
		return err
	}
	if u.remote.Unit, err = handle.Info(ctx); err != nil {
		return err
	}
	u.remote.Unit.Tasks = nil // they run no hooks
	relations, err := handle.Relations(ctx)
	if err != nil {
		return err
	}
	barred := map[int]bool{}
	for _, r := range u.remote.Relations {
		barred[r.ID] = r.Barred
	}
	u.remote.Relations = nil
	for _, info := range relations {
		rel := resolver.Relation{RelationInfo: info, Barred: barred[info.ID]}
		if info.InScope {
			if err := u.members(ctx, &rel); err != nil {
				return err
			}
		}
		u.remote.Relations = append(u.remote.Relations, rel)
	}
	url := u.remote.Unit.CharmURL
	if u.executor != nil {
		url = u.executor.State().Charm
	}
	if url != "" {
		if u.remote.Hooks, err = u.implemented(ctx, url); err != nil {
			return err
		}
	}
	return u.lead(ctx, handle)
}

// members reads the counterparts of the unit in a relation.
func (u *unit) members(ctx context.Context, rel *resolver.Relation) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := u.st.Watches().RelationUnits(ctx, u.tag.ID, rel.ID)
	if err != nil {
		return err
	}
	defer func() { // the watch must end before the copy is closed
		cancel()
		for range events {
		}
	}()
	select {
	case first, ok := <-events:
		if !ok {
			return entity.Errorf(entity.Stopped, "the copy of the model is closed")
		}
		rel.Members, rel.Application, rel.Known = first.Changed, first.Application, true
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// isStuck reports whether the unit waits for the resolution of a failed hook or upgrade.
func (u *unit) isStuck() bool { return u.executor != nil && u.executor.State().Failed() != nil }

// lead claims the leadership of the unit's service, if that is vacant. One that is stuck leaves it to others, which run hooks
// for it: who is first is chance.
func (u *unit) lead(ctx context.Context, handle *state.Unit) error {
	if u.remote.Unit.Life != entity.Alive || u.remote.EpochKnown && (u.remote.Epoch != 0 || u.leads(u.remote.Unit.Service)) {
		return nil
	}
	for _, other := range u.units {
		if u.remote.EpochKnown && other.remote.Unit.Service == u.remote.Unit.Service && other.remote.Unit.Life == entity.Alive &&
			other.isStuck() != u.isStuck() {
			if u.contested[u.remote.Unit.Service] = true; u.isStuck() {
				return nil
			}
		}
	}
	epoch, err := handle.ClaimLeadership(ctx, leadership.Term)
	if err != nil && !errors.Is(err, entity.LeadershipRefused) {
		return err
	}
	u.remote.Epoch, u.remote.EpochKnown = epoch, true
	if epoch != 0 {
		u.leaders[u.remote.Unit.Service] = u.tag.ID
	}
	return nil
}

// recall returns what the unit has done, which only its agent knows exactly: an idle one has done everything, and one
// whose hook runs or has failed everything that comes before the hook.
func (u *unit) recall(ctx context.Context, was entity.UnitStatus) (s localstate.State, err error) {
	info := u.remote.Unit
	failed, _ := was.Workload.Data["hook"].(string)
	if was.Workload.Status != entity.StatusError {
		failed = ""
	}
	running, _ := strings.CutPrefix(was.Agent.Message, "running ")
	running, _, isRunning := strings.Cut(running, " hook")
	switch {
	case !info.Started || info.CharmURL == "":
		return s, nil
	case failed != "":
		u.hook = failed
	case was.Agent.Status == entity.StatusExecuting && isRunning:
		u.hook = running
	}
	ch, err := u.st.Charms().Get(ctx, info.CharmURL)
	if err != nil {
		return s, err
	}
	version := info.LeaderSettingsVersion
	s = localstate.State{Charm: info.CharmURL, Endpoints: slices.Sorted(maps.Keys(ch.Meta.Relations())), Installed: true, Started: true,
		Config: localstate.ConfigOf(info), LeaderEpoch: u.remote.Epoch, LeaderSettings: &version,
		Resources: info.ResourcesVersion, Boot: boot, Relations: map[int]localstate.Relation{},
		Storage: map[string]localstate.Storage{}}
	for _, rel := range u.remote.Relations {
		if rel.InScope {
			s.Relations[rel.ID] = localstate.Relation{Members: rel.Members, Application: rel.Application}
		}
	}
	for _, one := range info.Storage {
		if one.Location != "" {
			s.Storage[one.ID] = localstate.Attached
		}
	}
	if u.hook == "" {
		return s, nil
	}
	if s.Started, err = u.hasStarted(ctx); err != nil {
		return s, err
	}
	return u.before(s, failed != "", was), nil
}

// remembered is how many of an agent's latest statuses are read.
const remembered = 100

// hasStarted reports whether the unit has run its start hook since it was installed, as its agent's statuses say. If they
// don't go back so far, it has. A start hook that is the current one does not count, nor do its earlier tries.
func (u *unit) hasStarted(ctx context.Context) (bool, error) {
	past, err := u.real.StatusHistory(ctx, entity.HistoryUnitAgent, u.tag.ID, entity.HistoryFilter{Size: remembered})
	if err != nil {
		return false, err
	}
	slices.SortStableFunc(past, func(a, b entity.PastStatus) int { return b.Since.Compare(a.Since) }) // the latest first
	starts := u.hook == string(hooks.Start)
	for _, one := range past {
		switch {
		case one.Message == "running start hook" && !starts:
			return true, nil
		case one.Message == "running install hook":
			return false, nil
		case one.Message != "running start hook" && strings.HasPrefix(one.Message, "running "):
			starts = false
		}
	}
	return true, nil
}

// before takes back the unit's current hook. If it has failed, the unit waits for its resolution.
func (u *unit) before(s localstate.State, failed bool, was entity.UnitStatus) localstate.State {
	hook := u.current(was)
	if !s.Started {
		s.ConfigPending = hook.Kind != hooks.Start
		for id := range s.Relations {
			s.Relations[id] = localstate.Relation{} // joined hooks come after start
		}
	}
	switch hook.Kind {
	case hooks.Install:
		s = localstate.State{Charm: s.Charm, Endpoints: s.Endpoints, Storage: s.Storage}
	case hooks.Start:
		s.Started = false
	case hooks.UpgradeCharm:
		s.UpgradePending = true
	case hooks.ConfigChanged:
		s.Config = localstate.Config{}
	case hooks.LeaderElected:
		s.LeaderEpoch = 0
	case hooks.LeaderSettingsChanged:
		s.LeaderSettings = nil
	case hooks.StorageAttached:
		delete(s.Storage, hook.Storage)
	case hooks.RelationJoined, hooks.RelationChanged:
		rel := s.Relations[hook.RelationID]
		if hook.ChangeVersion = rel.Members[hook.RemoteUnit]; hook.Kind == hooks.RelationJoined {
			delete(rel.Members, hook.RemoteUnit)
		}
	}
	if failed {
		s.Op = localstate.Op{Hook: hook, Name: u.hook, Config: localstate.ConfigOf(u.remote.Unit)}.FailedWith("")
	}
	return s
}

// current returns the hook that the unit's statuses name.
func (u *unit) current(was entity.UnitStatus) hooks.Info {
	for _, rel := range u.remote.Relations {
		for _, kind := range []hooks.Kind{hooks.RelationCreated, hooks.RelationJoined, hooks.RelationChanged,
			hooks.RelationDeparted, hooks.RelationBroken} {
			info := hooks.Info{Kind: kind, RelationID: rel.ID}
			if info.Name(rel.Endpoint) == u.hook {
				info.RemoteUnit, _ = was.Workload.Data["remote-unit"].(string)
				return info
			}
		}
	}
	for _, one := range u.remote.Unit.Storage {
		for _, kind := range []hooks.Kind{hooks.StorageAttached, hooks.StorageDetaching} {
			if info := (hooks.Info{Kind: kind, Storage: one.ID}); info.Name("") == u.hook {
				return info
			}
		}
	}
	return hooks.Info{Kind: hooks.Kind(u.hook)}
}

// isSettled reports whether the unit has nothing to do.
func (u *unit) isSettled() bool {
	return u.hook == "" && resolver.NextOp(u.executor.State(), u.remote).Verb == resolver.Wait
}

// act carries out the unit's next operation, and reports whether there was one.
func (u *unit) act(ctx context.Context) (did bool, err error) {
	if now := u.changes.Load(); now != u.seen {
		u.seen = now
		u.unbar()
		if err := u.read(ctx); errors.Is(err, entity.NotFound) {
			return false, nil // it is removed
		} else if err != nil {
			return false, err
		}
	}
	if !u.remote.Unit.Started {
		if err := u.begin(ctx); err != nil {
			return false, err
		}
	}
	op := resolver.NextOp(u.executor.State(), u.remote)
	switch op.Verb {
	case resolver.Wait, resolver.AwaitResolution, resolver.AwaitReboot, resolver.Terminate:
		return false, nil
	}
	u.running = op
	next, err := u.factory.New(op, u.executor.State(), u.remote)
	if err == nil {
		err = u.executor.Run(ctx, next)
	}
	if errors.Is(err, operation.ErrBarred) {
		u.bar(op)
		return false, nil
	}
	if op.Verb == resolver.DestroySubordinates {
		for _, name := range u.remote.Unit.Subordinates {
			u.remote.Asked[name] = true
		}
	}
	return true, err
}

// begin is the first thing that an agent does.
func (u *unit) begin(ctx context.Context) error {
	handle, err := u.st.Unit(ctx, u.tag.ID)
	if err != nil {
		return err
	}
	return handle.SetAgentStatus(ctx, entity.Status{Status: entity.StatusExecuting})
}

// bar notes that the controller refuses an operation until something changes.
func (u *unit) bar(op resolver.Op) {
	u.remote.Barred = op.Verb == resolver.Die
	for i := range u.remote.Relations {
		rel := &u.remote.Relations[i]
		rel.Barred = rel.Barred || op.Verb == resolver.Enter && rel.ID == op.Relation
	}
}

// unbar notes that something has changed.
func (u *unit) unbar() {
	u.remote.Barred = false
	for i := range u.remote.Relations {
		u.remote.Relations[i].Barred = false
	}
}
