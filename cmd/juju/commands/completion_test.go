package commands

import (
	"strings"
	"testing"

	"juju/cmd/juju/cli"
)

// What the table says is of commands that exist, and each word in it is a kind.
func TestArgumentKindsAreKnown(t *testing.T) {
	t.Parallel()
	root := New(cli.NewSession())
	known := commandNames(root)
	for name, usage := range argumentKinds {
		if cmd, _, err := root.Find([]string{name}); err != nil || cmd.Name() != name && name != "help" {
			t.Errorf("%q is not the name of a command: %q", name, known)
		}
		for position := range strings.Fields(usage) {
			for _, kind := range kindsAt(usage, position) {
				kind = strings.TrimSuffix(kind, "=")
				if namers[kind] == nil && kind != "CHARM" && kind != "RESOURCE=FILE" {
					t.Errorf("%s: %q is not a kind", name, kind)
				}
			}
		}
	}
}
