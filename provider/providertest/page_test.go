package providertest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"juju/doc/tools/verify"
	"juju/state/constraints"
)

var update = flag.Bool("update", false, "regenerate doc/providers.md")

// doc/providers.md is generated from the test cases and the profiles.
func TestProvidersPage(t *testing.T) {
	verify.Smoke(t)
	const path = "../../doc/providers.md"
	want := page(Local, LXD, Dummy)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != want {
		t.Fatalf("%s is out of date (%v); to regenerate it: go test ./provider/providertest -run %s -update",
			path, err, t.Name())
	}
}

// A profile covers every constraint, and skips only existing cases, with a reason.
func TestProfilesAreComplete(t *testing.T) {
	var names []string
	for _, c := range cases {
		names = append(names, c.name)
		if !strings.HasSuffix(c.sentence, ".") {
			t.Errorf("the sentence of case %s does not end with a full stop", c.name)
		}
	}
	if text := page(Profile{Skips: map[string]string{cases[0].name: "it can't"}}); !strings.Contains(text, "| no: it can't |") {
		t.Errorf("the page does not show a skipped case:\n%s", text)
	}
	for _, p := range []Profile{Local, LXD, Dummy} {
		if keys := slices.Sorted(maps.Keys(p.Constraints)); !slices.Equal(keys, constraints.Keys()) {
			t.Errorf("%s covers constraints %q, want %q", p.Cloud, keys, constraints.Keys())
		}
		for name, why := range p.Skips {
			if !slices.Contains(names, name) || why == "" {
				t.Errorf("%s skips %q because %q", p.Cloud, name, why)
			}
		}
	}
}

const pageHead = `# Providers

How clouds behave, for operators choosing one and engineers writing one. This page is generated from the conformance
tests that every cloud must pass (` + "`provider/providertest`, `make docs`" + `). The first two tables show what these tests
check; ` + "`lxd`" + ` is tested on a real LXD. ` + "`dummy`" + ` is a cloud for tests.

Manual machines (` + "`juju add-machine ssh:HOST`" + `) belong to no cloud: they are used as they are, and nothing starts or
stops them. With nftables, the host's agent closes ports that units there have opened but that are not exposed, and no
others; it passes the same firewall tests as clouds do (` + "`worker/firewaller/nftables`" + `). Without the command ` + "`nft`" + `
these ports stay open, and ` + "`juju expose`" + ` names the host.

## Behaviour of every cloud

`

func page(clouds ...Profile) string {
	var b strings.Builder
	b.WriteString(pageHead)
	head := func(first string) {
		fmt.Fprintf(&b, "| %s |", first)
		for _, p := range clouds {
			fmt.Fprintf(&b, " %s |", p.Cloud)
		}
		fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(clouds)))
	}
	row := func(first string, cell func(Profile) string) {
		fmt.Fprintf(&b, "| %s |", first)
		for _, p := range clouds {
			fmt.Fprintf(&b, " %s |", cell(p))
		}
		b.WriteString("\n")
	}
	head("behaviour")
	for _, c := range cases {
		row(c.sentence, func(p Profile) string {
			if why := p.Skips[c.name]; why != "" {
				return "no: " + why
			}
			return "yes"
		})
	}
	b.WriteString("\n## Effects of constraints\n\n")
	head("constraint")
	for _, key := range constraints.Keys() {
		row("`"+key+"`", func(p Profile) string {
			c := p.Constraints[key]
			if c.If == "" {
				return string(c.Effect)
			}
			return fmt.Sprintf("%s; if %s: %s", c.Effect, c.If, c.Otherwise)
		})
	}
	b.WriteString("\n## Other differences\n\nThis table is written by hand; the tests above check it only in part.\n\n")
	head("")
	for _, r := range []struct {
		what string
		note func(Notes) string
	}{
		{"a machine", func(n Notes) string { return n.Machine }},
		{"series", func(n Notes) string { return n.Series }},
		{"placements (zones)", func(n Notes) string { return n.Placement }},
		{"storage", func(n Notes) string { return n.Storage }},
		{"unopened ports", func(n Notes) string { return n.Ports }},
		{"containers on machines", func(n Notes) string { return n.Containers }},
	} {
		row(r.what, func(p Profile) string { return r.note(p.Notes) })
	}
	return b.String()
}
