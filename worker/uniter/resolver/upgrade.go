package resolver

import (
	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

// nextInUpgrade takes an Alive unit through an upgrade of its machine's operating system. A sequence of hooks that has begun is
// finished first.
func nextInUpgrade(local localstate.State, remote Remote) (Op, bool) {
	up := remote.Unit.Upgrade
	if up == nil || remote.Unit.Life != entity.Alive {
		return Op{}, false
	}
	hook, ran := hooks.Info{Kind: hooks.PreSeriesUpgrade, ChangeVersion: up.Number}, local.Prepared
	if up.Completing {
		hook.Kind, ran = hooks.PostSeriesUpgrade, local.Upgraded
	}
	inChain := local.Installed && (!local.Started || local.UpgradePending || local.ConfigPending)
	switch {
	case up.Done:
		return Op{Verb: Wait}, true
	case inChain && !up.Completing:
		return Op{}, false
	case local.Started && ran != up.Number && remote.Hooks.Has(string(hook.Kind)):
		return Op{Verb: Run, Hook: hook}, true
	}
	return Op{Verb: ReportUpgrade}, true
}
