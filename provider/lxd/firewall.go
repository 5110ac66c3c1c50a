package lxd

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"juju/provider"
	"juju/state/entity"
)

// The rules of a model are one network ACL of LXD's, which is attached to the bridges that the
// model's containers are on. LXD applies ACLs of a bridge where the bridge meets the host: they filter
// what the host sends and what it forwards, and not what containers of one bridge send each other.
// LXD 5.0 can't attach an ACL to a single network card of a bridge, and lets rejections win over
// permissions. So everything on the bridge is allowed by default, and for each container one rule
// rejects all ports that are not open, for its addresses alone. What else is on the bridge is not
// touched. Link-local addresses of IPv6, which only the host can use, are not filtered.

// CheckFirewall returns a NotSupported error if LXD is too old, or if the containers' network is not a
// bridge that LXD manages.
func (e *environ) CheckFirewall(ctx context.Context) error {
	c := e.cloud
	if err := c.hasACLs(ctx); err != nil {
		return err
	}
	devices := map[string]map[string]string{}
	for _, name := range c.config.Profiles {
		var p api.Profile
		if err := c.client.get(ctx, "/1.0/profiles/"+url.PathEscape(name), nil, &p); err != nil {
			return err
		}
		for device, config := range p.Devices {
			devices[device] = config
		}
	}
	if c.config.Network != "" {
		devices["eth0"] = map[string]string{"type": "nic", "network": c.config.Network}
	}
	all, err := c.networks(ctx)
	if err != nil {
		return err
	}
	_, err = bridges(devices, all)
	return err
}

// networks returns LXD's networks by name.
func (c *Cloud) networks(ctx context.Context) (map[string]api.Network, error) {
	var all []api.Network
	if err := c.client.get(ctx, "/1.0/networks", recursion(1), &all); err != nil {
		return nil, err
	}
	byName := map[string]api.Network{}
	for _, n := range all {
		byName[n.Name] = n
	}
	return byName, nil
}

// bridges returns the networks of a container with these devices. The error is NotSupported if ACLs
// can't filter one of them.
func bridges(devices map[string]map[string]string, all map[string]api.Network) (found []api.Network, err error) {
	for card, device := range devices {
		if device["type"] != "nic" {
			continue
		}
		name := device["network"]
		if name == "" {
			name = device["parent"]
		}
		n := all[name]
		if !n.Managed || n.Type != "bridge" {
			return nil, entity.WithHint(entity.Errorf(entity.NotSupported, "the network %q of %s is not a bridge that LXD manages, "+
				"so LXD filters nothing there", name, card), "lxc network list shows which are.")
		}
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b api.Network) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// aclName returns the name of the model's ACL.
func (e *environ) aclName() string {
	return prefix(e.config.Model) + "firewall-" + digest(e.config.Controller, e.config.Model)
}

// SetIngress replaces the rules of the model's ACL, and attaches it to the networks of the containers
// that have rules. A container without an address gets none yet. Without rules there is no ACL. If a
// container is on a network that ACLs can't filter, the others get their rules, and the error is
// NotSupported.
func (e *environ) SetIngress(ctx context.Context, rules provider.Ingress) error {
	if err := e.CheckFirewall(ctx); err != nil {
		return err
	}
	c, rules := e.cloud, rules.Normal()
	unlock, err := c.busy.Lock(ctx, e.aclName())
	if err != nil {
		return err
	}
	defer unlock()
	seen, err := e.look(ctx)
	if err != nil {
		return err
	}
	var put []api.NetworkACLRule
	var open error
	on := map[string]bool{}
	for _, s := range seen {
		ports, ok := rules.Ports[s.name]
		if !ok {
			continue
		}
		if s.open != nil {
			open = s.open
			continue
		}
		for _, n := range s.networks {
			on[n.Name] = true
		}
		put = append(put, s.rules(ports, rules.Peers)...)
	}
	if err := e.putACL(ctx, put, rules.Peers); err != nil {
		return err
	}
	for name := range on {
		if len(put) == 0 {
			break // there is no ACL
		}
		if err := c.attachACL(ctx, name, e.aclName()); err != nil {
			return err
		}
	}
	return open
}

// A sighting is a container as rules see it.
type sighting struct {
	name      string
	addresses []netip.Addr
	networks  []api.Network
	open      error // why it can't be filtered; nil if it can
}

// look returns the model's containers.
func (e *environ) look(ctx context.Context) ([]sighting, error) {
	found, err := e.cloud.find(ctx, e.config.Model)
	if err != nil {
		return nil, err
	}
	networks, err := e.cloud.networks(ctx)
	if err != nil {
		return nil, err
	}
	all, err := e.cloud.publics(ctx, found)
	if err != nil {
		return nil, err
	}
	seen := make([]sighting, len(found))
	for n, i := range found {
		seen[n].name = i.Name
		if seen[n].networks, err = bridges(i.ExpandedDevices, networks); err != nil {
			seen[n].open = fmt.Errorf("container %s: %w", i.Name, err)
		}
		for _, text := range all[n].Addresses {
			if a, err := netip.ParseAddr(text); err == nil {
				seen[n].addresses = append(seen[n].addresses, a)
			}
		}
	}
	return seen, nil
}

// rules returns the rules that reject what is not open on a container. Each has the container's name
// in its description. Where everything is open, a disabled rule says so.
func (s sighting) rules(open []entity.PortRange, peers []string) (all []api.NetworkACLRule) {
	for _, everywhere := range []string{"0.0.0.0/0", "::/0"} {
		from := netip.MustParsePrefix(everywhere)
		var to []string
		for _, a := range s.addresses {
			if a.Is4() == from.Addr().Is4() {
				to = append(to, a.String())
			}
		}
		if len(to) == 0 {
			continue
		}
		source := strings.Join(s.outside(from, peers), ",")
		for _, protocol := range []string{"tcp", "udp"} {
			rule := api.NetworkACLRule{Action: "reject", Source: source, Destination: strings.Join(to, ","),
				Protocol: protocol, DestinationPort: portList(provider.ClosedPorts(protocol, open)), Description: s.name,
				State: "enabled"}
			if rule.DestinationPort == "" {
				rule.State = "disabled"
			}
			all = append(all, rule)
		}
	}
	return all
}

// outside returns all addresses but those of the container's networks, where only the host is
// outside, and of peers. Without this, a host with br_netfilter, which Docker loads, would filter what
// containers of one bridge send each other.
func (s sighting) outside(all netip.Prefix, peers []string) (result []string) {
	var inside []netip.Prefix
	for _, n := range s.networks {
		for _, key := range []string{"ipv4.address", "ipv6.address"} {
			own, err := netip.ParsePrefix(n.Config[key])
			if err == nil && own.Addr().Is4() == all.Addr().Is4() {
				inside = append(inside, own.Masked())
				result = append(result, netip.PrefixFrom(own.Addr(), own.Addr().BitLen()).String())
			}
		}
	}
	for _, text := range peers {
		peer := netip.MustParseAddr(text) // the rules are in normal form
		inside = append(inside, netip.PrefixFrom(peer.WithZone(""), peer.BitLen()))
	}
	return append(result, without(all, inside)...)
}

// without returns the prefixes that make up a prefix less others.
func without(all netip.Prefix, others []netip.Prefix) []string {
	others = slices.DeleteFunc(slices.Clone(others), func(p netip.Prefix) bool { return !p.Overlaps(all) })
	if len(others) == 0 {
		return []string{all.String()}
	}
	if slices.ContainsFunc(others, func(p netip.Prefix) bool { return p.Bits() <= all.Bits() }) {
		return nil
	}
	bytes := all.Addr().AsSlice()
	lower := netip.PrefixFrom(all.Addr(), all.Bits()+1)
	bytes[all.Bits()/8] |= 0x80 >> (all.Bits() % 8)
	middle, _ := netip.AddrFromSlice(bytes)
	return append(without(lower, others), without(netip.PrefixFrom(middle, all.Bits()+1), others)...)
}

// portList returns ranges as LXD writes them: "1-21,23".
func portList(ranges []entity.PortRange) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i], _, _ = strings.Cut(r.String(), "/")
	}
	return strings.Join(texts, ",")
}

