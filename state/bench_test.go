package state_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// units is how many units the benchmarks of scale add. $JUJU_BENCH_UNITS
// overrides it.
func units() int {
	if n, err := strconv.Atoi(os.Getenv("JUJU_BENCH_UNITS")); err == nil {
		return n
	}
	return 10000
}

// deployed returns a service without units, and its model.
func deployed(b *testing.B) (*state.State, *state.Service) {
	b.Helper()
	_, st := statetest.Controller(b)
	s, err := st.AddService(b.Context(), state.AddServiceParams{Name: "mysql",
		CharmURL: statetest.Charm(b, st, statetest.MySQL)})
	if err != nil {
		b.Fatal(err)
	}
	return st, s
}

// BenchmarkAddUnits measures `add-unit -n 10000`.
func BenchmarkAddUnits(b *testing.B) {
	n := units()
	for range b.N {
		b.StopTimer()
		_, s := deployed(b)
		b.StartTimer()
		begin := time.Now()
		if _, err := s.AddUnits(b.Context(), n, nil); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n)/time.Since(begin).Seconds(), "units/s")
	}
}

// BenchmarkAddUnitsOnASet measures `add-unit -n 1000` on a simulated replica set, whose members take 1 ms for each command
// and 15 ms until a write has reached the majority.
func BenchmarkAddUnitsOnASet(b *testing.B) {
	const n = 1000
	for range b.N {
		b.StopTimer()
		set := mongotest.NewSet(b, 3)
		set.RoundTrip, set.Majority = time.Millisecond, 15*time.Millisecond
		st := onSet(b, set)
		s, err := st.AddService(b.Context(), state.AddServiceParams{Name: "mysql", CharmURL: statetest.Charm(b, st, statetest.MySQL)})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		begin := time.Now()
		if _, err := s.AddUnits(b.Context(), n, nil); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n)/time.Since(begin).Seconds(), "units/s")
	}
}

// BenchmarkNthUnit measures what the 10,000th unit costs, relative to the
// 100th.
func BenchmarkNthUnit(b *testing.B) {
	n := units()
	for range b.N {
		_, s := deployed(b)
		many := func(count int) {
			if _, err := s.AddUnits(b.Context(), count, nil); err != nil {
				b.Fatal(err)
			}
		}
		some := func() time.Duration { // one at a time
			begin := time.Now()
			for range 100 {
				many(1)
			}
			return time.Since(begin) / 100
		}
		many(100)
		early := some()
		many(n - 300)
		late := some()
		b.ReportMetric(float64(early.Microseconds()), "us/100th")
		b.ReportMetric(float64(late.Microseconds()), "us/"+fmt.Sprint(n)+"th")
		b.ReportMetric(float64(late)/float64(early), "ratio")
	}
}

// BenchmarkDestroyService measures how long a service of 10,000 units takes to
// go, from its destruction until nothing of it is left, with eight agents at a
// time.
func BenchmarkDestroyService(b *testing.B) {
	n := units()
	for range b.N {
		b.StopTimer()
		st, s := deployed(b)
		names, err := s.AddUnits(b.Context(), n, nil)
		if err != nil {
			b.Fatal(err)
		}
		agents(b, names, func(name string) error {
			u, err := st.Unit(b.Context(), name)
			if err != nil {
				return err
			}
			return u.SetAgentStatus(b.Context(), entity.Status{Status: entity.StatusIdle})
		})
		b.StartTimer()
		begin := time.Now()
		if err := s.Destroy(b.Context(), entity.Destruction{}); err != nil {
			b.Fatal(err)
		}
		agents(b, names, func(name string) error {
			u, err := st.Unit(b.Context(), name)
			if err == nil {
				err = u.DestroySelf(b.Context())
			}
			if err == nil {
				err = u.EnsureDead(b.Context())
			}
			if err == nil {
				err = u.Remove(b.Context())
			}
			return err
		})
		b.ReportMetric(float64(n)/time.Since(begin).Seconds(), "units/s")
		if left, _, err := st.Cleaner().Cleanup(b.Context()); err != nil || left > 0 {
			b.Fatal(left, err)
		}
		counts, err := st.Counts(b.Context())
		if err != nil || counts["units"]+counts["services"]+counts["cleanups"]+counts["settings"] > 0 {
			b.Fatal(counts, err)
		}
	}
}

// BenchmarkAssertOneDocument runs a thousand transactions that assert one
// document and change others. The document's queue stays short, and the last
// transaction costs as much as the first.
func BenchmarkAssertOneDocument(b *testing.B) {
	for range b.N {
		_, st := statetest.Controller(b)
		hundred := func() time.Duration {
			begin := time.Now()
			for range 100 {
				if _, err := st.AddMachine(b.Context(), state.AddMachineParams{}); err != nil { // asserts the model
					b.Fatal(err)
				}
			}
			return time.Since(begin)
		}
		first := hundred()
		for range 8 {
			hundred()
		}
		last := hundred()
		longest, err := st.LongestQueue(b.Context())
		if err != nil || longest > 10 {
			b.Fatalf("a queue of %d, %v", longest, err)
		}
		b.ReportMetric(float64(longest), "longest-queue")
		b.ReportMetric(float64(last)/float64(first), "ratio")
	}
}

// BenchmarkChurn measures what an hour of deploying and removing, compressed,
// leaves behind in a controller that prunes finished transactions.
func BenchmarkChurn(b *testing.B) {
	_, st := statetest.Controller(b)
	url := statetest.Charm(b, st, statetest.Riak)
	begin := time.Now()
	for i := range b.N {
		s, err := st.AddService(b.Context(), state.AddServiceParams{Name: "riak", CharmURL: url, Units: 2})
		if err == nil {
			err = s.Destroy(b.Context(), entity.Destruction{Strength: entity.Force})
		}
		for left := 1; err == nil && left > 0; {
			left, _, err = st.Cleaner().Cleanup(b.Context())
		}
		machines, merr := st.Machines(b.Context())
		for _, m := range machines {
			if merr == nil {
				merr = m.Destroy(b.Context(), entity.Destruction{})
			}
		}
		if i%50 == 49 && err == nil {
			_, err = st.Transactions().PruneTransactions(b.Context(), 0)
		}
		if err != nil || merr != nil {
			b.Fatal(err, merr)
		}
	}
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "cycles/s")
	if _, err := st.Transactions().PruneTransactions(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	counts, err := st.Counts(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []string{"txns", "txns.stash", "txns.log"} {
		b.ReportMetric(float64(counts[c]), c)
	}
}

// agents runs duty for every unit, on eight goroutines.
func agents(b *testing.B, names []string, duty func(string) error) {
	b.Helper()
	errs := make(chan error)
	const at = 8
	for i := range at {
		go func() {
			for j := i; j < len(names); j += at {
				if err := duty(names[j]); err != nil {
					errs <- fmt.Errorf("%s: %w", names[j], err)
					return
				}
			}
			errs <- nil
		}()
	}
	for range at {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
}
