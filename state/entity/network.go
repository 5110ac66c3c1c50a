package entity

import (
	"cmp"
	"net/netip"
	"slices"
)

// AlphaSpace is the space of the subnets that are in no other. It has the id AlphaSpaceID, and can't be removed or renamed.
const (
	AlphaSpace   = "alpha"
	AlphaSpaceID = "0"
)

// A Subnet is a range of addresses in a cloud.
type Subnet struct {
	ID         string   `bson:"id" json:"id"`             // the model's; "" for one that a cloud tells
	CIDR       string   `bson:"cidr" json:"cidr"`         // in its canonical form
	ProviderID string   `bson:"provider" json:"provider"` // the cloud's id
	Network    string   `bson:"network" json:"network"`   // the cloud's id of the network that it is part of
	Zones      []string `bson:"zones" json:"zones"`       // from which it can be reached; none if the cloud has no zones
}

// A Space is a set of subnets that users treat alike.
type Space struct {
	ID      string   `json:"id"` // never changes
	Name    string   `json:"name"`
	Subnets []Subnet `json:"subnets"`
}

// MachineSpaces are the spaces in each of which a machine must have an address, and those in which it must have none.
type MachineSpaces struct {
	In  []Space `json:"in,omitempty"`
	Out []Space `json:"out,omitempty"`
}

// IsEmpty reports whether any machine will do.
func (s MachineSpaces) IsEmpty() bool { return len(s.In)+len(s.Out) == 0 }

// A BoundAddress is the address of a machine in the space to which an endpoint is bound; "" if it has none there.
type BoundAddress struct {
	Space   string `json:"space"`
	Address string `json:"address,omitempty"`
}

// A MovedSubnet is a subnet that has moved from one space to another.
type MovedSubnet struct{ CIDR, From, To string }

// A SpaceUse is what keeps a space from being removed.
type SpaceUse struct {
	Bound       []string // services with bindings to it
	Constrained []Tag    // services, or the model, with constraints that name it
	Machines    int      // how many machines have an address in it; they don't keep it
}

// CompareCIDRs orders subnets by family, address and size.
func CompareCIDRs(a, b string) int {
	p, errA := netip.ParsePrefix(a)
	q, errB := netip.ParsePrefix(b)
	if errA != nil || errB != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(p.Addr().Compare(q.Addr()), cmp.Compare(p.Bits(), q.Bits()))
}

// CheckEgress returns an Invalid error for subnets that connections can't be said to come from: what names no subnet, or all
// addresses.
func CheckEgress(cidrs []string) error {
	if err := (ExposedTo{CIDRs: cidrs}).Check(); err != nil {
		return err
	}
	for _, cidr := range cidrs {
		if netip.MustParsePrefix(cidr).Bits() == 0 {
			return WithHint(Errorf(Invalid, "CIDR %q not allowed", cidr),
				"To let everyone reach a service: juju expose, in its own model")
		}
	}
	return nil
}

// NormalCIDR returns a CIDR in its canonical form, without the bits of a host. The error is Invalid.
func NormalCIDR(text string) (string, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return "", WithHint(Errorf(Invalid, "%q is not a valid CIDR", text),
			"A subnet is written as in 10.0.0.0/24. To list them: juju subnets")
	}
	return prefix.Masked().String(), nil
}

// SmallestSubnet returns the index of the smallest subnet that contains an address, -1 if none does. The address may be the
// name of a host, which is in none.
func SmallestSubnet(all []Subnet, address string) int {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return -1
	}
	found, bits := -1, -1
	for i, s := range all {
		if prefix, err := netip.ParsePrefix(s.CIDR); err == nil &&
			prefix.Contains(ip.Unmap().WithZone("")) && prefix.Bits() > bits {
			found, bits = i, prefix.Bits()
		}
	}
	return found
}

// SortSubnets sorts subnets by their CIDRs.
func SortSubnets(all []Subnet) {
	slices.SortFunc(all, func(a, b Subnet) int { return CompareCIDRs(a.CIDR, b.CIDR) })
}
