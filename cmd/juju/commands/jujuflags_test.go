package commands

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

// Each flag of a command of Juju 3.6 works here, or the table of absent flags says why it does not; and so for the commands.
func TestFlagsOfJuju(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "flags-3.6.txt"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(text)) {
		name, flags, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		root := New(&cli.Session{})
		cmd, _, err := root.Find([]string{name})
		if err != nil || cmd == root {
			if !slices.ContainsFunc(absent, func(a absence) bool { return slices.Contains(strings.Fields(a.names), name) }) {
				t.Errorf("juju %s is neither here nor in the table of absent commands", name)
			}
			continue
		}
		for _, flag := range strings.Fields(flags) {
			seen++
			if !hasFlag(cmd, flag) && whyAbsent(cmd, strings.TrimLeft(flag, "-")) == "" {
				t.Errorf("juju %s has no %s, and the table of absent flags does not say why", name, flag)
			}
		}
	}
	if seen < 800 {
		t.Errorf("only %d flags were looked at", seen)
	}
}

func hasFlag(cmd *cobra.Command, flag string) bool {
	name, long := strings.CutPrefix(flag, "--")
	if long {
		return cmd.Flags().Lookup(name) != nil || cmd.InheritedFlags().Lookup(name) != nil
	}
	name = flag[1:]
	return cmd.Flags().ShorthandLookup(name) != nil || cmd.InheritedFlags().ShorthandLookup(name) != nil
}
