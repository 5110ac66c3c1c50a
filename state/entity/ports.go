package entity

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A PortRange is an inclusive range of ports of one protocol, which a unit opens. For icmp both bounds
// are -1.
type PortRange struct {
	From     int    `json:"from" yaml:"from"`
	To       int    `json:"to" yaml:"to"`
	Protocol string `json:"protocol" yaml:"protocol"` // "tcp", "udp" or "icmp"
}

// EndpointPorts are ports that a unit has open, and the endpoints for which they are, sorted; none means all.
type EndpointPorts struct {
	PortRange `yaml:",inline"`
	Endpoints []string `json:"endpoints,omitempty"`
}

// ParsePortRange parses "80", "80/tcp", "8000-8010/udp" or "icmp", in any case; the default
// protocol is tcp. Its errors are Invalid.
func ParsePortRange(s string) (PortRange, error) {
	ports, protocol, named := strings.Cut(strings.ToLower(s), "/")
	if ports == "icmp" && !named {
		return PortRange{-1, -1, "icmp"}, nil
	}
	if !named {
		protocol = "tcp"
	}
	first, last, isRange := strings.Cut(ports, "-")
	if !isRange {
		last = first
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err != nil || err2 != nil {
		return PortRange{}, Errorf(Invalid, `expected <port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp; got %q`, s)
	}
	r := PortRange{from, to, protocol}
	return r, r.Check()
}

// Check returns an Invalid error for bounds or a protocol that can't be opened.
func (r PortRange) Check() error {
	switch {
	case r.Protocol == "icmp" && r.From == -1 && r.To == -1:
		return nil
	case r.Protocol != "tcp" && r.Protocol != "udp":
		return Errorf(Invalid, `invalid protocol %q, expected "tcp", "udp", or "icmp"`, r.Protocol)
	case r.From < 1 || r.To > 65535 || r.To < 1 || r.From > 65535:
		return Errorf(Invalid, "port range bounds must be between 1 and 65535, got %d-%d", r.From, r.To)
	case r.From > r.To:
		return Errorf(Invalid, "invalid port range %d-%d", r.From, r.To)
	}
	return nil
}

// Conflicts reports whether the two ranges share a port of one protocol.
func (r PortRange) Conflicts(other PortRange) bool {
	return r.Protocol == other.Protocol && r.From <= other.To && other.From <= r.To
}

// String returns the form that status shows: "80/tcp", "8000-8010/udp", "icmp".
func (r PortRange) String() string {
	switch {
	case r.Protocol == "icmp":
		return "icmp"
	case r.From == r.To:
		return fmt.Sprintf("%d/%s", r.From, r.Protocol)
	}
	return fmt.Sprintf("%d-%d/%s", r.From, r.To, r.Protocol)
}

// ComparePorts orders ranges by protocol, then by first and last port.
func ComparePorts(a, b PortRange) int {
	return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}
