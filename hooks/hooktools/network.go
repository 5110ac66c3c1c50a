package hooktools

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/spf13/pflag"

	"juju/charm"
	"juju/state/entity"
)

var networkGetInfo = commandInfo{
	args:    "<binding>",
	purpose: "Print the addresses to use for an endpoint.",
	details: `The binding is the name of a relation, or an extra binding, of the charm. Without
options, print all that is known: the interfaces and addresses to listen on
(bind-addresses), the addresses to tell others (ingress-addresses), and where
connections to others come from (egress-subnets). With one option, print that
alone; with several, a map. In hooks of a relation, and with -r, the subnets are those
that a user has given for this relation, if any. A binding to a space gets the machine's
address there, and others its preferred address.
`,
	examples: []string{"network-get db --ingress-address", "network-get db --format json"},
	make:     func() command { return &networkGet{} },
}

// A networkInfo is what network-get knows of a binding. The names are Juju's: YAML, which charms read first, has older
// ones as well.
type networkInfo struct {
	BindAddresses    []networkInterface `json:"bind-addresses" yaml:"bind-addresses"`
	EgressSubnets    []string           `json:"egress-subnets,omitempty" yaml:"egress-subnets,omitempty"`
	IngressAddresses []string           `json:"ingress-addresses" yaml:"ingress-addresses"`
}

type networkInterface struct {
	MAC       string           `json:"mac-address" yaml:"mac-address"`
	Name      string           `json:"interface-name" yaml:"interface-name"`
	Addresses []networkAddress `json:"addresses" yaml:"addresses"`
	OldMAC    string           `json:"-" yaml:"macaddress"`
	OldName   string           `json:"-" yaml:"interfacename"`
}

type networkAddress struct {
	Hostname string `json:"hostname" yaml:"hostname"`
	Value    string `json:"value" yaml:"value"`
	CIDR     string `json:"cidr" yaml:"cidr"`
	Address  string `json:"-" yaml:"address"`
}

// noRelation is the id of no relation.
const noRelation = -1

type networkGet struct {
	relation                       relationFlag
	out                            outputFlags
	bind, ingress, egress, primary bool
	binding                        string
}

func (t *networkGet) flags(flags *pflag.FlagSet) {
	t.relation.add(flags)
	t.out.add(flags)
	flags.BoolVar(&t.bind, "bind-address", false, "print the address to listen on")
	flags.BoolVar(&t.ingress, "ingress-address", false, "print the address to tell others")
	flags.BoolVar(&t.egress, "egress-subnets", false, "print where connections to others come from")
	flags.BoolVar(&t.primary, "primary-address", false,
		"print the address to listen on (the older form of --bind-address)")
}

func (t *networkGet) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	t.relation.id = noRelation
	if _, ok := hook.HookRelation(); ok || t.relation.value != "" {
		if err := t.relation.resolve(hook); err != nil {
			return err
		}
	}
	if len(args) == 0 {
		return errors.New("no arguments specified")
	}
	if t.binding = args[0]; t.binding == "" {
		return errors.New("no binding name specified")
	}
	return checkEmpty(args[1:])
}

func (t *networkGet) run(ctx context.Context, run *toolRun) error {
	meta, err := run.hook.CharmMeta()
	if err != nil {
		return err
	}
	if !isBinding(meta, t.binding) {
		return fmt.Errorf("no network config found for binding %q", t.binding)
	}
	unit, err := run.hook.UnitInfo(ctx)
	if err != nil {
		return err
	}
	if unit.PrivateAddress == "" {
		return fmt.Errorf("no network config found for binding %q: unit %q has no address yet", t.binding,
			run.hook.UnitName())
	}
	address := unit.PrivateAddress
	if bound, ok := unit.Bound[t.binding]; ok && bound.Address == "" {
		return fmt.Errorf("no network config found for binding %q: the machine has no address in space %q",
			t.binding, bound.Space)
	} else if ok {
		address = bound.Address
	}
	info := networkOf(address)
	relation := t.relation.id
	if name, _ := run.hook.RelationName(relation); name != t.binding {
		relation = noRelation
	}
	if egress := run.hook.EgressSubnets(relation); len(egress) > 0 {
		info.EgressSubnets = egress
	}
	if t.primary && (t.bind || t.ingress || t.egress) {
		return errors.New("--primary-address must be the only flag specified")
	}
	values := map[string]any{}
	if t.bind || t.primary {
		values["bind-address"] = info.BindAddresses[0].Addresses[0].Address
	}
	if t.ingress {
		values["ingress-address"] = info.IngressAddresses[0]
	}
	if t.egress {
		values["egress-subnets"] = info.EgressSubnets
	}
	switch len(values) {
	case 0:
		return t.out.write(run, info)
	case 1:
		for _, value := range values {
			return t.out.write(run, value)
		}
	}
	return t.out.write(run, values)
}

// networkOf describes the network of a unit's machine by the unit's address there, which may be
// the name of a host.
func networkOf(address string) networkInfo {
	info := networkInfo{IngressAddresses: []string{address}, EgressSubnets: []string{}}
	at := networkInterface{Addresses: []networkAddress{{Address: address, Value: address}}}
	if ip, err := netip.ParseAddr(address); err == nil {
		info.EgressSubnets = []string{entity.HostSubnet(address)}
		name, mac, cidr := interfaceOf(ip)
		at.Name, at.OldName, at.MAC, at.OldMAC, at.Addresses[0].CIDR = name, name, mac, mac, cidr
	} else {
		at.Addresses[0].Hostname = address
	}
	info.BindAddresses = []networkInterface{at}
	return info
}

// interfaceOf returns the interface of this host whose network an address is in, and that
// network; nothing if there is none.
func interfaceOf(ip netip.Addr) (name, mac, cidr string) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", "", ""
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if network, err := netip.ParsePrefix(a.String()); err == nil && network.Contains(ip) {
				return i.Name, i.HardwareAddr.String(), network.Masked().String()
			}
		}
	}
	return "", "", ""
}

// isBinding reports whether a charm has an endpoint or an extra binding of this name.
func isBinding(meta *charm.Meta, name string) bool {
	return slices.Contains(meta.Endpoints(), name) || name == charm.ImplicitRelation().Name
}
