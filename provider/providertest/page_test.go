package providertest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"juju/state/constraints"
)

var update = flag.Bool("update", false, "regenerate doc/providers.md")

// The page on providers has what the suite tests, and the clouds' own profiles.
func TestProvidersPage(t *testing.T) {
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

// A profile has every constraint, and skips only cases that exist.
func TestProfilesAreComplete(t *testing.T) {
	var names []string
	for _, c := range cases {
		names = append(names, c.name)
		if !strings.HasSuffix(c.sentence, ".") {
			t.Errorf("case %s has no sentence", c.name)
		}
	}
	if text := page(Profile{Skips: map[string]string{cases[0].name: "it can't"}}); !strings.Contains(text, "| no: it can't |") {
		t.Errorf("a case that is skipped is not shown:\n%s", text)
	}
	for _, p := range []Profile{Local, LXD, Dummy} {
		if keys := slices.Sorted(maps.Keys(p.Constraints)); !slices.Equal(keys, constraints.Keys()) {
			t.Errorf("%s says what these constraints do: %q, want all: %q", p.Cloud, keys, constraints.Keys())
		}
		for name, why := range p.Skips {
			if !slices.Contains(names, name) || why == "" {
				t.Errorf("%s skips %q because %q", p.Cloud, name, why)
			}
		}
	}
}

const pageHead = `# Providers

What each cloud does, for operators who choose one and engineers who write one. This page is generated from the
conformance tests that every cloud must pass (` + "`provider/providertest`, `make docs`" + `): the first two tables are what they
check; ` + "`lxd`" + ` is tested on a real LXD. ` + "`dummy`" + ` is a cloud for tests. Manual machines (` + "`juju add-machine ssh:HOST`" + `)
belong to no cloud: nothing starts or stops them, and they are used as they are. With nftables, the host's agent closes
the ports that units there have opened and no one has exposed, and no others; it passes the same firewall tests as a
cloud (` + "`worker/firewaller/nftables`" + `). Without the command ` + "`nft`" + ` they stay open, and ` + "`juju expose`" + ` names the host.

## What every cloud does

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
	b.WriteString("\n## What constraints do\n\n")
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
		said func(Said) string
	}{
		{"a machine", func(s Said) string { return s.Machine }},
		{"series", func(s Said) string { return s.Series }},
		{"placements (zones)", func(s Said) string { return s.Placement }},
		{"storage", func(s Said) string { return s.Storage }},
		{"unopened ports", func(s Said) string { return s.Ports }},
		{"containers on machines", func(s Said) string { return s.Containers }},
	} {
		row(r.what, func(p Profile) string { return r.said(p.Said) })
	}
	return b.String()
}
