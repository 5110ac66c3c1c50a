package resolver

import (
	"cmp"
	"slices"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

// A waiter is a pending operation of one of the unit's sources of work: settings, the leader, storage, secrets, commands,
// tasks, update-status, and each unit and service at the other end of a relation.
type waiter struct {
	served int64 // the turn in which the source was last served; 0 for never
	op     Op
}

// longest returns the waiter whose source was served longest ago. So a busy source is not served again before
// every other waiting source has been.
func longest(waiting []waiter) waiter {
	return slices.MinFunc(waiting, func(a, b waiter) int { return cmp.Compare(a.served, b.served) })
}

// nextInTurn serves the source that has waited longest.
func nextInTurn(local localstate.State, remote Remote) (Op, bool) {
	if local.Stopped {
		return Op{}, false
	}
	var waiting []waiter
	wait := func(source localstate.Source, next func(localstate.State, Remote) (Op, bool)) {
		if op, ok := next(local, remote); ok {
			waiting = append(waiting, waiter{local.Turns[source], op})
		}
	}
	wait(localstate.OfSettings, nextOfSettings)
	wait(localstate.OfLeader, nextOfLeader)
	wait(localstate.OfSecrets, nextOfSecrets)
	wait(localstate.OfStorage, nextInStorage)
	waiting = append(waiting, tasks(local, remote)...)
	for _, rel := range remote.Relations {
		waiting = append(waiting, ofRelation(local.Relations[rel.ID], rel, remote)...)
	}
	if remote.UpdateStatusDue && remote.Unit.Life == entity.Alive {
		waiting = append(waiting, waiter{local.Turns[localstate.OfTime], Op{Verb: Run, Hook: hooks.Info{Kind: hooks.UpdateStatus}}})
	}
	if len(waiting) == 0 {
		return Op{}, false
	}
	return longest(waiting).op, true
}

// nextOfSettings runs config-changed.
func nextOfSettings(local localstate.State, remote Remote) (Op, bool) {
	return Op{Verb: Run, Hook: hooks.Info{Kind: hooks.ConfigChanged}}, local.Config != localstate.ConfigOf(remote.Unit)
}

// ofRelation returns the pending hooks about the units and the service at the other end of a relation. Departed
// units come before the others of their relation, in the turn of the one that has waited longest. In a peer
// relation, the leader runs no hook for the service's settings, which it sets itself.
func ofRelation(seen localstate.Relation, rel Relation, remote Remote) []waiter {
	if !remote.participates(seen, rel) || !rel.InScope || rel.Implicit || !rel.Known {
		return nil
	}
	var gone, others []waiter
	for _, unit := range sorted(seen.Members) {
		if _, ok := rel.Members[unit]; !ok {
			op := Op{Verb: Run, Hook: hooks.Info{Kind: hooks.RelationDeparted, RelationID: rel.ID, RemoteUnit: unit}}
			op.Departing = departing(op.Hook, remote.Unit)
			gone = append(gone, waiter{seen.Turns[unit], op})
		}
	}
	if rel.Application != seen.Application && !(remote.Epoch != 0 && rel.Role == "peer") {
		others = append(others, waiter{seen.Turns[rel.Remote], Op{Verb: Run, Hook: hooks.Info{Kind: hooks.RelationChanged,
			RelationID: rel.ID, RemoteApplication: rel.Remote, ChangeVersion: rel.Application}}})
	}
	for _, unit := range sorted(rel.Members) {
		op := changed(seen, rel, unit)
		version, joined := seen.Members[unit]
		if !joined {
			op.Hook.Kind = hooks.RelationJoined
		}
		if !joined || version != rel.Members[unit] {
			others = append(others, waiter{seen.Turns[unit], op})
		}
	}
	if len(gone) == 0 || len(others) == 0 {
		return append(gone, others...)
	}
	next := longest(gone)
	next.served = min(next.served, longest(others).served)
	return []waiter{next}
}
