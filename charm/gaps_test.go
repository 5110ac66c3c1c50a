package charm

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"juju/doc/tools/generated"
	"juju/doc/tools/verify"
)

var update = flag.Bool("update", false, "write the table of gaps into doc/coming-from-juju.md")

// The page for users of Juju lists all gaps.
func TestComingFromJuju(t *testing.T) {
	verify.Smoke(t)
	table := "| a charm's | here | |\n|---|---|---|\n"
	row := func(what, why, end string) { table += fmt.Sprintf("| %s | %s | %s |\n", what, why, end) }
	for _, g := range gaps {
		end := "a warning"
		if g.refused {
			end = "refused"
		}
		row(fmt.Sprintf("`%s`: %s", g.file, g.what), g.why, end)
	}
	for _, key := range slices.Sorted(maps.Keys(ignoredKeys)) {
		row(fmt.Sprintf("`%s`: `%s`", metaFile, key), ignoredKeys[key], "a warning")
	}
	for _, f := range ignoredFiles {
		row("`"+f.name+"`", f.why, "a warning")
	}
	generated.Part(t, "../doc/coming-from-juju.md", "gaps", table, *update)
}
