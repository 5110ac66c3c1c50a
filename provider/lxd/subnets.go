package lxd

import (
	"context"
	"maps"
	"net/netip"
	"net/url"
	"slices"

	"github.com/canonical/lxd/shared/api"

	"juju/state/constraints"
	"juju/state/entity"
)

// Subnets returns those of the networks that LXD manages, and of the bridges that containers get from elsewhere. LXD knows
// the latter only by the host's addresses on them. Of subnets on several networks, it returns one.
func (e *environ) Subnets(ctx context.Context) ([]entity.Subnet, error) {
	c := e.cloud
	networks, err := c.networks(ctx)
	if err != nil {
		return nil, err
	}
	devices, err := c.profileDevices(ctx)
	if err != nil {
		return nil, err
	}
	zones, err := e.candidates(ctx, constraints.Value{}, "")
	if err != nil {
		return nil, err
	}
	if len(zones) == 1 && zones[0] == "" {
		zones = nil
	}
	used := map[string]bool{}
	for _, device := range devices {
		used[networkOf(device)] = true
	}
	var all []entity.Subnet
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		prefixes, err := c.prefixes(ctx, networks[name], used[name])
		if err != nil {
			return nil, err
		}
		for _, p := range prefixes {
			if cidr := p.Masked().String(); !seen[cidr] {
				seen[cidr] = true
				all = append(all, entity.Subnet{CIDR: cidr, ProviderID: "subnet-" + name + "-" + cidr, Network: name, Zones: zones})
			}
		}
	}
	entity.SortSubnets(all)
	return all, nil
}

// prefixes returns the host's addresses on a network, with the sizes of their subnets.
func (c *Cloud) prefixes(ctx context.Context, n api.Network, used bool) (all []netip.Prefix, err error) {
	if n.Managed {
		for _, key := range []string{"ipv4.address", "ipv6.address"} {
			if p, err := netip.ParsePrefix(n.Config[key]); err == nil { // others are "none" and "auto"
				all = append(all, p)
			}
		}
		return all, nil
	}
	if !used {
		return nil, nil
	}
	var state api.NetworkState
	if err := c.client.get(ctx, "/1.0/networks/"+url.PathEscape(n.Name)+"/state", nil, &state); err != nil {
		return nil, err
	}
	for _, a := range state.Addresses {
		if p, err := netip.ParsePrefix(a.Address + "/" + a.Netmask); err == nil && a.Scope == "global" {
			all = append(all, p)
		}
	}
	return all, nil
}
