package hooks

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/limits"
)

// forAll returns ranges that are open for all endpoints.
func forAll(ranges ...entity.PortRange) (all []entity.EndpointPorts) {
	for _, r := range ranges {
		all = append(all, entity.EndpointPorts{PortRange: r})
	}
	return all
}

// Whatever a hook does to its ports, it then sees what state has after the commit, and no two
// ranges on the machine overlap.
func TestPortBufferAgainstModel(t *testing.T) {
	t.Parallel()
	charm := []string{"a", "b", "c"}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		before := map[entity.PortRange][]string{{From: 1, To: 2, Protocol: "tcp"}: nil, {From: 4, To: 4, Protocol: "udp"}: {"a", "c"}}
		others := []entity.PortRange{{From: 8, To: 9, Protocol: "tcp"}}
		var open []entity.EndpointPorts
		want := map[entity.PortRange][]string{} // what is open, for all of the charm's endpoints by name
		for r, names := range before {
			open = append(open, entity.EndpointPorts{PortRange: r, Endpoints: names})
			want[r] = charm
			if names != nil {
				want[r] = names
			}
		}
		b := newPortBuffer("me/0", map[string][]entity.EndpointPorts{"me/0": open, "you/0": forAll(others...)})
		for range 20 {
			from := 1 + random.IntN(10)
			r := entity.PortRange{From: from, To: from + random.IntN(3), Protocol: []string{"tcp", "udp"}[random.IntN(2)]}
			names := [][]string{nil, {"a"}, {"b", "a"}, {"c"}}[random.IntN(4)]
			these := charm
			if names != nil {
				these = names
			}
			was := slices.Clone(b.mine.Ranges())
			if random.IntN(2) == 0 {
				_, clash := conflicting(r, append(slices.Clone(was), others...))
				err := b.openRange(r, names)
				if (err == nil) != (!clash || slices.Contains(was, r)) {
					t.Fatalf("seed %d: open %v with %v: %v", seed, r, was, err)
				}
				if err == nil {
					want[r] = sorted(append(slices.Clone(want[r]), these...))
				}
			} else if _, clash := conflicting(r, was); (b.closeRange(r, names, charm) == nil) != (!clash || slices.Contains(was, r)) {
				t.Fatalf("seed %d: close %v with %v", seed, r, was)
			} else if want[r] = slices.DeleteFunc(slices.Clone(want[r]), func(n string) bool { return slices.Contains(these, n) }); len(want[r]) == 0 {
				delete(want, r)
			}
			var changes entity.HookChanges
			b.addTo(&changes)
			after := maps.Clone(before)
			for _, r := range changes.ClosePorts {
				delete(after, r)
			}
			for _, r := range append(forAll(changes.OpenPorts...), changes.EndpointPorts...) {
				after[r.PortRange] = r.Endpoints
			}
			for r, names := range after {
				if names == nil {
					after[r] = charm
				}
			}
			ranges := slices.SortedFunc(maps.Keys(after), entity.ComparePorts)
			if !slices.Equal(ranges, b.mine.Ranges()) || !maps.EqualFunc(after, want, slices.Equal) {
				t.Fatalf("seed %d: the hook sees %v, after the commit there are %v, want %v", seed, b.mine.Ranges(), after, want)
			}
			for i, r := range ranges {
				if with, clash := conflicting(r, append(slices.Clone(ranges[:i]), others...)); clash {
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
		if err := b.openRange(port(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	one := port(limits.UnitPorts.Max)
	err := b.openRange(one, nil)
	if entity.KindOf(err) != entity.Invalid ||
		!strings.Contains(err.Error(), "open port ranges of a unit: 1001 ranges, the limit is 1000") {
		t.Fatalf("one more: %v", err)
	}
	if err := errors.Join(b.openRange(port(3), nil), b.closeRange(port(0), nil, nil), b.openRange(one, nil)); err != nil {
		t.Error(err)
	}
}
