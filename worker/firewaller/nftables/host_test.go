package nftables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/doc/tools/verify"
	"juju/provider"
	"juju/provider/providertest"
	"juju/state/entity"
)

const (
	instance = "machine-3"
	table    = "juju-machine-3"
)

func ports(t *testing.T, texts ...string) (all []entity.PortRange) {
	t.Helper()
	for _, text := range texts {
		r, err := entity.ParsePortRange(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// closing returns the rules that close these ports, and let peers in.
func closing(t *testing.T, peers []string, texts ...string) provider.Ingress {
	t.Helper()
	var open []entity.PortRange
	for _, protocol := range []string{"tcp", "udp"} {
		open = append(open, provider.ClosedPorts(protocol, ports(t, texts...))...)
	}
	return provider.Ingress{Ports: map[string][]entity.PortRange{instance: open}, Peers: peers}
}

func TestText(t *testing.T) {
	rules := closing(t, []string{"10.0.0.1", "fd00::1", "10.0.0.2"}, "22", "5432", "8000-8010", "53/udp").Normal()
	want := `add table inet juju-machine-3
delete table inet juju-machine-3
table inet juju-machine-3 {
set peers_ipv4 {
type ipv4_addr
elements = { 10.0.0.1, 10.0.0.2 }
}
set peers_ipv6 {
type ipv6_addr
elements = { fd00::1 }
}
set closed_tcp {
type inet_service
flags interval
elements = { 5432, 8000-8010 }
}
set closed_udp {
type inet_service
flags interval
elements = { 53 }
}
chain closed {
type filter hook prerouting priority -150; policy accept;
iif lo accept
ct state established,related accept
fib daddr type unicast accept
ip saddr @peers_ipv4 accept
ip6 saddr @peers_ipv6 accept
tcp flags & (syn | ack) == syn tcp dport @closed_tcp reject with tcp reset
udp dport @closed_udp reject
}
}
`
	if diff := cmp.Diff(want, New(instance, table).text(rules.Ports[instance], nil, rules.Peers)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// inside runs the test as another process, as root of namespaces of its own, and reports whether this is that
// process. What it does to rules and networks ends with it.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv("NFTABLES_TEST") == t.Name() {
		return true
	}
	for _, program := range []string{"nft", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s: Debian has it in the packages nftables and iproute2", program)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), "NFTABLES_TEST="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("this process can't have namespaces: %v", err)
	case err != nil:
		t.Errorf("%s", out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
	return false
}

// needRules skips a test where the kernel has no rules for users.
func needRules(t *testing.T) {
	t.Helper()
	if err := New(instance, table).CheckFirewall(t.Context()); err != nil {
		t.Skip(err)
	}
}

func TestConformance(t *testing.T) {
	verify.Only(t, "sets up network namespaces")
	if !inside(t) {
		return
	}
	needRules(t)
	providertest.RunFirewall(t.Context(), t, func() provider.Firewall { return New(instance, table) }, instance)
	if left := command(t, "nft", "list", "ruleset"); left != "" {
		t.Errorf("left are the rules %s", left)
	}
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// What another hand has changed is not taken for the rules, and what is another's stays.
func TestChangesOfOthers(t *testing.T) {
	verify.Only(t, "sets up network namespaces")
	if !inside(t) {
		return
	}
	needRules(t)
	h, want := New(instance, table), closing(t, nil, "5432").Normal()
	command(t, "nft", "add table inet juju-machine-30; add table ip "+table+"; add chain inet juju-machine-30 mine")
	others := command(t, "nft", "list", "ruleset")
	for _, change := range []string{"flush ruleset", "delete table inet " + table, "flush chain inet " + table + " " + chain,
		"add element inet " + table + " " + closedTCP + " { 80 }", "insert rule inet " + table + " " + chain + " accept",
		"chain inet " + table + " " + chain + " { policy drop; }",
		"add element inet " + table + " " + closedTCP + " { 80 comment \"mine\" }",
		"add set inet " + table + " mine { type ipv4_addr; flags interval; elements = { 10.0.0.0/8 }; }"} {
		if err := h.SetIngress(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if has, err := h.Ingress(t.Context()); err != nil || !has.Equal(want) {
			t.Fatalf("before %q: %v, %v", change, has, err)
		}
		command(t, "nft", change)
		if has, err := h.Ingress(t.Context()); err != nil || has.Equal(want) {
			t.Errorf("after %q the rules are taken for unchanged (%v)", change, err)
		}
		if change == "flush ruleset" {
			command(t, "nft", "add table inet juju-machine-30; add table ip "+table+"; add chain inet juju-machine-30 mine")
		}
	}
	if err := h.SetIngress(t.Context(), provider.Ingress{}); err != nil {
		t.Fatal(err)
	}
	if left := command(t, "nft", "list", "ruleset"); left != others {
		t.Errorf("the rules of others were\n%s\nand are\n%s", others, left)
	}
}

// A network is a network namespace. Each function that it is sent runs in it.
type network struct {
	do chan func()
	id int // of the thread that holds it
}

func newNetwork(t *testing.T) network {
	t.Helper()
	n, started := network{do: make(chan func())}, make(chan int)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and the namespace with the thread
		if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			close(started)
			return
		}
		started <- syscall.Gettid()
		for f := range n.do {
			f()
		}
	}()
	if n.id = <-started; n.id == 0 {
		t.Fatal("cannot make a network")
	}
	t.Cleanup(func() { close(n.do) })
	return n
}

// run runs f in the network.
func (n network) run(f func()) {
	done := make(chan struct{})
	n.do <- func() {
		defer close(done)
		f()
	}
	<-done
}

// dial connects from the network; local is the address to do it from, or "".
func (n network) dial(t *testing.T, protocol, local, address string) (c net.Conn, err error) {
	t.Helper()
	dialer := net.Dialer{Timeout: verify.Patience}
	if local != "" {
		if dialer.LocalAddr, err = net.ResolveUDPAddr(protocol, local); err != nil {
			t.Fatal(err)
		}
	}
	dial := func() { c, err = dialer.DialContext(t.Context(), protocol, address) }
	if n.do == nil {
		dial()
	} else {
		n.run(dial)
	}
	if c != nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// answered returns whether what serve serves answers on a connection: "open", "refused", or the error.
func answered(c net.Conn, err error) string {
	if err == nil {
		buffer := make([]byte, 1)
		_ = c.SetDeadline(time.Now().Add(verify.Patience))
		if _, err = c.Write(buffer); err == nil {
			_, err = c.Read(buffer)
		}
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case err == nil:
		return "open"
	}
	return err.Error()
}

// serve answers at a port of the network that it is called in.
func serve(t *testing.T, protocol, address string) {
	t.Helper()
	if protocol == "udp" {
		c, err := net.ListenPacket(protocol, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			buffer := make([]byte, 1)
			for {
				_, from, err := c.ReadFrom(buffer)
				if err != nil {
					return
				}
				_, _ = c.WriteTo(buffer, from)
			}
		}()
		return
	}
	l, err := net.Listen(protocol, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(c, c) // until the client closes it
		}
	}()
}

// Packets meet the rules: from outside, from a machine of the model, from the host itself.
func TestWhatReachesTheHost(t *testing.T) {
	verify.Only(t, "sets up network namespaces")
	if !inside(t) {
		return
	}
	needRules(t)
	command(t, "ip", "link", "set", "lo", "up")
	outside, peer, container := newNetwork(t), newNetwork(t), newNetwork(t)
	for i, n := range []network{outside, peer, container} {
		card := fmt.Sprint("card", i)
		command(t, "ip", "link", "add", card, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(n.id))
		command(t, "ip", "addr", "add", fmt.Sprintf("10.9.%d.1/24", i), "dev", card)
		command(t, "ip", "addr", "add", fmt.Sprintf("fd00:%d::1/64", i), "dev", card, "nodad")
		command(t, "ip", "link", "set", card, "up")
		n.run(func() {
			command(t, "ip", "link", "set", "eth0", "up")
			command(t, "ip", "addr", "add", fmt.Sprintf("10.9.%d.2/24", i), "dev", "eth0")
			command(t, "ip", "addr", "add", fmt.Sprintf("fd00:%d::2/64", i), "dev", "eth0", "nodad")
			command(t, "ip", "route", "add", "default", "via", fmt.Sprintf("10.9.%d.1", i))
		})
	}
	for _, port := range []string{"22", "80", "5432", "8005"} {
		serve(t, "tcp", ":"+port)
	}
	serve(t, "udp", ":53")
	container.run(func() { serve(t, "tcp", ":9000"); serve(t, "udp", ":53") })
	kept, err := outside.dial(t, "tcp", "", "10.9.0.1:5432") // before the host tracks connections
	// The host forwards 9090 to a container, and other packets between networks.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	command(t, "nft", `table ip nat { chain in { type nat hook prerouting priority dstnat;
		ip daddr 10.9.0.1 tcp dport 9090 dnat to 10.9.2.2:9000; }; }`)
	others := command(t, "nft", "list", "ruleset")

	h := New(instance, table)
	set := func(rules provider.Ingress) {
		t.Helper()
		if err := h.SetIngress(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
	}
	type way struct {
		from              network
		protocol, address string
		how               string
	}
	check := func(when string, ways ...way) {
		t.Helper()
		for _, w := range ways {
			if how := answered(w.from.dial(t, w.protocol, "", w.address)); how != w.how {
				t.Errorf("%s: %s at %s from network %d: %s, want %s", when, w.protocol, w.address, w.from.id, how, w.how)
			}
		}
	}
	all := func(how string) []way {
		return []way{{outside, "tcp", "10.9.0.1:5432", how}, {outside, "tcp", "10.9.0.1:8005", how},
			{outside, "udp", "10.9.0.1:53", how}, {outside, "tcp", "[fd00::1]:5432", how},
			{outside, "tcp", "10.9.0.1:9090", how}, {container, "tcp", "10.9.0.1:5432", how}}
	}
	spared := []way{{outside, "tcp", "10.9.0.1:22", "open"}, {outside, "tcp", "10.9.0.1:80", "open"},
		{outside, "tcp", "[fd00::1]:80", "open"}, {outside, "tcp", "10.9.2.2:9000", "open"},
		{peer, "tcp", "10.9.1.1:5432", "open"}, {peer, "tcp", "[fd00:1::1]:5432", "open"}, {peer, "udp", "10.9.1.1:53", "open"}}
	check("at first", append(all("open"), spared...)...)
	peers := []string{"10.9.1.2", "fd00:1::2"}
	set(closing(t, peers, "22", "5432", "8000-8010", "53/udp", "8000-8010/udp", "9090", "9000"))
	check("closed", append(all("refused"), spared...)...)
	if how := answered(kept, err); how != "open" {
		t.Errorf("a connection that was there: %s", how)
	}
	host := network{}
	if how := answered(host.dial(t, "udp", "10.9.2.1:8005", "10.9.2.2:53")); how != "open" {
		t.Errorf("an answer to a port that is closed: %s", how)
	}
	for _, address := range []string{"127.0.0.1:5432", "[::1]:5432", "10.9.0.1:5432", "[fd00::1]:5432"} {
		check("closed", way{host, "tcp", address, "open"})
	}
	rules := closing(t, nil, "5432", "53/udp")
	rules.From = map[string][]entity.PortsFrom{instance: {{CIDR: "10.9.0.0/24", Ports: ports(t, "5432")},
		{CIDR: "fd00:1::2/128", Ports: ports(t, "5432")}, {CIDR: "0.0.0.0/0", Ports: ports(t, "53/udp")}}}
	set(rules)
	check("open to networks", way{outside, "tcp", "10.9.0.1:5432", "open"}, way{outside, "tcp", "[fd00::1]:5432", "refused"},
		way{peer, "tcp", "10.9.1.1:5432", "refused"}, way{peer, "tcp", "[fd00:1::1]:5432", "open"},
		way{peer, "udp", "10.9.1.1:53", "open"}, way{peer, "udp", "[fd00:1::1]:53", "refused"})
	set(closing(t, nil, "5432"))
	check("without peers", way{peer, "tcp", "10.9.1.1:5432", "refused"}, way{outside, "tcp", "10.9.0.1:8005", "open"})
	set(provider.Ingress{})
	check("opened again", append(all("open"), spared...)...)
	if left := command(t, "nft", "list", "ruleset"); left != others {
		t.Errorf("the rules of others were\n%s\nand are\n%s", others, left)
	}
}

// A host without the command, or without the right, says so.
func TestHostsWithoutRules(t *testing.T) {
	h := New(instance, table)
	check := func(want string) {
		t.Helper()
		_, err := h.Ingress(t.Context())
		for _, err := range []error{err, h.CheckFirewall(t.Context()), h.SetIngress(t.Context(), closing(t, nil, "80"))} {
			if !errors.Is(err, entity.NotSupported) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	check("the host has no command nft")
	refusal := "#!/bin/sh\necho 'Operation not permitted (you must be root)' >&2\necho more >&2\nexit 1\n"
	if err := os.WriteFile(dir+"/nft", []byte(refusal), 0o755); err != nil {
		t.Fatal(err)
	}
	check("the host refuses rules: nft: Operation not permitted (you must be root)")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.CheckFirewall(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}
