package hooks

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"juju/charm"
	"juju/doc/verify"
)

// The table of later hooks in the guide for charm authors is generated, and up to date.
func TestGuide(t *testing.T) {
	verify.Smoke(t)
	const path = "../doc/charms.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var later strings.Builder
	later.WriteString("These were added later. A charm without them sees exactly the order above; in a charm that has " +
		"them, they run\nin addition:\n\n| event | when |\n|---|---|\n")
	for _, h := range charm.LaterHooks {
		name := h.Name
		if name[0] == '-' {
			name = "NAME" + name
		}
		fmt.Fprintf(&later, "| `%s` | %s |\n", name, strings.ToLower(h.Place[:1])+strings.TrimSuffix(h.Place[1:], "."))
	}
	got := string(text)
	const begin, end = "<!-- generated: later hooks -->\n", "<!-- end -->"
	head, rest, ok := strings.Cut(got, begin)
	_, tail, ends := strings.Cut(rest, end)
	if !ok || !ends {
		t.Fatalf("%s has no part for the later hooks", path)
	}
	got = head + begin + "\n" + strings.TrimSpace(later.String()) + "\n\n" + end + tail
	if got == string(text) {
		return
	}
	if !*update {
		t.Errorf("%s is not up to date: run go test ./hooks -run TestGuide -update", path)
	} else if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}
