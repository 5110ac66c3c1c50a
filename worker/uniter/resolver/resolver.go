package resolver

import (
	"maps"
	"slices"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

// Remote is what is known of the controller's state, and what this process has done
// about it.
type Remote struct {
	Unit      entity.UnitInfo
	Relations []Relation // sorted by id

	// Epoch is that of the claim by which the unit leads its service; 0 if it does not lead. It
	// is valid if EpochKnown.
	Epoch      int64
	EpochKnown bool

	// Boot identifies the present boot of the unit's machine.
	Boot string
	// Recovering says that no config-changed hook has run since the agent started.
	Recovering bool
	// Asked are the subordinates that this process has destroyed.
	Asked map[string]bool
	// Barred says that the controller has refused to set the unit Dead, and that nothing has
	// changed since then.
	Barred bool
	// RetryDue says that the failed hook should run again by itself.
	RetryDue bool
	// Command says that a user of the machine waits for a command to run.
	Command bool
	// UpdateStatusDue says that it is time for an update-status hook.
	UpdateStatusDue bool
	// Hooks are the hooks that the deployed charm has now. Only those of charm.LaterHooks matter:
	// a charm without them is not even asked.
	Hooks hooks.Implemented
}

// A Relation is a relation of the unit.
type Relation struct {
	entity.RelationInfo
	// Members are the counterparts in the unit's scope, with the versions of their settings.
	// They are valid if Known.
	Members map[string]int64
	Known   bool
	// Application is the version of the other service's own settings; 0 if it has set none.
	Application int64
	// Barred says that the controller has refused to let the unit enter, and that nothing has
	// changed since then.
	Barred bool
}

// NextOp returns what the unit does next.
func NextOp(local localstate.State, remote Remote) Op {
	unit := remote.Unit
	going := unit.Life != entity.Alive
	switch {
	case unit.Life >= entity.Dead:
		return Op{Verb: Terminate}
	case !going && (unit.ServiceLife != entity.Alive || unit.OrphanedBySubRel):
		return Op{Verb: DestroyUnit}
	case going && slices.ContainsFunc(unit.Subordinates, func(name string) bool { return !remote.Asked[name] }):
		return Op{Verb: DestroySubordinates}
	case unit.Strength == entity.Force && local.Op != nil:
		return Op{Verb: Abandon}
	case unit.Strength == entity.Force:
		return goSilently(local, remote)
	case local.Reboot != "" && local.Reboot == remote.Boot:
		return Op{Verb: AwaitReboot}
	case local.Op != nil:
		return nextInProgress(*local.Op, local, remote)
	case unit.Resolved != entity.ResolvedNone:
		return Op{Verb: ClearResolved} // or it would resolve the next failure, which the user has not seen
	case going && !local.Installed:
		return goSilently(local, remote)
	case !local.Installed && unit.PrivateAddress == "":
		return Op{Verb: Wait} // the cloud has not told the machine's address yet, which hooks ask for
	}
	for _, next := range []func(localstate.State, Remote) (Op, bool){nextCreated, nextInChain, nextInScopes, nextInTurn} {
		if op, ok := next(local, remote); ok {
			return op
		}
	}
	switch {
	case !going:
		return Op{Verb: Wait}
	case local.Started && !local.Stopped:
		return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.Stop}}
	case local.Stopped && !local.Removed && remote.Hooks.Has(string(hooks.Remove)):
		return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.Remove}}
	}
	return die(remote)
}

// betweenChains reports whether later hooks can run: after install and before the first
// config-changed, or after start. They interrupt none of the sequences of nextInChain.
func betweenChains(local localstate.State, remote Remote) bool {
	return remote.Unit.Life == entity.Alive && local.Installed && !local.UpgradePending &&
		local.ConfigPending != local.Started
}

