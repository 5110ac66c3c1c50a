package doc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// TestBlocksCanBePasted checks that every line runs when a user pastes a block of commands as a whole: only
// the last command may wait for the user or read the following lines as its input. The lists of examples in
// cli.md are not such blocks.
func TestBlocksCanBePasted(t *testing.T) {
	verify.Smoke(t)
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	howto, err := filepath.Glob("howto/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = slices.DeleteFunc(pages, func(page string) bool { return page == "cli.md" })
	seen := 0
	for _, page := range append(append(pages, howto...), "../README.md", "examples/demo.sh") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "juju ")
			if !ok {
				continue
			}
			seen++
			if next := strings.TrimSpace(lines[i+1]); takesOver(command) && next != "" && next != "```" {
				t.Errorf("%s:%d: when this block is pasted, %q keeps the following lines from running", page, i+1, line)
			}
		}
	}
	if seen == 0 {
		t.Error("the documents have no commands")
	}
}

// takesOver reports whether a juju command, on a terminal, does not exit by itself or reads what is typed.
func takesOver(command string) bool {
	has := func(flag string) bool { return regexp.MustCompile(`\s` + flag + `\b`).MatchString(command) }
	switch name, _, _ := strings.Cut(command, " "); name {
	case "debug-log":
		return !has("--no-tail") && !has("-T") && !has("--limit")
	case "ssh", "debug-hooks", "login", "register", "change-user-password":
		return true
	case "destroy-environment", "destroy-controller", "destroy-model", "kill-controller", "unregister":
		return !has("-y") && !has("--yes") && !has("--no-prompt")
	}
	return false
}
