package state_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"juju/state/statetest"
)

// simSizes returns the number of runs, and of steps in each. JUJU_SOAK_STEPS
// sets the total number of steps.
func simSizes(t *testing.T) (seeds, steps int) {
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		seeds, steps = 20, 50_000
	case testing.Short():
		seeds, steps = 2, 200
	default:
		seeds, steps = 3, 800
	}
	if n, err := strconv.Atoi(os.Getenv("JUJU_SOAK_STEPS")); err == nil {
		steps = max(1, n/seeds)
	}
	if os.Getenv("JUJU_SIM_SEED") != "" {
		seeds = 1
	}
	return seeds, steps
}

// simFirst returns the first of the seeds.
func simFirst() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("JUJU_SIM_SEED"), 10, 64); err == nil {
		return n
	}
	return uint64(time.Now().UnixNano() % 1e9)
}

// Whatever users, agents, clouds and machines do, state does what the reference
// model does. Once all have acted, or force was used, nothing is left that is
// ending. JUJU_SIM_SEED=n runs a single seed, JUJU_SIM_STORY=1 prints all that
// led to a failure.
func TestStateMatchesTheReferenceModel(t *testing.T) {
	seeds, steps := simSizes(t)
	first := simFirst()
	total := newRowCounts()
	t.Run("seeds", func(t *testing.T) {
		for i := range uint64(seeds) {
			t.Run(strconv.FormatUint(first+i, 10), func(t *testing.T) {
				if os.Getenv("JUJU_SOAK") != "" {
					t.Parallel()
				}
				simulate(t, first+i, steps, total)
			})
		}
	})
	t.Logf("lowest counts:\n%s", strings.Join(total.lowest(10), "\n"))
	whole := os.Getenv("JUJU_SOAK") != "" && os.Getenv("JUJU_SOAK_STEPS") == "" && os.Getenv("JUJU_SIM_SEED") == ""
	if row, n := total.fewest(); whole && n < 100 {
		t.Errorf("%s was hit %d times, want 100", row, n)
	}
}

// The same holds where the store has no transactions of its own.
func TestStateMatchesTheReferenceModelWithMgoTxn(t *testing.T) {
	if os.Getenv(statetest.StoreVariable) != "" {
		t.Skip("the tests run on another store")
	}
	t.Setenv(statetest.StoreVariable, "standalone")
	_, steps := simSizes(t)
	simulate(t, simFirst(), steps/4, newRowCounts())
}

// simulate is one run: a series of models, each of which ends with an empty
// database.
func simulate(t *testing.T, seed uint64, steps int, total *rowCounts) {
	s := newSim(t, seed)
	s.cover = newRowCounts()
	s.cover.follow(s.model)
	begin := time.Now()
	for s.steps < steps {
		if err := s.life(min(2000, steps-s.steps)); err != nil {
			t.Fatalf("JUJU_SIM_SEED=%d: %v\n%s", seed, err, strings.Join(s.story, "\n"))
		}
	}
	t.Logf("%d steps, %.0f a second", s.steps, float64(s.steps)/time.Since(begin).Seconds())
	total.add(s.cover)
}
