package lxd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/state/entity"
)

// reaches reports whether the host can connect to a port.
func reaches(address string, port int) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, fmt.Sprint(port)), 3*time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// The host and other networks can reach open ports only. Containers on one bridge can reach all of each other's ports,
// and get replies to their own requests.
func TestFirewall(t *testing.T) {
	c, outer, ctx := tiny(t, ownBridge(t)), tiny(t, nil), within(t)
	e := environOf(t, c)
	start := func(c *Cloud, machine string) provider.Instance {
		t.Helper()
		inst, err := environOf(t, c).StartInstance(ctx, params(machine, "n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.exec(ctx, inst.ID, "sh", "-c",
			"for port in 22 8080 9090; do busybox httpd -p $port -h /; done"); err != nil {
			t.Fatal(err)
		}
		return inst
	}
	one, two, other := start(c, "1"), start(c, "2"), start(outer, "3")
	// fromWithin reports whether a container can connect to a port of the first one.
	fromWithin := func(c *Cloud, id string, port int) bool {
		t.Helper()
		status, err := c.exec(ctx, id, "sh", "-c", `busybox nc -w 3 "$1" "$2" </dev/null`, "sh", one.Addresses[0],
			fmt.Sprint(port))
		if status == 0 && err != nil {
			t.Error(err)
		}
		return status == 0
	}
	set := func(rules provider.Ingress) {
		t.Helper()
		if err := e.SetIngress(ctx, rules); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, open ...int) {
		t.Helper()
		for _, port := range []int{22, 8080, 9090} {
			want := slices.Contains(open, port)
			if got := reaches(one.Addresses[0], port); got != want {
				t.Errorf("%s: the host reaches port %d: %v", when, port, got)
			}
			if got := fromWithin(outer, other.ID, port); got != want {
				t.Errorf("%s: another network reaches port %d: %v", when, port, got)
			}
			if !fromWithin(c, two.ID, port) {
				t.Errorf("%s: the other container does not reach port %d", when, port)
			}
		}
	}
	check("without rules", 22, 8080, 9090)
	set(provider.Ingress{Ports: map[string][]entity.PortRange{one.ID: nil, two.ID: nil}})
	check("nothing is open", 22)
	set(provider.Ingress{Ports: map[string][]entity.PortRange{
		one.ID: {{From: 8080, To: 8081, Protocol: "tcp"}}, two.ID: nil}})
	check("8080 is open", 22, 8080)
	set(provider.Ingress{Ports: map[string][]entity.PortRange{one.ID: {{From: 9090, To: 9090, Protocol: "udp"}}},
		Peers: other.Addresses})
	if reaches(one.Addresses[0], 9090) || !fromWithin(outer, other.ID, 9090) {
		t.Error("a peer does not reach a port that is not open, or the host does")
	}
	open := []entity.PortRange{{From: 8080, To: 8080, Protocol: "tcp"}}
	both := map[string][]entity.PortRange{one.ID: nil, two.ID: nil}
	set(provider.Ingress{Ports: both, From: map[string][]entity.PortsFrom{one.ID: {{CIDR: other.Addresses[0] + "/32", Ports: open}}}})
	if reaches(one.Addresses[0], 8080) || !fromWithin(outer, other.ID, 8080) || fromWithin(outer, other.ID, 9090) {
		t.Error("a port that is open to one address is open to the host, or not to that address, or another port is")
	}
	set(provider.Ingress{Ports: both, From: map[string][]entity.PortsFrom{one.ID: {{CIDR: "198.51.100.0/24", Ports: open}}}})
	check("8080 is open to others", 22)
	set(provider.Ingress{Ports: both, From: map[string][]entity.PortsFrom{one.ID: {{CIDR: "0.0.0.0/0", Ports: open}}}})
	check("8080 is open to all of IPv4", 22, 8080)
	set(provider.Ingress{})
	check("without rules again", 22, 8080, 9090)
	for _, err := range []error{e.Destroy(ctx), environOf(t, outer).Destroy(ctx)} {
		if err != nil {
			t.Error(err)
		}
	}
}

// Rules are added to and removed from a network with a user's ACL, which is left unchanged. Rules of a container that
// someone else removed are listed.
func TestFirewallLeavesNetworksAsTheyWere(t *testing.T) {
	c, ctx := tiny(t, ownBridge(t)), within(t)
	e, top := environOf(t, c), rawClient(socket(t), "")
	network := func() map[string]string {
		t.Helper()
		all, err := c.networks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return all[testBridge].Config
	}
	inst, err := e.StartInstance(ctx, params("1", "n"))
	if err != nil {
		t.Fatal(err)
	}
	before := network()
	rules := provider.Ingress{Ports: map[string][]entity.PortRange{inst.ID: {{From: 80, To: 80, Protocol: "tcp"}}}}
	if err := e.SetIngress(ctx, rules); err != nil {
		t.Fatal(err)
	}
	if config := network(); config[aclsKey] != e.aclName() || config[defaultActions[1]] != "allow" {
		t.Errorf("the network has %v", config)
	}
	// Changes by others are detected and reverted.
	if err := c.detachACL(ctx, testBridge, e.aclName()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, network()); diff != "" {
		t.Errorf("the network (-before +after):\n%s", diff)
	}
	if got, err := e.Ingress(ctx); err != nil || len(got.Ports) > 0 {
		t.Errorf("rules that are not attached: %v (%v)", got, err)
	}
	theirs := testBridge + "-theirs"
	if _, err := top.do(ctx, http.MethodPost, "/1.0/network-acls", nil, api.NetworkACLsPost{
		NetworkACLPost: api.NetworkACLPost{Name: theirs}}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		err := c.changeNetwork(ctx, testBridge, func(config map[string]string) bool {
			delete(config, aclsKey)
			delete(config, defaultActions[0])
			return true
		})
		if _, err2 := top.do(ctx, http.MethodDelete, aclPath(theirs), nil, nil); err != nil || err2 != nil {
			t.Error(err, err2)
		}
	}()
	if err := c.changeNetwork(ctx, testBridge, func(config map[string]string) bool {
		config[aclsKey], config[defaultActions[0]] = theirs, "allow"
		return true
	}); err != nil {
		t.Fatal(err)
	}
	before = network()
	if err := e.SetIngress(ctx, rules); err != nil {
		t.Fatal(err)
	}
	if config := network(); config[aclsKey] != theirs+","+e.aclName() || config[defaultActions[1]] != "" {
		t.Errorf("the network has %v", config)
	}
	if got, err := e.Ingress(ctx); err != nil || !got.Equal(rules.Normal()) {
		t.Errorf("rules after they were attached again: %v (%v)", got, err)
	}
	if err := c.remove(ctx, inst.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := e.Ingress(ctx); err != nil || !got.Equal(rules.Normal()) {
		t.Errorf("rules of a removed container: %v (%v)", got, err)
	}
	if err := e.StopInstances(ctx, inst.ID); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, network()); diff != "" {
		t.Errorf("the network (-before +after):\n%s", diff)
	}
}

// LXD can't filter networks that it does not manage.
func TestFirewallNeedsABridge(t *testing.T) {
	networks := map[string]api.Network{
		"lxdbr0": {Name: "lxdbr0", Type: "bridge", Managed: true}, "br0": {Name: "br0", Type: "bridge"},
		"ovn0": {Name: "ovn0", Type: "ovn", Managed: true},
	}
	for name, ok := range map[string]bool{"lxdbr0": true, "br0": false, "ovn0": false, "eth7": false} {
		for _, key := range []string{"network", "parent"} {
			found, err := bridges(map[string]map[string]string{"eth0": {"type": "nic", key: name}, "root": {"type": "disk"}},
				networks)
			if ok != (err == nil && len(found) == 1) || !ok && (!errors.Is(err, entity.NotSupported) ||
				!strings.Contains(err.Error(), name)) {
				t.Errorf("%s %s: %v, %v", key, name, found, err)
			}
		}
	}
}

func TestRulesOfAContainer(t *testing.T) {
	s := filterTarget{name: "c",
		addresses: []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("10.0.0.8"),
			netip.MustParseAddr("fd00::7")},
		networks: []api.Network{{NetworkPut: api.NetworkPut{Config: map[string]string{"ipv4.address": "10.0.0.1/2",
			"ipv6.address": "fd00::1/2"}}}}}
	reject := func(source, to, protocol, ports, state string) api.NetworkACLRule {
		return api.NetworkACLRule{Action: "reject", Source: source, Destination: to, Protocol: protocol, DestinationPort: ports,
			Description: "c", State: state}
	}
	const v4, v6 = "10.0.0.1/32,64.0.0.0/2,128.0.0.0/1", "fd00::1/128,::/1,8000::/2"
	open := []entity.PortRange{{From: 22, To: 80, Protocol: "tcp"}, {From: 1, To: 65535, Protocol: "udp"}}
	want := []api.NetworkACLRule{
		reject(v4, "10.0.0.7,10.0.0.8", "tcp", "1-21,81-65535", "enabled"),
		reject(v4, "10.0.0.7,10.0.0.8", "udp", "", "disabled"),
		reject(v6, "fd00::7", "tcp", "1-21,81-65535", "enabled"),
		reject(v6, "fd00::7", "udp", "", "disabled"),
	}
	rules := s.rules(open, nil, nil)
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(open, opened(rules, nil)); diff != "" {
		t.Errorf("what they leave open (-want +got):\n%s", diff)
	}
	peers := []string{"64.0.0.0", "128.0.0.1", "8000::"}
	for _, rule := range s.rules(open, nil, peers) {
		for _, peer := range peers {
			for _, source := range list(rule.Source) {
				if netip.MustParsePrefix(source).Contains(netip.MustParseAddr(peer)) {
					t.Errorf("%s is rejected from %s", peer, source)
				}
			}
		}
	}
}

