// Package verify is what tests say about the checks that they are part of: `make smoke`, `make test` or `make verify`.
// A test is in `make test` unless it calls Only or Smoke.
package verify

import (
	"os"
	"testing"
	"time"
)

// Only skips the test unless `make verify` runs it. It is called first. The reason says why the test is in no other
// step: how a busy machine can fail it, or what it takes.
func Only(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("JUJU_VERIFY") == "" {
		t.Skip("only in make verify: " + reason)
	}
}

// Smoke marks a test of `make smoke`, which compares texts: help, generated files and documents, imports. It is called
// first. Where JUJU_SMOKED says that `make smoke` is a step of its own, the test is skipped.
func Smoke(t testing.TB) {
	t.Helper()
	if os.Getenv("JUJU_SMOKED") != "" {
		t.Skip("in make smoke")
	}
}

// NoRace skips a test that the race detector can't run: it runs programs that are built without it, or confines a
// process, which one with the race detector, and so with C, can't do.
func NoRace(t testing.TB) {
	t.Helper()
	if race {
		t.Skip("not with the race detector")
	}
}

// Patience is how long a test waits for what must happen. Waiting longer costs nothing unless the test fails, and a
// shorter wait fails on a busy machine. Where tests are to fail, as with a planted fault, JUJU_PATIENCE says how long, as "1m".
var Patience = patience()

func patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("JUJU_PATIENCE")); err == nil {
		return d
	}
	return 5 * time.Minute
}
