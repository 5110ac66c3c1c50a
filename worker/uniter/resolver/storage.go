package resolver

import (
	"maps"
	"slices"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

// nextInStorage runs storage-attached for new storage, before install or between the sequences of other hooks,
// and storage-detaching for storage to be released. Before install it waits for all of the unit's storage.
func nextInStorage(local localstate.State, remote Remote) (Op, bool) {
	unit := remote.Unit
	current := local.Charm == unit.ServiceCharmURL // otherwise only the next charm may declare the storage
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
		seen := local.Storage[s.ID]
		switch dying := unit.Life != entity.Alive || s.Life != entity.Alive; {
		case dying && seen == localstate.Attached:
			return run(hooks.StorageDetaching, s.ID)
		case dying:
			return Op{Verb: Detach, Storage: s.ID}, true
		case seen == localstate.Detaching: // it was released, and attached again while the agent was down
			return Op{Verb: ForgetStorage, Storage: s.ID}, true
		case seen == "" && s.Location != "" && current:
			return run(hooks.StorageAttached, s.ID)
		case seen == "":
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