// The rules for what is open to networks leave each address what is open to it, whatever the networks are, and what they
// leave open to everyone is seen from the rules.
func TestRulesForNetworks(t *testing.T) {
	s := filterTarget{name: "c", addresses: []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("fd00::7")},
		networks: []api.Network{{NetworkPut: api.NetworkPut{Config: map[string]string{"ipv4.address": "10.0.0.1/24",
			"ipv6.address": "fd00::1/64"}}}}}
	networks := []string{"0.0.0.0/0", "::/0", "10.0.0.0/8", "10.0.0.0/24", "10.0.0.1/32", "10.1.0.0/16", "192.0.2.0/25", "2001:db8::/32", "fd00::/8"}
	addresses := []string{"10.0.0.1", "10.2.0.1", "10.1.2.3", "192.0.2.1", "192.0.2.200", "fd00::1", "fd01::1", "2001:db8::1", "2001:db9::"}
	port := func(n int) entity.PortRange { return entity.PortRange{From: n, To: n, Protocol: "tcp"} }
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var from []entity.PortsFrom
		for range random.IntN(6) {
			from = append(from, entity.PortsFrom{CIDR: networks[random.IntN(len(networks))],
				Ports: []entity.PortRange{port(80 + 2*random.IntN(4)), port(80 + 2*random.IntN(4))}})
		}
		given := provider.Ingress{Ports: map[string][]entity.PortRange{"c": {port(80)}}, From: map[string][]entity.PortsFrom{"c": from}}
		n := given.Normal()
		rules := s.rules(n.Ports["c"], n.From["c"], nil)
		if diff := cmp.Diff(n.Ports["c"], opened(rules, n.From["c"])); diff != "" {
			t.Errorf("seed %d: open to everyone (-want +got):\n%s", seed, diff)
		}
		for _, text := range addresses {
			address := netip.MustParseAddr(text)
			for _, p := range []int{22, 80, 82, 84, 86, 88} {
				want := p == 22 || p == 80
				for _, f := range from {
					if netip.MustParsePrefix(f.CIDR).Contains(address) && slices.Contains(f.Ports, port(p)) {
						want = true
					}
				}
				got := true
				for _, r := range rules {
					for _, source := range list(r.Source) {
						if r.Protocol == "tcp" && netip.MustParsePrefix(source).Contains(address) &&
							slices.ContainsFunc(parsePortList(r.DestinationPort, "tcp"), port(p).Conflicts) {
							got = false
						}
					}
				}
				if got != want {
					t.Fatalf("seed %d: %v reaches port %d: %v, with %v", seed, address, p, got, from)
				}
			}
		}
	}
}
