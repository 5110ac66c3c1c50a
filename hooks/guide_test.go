package hooks

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"juju/charm"
)

// The generated parts of the guide for authors of charms are as the code says.
func TestGuide(t *testing.T) {
	const path = "../doc/charms.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var later strings.Builder
	later.WriteString("These came later. A charm that has none of them sees exactly the order above; in that of one " +
		"that " +
		"does,\nthey come besides:\n\n| event | when |\n|---|---|\n")
	for _, h := range charm.LaterHooks {
		name := h.Name
		if name[0] == '-' {
			name = "NAME" + name
		}
		fmt.Fprintf(&later, "| `%s` | %s |\n", name, strings.ToLower(h.Place[:1])+strings.TrimSuffix(h.Place[1:], "."))
	}
	var tools strings.Builder
	for _, name := range slices.Sorted(maps.Keys(commands())) {
		flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
		info := commands()[name]
		info.make().flags(flags)
		fmt.Fprintf(&tools, "### %s\n\n```\n%s```\n\n", name, info.help(name, flags))
	}
	got := string(text)
	for name, want := range map[string]string{"later hooks": later.String(), "hook tools": tools.String()} {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->"
		head, rest, ok := strings.Cut(got, begin)
		_, tail, ends := strings.Cut(rest, end)
		if !ok || !ends {
			t.Fatalf("%s has no part for the %s", path, name)
		}
		got = head + begin + "\n" + strings.TrimSpace(want) + "\n\n" + end + tail
	}
	if got == string(text) {
		return
	}
	if !*update {
		t.Errorf("%s is not up to date: run go test ./hooks -run TestGuide -update", path)
	} else if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}
