package local

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"juju/agent/host/process"
)

// addresses is the content of addresses.json.
type addresses struct {
	Blocks []netip.Prefix `json:"blocks"` // each 127.x.y.0/24
	Last   netip.Addr     `json:"last"`   // the last address allocated
}

// allocate returns a loopback address that no instance has, preferring the least recently used. The
// caller must hold the lock.
func (c *Cloud) allocate() (string, error) {
	path := filepath.Join(c.config.Dir, "addresses.json")
	var pool addresses
	if err := readJSON(path, &pool); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	living, err := c.list("")
	if err != nil {
		return "", err
	}
	used := map[string]bool{}
	for _, inst := range living {
		used[inst.Address] = true
	}
	free := func(a netip.Addr) bool { return !used[a.String()] && bindable(a) }

	address, ok := pool.next(free)
	if !ok {
		block, err := newBlock(c.config.Controller, pool.Blocks)
		if err != nil {
			return "", err
		}
		pool.Blocks = append(pool.Blocks, block)
		if address, ok = pool.next(free); !ok {
			return "", fmt.Errorf("cannot bind any address of %v: each machine needs its own loopback address", block)
		}
	}
	pool.Last = address
	return address.String(), writeJSON(path, pool)
}

// next returns the first free address after Last, wrapping around all blocks.
func (p addresses) next(free func(netip.Addr) bool) (netip.Addr, bool) {
	var all []netip.Addr // those after Last first
	for _, late := range []bool{true, false} {
		after := !p.Last.IsValid()
		for _, block := range p.Blocks {
			for a := block.Addr().Next(); block.Contains(a.Next()); a = a.Next() {
				if after == late {
					all = append(all, a)
				}
				after = after || a == p.Last
			}
		}
	}
	for _, a := range all {
		if free(a) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// bindable reports whether a server could listen on the address.
func bindable(a netip.Addr) bool {
	l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// newBlock chooses a block of 254 addresses on which nothing listens, and which no instance of this
// user's other controllers uses. The order of candidates depends on the controller, so that
// controllers of different users, which can't see each other, rarely choose the same block.
func newBlock(controller string, have []netip.Prefix) (netip.Prefix, error) {
	taken := map[netip.Prefix]bool{}
	for _, block := range have {
		taken[block] = true
	}
	marks, err := process.Marks(AddressVariable)
	if err != nil {
		return netip.Prefix{}, err
	}
	for _, mark := range marks {
		if a, err := netip.ParseAddr(mark); err == nil && a.Is4() {
			taken[blockOf(a)] = true
		}
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/udp"} {
		for _, a := range listeners(table) {
			taken[blockOf(a)] = true
		}
	}
	// 127.0 to 127.15 are reserved for the host: resolvers etc.
	for try := range 10000 {
		h := fnv.New32a()
		fmt.Fprintf(h, "%s %d", controller, try)
		sum := h.Sum32()
		block := blockOf(netip.AddrFrom4([4]byte{127, byte(16 + sum%235), byte(sum >> 16), 0}))
		if !taken[block] {
			return block, nil
		}
	}
	return netip.Prefix{}, errors.New("cannot find a free block of loopback addresses")
}

func blockOf(a netip.Addr) netip.Prefix {
	return netip.PrefixFrom(a, 24).Masked()
}

// listeners returns the local addresses in one of the kernel's socket tables; none if it can't be read,
// because the caller also checks by binding.
func listeners(table string) []netip.Addr {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer f.Close()
	var all []netip.Addr
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var slot, local string
		if _, err := fmt.Sscan(lines.Text(), &slot, &local); err != nil || len(local) < 9 || local[8] != ':' {
			continue
		}
		b, err := hex.DecodeString(local[:8])
		if err != nil {
			continue
		}
		// The kernel prints the address as a number in the host's byte order.
		if nativeIsBig {
			all = append(all, netip.AddrFrom4([4]byte(b)))
		} else {
			all = append(all, netip.AddrFrom4([4]byte{b[3], b[2], b[1], b[0]}))
		}
	}
	return all
}

// nativeIsBig reports whether this host is big-endian.
var nativeIsBig = binary.NativeEndian.Uint16([]byte{1, 0}) == 256