// nextOfLeader runs the hooks about the leader of the service, if the charm has them:
// leader-elected once for each claim by which the unit leads, leader-settings-changed in a unit
// that does not lead when it has not seen the leader's settings.
func nextOfLeader(local localstate.State, remote Remote) (Op, bool) {
	elected, changed := remote.Hooks.Has(string(hooks.LeaderElected)),
		remote.Hooks.Has(string(hooks.LeaderSettingsChanged))
	version := remote.Unit.LeaderSettingsVersion
	switch {
	case !betweenChains(local, remote) || !elected && !changed:
	case !remote.EpochKnown:
		return Op{Verb: Wait}, !local.Started // one of the two comes before config-changed
	case elected && remote.Epoch != 0 && remote.Epoch != local.LeaderEpoch:
		return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.LeaderElected, ChangeVersion: remote.Epoch}}, true
	case changed && remote.Epoch == 0 && (local.LeaderSettings == nil || *local.LeaderSettings != version):
		return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.LeaderSettingsChanged, ChangeVersion: version}}, true
	}
	return Op{}, false
}

// nextCreated enters Alive relations and runs their relation-created hooks, if the charm has
// these.
func nextCreated(local localstate.State, remote Remote) (Op, bool) {
	if !betweenChains(local, remote) {
		return Op{}, false
	}
	for _, rel := range remote.Relations {
		told, known := local.Relations[rel.ID]
		info := hooks.Info{Kind: hooks.RelationCreated, RelationID: rel.ID}
		has := remote.Hooks.Has(info.Name(rel.Endpoint))
		// The unit is in a relation that it does not know when its machine was lost.
		lost := has && !known && !local.Started
		switch {
		case rel.Life != entity.Alive || rel.Implicit:
		case rel.InScope && (told.CreatedPending || lost):
			return Op{Verb: Run, Hook: info}, true
		case has && !rel.InScope && !rel.Barred && local.Has(rel.Endpoint):
			return Op{Verb: Enter, Relation: rel.ID}, true
		}
	}
	return Op{}, false
}

// die makes the unit Dead as soon as its subordinates are gone.
func die(remote Remote) Op {
	if remote.Barred || len(remote.Unit.Subordinates) > 0 {
		return Op{Verb: Wait}
	}
	return Op{Verb: Die}
}

// goSilently is what a unit does that goes without running hooks.
func goSilently(local localstate.State, remote Remote) Op {
	for _, rel := range remote.Relations {
		if rel.InScope {
			return Op{Verb: Leave, Relation: rel.ID}
		}
	}
	for _, s := range remote.Unit.Storage {
		return Op{Verb: Detach, Storage: s.ID}
	}
	return die(remote)
}

// nextInProgress finishes what is in progress.
func nextInProgress(op localstate.Op, local localstate.State, remote Remote) Op {
	unit := remote.Unit
	if op.Kind == localstate.DeployCharm {
		return nextOfDeploy(op, local, remote)
	}
	if op.Kind == localstate.RunTask {
		return nextOfTask(op, remote)
	}
	again := Op{Verb: Run, Hook: op.Hook, Resolved: true, Departing: departing(op.Hook, unit)}
	byItself := again
	byItself.Resolved, byItself.Retried = false, true
	switch {
	case op.Step == localstate.Done:
		return Op{Verb: Commit}
	case op.Step == localstate.Pending && op.Process != nil:
		return Op{Verb: Fail}
	case op.Hook.Kind.IsRelation() && !remote.tells(op.Hook.RelationID):
		return Op{Verb: Abandon} // the relation was destroyed with force
	case op.Hook.Kind.IsStorage() && !remote.hasStorage(op.Hook.Storage):
		return Op{Verb: Abandon} // the storage was detached with force
	case op.Step == localstate.Pending && op.Resolved:
		return again
	case op.Step == localstate.Pending && op.Retried:
		return byItself
	case op.Step == localstate.Pending: // as an earlier version recorded it
		return Op{Verb: Abandon}
	case unit.ForceCharm && unit.ServiceCharmURL != local.Charm:
		return Op{Verb: Deploy, Charm: unit.ServiceCharmURL}
	case op.Hook.Kind == hooks.LeaderElected && op.Hook.ChangeVersion != remote.Epoch && remote.EpochKnown &&
		(unit.Resolved != entity.ResolvedNone || remote.RetryDue):
		return Op{Verb: Skip} // the unit no longer leads by the claim that the hook is about
	case unit.Resolved == entity.ResolvedRetry:
		return again
	case unit.Resolved == entity.ResolvedNoHooks || remote.lenient(op.Hook):
		return Op{Verb: Skip}
	case remote.RetryDue:
		return byItself
	}
	if tasks := tasks(local, remote); len(tasks) > 0 {
		return longest(tasks).op
	}
	return Op{Verb: AwaitResolution}
}

