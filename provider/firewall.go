package provider

import (
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
		n.Ports[id] = normalPorts(ranges)
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
	return maps.EqualFunc(i.Ports, other.Ports, slices.Equal) && slices.Equal(i.Peers, other.Peers)
}

// normalPorts returns the TCP and UDP ports, including SSH, as a minimal sorted list of ranges.
func normalPorts(ranges []entity.PortRange) []entity.PortRange {
	all := append(slices.Clone(ranges), ssh)
	all = slices.DeleteFunc(all, func(r entity.PortRange) bool { return r.Protocol != "tcp" && r.Protocol != "udp" })
	slices.SortFunc(all, entity.ComparePorts)
	merged := all[:1]
	for _, r := range all[1:] {
		if last := &merged[len(merged)-1]; r.Protocol == last.Protocol && r.From <= last.To+1 {
			last.To = max(last.To, r.To)
		} else {
			merged = append(merged, r)
		}
	}
	return merged
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
