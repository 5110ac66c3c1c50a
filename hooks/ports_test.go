package hooks

import (
	"math/rand/v2"
	"slices"
	"testing"

	"juju/state/entity"
)

// Whatever a hook does to its ports, what it then sees is what state has after
// the commit, and no two ranges of the machine overlap.
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
			was := slices.Clone(b.mine)
			if random.IntN(2) == 0 {
				_, clash := conflicting(r, append(slices.Clone(b.mine), others...))
				if err := b.openRange(r); (err == nil) != (!clash || slices.Contains(was, r)) {
					t.Fatalf("seed %d: open %v with %v: %v", seed, r, was, err)
				}
			} else if _, clash := conflicting(r, was); (b.closeRange(r) == nil) != (!clash || slices.Contains(was, r)) {
				t.Fatalf("seed %d: close %v with %v", seed, r, was)
			}
			after := slices.DeleteFunc(slices.Clone(before), func(r entity.PortRange) bool { return slices.Contains(b.close, r) })
			after = slices.SortedFunc(slices.Values(append(after, b.open...)), entity.ComparePorts)
			if !slices.Equal(after, b.mine) || len(after) != len(before)-len(b.close)+len(b.open) {
				t.Fatalf("seed %d: the hook sees %v, after the commit there are %v", seed, b.mine, after)
			}
			for i, r := range after {
				if with, clash := conflicting(r, append(slices.Clone(after[:i]), others...)); clash {
					t.Fatalf("seed %d: %v and %v are open", seed, r, with)
				}
			}
		}
	}
}
