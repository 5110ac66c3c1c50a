package rehearsal

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"juju/charm"
	"juju/hooks"
	"juju/state/entity"
	"juju/state/watcher"
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
	machine  string
	executor *operation.Executor
	factory  operation.Factory
	remote   resolver.Remote
	running  resolver.Op
	news     *watcher.Subscription // to what remote was read from
	seen     int64                 // the transactions that were known when the unit last looked whether it is concerned
	waits    bool                  // it has nothing to do until something changes that concerns it
	hook     string                // the name of the hook that the unit was running when the copy was made; "" if none
	// unmet are the relations in which nothing has happened to the unit yet, so that it need not know the others there: it has
	// seen all those that there were when the copy was made.
	unmet map[int]*scope
}

// unwritten is the store of a unit's local state.
type unwritten struct{}

func (unwritten) Write(localstate.State) error { return nil }

// newUnit returns the agent of a unit, as far as the controller knows what it has done. If the agent is lost, there is none.
func (r *rehearsal) newUnit(ctx context.Context, name string, was entity.UnitStatus) (*unit, error) {
	u := &unit{rehearsal: r, tag: entity.UnitTag(name), machine: was.Machine, news: r.changes.Subscribe(), unmet: map[int]*scope{},
		remote: resolver.Remote{Boot: boot, Asked: map[string]entity.Strength{}}}
	api := unitAPI{st: r.st}
	u.factory = operation.Factory{API: api, Unit: u.tag, Runner: u, Deploy: u.deploy,
		EndInterrupted: func(hooks.Process) error { return nil },
		SetAgentStatus: func(context.Context, entity.StatusWord, string) error { return nil }}
	if err := u.read(ctx); err != nil {
		return nil, err
	}
	if u.remote.Unit.Started && r.isLost(name) {
		return nil, nil
	}
	if err := u.lead(ctx); err != nil {
		return nil, err
	}
	local, err := u.recall(ctx, was)
	if err != nil {
		return nil, err
	}
	u.executor = operation.NewExecutor(unwritten{}, local)
	return u, u.meet(ctx)
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
	handle, err := u.st.Agents().AsWatched().Unit(ctx, u.tag.ID)
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
		u.known -= len(r.Members)
	}
	u.remote.Relations = nil
	for _, info := range relations {
		u.remote.Relations = append(u.remote.Relations, resolver.Relation{RelationInfo: info, Barred: barred[info.ID]})
	}
	for _, t := range u.st.Watches().AgentTopics(u.remote.Unit, u.machine, relations) {
		u.news.Add(t)
	}
	url := u.remote.Unit.CharmURL
	if u.executor != nil {
		url = u.executor.State().Charm
	}
	if url != "" {
		u.remote.Hooks, err = u.implemented(ctx, url)
	}
	return err
}

// meet has the unit know its counterparts, but not where nothing happens to it.
func (u *unit) meet(ctx context.Context) error {
	local := u.executor.State()
	idle := u.remote.Unit.Life == entity.Alive && u.remote.Unit.ServiceLife == entity.Alive
	gone := maps.Clone(u.unmet)
	for i := range u.remote.Relations {
		rel := &u.remote.Relations[i]
		delete(gone, rel.ID)
		if !rel.InScope {
			continue
		}
		in, err := u.scope(ctx, u.remote.Unit, rel.RelationInfo)
		if err != nil {
			return err
		}
		if rel.Application = in.application; idle && rel.Life == entity.Alive && u.unmet[rel.ID] != nil && in.before == nil {
			continue
		}
		if rel.Members, err = u.but(in.now); err != nil {
			return err
		}
		rel.Known = true
		if err := u.remember(local, rel.ID); err != nil {
			return err
		}
	}
	for id := range gone {
		if err := u.remember(local, id); err != nil {
			return err
		}
	}
	return nil
}

// remember has the unit know which counterparts it has seen in a relation.
func (u *unit) remember(local localstate.State, relation int) (err error) {
	if was := u.unmet[relation]; was != nil {
		seen := local.Relations[relation]
		if seen.Members, err = u.but(was.first()); err != nil {
			return err
		}
		local.Relations[relation] = seen
		delete(u.unmet, relation)
	}
	return nil
}

// isStuck reports whether the unit waits for the resolution of a failed hook or upgrade.
func (u *unit) isStuck() bool { return u.executor != nil && u.executor.State().Failed() != nil }

// lead claims the leadership of the unit's service, if that is vacant. One that is stuck leaves it to others, which run hooks
// for it: who is first is chance.
func (u *unit) lead(ctx context.Context) error {
	led := u.leads(u.remote.Unit.Service)
	switch {
	case u.remote.Unit.Life != entity.Alive || u.remote.EpochKnown && (u.remote.Epoch != 0 || led):
		return nil
	case led:
		u.remote.EpochKnown = true
		return nil
	case u.remote.EpochKnown:
		for _, other := range u.units {
			if other.remote.Unit.Service == u.remote.Unit.Service && other.remote.Unit.Life == entity.Alive &&
				other.isStuck() != u.isStuck() {
				if u.contested[u.remote.Unit.Service] = true; u.isStuck() {
					return nil
				}
			}
		}
	}
	handle, err := u.st.Unit(ctx, u.tag.ID)
	if err != nil {
		return err
	}
	epoch, err := handle.ClaimLeadership(ctx, leadership.Term)
	if err != nil && !errors.Is(err, entity.LeadershipRefused) {
		return err
	}
	u.waits = u.waits && u.remote.EpochKnown && u.remote.Epoch == epoch
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
			in, err := u.scope(ctx, info, rel.RelationInfo)
			if err != nil {
				return s, err
			}
			s.Relations[rel.ID] = localstate.Relation{Application: in.application}
			u.unmet[rel.ID] = in
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
	for id := range s.Relations {
		if err := u.remember(s, id); err != nil {
			return s, err
		}
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
	for _, event := range u.remote.Unit.Secrets {
		about := was.Workload.Data["secret-id"] // of a failed one
		if info := hooks.SecretHook(event); string(info.Kind) == u.hook &&
			(about == nil || about == entity.SecretURI{ID: event.ID}.String()) {
			return info
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
	if now := u.changes.Count(); now != u.seen {
		u.seen = now
		u.unbar()
		if changes, _ := u.news.Take(); len(changes) > 0 {
			u.waits = false
			err = u.read(ctx)
			if err == nil {
				err = u.meet(ctx)
			}
		}
		if err == nil {
			err = u.lead(ctx)
		}
		if errors.Is(err, entity.NotFound) { // it is removed
			delete(u.units, u.tag.ID)
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	if u.waits {
		return false, nil
	}
	if !u.remote.Unit.Started {
		if err := u.begin(ctx); err != nil {
			return false, err
		}
	}
	op := resolver.NextOp(u.executor.State(), u.remote)
	switch op.Verb {
	case resolver.Wait, resolver.AwaitResolution, resolver.AwaitReboot, resolver.Terminate:
		u.waits = true
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
			u.remote.Asked[name] = u.remote.Unit.Strength
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
	u.waits = u.waits && !u.remote.Barred
	u.remote.Barred = false
	for i := range u.remote.Relations {
		rel := &u.remote.Relations[i]
		u.waits = u.waits && !rel.Barred
		rel.Barred = false
	}
}
