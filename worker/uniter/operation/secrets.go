package operation

import (
	"cmp"
	"context"
	"errors"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// telling adds to the changes of a secret hook that the unit was told what the hook is for. What only a leader is told counts
// by its claim; without one, the next leader is told.
func telling(hook hooks.Info, remote resolver.Remote, changes entity.HookChanges) entity.HookChanges {
	if !hook.Kind.IsSecret() || hook.Secret.OfService && remote.Epoch == 0 {
		return changes
	}
	var secrets entity.SecretChanges
	if changes.Secrets != nil {
		secrets = *changes.Secrets
	}
	secrets.Told = &hook.Secret
	if hook.Secret.OfService {
		secrets.Epoch = cmp.Or(secrets.Epoch, remote.Epoch)
	}
	changes.Secrets = &secrets
	return changes
}

// secretOf returns the URI of the secret that a hook is about.
func secretOf(hook hooks.Info) string { return entity.SecretOfKey(hook.Secret.ID).String() }

// commitChanges commits a hook's changes. If the unit was told what only the leader is told, and another unit leads by now, that
// one is told too; it is no reason for the hook to fail. refused is the epoch of the unit's claim then.
func (f Factory) commitChanges(ctx context.Context, changes entity.HookChanges) (refused int64, err error) {
	err = f.API.CommitHook(ctx, f.Unit, changes)
	secrets := changes.Secrets
	if !errors.Is(err, entity.LeadershipRefused) || secrets == nil || secrets.Told == nil || !secrets.Told.OfService {
		return 0, err
	}
	rest := *secrets
	rest.Told = nil
	changes.Secrets = &rest
	if len(rest.Create)+len(rest.Update)+len(rest.Remove)+len(rest.Grant)+len(rest.Revoke)+len(rest.Track) == 0 {
		changes.Secrets = nil
	}
	if changes.IsEmpty() {
		return secrets.Epoch, nil
	}
	return secrets.Epoch, f.API.CommitHook(ctx, f.Unit, changes)
}

// passSecret records that the unit was told about a secret, without running the hook that its charm lacks.
func (f Factory) passSecret(hook hooks.Info, remote resolver.Remote) simple {
	var refused int64
	return simple{
		call: func(ctx context.Context) (err error) {
			refused, err = f.commitChanges(ctx, telling(hook, remote, entity.HookChanges{}))
			return err
		},
		commit: func(s localstate.State) localstate.State {
			s.RefusedEpoch = cmp.Or(refused, s.RefusedEpoch)
			return s.Ran(localstate.Op{Hook: hook})
		},
	}
}
