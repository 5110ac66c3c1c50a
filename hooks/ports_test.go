package hooks

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/limits"
)

// Whatever a hook does to its ports, it then sees what state has after the commit, and no two
// ranges on the machine overlap.
func TestPortBufferAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		before := []entity.PortRange{{From: 1, To: 2, Protocol: "tcp"}, {From: 4, To: 4, Protocol: "udp"}}
		others := []entity.PortRange{{From: 8, To: 9, Protocol: "tcp"}}
		b := newPortBuffer("me/0", map[string][]entity.PortRange{"me/0": before, "you/0": others})
		for range 20 {
			from := 1 + random.IntN(10)
			r := entity.PortRange{From: from, To: from + random.IntN(3), Protocol: []string{"tcp", "udp"}[random.IntN(2)]}
			was := slices.Clone(b.mine.Ranges())
			if random.IntN(2) == 0 {
				_, clash := conflicting(r, append(slices.Clone(was), others...))
				if err := b.openRange(r); (err == nil) != (!clash || slices.Contains(was, r)) {
					t.Fatalf("seed %d: open %v with %v: %v", seed, r, was, err)
				}
			} else if _, clash := conflicting(r, was); (b.closeRange(r) == nil) != (!clash || slices.Contains(was, r)) {
				t.Fatalf("seed %d: close %v with %v", seed, r, was)
			}
			after := slices.DeleteFunc(slices.Clone(before), func(r entity.PortRange) bool { return b.close[r] })
			after = slices.SortedFunc(slices.Values(append(after, inOrder(b.open)...)), entity.ComparePorts)
			if !slices.Equal(after, b.mine.Ranges()) || len(after) != len(before)-len(b.close)+len(b.open) {
				t.Fatalf("seed %d: the hook sees %v, after the commit there are %v", seed, b.mine.Ranges(), after)
			}
			for i, r := range after {
				if with, clash := conflicting(r, append(slices.Clone(after[:i]), others...)); clash {
					t.Fatalf("seed %d: %v and %v are open", seed, r, with)
				}
			}
		}
	}
}

// conflicting returns the first of ranges that shares a port with r.
func conflicting(r entity.PortRange, ranges []entity.PortRange) (entity.PortRange, bool) {
	i := slices.IndexFunc(ranges, r.Conflicts)
	if i < 0 {
		return entity.PortRange{}, false
	}
	return ranges[i], true
}

// The number of open ranges is limited; closing one makes room.
func TestOpenRangesAreLimited(t *testing.T) {
	t.Parallel()
	b := newPortBuffer("me/0", nil)
	port := func(i int) entity.PortRange { return entity.PortRange{From: 1 + 2*i, To: 1 + 2*i, Protocol: "tcp"} }
	for i := range limits.UnitPorts.Max {
		if err := b.openRange(port(i)); err != nil {
			t.Fatal(err)
		}
	}
	one := port(limits.UnitPorts.Max)
	err := b.openRange(one)
	if entity.KindOf(err) != entity.Invalid ||
		!strings.Contains(err.Error(), "open port ranges of a unit: 1001 ranges, the limit is 1000") {
		t.Fatalf("one more: %v", err)
	}
	if err := errors.Join(b.openRange(port(3)), b.closeRange(port(0)), b.openRange(one)); err != nil {
		t.Error(err)
	}
}
