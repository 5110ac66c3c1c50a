package state_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// stories matches tests that together cover what users do, watches, and concurrent
// changes.
const stories = "^Test(UnreferencedService|ServiceIsRemovedWith|UnstartedUnit|MachineWithUnits|LastManager|RelationIsRemovedBy|" +
	"TwoRelations|SubordinateLivesAndDies|AddAndRemoveManyUnits|HookCommits|ResolveFailedHook|CharmRevisions|AddModel$|" +
	"WatchesMissNothing|CountsStayTrue)"

// TestOnTheAdapter runs some of this package's tests on a store reached through the
// driver, as a MongoDB is. JUJU_TEST_STORE=adapter go test ./state runs all of them
// that way.
func TestOnTheAdapter(t *testing.T) {
	t.Parallel()
	runStories(t, "adapter")
}

// TestOnMongoDB runs all tests of this package on a real MongoDB, if there is one: on a replica set of one, whose
// transactions they use. Some also run on a standalone, which has none, so that mgo/txn's are used.
func TestOnMongoDB(t *testing.T) {
	verify.Only(t, "needs a MongoDB")
	if os.Getenv(statetest.StoreVariable) != "" {
		t.Skip("already running on another store")
	}
	mongod := mongotest.FindMongod(t)
	t.Run("set", func(t *testing.T) {
		var args []string
		if testing.Short() {
			args = append(args, "-test.short")
		}
		runOn(t, mongod.StartSet(t, 1), args...)
	})
	t.Run("standalone", func(t *testing.T) {
		runStories(t, "mongodb://"+mongod.Start(t))
	})
}

// runStories runs the tests that stories matches on another store.
func runStories(t *testing.T, store string) {
	t.Helper()
	if n := runOn(t, store, "-test.run", stories, "-test.short"); n < 15 {
		t.Errorf("%d tests ran, want at least 15: have the tests that stories matches been renamed?", n)
	}
}

// runOn runs tests of this package on another store and returns how many passed.
func runOn(t *testing.T, store string, args ...string) int {
	t.Helper()
	if os.Getenv(statetest.StoreVariable) != "" {
		t.Skip("already running on another store")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, release := mongotest.Leashed(t, self, append(args, "-test.v")...)
	cmd.Env = append(os.Environ(), statetest.StoreVariable+"="+store)
	stuck := time.AfterFunc(stall, func() { release.Close() })
	defer release.Close()
	defer stuck.Stop()
	var out progress
	out.passed = func(n int) {
		stuck.Reset(stall)
		if n%20 == 0 {
			t.Logf("%d tests have passed on %s", n, store)
		}
	}
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("on %s: %v\n%s", store, err, out.Bytes())
	}
	return len(regexp.MustCompile(`(?m)^--- PASS: `).FindAll(out.Bytes(), -1))
}

// stall is how long a store may take for one test: how long it needs for all of them depends on the machine.
var stall = 4 * verify.Patience

// A progress is what tests have printed. passed is called with their number when one more has passed.
type progress struct {
	bytes.Buffer
	n      int
	passed func(n int)
}

func (p *progress) Write(b []byte) (int, error) {
	for range bytes.Count(b, []byte("--- PASS: ")) {
		p.n++
		p.passed(p.n)
	}
	return p.Buffer.Write(b)
}
