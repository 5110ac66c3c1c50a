package local

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"

	"juju/provider"
)

// An address is not allocated again while its instance exists, nor soon afterwards: not after a
// restart of the controller, and not to another controller.
func TestAddresses(t *testing.T) {
	t.Parallel()
	h, other := newHost(t, newController()), newHost(t, newController())
	seen := map[string]bool{}
	take := func(h *host, machine string) provider.Instance {
		t.Helper()
		inst := h.start(h.environ(h.cloud()), machine)
		a := netip.MustParseAddr(inst.Addresses[0])
		if !a.IsLoopback() || seen[a.String()] {
			t.Errorf("machine %s got %v, want a new loopback address", machine, a)
		}
		seen[a.String()] = true
		return inst
	}
	first := take(h, "0")
	take(h, "1")
	take(other, "0")
	if err := h.environ(h.cloud()).StopInstances(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	take(h, "2")

	// No block begins at an address on which something listens.
	listener := netip.MustParseAddr("127.99.98.97")
	l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(listener, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !slices.Contains(listeners("/proc/net/tcp"), listener) {
		t.Errorf("the listener on %v is not found", listener)
	}
}

func TestAddressesWithinBlocks(t *testing.T) {
	block := func(s string) netip.Prefix { return netip.MustParsePrefix(s) }
	used := map[string]bool{}
	free := func(a netip.Addr) bool { return !used[a.String()] }
	pool := addresses{Blocks: []netip.Prefix{block("127.20.1.0/24"), block("127.20.7.0/24")}}
	var all []string
	for {
		a, ok := pool.next(free)
		if !ok {
			break
		}
		pool.Last = a
		used[a.String()] = true
		all = append(all, a.String())
	}
	if len(all) != 508 || all[0] != "127.20.1.1" || all[253] != "127.20.1.254" || all[254] != "127.20.7.1" ||
		all[507] != "127.20.7.254" {
		t.Errorf("got %d addresses: %v", len(all), all)
	}
	delete(used, "127.20.1.9")
	if a, ok := pool.next(free); !ok || a.String() != "127.20.1.9" {
		t.Errorf("got %v, %v, want the released one", a, ok)
	}
	pool.Last = netip.MustParseAddr("127.20.1.9")
	delete(used, "127.20.1.3")
	delete(used, "127.20.7.3")
	used["127.20.1.9"] = true
	if a, ok := pool.next(free); !ok || a.String() != "127.20.7.3" {
		t.Errorf("got %v, %v, want the next one after the last", a, ok)
	}
}

// Controllers choose blocks in different orders, and never choose one that they already have.
func TestNewBlock(t *testing.T) {
	one, err := newBlock("one", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newBlock("one", nil)
	second, err2 := newBlock("one", []netip.Prefix{one})
	other, err3 := newBlock("two", nil)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if again != one || second == one || other == one || one.Bits() != 24 {
		t.Errorf("got blocks %v, %v, %v, %v", one, again, second, other)
	}
}
