package resolver

import (
	"slices"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

// nextOfSecrets tells an Alive unit the first thing that it must be told about secrets.
func nextOfSecrets(local localstate.State, remote Remote) (Op, bool) {
	if remote.Unit.Life != entity.Alive {
		return Op{}, false
	}
	for _, event := range remote.Unit.Secrets {
		op := Op{Verb: Run, Hook: hooks.SecretHook(event)}
		if !remote.Hooks.Has(string(op.Hook.Kind)) {
			op.Verb = PassSecret
		}
		if remote.isFor(event, local) {
			return op, true
		}
	}
	return Op{}, false
}

// isFor reports whether the unit is told of an event. Those of its service's secrets are for the leader, as long as the
// controller has not refused its claim, of which the unit's agent may not know yet.
func (r Remote) isFor(event entity.SecretEvent, local localstate.State) bool {
	return !event.OfService || r.EpochKnown && r.Epoch != 0 && r.Epoch != local.RefusedEpoch
}

// current returns a hook as it would run now. ok is false if it is about a secret, and there is nothing to be told any more: the
// secret or its revision has been removed, or the unit has been told.
func (r Remote) current(hook hooks.Info) (now hooks.Info, ok bool) {
	if !hook.Kind.IsSecret() {
		return hook, true
	}
	was := hook.Secret
	latest := was.Kind == entity.SecretChanged || was.Kind == entity.SecretRotate
	i := slices.IndexFunc(r.Unit.Secrets, func(e entity.SecretEvent) bool {
		return e.Kind == was.Kind && e.ID == was.ID && (latest || e.Revision == was.Revision)
	})
	if i < 0 {
		return hook, false
	}
	return hooks.SecretHook(r.Unit.Secrets[i]), true
}
