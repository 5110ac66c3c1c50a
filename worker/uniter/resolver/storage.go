package resolver

import (
	"maps"
	"slices"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

// nextInStorage tells the charm of storage that has come, before install or between the sequences
// of other hooks, and of storage that goes. Before install it waits until all is there that the
// unit is to begin with.
func nextInStorage(local localstate.State, remote Remote) (Op, bool) {
	unit := remote.Unit
	current := local.Charm == unit.ServiceCharmURL // or a store may be one that only the next charm has
	switch {
	case !local.Installed && !current, local.UpgradePending:
		return Op{}, false
	case local.Installed && (local.ConfigPending || !local.Started):
		return Op{}, false
	}
	run := func(kind hooks.Kind, id string) (Op, bool) {
		return Op{Verb: Run, Hook: hooks.Info{Kind: kind, Storage: id}}, true
	}
	wait := false
	for _, s := range unit.Storage {
		told := local.Storage[s.ID]
		switch goes := unit.Life != entity.Alive || s.Life != entity.Alive; {
		case goes && told == localstate.Attached:
			return run(hooks.StorageDetaching, s.ID)
		case goes:
			return Op{Verb: Detach, Storage: s.ID}, true
		case told == localstate.Detaching: // it was given up, and has come back while the agent was away
			return Op{Verb: ForgetStorage, Storage: s.ID}, true
		case told == "" && s.Location != "" && current:
			return run(hooks.StorageAttached, s.ID)
		case told == "":
			wait = wait || !local.Installed
		}
	}
	for _, id := range slices.Sorted(maps.Keys(local.Storage)) {
		if !remote.hasStorage(id) {
			return Op{Verb: ForgetStorage, Storage: id}, true
		}
	}
	return Op{Verb: Wait}, wait
}

func (r Remote) hasStorage(id string) bool {
	return slices.ContainsFunc(r.Unit.Storage, func(s entity.UnitStorage) bool { return s.ID == id })
}