// nextOfDeploy finishes the deployment of a charm.
func nextOfDeploy(op localstate.Op, local localstate.State, remote Remote) Op {
	unit := remote.Unit
	resolved := unit.Resolved != entity.ResolvedNone
	switch {
	case op.Step == localstate.Done:
		return Op{Verb: Commit}
	case unit.Life != entity.Alive && !local.Installed && op.After == nil:
		return Op{Verb: Abandon}
	case op.Step == localstate.Failed && unit.Life != entity.Alive && unit.Strength >= entity.Lenient:
		return Op{Verb: Abandon} // it goes with what is in the directory
	case op.Step == localstate.Failed && !resolved && !(unit.ForceCharm && unit.ServiceCharmURL != op.Charm):
		return Op{Verb: AwaitResolution}
	}
	// The charm directory may be a mixture of charms. Whichever charm the unit should have
	// now, even the old one, must be deployed.
	return Op{Verb: Deploy, Charm: unit.ServiceCharmURL, Resolved: op.Resolved || resolved && op.Step == localstate.Failed}
}

// tasks returns the command of a user of the machine, and the oldest task. A task that is running
// already is known only to the controller: its agent, or its machine, was lost.
func tasks(local localstate.State, remote Remote) (waiting []waiter) {
	if remote.Command {
		waiting = append(waiting, waiter{local.Turns[localstate.OfCommands], Op{Verb: RunCommand}})
	}
	if len(remote.Unit.Tasks) > 0 {
		task, verb := remote.Unit.Tasks[0], FailTask
		if task.Status == entity.TaskPending {
			verb = RunTask
		}
		waiting = append(waiting, waiter{local.Turns[localstate.OfTasks], Op{Verb: verb, Task: task.ID}})
	}
	return waiting
}

// nextOfTask finishes a task, or a user's command, that is in progress. It is never run again once
// it has begun.
func nextOfTask(op localstate.Op, remote Remote) Op {
	unfinished := slices.ContainsFunc(remote.Unit.Tasks, func(t entity.TaskRef) bool {
		return t.ID == op.Task && t.Status != entity.TaskAborting
	})
	switch {
	case op.Step == localstate.Done:
		return Op{Verb: Commit}
	case op.Process == nil && unfinished:
		return Op{Verb: RunTask, Task: op.Task}
	}
	return Op{Verb: Fail}
}

// nextInChain deploys and upgrades the charm, with the hooks that follow, and runs those that a
// machine or an agent begins with.
func nextInChain(local localstate.State, remote Remote) (Op, bool) {
	unit := remote.Unit
	alive := unit.Life == entity.Alive
	if !local.Started || local.UpgradePending || local.ConfigPending {
		if op, ok := nextOfLeader(local, remote); ok {
			return op, true
		}
		if op, ok := nextInStorage(local, remote); ok {
			return op, true
		}
	}
	run := func(kind hooks.Kind) (Op, bool) { return Op{Verb: Run, Hook: hooks.Info{Kind: kind}}, true }
	withResources := func(kind hooks.Kind) (Op, bool) {
		return Op{Verb: Run, Hook: hooks.Info{Kind: kind, ChangeVersion: unit.ResourcesVersion}}, true
	}
	switch {
	case !local.Installed && local.Charm != unit.ServiceCharmURL:
		return Op{Verb: Deploy, Charm: unit.ServiceCharmURL}, true
	case !local.Installed:
		return withResources(hooks.Install)
	case local.UpgradePending:
		return withResources(hooks.UpgradeCharm)
	case local.ConfigPending:
		return run(hooks.ConfigChanged)
	case !local.Started:
		return run(hooks.Start)
	case local.Stopped:
		return Op{}, false
	case alive && local.Boot != "" && local.Boot != remote.Boot:
		return run(hooks.Start) // the machine has restarted
	case alive && local.Charm != unit.ServiceCharmURL:
		return Op{Verb: Deploy, Charm: unit.ServiceCharmURL}, true
	case alive && local.Resources != unit.ResourcesVersion:
		return withResources(hooks.UpgradeCharm)
	case remote.Recovering:
		return run(hooks.ConfigChanged)
	}
	return Op{}, false
}

