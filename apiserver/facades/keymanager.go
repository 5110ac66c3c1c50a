package facades

import (
	"context"
	"slices"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/entity/sshkey"
	"juju/state/modelconfig"
)

// The SSH keys of a model's machines. They are one of the model's settings, and belong to no user.

// keyManagerListKeys returns the keys once for each entity in the request; Juju's clients send the user.
func keyManagerListKeys(ctx context.Context, c *Caller, p params.ListSSHKeys) (params.StringsResults, error) {
	config, err := c.Model.Settings().Config(ctx)
	if err != nil {
		return params.StringsResults{}, err
	}
	keys, err := sshkey.ParseAll(config[modelconfig.AuthorizedKeys].Value)
	if err != nil {
		return params.StringsResults{}, err
	}
	lines := make([]string, 0, len(keys))
	for _, key := range keys {
		line := key.Line
		if !p.Mode {
			line = key.Legacy + " (" + key.Comment + ")"
		}
		lines = append(lines, line)
	}
	results := make([]params.StringsResult, max(1, len(p.Entities.Entities)))
	for i := range results {
		results[i].Result = lines
	}
	return params.StringsResults{Results: results}, nil
}

func keyManagerAddKeys(ctx context.Context, c *Caller, p params.ModifyUserSSHKeys) (params.ErrorResults, error) {
	return outcomes(c, "AddKeys", p.Keys, func(line string) error {
		added, err := sshkey.Parse(line)
		if err != nil {
			return err
		}
		return c.Model.Settings().EditSSHKeys(ctx, func(keys []sshkey.Key) ([]sshkey.Key, error) {
			for _, key := range keys {
				if key.Fingerprint == added.Fingerprint {
					return nil, entity.WithHint(entity.Errorf(entity.AlreadyExists, "duplicate ssh key: %s", added.Fingerprint),
						"To list the keys: juju ssh-keys")
				}
			}
			return append(keys, added), nil
		})
	}), nil
}

// keyManagerImportKeys refuses: the keys would have to be fetched from the internet.
func keyManagerImportKeys(_ context.Context, c *Caller, p params.ModifyUserSSHKeys) (params.ErrorResults, error) {
	return outcomes(c, "ImportKeys", p.Keys, func(id string) error {
		return entity.WithHint(entity.Errorf(entity.NotSupported,
			"cannot import the SSH keys of %q: the controller fetches nothing from the internet", id),
			"Fetch them, and add each: juju add-ssh-key \"$(curl -fsS https://github.com/USER.keys)\"")
	}), nil
}

func keyManagerDeleteKeys(ctx context.Context, c *Caller, p params.ModifyUserSSHKeys) (params.ErrorResults, error) {
	return outcomes(c, "DeleteKeys", p.Keys, func(id string) error {
		if id == "" {
			return entity.Errorf(entity.Invalid, "cannot delete a key: say its fingerprint, its comment, or the key")
		}
		return c.Model.Settings().EditSSHKeys(ctx, func(keys []sshkey.Key) ([]sshkey.Key, error) {
			left := slices.DeleteFunc(slices.Clone(keys), func(key sshkey.Key) bool { return key.Is(id) })
			if len(left) == len(keys) {
				return nil, entity.Errorf(entity.NotFound, "key not found: %s", id)
			}
			return left, nil
		})
	}), nil
}
