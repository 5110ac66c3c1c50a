package provider

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"juju/state/entity"
)

// A Firewall decides what reaches the instances of one model from outside. Its methods can be
// repeated after an interruption, and their errors give only the reason, as those of Environ do.
type Firewall interface {
	// CheckFirewall returns a NotSupported error, which says why, if the cloud does not filter what
	// reaches its instances. SetIngress and Ingress then return it too.
	CheckFirewall(ctx context.Context) error
	// SetIngress replaces the model's rules. Repeated with the same rules, it only follows addresses
	// of instances that have changed. If it fails, some of the rules may hold. Rules for instances
	// that do not exist have no effect. The rules of an instance go with it, and those of the model
	// with Destroy.
	SetIngress(ctx context.Context, rules Ingress) error
	// Ingress returns the rules that hold, in their normal form. An instance that is not filtered as
	// SetIngress would do it is not in them.
	Ingress(ctx context.Context) (Ingress, error)
}

// Ingress is what reaches the instances of a model from outside. It limits new connections to TCP
// and UDP ports; other protocols pass, such as ICMP, and so does what comes from the same network.
type Ingress struct {
	// Ports are those that everyone reaches, by instance. SSH (22/tcp) is always one of them. An
	// instance without an entry is not filtered.
	Ports map[string][]entity.PortRange
	// Peers are the addresses from which all ports are reached: those of the model's machines that
	// the cloud has not started. What is no IP address has no effect.
	Peers []string
}

// ssh is the port that is open on every instance.
var ssh = entity.PortRange{From: 22, To: 22, Protocol: "tcp"}

// Normal returns the rules in a form that is the same for all rules that have the same effect.
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

// normalPorts returns TCP and UDP ports, with that of SSH, as the fewest ranges in order.
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

// ClosedPorts returns the ports of a protocol that are in none of the ranges, in order.
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
