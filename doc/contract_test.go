package doc_test

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// contractHead is how contract.md begins.
const contractHead = `# The contract with charms

What charms of Juju 3.6 and 4.0 rely on, and how it is kept here. Charms get the contract of Juju 3.6 for machines:
[charms.md](charms.md) describes it. Each row names the tests that show a promise to be kept, a folder and the name of a Go test,
or a script; or it says why the promise is decided otherwise here (*otherwise*), why it does not apply (*none*), or what is
*missing*. *No test* marks what the code is meant to keep, but no test checks. This page is generated from
[contract.txt](contract.txt): ` + "`make docs`" + `.

`

// Each line of contract.txt is a heading, or a row that names its group, and its tests exist. contract.md is generated from it.
func TestContract(t *testing.T) {
	verify.Smoke(t)
	text, err := os.ReadFile("contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`^## (\d[a-z]?) (.+)$`)
	other := regexp.MustCompile(`^(\d[a-z]?) ([^:]+): (.+): (otherwise|none|missing): (.+)$`)
	kept := regexp.MustCompile(`^(\d[a-z]?) ([^:]+): (.+): ([^:]+)$`)
	var page strings.Builder
	group, counts, seen := "", map[string]int{}, map[string]bool{}
	for n, l := range strings.Split(string(text), "\n") {
		if h := heading.FindStringSubmatch(l); h != nil {
			group = h[1]
			fmt.Fprintf(&page, "\n## %s\n\n| of | promise | kept by |\n|---|---|---|\n", h[2])
			continue
		}
		if l == "" || strings.HasPrefix(l, "# ") {
			continue
		}
		row, verdict := kept.FindStringSubmatch(l), ""
		if m := other.FindStringSubmatch(l); m != nil {
			row, verdict = m, m[4]
		}
		if row == nil || row[1] != group || strings.Contains(l, "|") {
			t.Errorf("contract.txt:%d: want group subject: promise: tests, or a reason, in group %q and without |; got %q", n+1, group, l)
			continue
		}
		if key := row[1] + row[2]; seen[key] {
			t.Errorf("contract.txt:%d: %s %s is there twice", n+1, row[1], row[2])
		} else {
			seen[key] = true
		}
		by := row[4]
		switch {
		case verdict != "":
			by = "*" + verdict + "*: " + row[5]
		case by == "no test":
			verdict, by = by, "*no test*"
		default:
			for _, test := range strings.Split(by, ", ") {
				if !isTest(t, test) {
					t.Errorf("contract.txt:%d: no test %q", n+1, test)
				}
			}
			by = "`" + strings.ReplaceAll(by, ", ", "`, `") + "`"
		}
		counts[cmp.Or(verdict, "kept")]++
		fmt.Fprintf(&page, "| %s | %s | %s |\n", row[2], row[3], by)
	}
	now := fmt.Sprintf("%s%d promises are kept with tests, %d without; %d are decided otherwise, %d do not apply, and %d are missing.\n%s",
		contractHead, counts["kept"], counts["no test"], counts["otherwise"], counts["none"], counts["missing"], page.String())
	if *update {
		if err := os.WriteFile("contract.md", []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile("contract.md"); err != nil || string(was) != now {
		t.Errorf("contract.md is not up to date (%v): run make docs", err)
	}
}
