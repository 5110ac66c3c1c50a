package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// SSHKeys returns the SSH keys of the model's machines, in full or as "FINGERPRINT (COMMENT)".
func (c *Conn) SSHKeys(ctx context.Context, whole bool) ([]string, error) {
	var result params.StringsResults
	if err := c.call(ctx, "KeyManager", 1, "ListKeys", params.ListSSHKeys{Mode: whole}, &result); err != nil {
		return nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return nil, err
	}
	if result.Results[0].Error != nil {
		return nil, params.FromError(result.Results[0].Error)
	}
	return result.Results[0].Result, nil
}

// AddSSHKeys adds keys. It returns an error or nil for each, in order.
func (c *Conn) AddSSHKeys(ctx context.Context, keys []string) ([]error, error) {
	return c.modifyKeys(ctx, "AddKeys", keys)
}

// RemoveSSHKeys removes keys by their fingerprints or comments. It returns an error or nil for each, in order.
func (c *Conn) RemoveSSHKeys(ctx context.Context, ids []string) ([]error, error) {
	return c.modifyKeys(ctx, "DeleteKeys", ids)
}

func (c *Conn) modifyKeys(ctx context.Context, method string, keys []string) ([]error, error) {
	var result params.ErrorResults
	args := params.ModifyUserSSHKeys{Keys: keys}
	err := c.call(ctx, "KeyManager", 1, method, args, &result)
	return each(len(keys), result.Results, err)
}

// ProxiesSSH reports whether the model's machines are to be reached through the controller's.
func (c *Conn) ProxiesSSH(ctx context.Context) (bool, error) {
	var result params.SSHProxyResult
	err := c.call(ctx, "SSHClient", 4, "Proxy", nil, &result)
	return result.UseProxy, err
}

// HostKeys returns the public keys of a machine's SSH server.
func (c *Conn) HostKeys(ctx context.Context, machine entity.Tag) ([]string, error) {
	args := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(machine)}}}
	var result params.SSHPublicKeysResults
	if err := c.call(ctx, "SSHClient", 4, "PublicKeys", args, &result); err != nil {
		return nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return nil, err
	}
	if result.Results[0].Error != nil {
		return nil, params.FromError(result.Results[0].Error)
	}
	return result.Results[0].PublicKeys, nil
}