// departing returns the unit that departs according to a relation-departed hook: the unit
// itself if it is not Alive, otherwise the other. It is "" for other hooks.
func departing(hook hooks.Info, unit entity.UnitInfo) string {
	switch {
	case hook.Kind != hooks.RelationDeparted:
		return ""
	case unit.Life != entity.Alive || unit.ServiceLife != entity.Alive:
		return unit.Name
	}
	return hook.RemoteUnit
}

func (r Remote) has(relation int) bool {
	return slices.ContainsFunc(r.Relations, func(rel Relation) bool { return rel.ID == relation })
}

// tells reports whether hooks run for a relation: not if it is gone, or goes by force.
func (r Remote) tells(relation int) bool {
	return slices.ContainsFunc(r.Relations, func(rel Relation) bool {
		return rel.ID == relation && rel.Strength != entity.Force
	})
}

// lenient reports whether the unit does not wait for a failed hook, because the unit, or the
// relation that the hook is about, is being destroyed leniently.
func (r Remote) lenient(hook hooks.Info) bool {
	if r.Unit.Life != entity.Alive && r.Unit.Strength >= entity.Lenient {
		return true
	}
	return hook.Kind.IsRelation() && slices.ContainsFunc(r.Relations, func(rel Relation) bool {
		return rel.ID == hook.RelationID && rel.Life != entity.Alive && rel.Strength >= entity.Lenient
	})
}

// nextInScopes enters relations and leaves them, and has changed follow joined. None of this goes
// on for ever, whatever charms do.
func nextInScopes(local localstate.State, remote Remote) (Op, bool) {
	if remote.Unit.Life != entity.Alive {
		if op, ok := nextInStorage(local, remote); ok {
			return op, true
		}
	}
	for _, rel := range remote.Relations {
		told, known := local.Relations[rel.ID]
		takesPart := remote.takesPart(told, rel)
		switch {
		case takesPart && !rel.InScope && !rel.Barred && (rel.Implicit || local.Has(rel.Endpoint)):
			return Op{Verb: Enter, Relation: rel.ID}, true
		case takesPart && rel.InScope && !rel.Implicit && told.ChangedPending != "":
			return changed(told, rel, told.ChangedPending), true
		case !takesPart && (rel.InScope || known):
			op := nextInLeaving(told, rel)
			op.Departing = departing(op.Hook, remote.Unit)
			return op, true
		}
	}
	// Relations that the unit has left, or that were removed by force.
	for _, id := range slices.Sorted(maps.Keys(local.Relations)) {
		if !remote.has(id) {
			return Op{Verb: Forget, Relation: id}, true
		}
	}
	return Op{}, false
}

// takesPart reports whether the unit is in a relation, or is to enter it.
func (r Remote) takesPart(told localstate.Relation, rel Relation) bool {
	return rel.Life == entity.Alive && r.Unit.Life == entity.Alive && !told.Broken
}

// changed runs relation-changed for a unit.
func changed(told localstate.Relation, rel Relation, unit string) Op {
	version, ok := rel.Members[unit]
	if !ok {
		version = told.Members[unit]
	}
	return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.RelationChanged, RelationID: rel.ID, RemoteUnit: unit,
		ChangeVersion: version}}
}

// nextInLeaving decides for a relation that the unit leaves.
func nextInLeaving(told localstate.Relation, rel Relation) Op {
	run := func(kind hooks.Kind, unit string) Op {
		return Op{Verb: Run, Hook: hooks.Info{Kind: kind, RelationID: rel.ID, RemoteUnit: unit}}
	}
	switch {
	case told.CreatedPending && !rel.InScope:
		return Op{Verb: Forget, Relation: rel.ID} // it was never entered
	case told.Broken || rel.Implicit || rel.Strength == entity.Force:
		return Op{Verb: Leave, Relation: rel.ID}
	case told.ChangedPending != "":
		return changed(told, Relation{RelationInfo: rel.RelationInfo}, told.ChangedPending)
	}
	for _, unit := range sorted(told.Members) {
		return run(hooks.RelationDeparted, unit)
	}
	return run(hooks.RelationBroken, "")
}

func sorted(members map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(members), entity.CompareNatural)
}
