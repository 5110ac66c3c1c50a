package facades

import (
	"context"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// sshClientPublicKeys returns the keys of machines' SSH servers.
func sshClientPublicKeys(ctx context.Context, c *Caller, p params.Entities) (params.SSHPublicKeysResults, error) {
	return params.SSHPublicKeysResults{Results: each(c, "PublicKeys", p.Entities,
		func(e *params.Error) params.SSHPublicKeysResult { return params.SSHPublicKeysResult{Error: e} },
		func(e params.Entity) (params.SSHPublicKeysResult, error) {
			m, err := c.sshMachine(ctx, e.Tag.Tag)
			if err != nil {
				return params.SSHPublicKeysResult{}, err
			}
			if len(m.HostKeys()) == 0 {
				return params.SSHPublicKeysResult{}, entity.WithHint(entity.Errorf(entity.NotFound, "keys not found"),
					"Its agent reports the keys of its SSH server when it has started: juju status %s", m.ID())
			}
			return params.SSHPublicKeysResult{PublicKeys: m.HostKeys()}, c.keep(ctx, m.HostKeys())
		})}, nil
}

// sshClientAddress returns the address at which clients reach machines. It is their public one and their private one.
func sshClientAddress(ctx context.Context, c *Caller, p params.Entities) (params.SSHAddressResults, error) {
	return params.SSHAddressResults{Results: each(c, "PublicAddress", p.Entities,
		func(e *params.Error) params.SSHAddressResult { return params.SSHAddressResult{Error: e} },
		func(e params.Entity) (params.SSHAddressResult, error) {
			all, err := c.sshAddresses(ctx, e.Tag.Tag)
			if err != nil {
				return params.SSHAddressResult{}, err
			}
			return params.SSHAddressResult{Address: all[0]}, nil
		})}, nil
}

// sshClientAllAddresses returns all addresses of machines, the preferred one first.
func sshClientAllAddresses(ctx context.Context, c *Caller, p params.Entities) (params.SSHAddressesResults, error) {
	return params.SSHAddressesResults{Results: each(c, "AllAddresses", p.Entities,
		func(e *params.Error) params.SSHAddressesResult { return params.SSHAddressesResult{Error: e} },
		func(e params.Entity) (params.SSHAddressesResult, error) {
			all, err := c.sshAddresses(ctx, e.Tag.Tag)
			return params.SSHAddressesResult{Addresses: all}, err
		})}, nil
}

// sshClientProxy says whether clients connect to machines through the controller's.
func sshClientProxy(ctx context.Context, c *Caller, _ None) (params.SSHProxyResult, error) {
	config, err := c.Model.Settings().Config(ctx)
	return params.SSHProxyResult{UseProxy: config.ProxySSH()}, err
}

func (c *Caller) sshAddresses(ctx context.Context, of entity.Tag) ([]string, error) {
	m, err := c.sshMachine(ctx, of)
	if err == nil && len(m.Addresses()) == 0 {
		err = entity.WithHint(entity.Errorf(entity.NotFound, "no public address(es)"),
			"The cloud tells the addresses of a machine when it has started: juju status %s", m.ID())
	}
	if err != nil {
		return nil, err
	}
	return m.Addresses(), nil
}

// sshMachine returns a machine, or the one of a unit.
func (c *Caller) sshMachine(ctx context.Context, of entity.Tag) (*state.Machine, error) {
	machine := of.ID
	switch of.Kind {
	case entity.KindMachine:
	case entity.KindUnit:
		unit, err := c.Model.Unit(ctx, of.ID)
		if err != nil {
			return nil, err
		}
		if machine = unit.Machine(); machine == "" {
			return nil, entity.Errorf(entity.NotFound, "unit %q is not assigned to a machine", of.ID)
		}
	default:
		return nil, entity.Errorf(entity.Invalid, "%s has no SSH server", of)
	}
	return c.Model.Machine(ctx, machine)
}
