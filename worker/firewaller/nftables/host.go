package nftables

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"

	"juju/agent/host/process"
	"juju/provider"
	"juju/state/entity"
)

// A Host is the provider.Firewall of the local host, which is its only instance.
type Host struct {
	instance string
	table    string
}

// New returns the firewall of the local host. Rules refer to the host as instance. Nothing else may use the
// table.
func New(instance, table string) *Host { return &Host{instance, table} }

// text returns nft commands that atomically replace the table by one that rejects connections to all ports
// that are not open, except from the networks and peers to which they are. It defines even empty sets, so that
// Ingress finds all of them.
func (h *Host) text(open []entity.PortRange, from []entity.PortsFrom, peers []string) string {
	var ipv4, ipv6 []string
	for _, text := range peers {
		if a := netip.MustParseAddr(text); a.Is4() { // rules are in normal form
			ipv4 = append(ipv4, text)
		} else {
			ipv6 = append(ipv6, a.WithZone("").String())
		}
	}
	var fromSets string
	var accept []string
	for i, f := range from {
		for _, protocol := range []string{"tcp", "udp"} {
			if ports := texts(protocol, f.Ports); len(ports) > 0 {
				name := fmt.Sprintf("%s%d_%s", fromPrefix, i, protocol)
				fromSets += set(name, portSet, ports)
				accept = append(accept, fmt.Sprintf("%s %s dport @%s accept", source(f.CIDR), protocol, name))
			}
		}
	}
	return h.none() + "table inet " + h.table + " {\n" +
		set(peersIPv4, "ipv4_addr", ipv4) + set(peersIPv6, "ipv6_addr", ipv6) +
		set(closedTCP, portSet, portList("tcp", open)) + set(closedUDP, portSet, portList("udp", open)) +
		fromSets + "chain " + chain + " {\ntype filter hook prerouting priority -150; policy accept;\n" +
		strings.Join(slices.Concat(rules[:passing], accept, rules[passing:]), "\n") + "\n}\n}\n"
}

// source returns the match of packets from a network.
func source(cidr string) string {
	switch {
	case cidr == entity.AllIPv4: // nft drops a match of all addresses
		return "meta nfproto ipv4"
	case cidr == entity.AllIPv6:
		return "meta nfproto ipv6"
	case strings.Contains(cidr, ":"):
		return "ip6 saddr " + cidr
	}
	return "ip saddr " + cidr
}

// none returns nft commands that remove the table if it exists.
func (h *Host) none() string {
	return "add table inet " + h.table + "\ndelete table inet " + h.table + "\n"
}

// The names of the table's chain and sets.
const (
	chain     = "closed"
	peersIPv4 = "peers_ipv4"
	peersIPv6 = "peers_ipv6"
	closedTCP = "closed_tcp"
	closedUDP = "closed_udp"
	// fromPrefix begins the names of the sets of ports that are open to one network.
	fromPrefix = "from"
)

// portSet is the type of the port sets, whose elements may be ranges.
const portSet = "inet_service\nflags interval"

// passing is the number of rules before those for the networks to which ports are open.
const passing = 5

// rules are the other rules of the chain, which runs after connection tracking and before destination NAT. For TCP
// they reject only SYN packets: if these rules are the first to enable connection tracking, existing
// connections appear to be new.
var rules = []string{
	"iif lo accept",
	"ct state established,related accept",
	"fib daddr type unicast accept", // not addressed to this host
	"ip saddr @" + peersIPv4 + " accept",
	"ip6 saddr @" + peersIPv6 + " accept",
	"tcp flags & (syn | ack) == syn tcp dport @" + closedTCP + " reject with tcp reset",
	"udp dport @" + closedUDP + " reject",
}

func set(name, kind string, elements []string) string {
	text := "set " + name + " {\ntype " + kind + "\n"
	if len(elements) > 0 {
		text += "elements = { " + strings.Join(elements, ", ") + " }\n"
	}
	return text + "}\n"
}

// portList returns the ports of a protocol that are not open, in nft's syntax.
func portList(protocol string, open []entity.PortRange) []string {
	return texts(protocol, provider.ClosedPorts(protocol, open))
}

// texts returns the ports of a protocol in nft's syntax.
func texts(protocol string, ports []entity.PortRange) (all []string) {
	for _, r := range ports {
		if text, _, _ := strings.Cut(r.String(), "/"); r.Protocol == protocol {
			all = append(all, text)
		}
	}
	return all
}

// CheckFirewall returns a NotSupported error if the host lacks the command nft, or if this process's privileges
// or the kernel don't permit the rules.
func (h *Host) CheckFirewall(ctx context.Context) error {
	_, err := h.tables(ctx)
	return err
}

// tables checks that the host supports the rules, and returns the names of its inet tables.
func (h *Host) tables(ctx context.Context) (map[string]bool, error) {
	if _, err := exec.LookPath("nft"); err != nil {
		return nil, entity.WithHint(entity.Errorf(entity.NotSupported, "the host has no command nft"),
			"Install it there; most systems have it in the package nftables.")
	}
	probe := h.text(nil, []entity.PortsFrom{{CIDR: "192.0.2.0/24", Ports: []entity.PortRange{{From: 80, To: 81, Protocol: "tcp"}}}},
		[]string{"192.0.2.1", "2001:db8::1"})
	if _, err := h.nft(ctx, probe, "-c", "-f", "-"); err != nil {
		return nil, refused(ctx, err)
	}
	out, err := h.nft(ctx, "", "-j", "list", "tables")
	if err != nil {
		return nil, refused(ctx, err)
	}
	list, err := decode(out)
	names := map[string]bool{}
	for _, one := range list {
		if one.Table != nil && one.Table.Family == "inet" {
			names[one.Table.Name] = true
		}
	}
	return names, err
}

// refused returns the NotSupported error for a failed nft command, or the cause of ctx if it is done.
func refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return entity.Errorf(entity.NotSupported, "the host refuses rules: %w", err)
}

// SetIngress replaces the table, or removes it if there are no rules for the host. It ignores other instances.
func (h *Host) SetIngress(ctx context.Context, rules provider.Ingress) error {
	tables, err := h.tables(ctx)
	if err != nil {
		return err
	}
	rules = rules.Normal()
	open, ok := rules.Ports[h.instance]
	switch {
	case ok:
		_, err = h.nft(ctx, h.text(open, rules.From[h.instance], rules.Peers), "-f", "-")
	case tables[h.table]:
		_, err = h.nft(ctx, h.none(), "-f", "-")
	}
	return err
}

// maxTables limits the output of nft, in bytes. The host's tables can be large.
const maxTables = 64 << 20

// nft runs nft with the given input. The error has the first line of the command's stderr.
func (h *Host) nft(ctx context.Context, input string, args ...string) ([]byte, error) {
	out, stderr, err := process.Program{Path: "nft", Args: args, Env: append(os.Environ(), "LC_ALL=C"),
		Stdin: strings.NewReader(input), Max: maxTables}.Output(ctx)
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(stderr) > 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(string(stderr)), "\n")
		err = fmt.Errorf("nft: %s", line)
	} else if err != nil {
		err = fmt.Errorf("nft: %w", err)
	}
	return out, err
}
