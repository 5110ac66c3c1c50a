package provider

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"

	"juju/state/entity"
)

// A Firewall controls the traffic from outside to the instances of one model. Its methods are
// idempotent. As in Environ, errors give only the reason.
type Firewall interface {
	// CheckFirewall returns a NotSupported error with the reason if the cloud does not filter ingress
	// traffic. SetIngress and Ingress then return it too.
	CheckFirewall(ctx context.Context) error
	// SetIngress replaces the model's rules. Called again with the same rules, it only updates changed
	// instance addresses. If it fails, some of the rules may be in effect. Rules for instances that do
	// not exist have no effect. An instance's rules are removed with it, and the model's by Destroy.
	SetIngress(ctx context.Context, rules Ingress) error
	// Ingress returns the rules in effect, in normal form. It omits instances that are not filtered as
	// SetIngress would filter them.
	Ingress(ctx context.Context) (Ingress, error)
}

// Ingress describes which traffic from outside reaches the instances of a model. It restricts new
// connections to TCP and UDP ports. Other protocols, such as ICMP, and traffic from the same network
// are not filtered.
type Ingress struct {
	// Ports are the ports open to everyone, by instance. SSH (22/tcp) is always open. An instance
	// without an entry is not filtered.
	Ports map[string][]entity.PortRange
	// From are the other ports that are open to some networks, by instance. Entries for instances that Ports does not
	// have, and those that are not networks, are ignored.
	From map[string][]entity.PortsFrom
	// Peers are the addresses that can reach all ports: those of the model's machines that the cloud did
	// not start. Entries that are not IP addresses are ignored.
	Peers []string
}

// ssh is open on every instance.
var ssh = entity.PortRange{From: 22, To: 22, Protocol: "tcp"}

// Normal returns the rules in normal form, which is equal for rules with the same effect.
func (i Ingress) Normal() Ingress {
	n := Ingress{Ports: map[string][]entity.PortRange{}}
	for id, ranges := range i.Ports {
		var from []entity.PortsFrom
		n.Ports[id], from = normal(append(slices.Clone(ranges), ssh), i.From[id])
		if len(from) > 0 {
			if n.From == nil {
				n.From = map[string][]entity.PortsFrom{}
			}
			n.From[id] = from
		}
	}
	for _, text := range i.Peers {
		if peer, err := netip.ParseAddr(text); err == nil {
			n.Peers = append(n.Peers, peer.Unmap().String())
		}
	}
	slices.Sort(n.Peers)
	n.Peers = slices.Compact(n.Peers)
	return n
}

// Equal reports whether two Ingress in normal form are the same.
func (i Ingress) Equal(other Ingress) bool {
	sameFrom := func(a, b []entity.PortsFrom) bool {
		return slices.EqualFunc(a, b, func(a, b entity.PortsFrom) bool {
			return a.CIDR == b.CIDR && slices.Equal(a.Ports, b.Ports)
		})
	}
	return maps.EqualFunc(i.Ports, other.Ports, slices.Equal) && maps.EqualFunc(i.From, other.From, sameFrom) &&
		slices.Equal(i.Peers, other.Peers)
}

// normal returns the ports of one instance in normal form: each port is open to everyone, or to networks none of which
// contains another. Larger networks come first.
func normal(open []entity.PortRange, from []entity.PortsFrom) ([]entity.PortRange, []entity.PortsFrom) {
	byNetwork := map[netip.Prefix][]entity.PortRange{}
	for _, f := range from {
		if network, err := netip.ParsePrefix(f.CIDR); err == nil && !network.Addr().Is4In6() {
			byNetwork[network.Masked()] = append(byNetwork[network.Masked()], f.Ports...)
		}
	}
	closed := func(ranges ...entity.PortRange) []entity.PortRange {
		return append(ClosedPorts("tcp", ranges), ClosedPorts("udp", ranges)...)
	}
	// What both families are open to is open to everyone.
	ipv4, ipv6 := byNetwork[netip.MustParsePrefix(entity.AllIPv4)], byNetwork[netip.MustParsePrefix(entity.AllIPv6)]
	open = append(open, closed(append(closed(ipv4...), closed(ipv6...)...)...)...)
	shut := closed(open...)
	var restricted []entity.PortsFrom
	covered := map[netip.Prefix][]entity.PortRange{}
	for _, network := range slices.SortedFunc(maps.Keys(byNetwork), func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
	}) {
		already := slices.Clone(open)
		for larger, ports := range covered {
			if larger.Contains(network.Addr()) {
				already = append(already, ports...)
			}
		}
		if ports := closed(append(closed(byNetwork[network]...), already...)...); len(ports) > 0 {
			covered[network] = ports
			restricted = append(restricted, entity.PortsFrom{CIDR: network.String(), Ports: ports})
		}
	}
	return closed(shut...), restricted
}

// ClosedPorts returns the ports of a protocol that are in none of the ranges, sorted.
func ClosedPorts(protocol string, open []entity.PortRange) (closed []entity.PortRange) {
	next := 1
	for _, r := range slices.SortedFunc(slices.Values(open), entity.ComparePorts) {
		if r.Protocol != protocol {
			continue
		}
		if r.From > next {
			closed = append(closed, entity.PortRange{From: next, To: r.From - 1, Protocol: protocol})
		}
		next = max(next, r.To+1)
	}
	if next <= 65535 {
		closed = append(closed, entity.PortRange{From: next, To: 65535, Protocol: protocol})
	}
	return closed
}
