package bundles_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
)

// randomBundle writes a bundle of the shop's charms. It may be invalid.
func randomBundle(r *rand.Rand) string {
	var b strings.Builder
	one := func(words ...string) string { return words[r.IntN(len(words))] }
	var names, webs, stores []string
	b.WriteString("applications:\n")
	used := map[string]bool{}
	count := 1 + r.IntN(5)
	for i := range count {
		charm := one("web", "web", "store", "store", "log")
		name := fmt.Sprintf("%s-%c", charm, 'a'+i)
		fmt.Fprintf(&b, "  %s:\n    charm: ./%s\n", name, charm)
		if charm == "log" {
			webs = append(webs, "") // some relation may be with it
			continue
		}
		units := r.IntN(4)
		fmt.Fprintf(&b, "    num_units: %d\n    to: [", units)
		for range r.IntN(units + 1) {
			to := one("new", "0", "1", "7")
			if len(names) > 0 && r.IntN(3) == 0 {
				to = one(names...) + one("", "/0", "/1")
			}
			used[to] = true
			fmt.Fprintf(&b, "%q, ", to)
		}
		b.WriteString("]\n")
		fmt.Fprintf(&b, "    annotations: {a: %s}\n    constraints: %s\n", one("x", "y z"),
			one("", "mem=1G", "cores=2 mem=512M"))
		switch r.IntN(3) {
		case 0:
			b.WriteString("    expose: true\n")
		case 1:
			fmt.Fprintf(&b, "    exposed-endpoints: {%s: {expose-to-cidrs: [%s]}}\n", one(`""`, map[string]string{"web": "site", "store": "db"}[charm]),
				one("0.0.0.0/0", "10.0.0.0/8, 192.0.2.0/24"))
		}
		if charm == "web" {
			fmt.Fprintf(&b, "    options: {title: %q, port: %d, ratio: %v, debug: %v}\n", one("", "a: b", "Ünïcode\n"),
				r.IntN(3)+79, r.Float64(), r.IntN(2) == 0)
			webs = append(webs, name)
		} else {
			stores = append(stores, name)
		}
		names = append(names, name)
	}
	b.WriteString("machines:\n  # none\n")
	for _, id := range []string{"0", "1", "7"} {
		if used[id] {
			fmt.Fprintf(&b, "  %q: {constraints: %q, annotations: {rack: %q}}\n", id, one("", "mem=2G"), one("", "b"))
		}
	}
	b.WriteString("relations:\n")
	for _, web := range webs {
		for _, store := range stores {
			if web != "" && r.IntN(2) == 0 {
				fmt.Fprintf(&b, "- [%s, %s]\n", web, store)
			}
		}
	}
	return b.String()
}

// Any bundle that can be deployed is there afterwards, and can be exported and deployed to another
// model, which is then the same.
func TestRandomBundlesMakeRoundTrips(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	file := clitest.Shop(t)
	dir := filepath.Dir(file)
	repo := filepath.Join(t.TempDir(), "[repo]*") // no pattern
	for _, name := range []string{"web", "store", "log"} {
		if err := os.CopyFS(filepath.Join(repo, "jammy", "my-"+name), os.DirFS(filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	exported, again := filepath.Join(dir, "exported.yaml"), filepath.Join(dir, "again.yaml")
	trips := 15
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		trips = 200
	case testing.Short():
		trips = 4
	}
	seed := rand.Uint64()
	deployed := 0
	for n := range 10 * trips {
		if deployed == trips {
			return
		}
		text := randomBundle(rand.New(rand.NewPCG(seed, uint64(n))))
		clitest.Write(t, file, text)
		u.NewModel(fmt.Sprintf("one-%d", n))
		one := u.State
		u.Types("deploy", file)
		if strings.Contains(u.Err.String(), "the provided bundle has the following errors:") {
			if status := u.Runs("status", "--format", "oneline"); status != "" {
				t.Errorf("what is invalid was deployed:\n%s\n%s", text, status)
			}
			continue
		}
		deployed++
		about := fmt.Sprintf("seed %d, %d:\n%s\n", seed, n, text)
		if u.Code != 0 {
			t.Fatalf("%sit cannot be deployed: %s", about, u.Err.String())
		}
		same := func(what string, args ...string) {
			t.Helper()
			if diff := u.Runs(append([]string{"diff-bundle", "--annotations"}, args...)...); diff != "{}\n" {
				t.Fatalf("%s%s differs:\n%s", about, what, diff)
			}
			if more := u.Runs(append([]string{"deploy"}, args...)...); more != "" {
				t.Fatalf("%s%s, deployed again, changes\n%s", about, what, more)
			}
		}
		same("the bundle", file)
		u.Runs("export-bundle", "--filename", exported)
		same("the export", exported)
		u.NewModel(fmt.Sprintf("two-%d", n))
		u.Runs("deploy", exported, "--repository", repo)
		same("the export, in another model", exported, "--repository", repo)
		u.Runs("export-bundle", "--filename", again)
		u.State = one
		same("the export of the other model, in the first", again, "--repository", repo)
	}
	t.Errorf("seed %d: only %d bundles were valid", seed, deployed)
}
