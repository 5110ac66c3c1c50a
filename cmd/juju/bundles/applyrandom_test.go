package bundles_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
)

// Declared models are applied one after the other to the same model, in which others change things too. What is refused
// changes nothing. Otherwise only what is to be removed differs afterwards, with --prune nothing does, and to apply it again
// changes nothing.
func TestRandomDeclaredModelsAreApplied(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	file := clitest.Shop(t)
	rounds := 30
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		rounds = 400
	case testing.Short():
		rounds = 8
	}
	seed := rand.Uint64()
	applied := 0
	for n := range 20 * rounds {
		if applied == rounds {
			return
		}
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		text := randomDeclared(r)
		clitest.Write(t, file, text)
		about := fmt.Sprintf("seed %d, %d:\n%s\n", seed, n, text)
		meddle(u, r)
		before := modelOf(u)
		u.Types("apply", file)
		if u.Code != 0 {
			if now := modelOf(u); now != before {
				t.Fatalf("%sit is refused, after it has changed\n%s\nto\n%s", about, before, now)
			}
			continue
		}
		applied++
		u.Types("diff", file)
		for _, line := range strings.Split(strings.TrimSpace(u.Out.String()), "\n") {
			if u.Code == 1 && line != "" && !strings.HasPrefix(line, "remove ") && !strings.HasPrefix(line, "ACTION ") &&
				!strings.Contains(line, " units: ") {
				t.Fatalf("%sit is applied, and differs:\n%s", about, u.Out.String())
			}
		}
		if more := u.Runs("apply", file); more != "" {
			t.Fatalf("%sapplied again, it changes\n%s", about, more)
		}
		removed := u.Runs("apply", file, "--prune")
		for _, line := range strings.Split(strings.TrimSpace(removed), "\n") {
			if line != "" && !strings.HasPrefix(line, "- remove ") && line != "Executing changes:" {
				t.Fatalf("%swith --prune it also changes\n%s", about, removed)
			}
		}
		u.Types("diff", file)
		if u.Code != 0 || u.Out.String() != "" {
			t.Fatalf("%swith --prune it differs, with exit code %d, after\n%s:\n%s%s", about, u.Code, removed, u.Out.String(), u.Err.String())
		}
		if more := u.Runs("apply", file, "--prune"); more != "" {
			t.Fatalf("%swith --prune, applied again, it changes\n%s", about, more)
		}
	}
	t.Errorf("seed %d: only %d of the declared models could be applied", seed, applied)
}

// randomDeclared is randomBundle, but does not say everything of its services.
func randomDeclared(r *rand.Rand) string {
	var kept []string
	for _, line := range strings.SplitAfter(randomBundle(r), "\n") {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if key != "options" && key != "annotations" && key != "constraints" || r.IntN(3) > 0 {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// meddle changes something in the model by other commands. Some of them may fail.
func meddle(u *realtest.User, r *rand.Rand) {
	u.T.Helper()
	name := []string{"web", "store", "log"}[r.IntN(3)] + "-" + string(rune('a'+r.IntN(5)))
	lines := []string{"add-unit " + name, "expose " + name, "expose " + name + " --to-cidrs 10.0.0.0/8",
		"expose web-a --endpoints site --to-cidrs 10.0.0.0/8", "config " + name + " title=other port=7", "add-machine",
		"set-constraints " + name + " mem=3G", "destroy-unit " + name + "/0", "destroy-machine 0", "add-relation web-a store-b"}
	for range r.IntN(3) {
		u.Types(strings.Fields(lines[r.IntN(len(lines))])...)
	}
}

// modelOf returns the status of the model, without the time of asking for it.
func modelOf(u *realtest.User) string {
	u.T.Helper()
	status := u.Runs("status", "--format", "yaml")
	return status[:strings.LastIndex(status, "timestamp:")]
}
