package state_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// testSeed returns and logs the seed of a random test. JUJU_SIM_SEED=n sets it, to
// repeat a failure.
func testSeed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("JUJU_SIM_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("JUJU_SIM_SEED=%d", seed)
	return seed
}
