package porttable

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"juju/state/entity"
)

// A table gives the same answers as a linear search.
func TestPortTableAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		table := New(nil)
		var model []entity.PortRange
		for range 40 {
			from := 1 + random.IntN(40)
			r := entity.PortRange{from, from + random.IntN(4), []string{"tcp", "udp"}[random.IntN(2)]}
			if random.IntN(8) == 0 {
				r = entity.PortRange{-1, -1, "icmp"}
			}
			i := slices.IndexFunc(model, r.Conflicts)
			if _, conflict := table.Conflict(r); conflict != (i >= 0) {
				t.Fatalf("seed %d: %v conflicts: %v; the model has %v", seed, r, conflict, model)
			}
			if table.Has(r) != slices.Contains(model, r) {
				t.Fatalf("seed %d: has %v: %v; the model has %v", seed, r, table.Has(r), model)
			}
			switch {
			case i < 0:
				table.Add(r)
				model = append(model, r)
			case random.IntN(2) == 0:
				if table.Remove(r) != slices.Contains(model, r) {
					t.Fatalf("seed %d: removed %v of %v", seed, r, model)
				}
				model = slices.DeleteFunc(model, func(m entity.PortRange) bool { return m == r })
			}
			slices.SortFunc(model, entity.ComparePorts)
			if !slices.Equal(table.Ranges(), model) {
				t.Fatalf("seed %d: the table has %v, want %v", seed, table.Ranges(), model)
			}
		}
	}
}

// Opening 32,000 ports one by one compares only a few ranges each time, not
// all.
func TestPortTableReadsFew(t *testing.T) {
	t.Parallel()
	const n = 32_000
	table := New(nil)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		r := entity.PortRange{1 + 2*i, 1 + 2*i, "tcp"}
		if _, conflict := table.Conflict(r); conflict {
			t.Fatalf("%v conflicts", r)
		}
		table.Add(r)
	}
	// Twice for each port, to find it and to add it.
	if most := 2 * n * (bits.Len(n) + 1); table.looked > most {
		t.Errorf("%d ranges were compared for %d ports, want at most %d", table.looked, n, most)
	}
	if table = New(table.Ranges()); len(table.Ranges()) != n {
		t.Errorf("got %d ranges, want %d", len(table.Ranges()), n)
	}
}
