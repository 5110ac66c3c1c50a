package lxd

import (
	"cmp"
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

// A model's rules are one LXD network ACL, attached to the bridges of the model's containers. LXD
// applies a bridge's ACLs between the bridge and the host: they filter traffic that the host sends or
// forwards, but not traffic between containers on one bridge. LXD 5.0 can't attach an ACL to a single
// NIC of a bridge, and reject rules take precedence over allow rules. So the bridge's default is allow,
// and each container has a rule per protocol that rejects all ports that are not open, for its addresses
// only. If ports are open to some networks, there are such rules for each of these networks too, and every
// rule is only for the addresses in its network that are in no smaller one. The ACL's configuration records
// what is open to which network. Other hosts on the bridge are not affected. IPv6 link-local addresses, which only the host can
// reach, are not filtered.

// CheckFirewall returns a NotSupported error if LXD is too old, or if the containers' network is not a
// bridge managed by LXD.
func (e *environ) CheckFirewall(ctx context.Context) error {
	c := e.cloud
	if err := c.checkACLs(ctx); err != nil {
		return err
	}
	devices, err := c.profileDevices(ctx)
	if err != nil {
		return err
	}
	all, err := c.networks(ctx)
	if err != nil {
		return err
	}
	_, err = bridges(devices, all)
	return err
}

// profileDevices returns the devices that every container gets.
func (c *Cloud) profileDevices(ctx context.Context) (map[string]map[string]string, error) {
	devices := map[string]map[string]string{}
	for _, name := range c.config.Profiles {
		var p api.Profile
		if err := c.client.get(ctx, "/1.0/profiles/"+url.PathEscape(name), nil, &p); err != nil {
			return nil, err
		}
		for device, config := range p.Devices {
			devices[device] = config
		}
	}
	if c.config.Network != "" {
		devices["eth0"] = map[string]string{"type": "nic", "network": c.config.Network}
	}
	return devices, nil
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
// can't filter all of them.
func bridges(devices map[string]map[string]string, all map[string]api.Network) (found []api.Network, err error) {
	for card, device := range devices {
		if device["type"] != "nic" {
			continue
		}
		name := networkOf(device)
		n := all[name]
		if !n.Managed || n.Type != "bridge" {
			return nil, entity.WithHint(entity.Errorf(entity.NotSupported,
				"the network %q of %s is not a bridge that LXD manages, "+
					"so LXD can't filter it", name, card), "To list the networks: lxc network list")
		}
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b api.Network) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// networkOf returns the network of a card; "" if the device is no card.
func networkOf(device map[string]string) string {
	if device["type"] != "nic" {
		return ""
	}
	return cmp.Or(device["network"], device["parent"])
}

// aclName returns the name of the model's ACL.
func (e *environ) aclName() string {
	return prefix(e.config.Model) + "firewall-" + digest(e.config.Controller, e.config.Model)
}

// SetIngress replaces the rules of the model's ACL and attaches it to the networks of the containers
// that have rules. Containers without an address are skipped. Without rules, the ACL is deleted. If a
// container is on a network that ACLs can't filter, the rules of the others are set, and the error is
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
	containers, err := e.filterTargets(ctx)
	if err != nil {
		return err
	}
	var put []api.NetworkACLRule
	var unfiltered error
	from := map[string][]entity.PortsFrom{}
	on := map[string]bool{}
	for _, s := range containers {
		ports, ok := rules.Ports[s.name]
		if !ok {
			continue
		}
		if s.unfiltered != nil {
			unfiltered = s.unfiltered
			continue
		}
		for _, n := range s.networks {
			on[n.Name] = true
		}
		put = append(put, s.rules(ports, rules.From[s.name], rules.Peers)...)
		if len(rules.From[s.name]) > 0 {
			from[s.name] = rules.From[s.name]
		}
	}
	if err := e.putACL(ctx, put, aclNotes{rules.Peers, from}); err != nil {
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
	return unfiltered
}

// A filterTarget is a container to which rules apply.
type filterTarget struct {
	name       string
	addresses  []netip.Addr
	networks   []api.Network
	unfiltered error // why it can't be filtered; nil if it can
}

// filterTargets returns the model's containers.
func (e *environ) filterTargets(ctx context.Context) ([]filterTarget, error) {
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
	targets := make([]filterTarget, len(found))
	for n, i := range found {
		t := &targets[n]
		t.name = i.Name
		if t.networks, err = bridges(i.ExpandedDevices, networks); err != nil {
			t.unfiltered = fmt.Errorf("container %s: %w", i.Name, err)
		}
		for _, text := range all[n].Addresses {
			if a, err := netip.ParseAddr(text); err == nil {
				t.addresses = append(t.addresses, a)
			}
		}
	}
	return targets, nil
}

// rules returns the rules that reject all ports of the container that are not open. Their description
// is the container's name. If all ports are open, the rule is disabled.
func (s filterTarget) rules(open []entity.PortRange, from []entity.PortsFrom,
	peers []string) (all []api.NetworkACLRule) {
	for _, part := range regions(open, from) {
		var to []string
		for _, a := range s.addresses {
			if a.Is4() == part.network.Addr().Is4() {
				to = append(to, a.String())
			}
		}
		source := strings.Join(s.outside(part, peers), ",")
		if len(to) == 0 || source == "" {
			continue // LXD takes an empty list for everything
		}
		open := part.open
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

// A region is a network except smaller ones, which are regions of their own.
type region struct {
	network netip.Prefix
	except  []netip.Prefix
	open    []entity.PortRange
}

// regions returns the regions of rules in normal form.
func regions(open []entity.PortRange, from []entity.PortsFrom) []region {
	all := []region{{network: netip.MustParsePrefix(entity.AllIPv4), open: open},
		{network: netip.MustParsePrefix(entity.AllIPv6), open: open}}
	for _, f := range from {
		r := region{network: netip.MustParsePrefix(f.CIDR)}
		at := &r
		for i := range all {
			switch larger := &all[i]; {
			case larger.network == r.network:
				at = larger
			case larger.network.Contains(r.network.Addr()): // larger networks come first
				larger.except = append(larger.except, r.network)
				at.open = append(slices.Clone(at.open), larger.open...)
			}
		}
		at.open = append(slices.Clone(at.open), f.Ports...)
		if at == &r {
			all = append(all, r)
		}
	}
	return all
}

// outside returns the addresses of a region except peers and those of the container's networks; the host counts as
// outside. Without this, a host with br_netfilter, which Docker loads, would filter the traffic between
// containers on one bridge.
func (s filterTarget) outside(r region, peers []string) (result []string) {
	all, inside := r.network, slices.Clone(r.except)
	among := func(a netip.Addr) func(netip.Prefix) bool { return func(p netip.Prefix) bool { return p.Contains(a) } }
	for _, n := range s.networks {
		for _, key := range []string{"ipv4.address", "ipv6.address"} {
			own, err := netip.ParsePrefix(n.Config[key])
			if err == nil && own.Addr().Is4() == all.Addr().Is4() {
				inside = append(inside, own.Masked())
				if all.Contains(own.Addr()) && !slices.ContainsFunc(r.except, among(own.Addr())) {
					result = append(result, netip.PrefixFrom(own.Addr(), own.Addr().BitLen()).String())
				}
			}
		}
	}
	for _, text := range peers {
		peer := netip.MustParseAddr(text) // the rules are in normal form
		inside = append(inside, netip.PrefixFrom(peer.WithZone(""), peer.BitLen()))
	}
	return append(result, without(all, inside)...)
}

// without returns prefixes that cover all of a prefix except others.
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

// portList returns ranges in LXD's notation: "1-21,23".
func portList(ranges []entity.PortRange) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i], _, _ = strings.Cut(r.String(), "/")
	}
	return strings.Join(texts, ",")
}

// parsePortList is the inverse of portList. It skips unparsable parts, which juju did not write.
func parsePortList(text, protocol string) (ranges []entity.PortRange) {
	for part := range strings.SplitSeq(text, ",") {
		if r, err := entity.ParsePortRange(part + "/" + protocol); err == nil {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

// Ingress returns the rules of the model's ACL: those of containers whose rules are complete, and those
// left over from deleted containers.
func (e *environ) Ingress(ctx context.Context) (provider.Ingress, error) {
	result := provider.Ingress{Ports: map[string][]entity.PortRange{}}
	if err := e.CheckFirewall(ctx); err != nil {
		return result, err
	}
	var acl api.NetworkACL
	if err := e.cloud.client.get(ctx, aclPath(e.aclName()), nil, &acl); isNotFound(err) {
		return result, nil
	} else if err != nil {
		return result, err
	}
	containers, err := e.filterTargets(ctx)
	if err != nil {
		return result, err
	}
	notes := notesOf(acl)
	result.Peers = notes.peers
	note := func(name string, open []entity.PortRange) {
		result.Ports[name] = open
		if from := notes.from[name]; len(from) > 0 {
			if result.From == nil {
				result.From = map[string][]entity.PortsFrom{}
			}
			result.From[name] = from
		}
	}
	written := map[string][]api.NetworkACLRule{}
	for _, rule := range acl.Ingress {
		written[rule.Description] = append(written[rule.Description], rule)
	}
	for _, s := range containers {
		rules := written[s.name]
		delete(written, s.name)
		open := opened(rules, notes.from[s.name])
		attached := !slices.ContainsFunc(s.networks, func(n api.Network) bool {
			return !slices.Contains(list(n.Config[aclsKey]), acl.Name)
		})
		if s.unfiltered == nil && len(rules) > 0 && attached &&
			slices.Equal(rules, s.rules(open, notes.from[s.name], result.Peers)) {
			note(s.name, open)
		}
	}
	for name, rules := range written {
		note(name, opened(rules, notes.from[name]))
	}
	return result, nil
}

// opened returns the ports that no rule of a container rejects, except those that are open to some networks.
func opened(rules []api.NetworkACLRule, from []entity.PortsFrom) (open []entity.PortRange) {
	for _, protocol := range []string{"tcp", "udp"} {
		var closed []entity.PortRange
		for _, f := range from {
			closed = append(closed, f.Ports...) // ClosedPorts ignores other protocols
		}
		for _, rule := range rules {
			if rule.Protocol == protocol && rule.State == "enabled" {
				closed = append(closed, parsePortList(rule.DestinationPort, protocol)...)
			}
		}
		open = append(open, provider.ClosedPorts(protocol, closed)...)
	}
	return open
}
