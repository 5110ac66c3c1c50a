package resolver

import (
	"maps"
	"slices"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

// Remote is the controller's state as far as it is known, and what this process has done about it.
type Remote struct {
	Unit      entity.UnitInfo
	Relations []Relation // sorted by id

	// Epoch is the epoch of the unit's leadership claim; 0 if it is not the leader. It is valid if EpochKnown.
	Epoch      int64
	EpochKnown bool

	// Boot identifies the current boot of the unit's machine.
	Boot string
	// Recovering means that no config-changed hook has run since the agent started.
	Recovering bool
	// Asked are the subordinates that this process has destroyed, and how strongly.
	Asked map[string]entity.Strength
	// Barred means that the controller has refused to set the unit Dead, and nothing has changed since.
	Barred bool
	// RetryDue means that an automatic retry of the failed hook is due.
	RetryDue bool
	// Command means that a command from juju-run is pending.
	Command bool
	// UpdateStatusDue means that an update-status hook is due.
	UpdateStatusDue bool
	// Hooks are the hooks that the deployed charm currently has. Only those in charm.LaterHooks matter; they
	// are skipped if the charm lacks them.
	Hooks hooks.Implemented
}

// A Relation is a relation of the unit.
type Relation struct {
	entity.RelationInfo
	// Members are the counterparts in the unit's scope with the versions of their settings. Valid if Known.
	Members map[string]int64
	Known   bool
	// Application is the version of the other service's own settings; 0 if it has set none.
	Application int64
	// Barred means that the controller has refused to let the unit enter, and nothing has changed since.
	Barred bool
}

// NextOp returns what the unit does next.
func NextOp(local localstate.State, remote Remote) Op {
	unit := remote.Unit
	dying := unit.Life != entity.Alive
	switch {
	case unit.Life >= entity.Dead:
		return Op{Verb: Terminate}
	case !dying && (unit.ServiceLife != entity.Alive || unit.OrphanedBySubRel):
		return Op{Verb: DestroyUnit}
	case dying && slices.ContainsFunc(unit.Subordinates, remote.mustAskFor):
		return Op{Verb: DestroySubordinates}
	case unit.Strength == entity.Force && local.Op != nil:
		return Op{Verb: Abandon}
	case unit.Strength == entity.Force:
		return endWithoutHooks(local, remote)
	case dying && pendingTask(unit) != "":
		return Op{Verb: CancelTask, Task: pendingTask(unit)}
	case local.Reboot != "" && local.Reboot == remote.Boot:
		return Op{Verb: AwaitReboot}
	case local.Op != nil:
		return nextInProgress(*local.Op, local, remote)
	case unit.Resolved != entity.ResolvedNone:
		return Op{Verb: ClearResolved} // otherwise it would resolve the next failure, which the user has not seen
	case dying && !local.Installed:
		return endWithoutHooks(local, remote)
	}
	if op, ok := nextInUpgrade(local, remote); ok {
		return op
	}
	if !local.Installed && (unit.PrivateAddress == "" || unit.AwaitedProfile != "") {
		return Op{Verb: Wait} // the machine has no address yet, or not the charm's profile, which hooks may need
	}
	for _, next := range []func(localstate.State, Remote) (Op, bool){nextCreated, nextInChain, nextInScopes, nextInTurn} {
		if op, ok := next(local, remote); ok {
			return op
		}
	}
	switch {
	case !dying:
		return Op{Verb: Wait}
	case local.Started && !local.Stopped:
		return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.Stop}}
	case local.Stopped && !local.Removed && remote.Hooks.Has(string(hooks.Remove)):
		return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.Remove}}
	}
	return die(remote)
}

// betweenChains reports whether other hooks can run without interrupting a sequence of nextInChain: after install
// and before the first config-changed, or after start.
func betweenChains(local localstate.State, remote Remote) bool {
	return remote.Unit.Life == entity.Alive && local.Installed && !local.UpgradePending &&
		local.ConfigPending != local.Started
}

// nextOfLeader runs the leadership hooks, if the charm has them: leader-elected once for each of the unit's
// claims, and leader-settings-changed in a unit that is not the leader when it has not seen the leader's
// settings.
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

// nextCreated enters Alive relations and runs their relation-created hooks, if the charm has these.
func nextCreated(local localstate.State, remote Remote) (Op, bool) {
	if !betweenChains(local, remote) {
		return Op{}, false
	}
	for _, rel := range remote.Relations {
		seen, known := local.Relations[rel.ID]
		info := hooks.Info{Kind: hooks.RelationCreated, RelationID: rel.ID}
		has := remote.Hooks.Has(info.Name(rel.Endpoint))
		// If the unit is in a relation without a local record, its machine was lost.
		lost := has && !known && !local.Started
		switch {
		case rel.Life != entity.Alive || rel.Implicit:
		case rel.InScope && (seen.CreatedPending || lost):
			return Op{Verb: Run, Hook: info}, true
		case has && !rel.InScope && !rel.Barred && local.Has(rel.Endpoint):
			return Op{Verb: Enter, Relation: rel.ID}, true
		}
	}
	return Op{}, false
}

