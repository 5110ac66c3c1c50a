package entity

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// The networks of all addresses.
const (
	AllIPv4 = "0.0.0.0/0"
	AllIPv6 = "::/0"
)

// AllEndpoints stands for those endpoints of a service that an ExposedEndpoints does not name.
const AllEndpoints = ""

// ExposedEndpoints says who can reach the ports that a service's units open, by the endpoint for which they are open. A
// port that is open for all endpoints can be reached by everyone here.
type ExposedEndpoints map[string]ExposedTo

// An ExposedTo is who can reach an endpoint's ports; everyone if it is empty.
type ExposedTo struct {
	Spaces []string `json:"expose-to-spaces,omitempty" yaml:"expose-to-spaces,omitempty" bson:"spaces,omitempty"`
	CIDRs  []string `json:"expose-to-cidrs,omitempty" yaml:"expose-to-cidrs,omitempty" bson:"cidrs,omitempty"`
}

// Everywhere returns what a service is exposed to by default: all endpoints to everyone.
func Everywhere() ExposedEndpoints { return ExposedEndpoints{AllEndpoints: ExposedTo{}.Normal()} }

// Normal returns the same in a form that is equal for equal values: sorted, and with the networks of all addresses for
// everyone.
func (t ExposedTo) Normal() ExposedTo {
	if len(t.Spaces)+len(t.CIDRs) == 0 {
		return ExposedTo{CIDRs: []string{AllIPv4, AllIPv6}}
	}
	var n ExposedTo
	n.Spaces = slices.Compact(slices.Sorted(slices.Values(t.Spaces)))
	n.CIDRs = slices.Compact(slices.Sorted(slices.Values(t.CIDRs)))
	return n
}

// Equal reports whether two in normal form are the same.
func (t ExposedTo) Equal(other ExposedTo) bool {
	return slices.Equal(t.Spaces, other.Spaces) && slices.Equal(t.CIDRs, other.CIDRs)
}

// String returns "space dmz and CIDRs 10.0.0.0/8 and 192.0.2.0/24".
func (t ExposedTo) String() string {
	var parts []string
	for _, p := range []struct {
		kind  string
		names []string
	}{{"space", t.Spaces}, {"CIDR", t.CIDRs}} {
		if n := len(p.names); n > 1 {
			parts = append(parts, p.kind+"s "+strings.Join(p.names[:n-1], ", ")+" and "+p.names[n-1])
		} else if n == 1 {
			parts = append(parts, p.kind+" "+p.names[0])
		}
	}
	return strings.Join(parts, " and ")
}

// Check returns an Invalid error for a network that no rule can name.
func (t ExposedTo) Check() error {
	for _, cidr := range t.CIDRs {
		prefix, err := netip.ParsePrefix(cidr)
		switch {
		case err != nil || prefix.Addr().Is4In6():
			return WithHint(Errorf(Invalid, "invalid CIDR %q", cidr),
				"A CIDR is a network such as 192.0.2.0/24 or 2001:db8::/32.")
		case prefix != prefix.Masked():
			return WithHint(Errorf(Invalid, "invalid CIDR %q: it is an address in the network %v", cidr, prefix.Masked()),
				"To name the network: %v. To name the address: %v/%d", prefix.Masked(), prefix.Addr(), prefix.Addr().BitLen())
		}
	}
	return nil
}

// Normal returns the same with each entry in normal form.
func (e ExposedEndpoints) Normal() ExposedEndpoints {
	n := make(ExposedEndpoints, len(e))
	for name, to := range e {
		n[name] = to.Normal()
	}
	return n
}

// Equal reports whether two in normal form are the same.
func (e ExposedEndpoints) Equal(other ExposedEndpoints) bool {
	return maps.EqualFunc(e, other, ExposedTo.Equal)
}

// IsPlain reports whether e, in normal form, is Everywhere or nothing: whether a service is exposed then says it all.
func (e ExposedEndpoints) IsPlain() bool { return len(e) == 0 || e.IsEverywhere() }

// IsEverywhere reports whether e, in normal form, is Everywhere.
func (e ExposedEndpoints) IsEverywhere() bool { return e.Equal(Everywhere()) }

// HasSpaces reports whether an entry names a space.
func (e ExposedEndpoints) HasSpaces() bool {
	for _, to := range e {
		if len(to.Spaces) > 0 {
			return true
		}
	}
	return false
}

// String returns "all endpoints to CIDR 10.0.0.0/8, db to space dmz"; "no endpoints" if there are none.
func (e ExposedEndpoints) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		parts = append(parts, cmp.Or(name, "all endpoints")+" to "+e[name].String())
	}
	return cmp.Or(strings.Join(parts, ", "), "no endpoints")
}

// Sources returns the entries that apply to a port that is open for some endpoints, or for all if there are none.
func (e ExposedEndpoints) Sources(endpoints []string) (all []ExposedTo) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		applies := len(endpoints) == 0
		for _, one := range endpoints {
			_, named := e[one]
			applies = applies || one == name || name == AllEndpoints && !named
		}
		if applies {
			all = append(all, e[name])
		}
	}
	return all
}

// PortsFrom are ports that are open to a network.
type PortsFrom struct {
	CIDR  string      `json:"cidr"`
	Ports []PortRange `json:"ports"`
}

// Exposure says which ports of a model's machines must be reachable from outside.
type Exposure struct {
	Mode string `json:"mode"` // the value of ConfigFirewallMode
	// Instances maps each cloud instance to the open ports of its units that are exposed to everyone. From has those
	// that are exposed to some networks, by instance.
	Instances map[string][]PortRange `json:"instances"`
	From      map[string][]PortsFrom `json:"from,omitempty"`
	// Addresses maps each instance to the addresses that the cloud last reported. A cloud's firewall
	// rules may contain addresses, so they are set again when these change.
	Addresses map[string][]string `json:"addresses,omitempty"`
	Hosts     []string            `json:"hosts,omitempty"` // the addresses of manual machines
}

// HostExposure says which ports of one manual machine must be reachable from outside.
type HostExposure struct {
	Mode string `json:"mode"` // the value of ConfigFirewallMode
	// Closed are the ports opened by the machine's units that are not exposed to everyone. From has those of them that
	// are exposed to some networks. Open are ports that must never be closed, even if Closed has them.
	Closed []PortRange `json:"closed,omitempty"`
	From   []PortsFrom `json:"from,omitempty"`
	Open   []PortRange `json:"open,omitempty"`
	Peers  []string    `json:"peers,omitempty"` // the addresses of the model's other machines
}
