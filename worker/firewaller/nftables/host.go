package nftables

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
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
// that are not open. It defines even empty sets, so that Ingress finds all of them.
func (h *Host) text(open []entity.PortRange, peers []string) string {
	var ipv4, ipv6 []string
	for _, text := range peers {
		if a := netip.MustParseAddr(text); a.Is4() { // rules are in normal form
			ipv4 = append(ipv4, text)
		} else {
			ipv6 = append(ipv6, a.WithZone("").String())
		}
	}
	return h.none() + "table inet " + h.table + " {\n" +
		set(peersIPv4, "ipv4_addr", ipv4) + set(peersIPv6, "ipv6_addr", ipv6) +
		set(closedTCP, portSet, portList("tcp", open)) + set(closedUDP, portSet, portList("udp", open)) +
		"chain " + chain + " {\ntype filter hook prerouting priority -150; policy accept;\n" +
		strings.Join(rules, "\n") + "\n}\n}\n"
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
)

// portSet is the type of the port sets, whose elements may be ranges.
const portSet = "inet_service\nflags interval"

// rules are the rules of the chain, which runs after connection tracking and before destination NAT. For TCP
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
func portList(protocol string, open []entity.PortRange) (texts []string) {
	for _, r := range provider.ClosedPorts(protocol, open) {
		text, _, _ := strings.Cut(r.String(), "/")
		texts = append(texts, text)
	}
	return texts
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
	probe := provider.Ingress{Ports: map[string][]entity.PortRange{h.instance: nil}, Peers: []string{"192.0.2.1", "2001:db8::1"}}
	probe = probe.Normal()
	if _, err := h.nft(ctx, h.text(probe.Ports[h.instance], probe.Peers), "-c", "-f", "-"); err != nil {
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
		_, err = h.nft(ctx, h.text(open, rules.Peers), "-f", "-")
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