// die sets the unit Dead once its subordinates are removed.
func die(remote Remote) Op {
	if remote.Barred || len(remote.Unit.Subordinates) > 0 {
		return Op{Verb: Wait}
	}
	return Op{Verb: Die}
}

// endWithoutHooks returns the next operation of a unit that shuts down without running hooks.
func endWithoutHooks(local localstate.State, remote Remote) Op {
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

// nextInProgress finishes the operation in progress.
func nextInProgress(op localstate.Op, local localstate.State, remote Remote) Op {
	unit := remote.Unit
	if op.Kind == localstate.DeployCharm {
		return nextOfDeploy(op, local, remote)
	}
	if op.Kind == localstate.RunTask {
		return nextOfTask(op, remote)
	}
	hook, current := remote.current(op.Hook)
	again := Op{Verb: Run, Hook: hook, Resolved: true, Departing: departing(op.Hook, unit)}
	byItself := again
	byItself.Resolved, byItself.Retried = false, true
	switch {
	case op.Step == localstate.Done:
		return Op{Verb: Commit}
	case op.Step == localstate.Pending && op.Process != nil:
		return Op{Verb: Fail}
	case op.Hook.Kind.IsRelation() && !remote.runsHooks(op.Hook.RelationID):
		return Op{Verb: Abandon} // the relation was destroyed with force
	case op.Hook.Kind.IsStorage() && !remote.hasStorage(op.Hook.Storage):
		return Op{Verb: Abandon} // the storage was detached with force
	case !current:
		return Op{Verb: Abandon} // the secret was removed
	case op.Hook.Kind.IsSecret() && op.Step == localstate.Pending && remote.EpochKnown &&
		!remote.isFor(hook.Secret, local):
		return Op{Verb: Abandon} // another unit leads, and is told
	case op.Step == localstate.Pending && op.Resolved:
		return again
	case op.Step == localstate.Pending && op.Retried:
		return byItself
	case op.Step == localstate.Pending: // recorded by an earlier version
		return Op{Verb: Abandon}
	case unit.ForceCharm && unit.ServiceCharmURL != local.Charm && unit.AwaitedProfile == "":
		return Op{Verb: Deploy, Charm: unit.ServiceCharmURL}
	case op.Hook.Kind == hooks.LeaderElected && op.Hook.ChangeVersion != remote.Epoch && remote.EpochKnown &&
		(unit.Resolved != entity.ResolvedNone || remote.RetryDue):
		return Op{Verb: Skip} // the claim that the hook is about has ended
	case op.Hook.Kind.IsSecret() && remote.EpochKnown && !remote.isFor(hook.Secret, local) &&
		(unit.Resolved != entity.ResolvedNone || remote.RetryDue):
		return Op{Verb: Skip} // another unit leads, and is told
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
		return Op{Verb: Abandon} // it shuts down with whatever is in the directory
	case op.Step == localstate.Failed && !resolved && !(unit.ForceCharm && unit.ServiceCharmURL != op.Charm):
		return Op{Verb: AwaitResolution}
	}
	if unit.AwaitedProfile != "" && unit.Life == entity.Alive {
		return Op{Verb: Wait}
	}
	// The charm directory may hold a mixture of charms, so even the old charm must be deployed again if that is
	// what the unit should run.
	return Op{Verb: Deploy, Charm: unit.ServiceCharmURL, Resolved: op.Resolved || resolved && op.Step == localstate.Failed}
}

// tasks returns the pending command from juju-run, and the oldest task. A task that is already running has no
// local record, because its agent or machine was lost.
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

// pendingTask returns the unit's oldest task that has not begun; "" if there is none.
func pendingTask(unit entity.UnitInfo) string {
	for _, t := range unit.Tasks {
		if t.Status == entity.TaskPending {
			return t.ID
		}
	}
	return ""
}

// nextOfTask finishes the task or command in progress. Once started, it is never run again.
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

// nextInChain deploys and upgrades the charm with the hooks that follow, and runs the hooks that are due after a
// restart of the machine or the agent.
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
	case alive && local.Charm != unit.ServiceCharmURL && unit.AwaitedProfile == "":
		// The new charm may lack the peers, and so the hooks with which the old one leaves them.
		if rel, ok := endingPeers(local, remote); ok {
			return nextInLeaving(local.Relations[rel.ID], rel), true
		}
		return Op{Verb: Deploy, Charm: unit.ServiceCharmURL}, true
	case alive && local.Resources != unit.ResourcesVersion:
		return withResources(hooks.UpgradeCharm)
	case remote.Recovering:
		return run(hooks.ConfigChanged)
	}
	return Op{}, false
}

