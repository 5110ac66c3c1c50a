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
					return nil, entity.Errorf(entity.AlreadyExists, "duplicate ssh key: %s", added.Fingerprint)
				}
			}
			return append(keys, added), nil
		})
	}), nil
}

func keyManagerDeleteKeys(ctx context.Context, c *Caller, p params.ModifyUserSSHKeys) (params.ErrorResults, error) {
	return outcomes(c, "DeleteKeys", p.Keys, func(id string) error {
		return c.Model.Settings().EditSSHKeys(ctx, func(keys []sshkey.Key) ([]sshkey.Key, error) {
			left := slices.DeleteFunc(slices.Clone(keys), func(key sshkey.Key) bool { return key.Is(id) })
			if len(left) == len(keys) {
				return nil, entity.Errorf(entity.NotFound, "key not found: %s", id)
			}
			return left, nil
		})
	}), nil
}

// sshClientPublicKeys returns the keys of machines' SSH servers. A unit stands for its machine.
func sshClientPublicKeys(ctx context.Context, c *Caller, p params.Entities) (params.SSHPublicKeysResults, error) {
	results := make([]params.SSHPublicKeysResult, 0, len(p.Entities))
	for _, e := range p.Entities {
		var result params.SSHPublicKeysResult
		keys, err := c.hostKeys(ctx, e.Tag.Tag)
		if err == nil {
			err = c.keep(ctx, keys)
		}
		if err == nil {
			result.PublicKeys = keys
		} else {
			result.Error = c.wireError("PublicKeys", err)
		}
		results = append(results, result)
	}
	return params.SSHPublicKeysResults{Results: results}, nil
}

func (c *Caller) hostKeys(ctx context.Context, of entity.Tag) ([]string, error) {
	machine := of.ID
	switch of.Kind {
	case entity.KindMachine:
	case entity.KindUnit:
		unit, err := c.Model.Unit(ctx, of.ID)
		if err != nil {
			return nil, err
		}
		machine = unit.Machine()
	default:
		return nil, entity.Errorf(entity.Invalid, "%s has no SSH server", of)
	}
	m, err := c.Model.Machine(ctx, machine)
	if err != nil {
		return nil, err
	}
	if len(m.HostKeys()) == 0 {
		return nil, entity.WithHint(entity.Errorf(entity.NotFound, "keys not found"),
			"Its agent reports the keys of its SSH server when it has started: juju status %s", machine)
	}
	return m.HostKeys(), nil
}
