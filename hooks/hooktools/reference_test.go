package hooktools

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"juju/doc/tools/verify"
)

var update = flag.Bool("update", false, "write doc/hook-tools.md")

// doc/hook-tools.md is generated from the help of the tools, and up to date.
func TestReference(t *testing.T) {
	verify.Smoke(t)
	path := filepath.Join("..", "..", "doc", "hook-tools.md")
	var b strings.Builder
	b.WriteString(`# The hook tools

The help of every tool that hooks can call, for authors of charms. This page is generated: ` +
		"`go test ./hooks/hooktools -update`" + `.

The tools are in PATH while a hook runs, and work only there. What a hook reads stays the same until the hook ends. What
it writes takes effect when it has exited 0, unless the tool's help says otherwise.

Exit codes: 0 done, 1 failed, 2 invalid command line. An error is a line on standard error that begins with ERROR.
`)
	for _, help := range Helps() {
		fmt.Fprintf(&b, "\n## %s\n\n```\n%s```\n", help.Name, help.Text)
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(text), b.String()); diff != "" {
		t.Errorf("doc/hook-tools.md (-) is out of date (+); to generate it: go test ./hooks/hooktools -update\n%s", diff)
	}
}