// endingPeers returns a peer relation that is being removed and that the unit has not left.
func endingPeers(local localstate.State, remote Remote) (Relation, bool) {
	for _, rel := range remote.Relations {
		if _, known := local.Relations[rel.ID]; rel.Role == "peer" && rel.Life != entity.Alive && (rel.InScope || known) {
			return rel, true
		}
	}
	return Relation{}, false
}

// departing returns the departing unit of a relation-departed hook: the unit itself if it or its service is not
// Alive, otherwise the remote one. It returns "" for other hooks.
func departing(hook hooks.Info, unit entity.UnitInfo) string {
	switch {
	case hook.Kind != hooks.RelationDeparted:
		return ""
	case unit.Life != entity.Alive || unit.ServiceLife != entity.Alive:
		return unit.Name
	}
	return hook.RemoteUnit
}

// mustAskFor reports whether the unit, which is Dying, has yet to destroy a subordinate: never so far, or less strongly
// than it is destroyed itself by now.
func (r Remote) mustAskFor(subordinate string) bool {
	with, asked := r.Asked[subordinate]
	return !asked || with < r.Unit.Strength
}

func (r Remote) has(relation int) bool {
	return slices.ContainsFunc(r.Relations, func(rel Relation) bool { return rel.ID == relation })
}

// runsHooks reports whether hooks run for a relation: not if it is removed, or destroyed with force.
func (r Remote) runsHooks(relation int) bool {
	return slices.ContainsFunc(r.Relations, func(rel Relation) bool {
		return rel.ID == relation && rel.Strength != entity.Force
	})
}

// lenient reports whether a failed hook is skipped because the unit, or the relation that the hook is about, is
// being destroyed leniently.
func (r Remote) lenient(hook hooks.Info) bool {
	if r.Unit.Life != entity.Alive && r.Unit.Strength >= entity.Lenient {
		return true
	}
	return hook.Kind.IsRelation() && slices.ContainsFunc(r.Relations, func(rel Relation) bool {
		return rel.ID == hook.RelationID && rel.Life != entity.Alive && rel.Strength >= entity.Lenient
	})
}

// nextInScopes enters and leaves relations, and makes changed follow joined. This work always comes to an end,
// whatever charms do.
func nextInScopes(local localstate.State, remote Remote) (Op, bool) {
	if remote.Unit.Life != entity.Alive {
		if op, ok := nextInStorage(local, remote); ok {
			return op, true
		}
	}
	for _, rel := range remote.Relations {
		seen, known := local.Relations[rel.ID]
		participates := remote.participates(seen, rel)
		switch {
		case participates && !rel.InScope && !rel.Barred && (rel.Implicit || local.Has(rel.Endpoint)):
			return Op{Verb: Enter, Relation: rel.ID}, true
		case participates && rel.InScope && !rel.Implicit && seen.ChangedPending != "":
			return changed(seen, rel, seen.ChangedPending), true
		case !participates && (rel.InScope || known):
			op := nextInLeaving(seen, rel)
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

// participates reports whether the unit should be in a relation.
func (r Remote) participates(seen localstate.Relation, rel Relation) bool {
	return rel.Life == entity.Alive && r.Unit.Life == entity.Alive && !seen.Broken
}

// changed runs relation-changed for a unit.
func changed(seen localstate.Relation, rel Relation, unit string) Op {
	version, ok := rel.Members[unit]
	if !ok {
		version = seen.Members[unit]
	}
	return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.RelationChanged, RelationID: rel.ID, RemoteUnit: unit,
		ChangeVersion: version}}
}

// nextInLeaving returns the next operation for a relation that the unit leaves.
func nextInLeaving(seen localstate.Relation, rel Relation) Op {
	run := func(kind hooks.Kind, unit string) Op {
		return Op{Verb: Run, Hook: hooks.Info{Kind: kind, RelationID: rel.ID, RemoteUnit: unit}}
	}
	switch {
	case seen.CreatedPending && !rel.InScope:
		return Op{Verb: Forget, Relation: rel.ID} // it was never entered
	case seen.Broken || rel.Implicit || rel.Strength == entity.Force:
		return Op{Verb: Leave, Relation: rel.ID}
	case seen.ChangedPending != "":
		return changed(seen, Relation{RelationInfo: rel.RelationInfo}, seen.ChangedPending)
	}
	for _, unit := range sorted(seen.Members) {
		return run(hooks.RelationDeparted, unit)
	}
	return run(hooks.RelationBroken, "")
}

func sorted(members map[string]int64) []string {
	return entity.NaturalKeys(members)
}
