package state_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// stories are tests that together do what users do, and what watches and many at
// once ask of a store.
const stories = "^Test(AServiceGoes|AUnitWhoseAgent|AMachineWithUnits|TheLastManager|ARelationGoes|TwoRelations|ASubordinateComes|" +
	"ManyUnitsAre|AHookCommits|ResolvingA|CharmsAreKept|ModelsAreMade|AModelGoes|WatchesMissNothing|WhateverHappensAtOnce)"

// TestOnTheAdapter runs some of this package's tests on a store that is reached as
// a MongoDB is. JUJU_TEST_STORE=adapter go test ./state runs all of them so.
func TestOnTheAdapter(t *testing.T) {
	t.Parallel()
	if n := runOn(t, "adapter", "-test.run", stories, "-test.short"); n < 15 {
		t.Errorf("%d tests were run, want 15 at least: do the stories have other names now?", n)
	}
}

// TestOnAMongoDB runs all tests of this package on a real MongoDB, if there is one.
func TestOnAMongoDB(t *testing.T) {
	if os.Getenv(statetest.StoreVariable) != "" {
		t.Skip("it is what runs these tests")
	}
	address := mongotest.FindMongod(t).Start(t)
	args := []string{"-test.parallel=1"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	runOn(t, "mongodb://"+address, args...)
}

// runOn runs tests of this package on another store and returns how many there were.
func runOn(t *testing.T, store string, args ...string) int {
	t.Helper()
	if os.Getenv(statetest.StoreVariable) != "" {
		t.Skip("it is what runs these tests")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, append(args, "-test.v")...)
	cmd.Env = append(os.Environ(), statetest.StoreVariable+"="+store)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("on %s: %v\n%s", store, err, out)
	}
	return len(regexp.MustCompile(`(?m)^--- PASS: `).FindAll(out, -1))
}