// parsePortList is the inverse of portList. What it can't read, we have not written; it returns none.
func parsePortList(text, protocol string) (ranges []entity.PortRange) {
	for part := range strings.SplitSeq(text, ",") {
		if r, err := entity.ParsePortRange(part + "/" + protocol); err == nil {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

// Ingress returns the rules of the model's ACL: those of containers for which they are complete, and
// those that are left of containers that are gone.
func (e *environ) Ingress(ctx context.Context) (provider.Ingress, error) {
	result := provider.Ingress{Ports: map[string][]entity.PortRange{}}
	if err := e.CheckFirewall(ctx); err != nil {
		return result, err
	}
	var acl api.NetworkACL
	if err := e.cloud.client.get(ctx, aclPath(e.aclName()), nil, &acl); isGone(err) {
		return result, nil
	} else if err != nil {
		return result, err
	}
	seen, err := e.look(ctx)
	if err != nil {
		return result, err
	}
	if text := acl.Config[peersKey]; text != "" {
		result.Peers = strings.Split(text, ",")
	}
	written := map[string][]api.NetworkACLRule{}
	for _, rule := range acl.Ingress {
		written[rule.Description] = append(written[rule.Description], rule)
	}
	for _, s := range seen {
		rules := written[s.name]
		delete(written, s.name)
		open := opened(rules)
		attached := !slices.ContainsFunc(s.networks, func(n api.Network) bool {
			return !slices.Contains(list(n.Config[aclsKey]), acl.Name)
		})
		if s.open == nil && len(rules) > 0 && attached && slices.Equal(rules, s.rules(open, result.Peers)) {
			result.Ports[s.name] = open
		}
	}
	for name, rules := range written {
		result.Ports[name] = opened(rules)
	}
	return result, nil
}

// opened returns the ports that the rules of a container do not reject.
func opened(rules []api.NetworkACLRule) (open []entity.PortRange) {
	for _, protocol := range []string{"tcp", "udp"} {
		var closed []entity.PortRange
		for _, rule := range rules {
			if rule.Protocol == protocol && rule.State == "enabled" {
				closed = append(closed, parsePortList(rule.DestinationPort, protocol)...)
			}
		}
		open = append(open, provider.ClosedPorts(protocol, closed)...)
	}
	return open
}
