package hooks

import (
	"fmt"
	"strings"
	"testing"

	"juju/charm"
	"juju/doc/tools/generated"
	"juju/doc/tools/verify"
)

// The table of later hooks in the guide for charm authors is generated, and up to date.
func TestGuide(t *testing.T) {
	verify.Smoke(t)
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
	generated.Part(t, "../doc/charms.md", "later hooks", later.String(), *update)
}
