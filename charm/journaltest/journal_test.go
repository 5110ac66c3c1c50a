package journaltest

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"juju/doc/tools/generated"
	"juju/doc/tools/verify"
)

var update = flag.Bool("update", false, "write the guarantees into doc/charms.md")

// The guide for charm authors lists the guarantees.
func TestGuide(t *testing.T) {
	verify.Smoke(t)
	table := "| guarantee | name in the tests |\n|---|---|\n"
	for _, g := range Guarantees {
		table += "| " + g.Text + " | " + g.Name + " |\n"
	}
	generated.Part(t, "../../doc/charms.md", "guarantees", table, *update)
}

func journals(t *testing.T, file string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

// check returns the violations in a whole journal.
func check(text string) ([]Violation, error) {
	entries, err := Parse(text, 1)
	if err != nil {
		return nil, err
	}
	c := NewChecker()
	for _, e := range entries {
		if err := c.Add(e); err != nil {
			return nil, err
		}
	}
	return c.Violations(), nil
}

// A bad journal breaks the guarantee that it is named after; text after a colon tells how.
func TestBadJournalsAreRejected(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range journals(t, "bad.txtar") {
		t.Run(file.Name, func(t *testing.T) {
			name, _, _ := strings.Cut(file.Name, ":")
			seen[name] = true
			wrong, err := check(string(file.Data))
			if err != nil {
				t.Fatal(err)
			}
			if len(wrong) != 1 || wrong[0].Guarantee != name {
				t.Errorf("got %v", wrong)
			}
			lines := strings.Split(string(file.Data), "\n")
			for _, w := range wrong {
				if !strings.Contains(lines[w.Line-1], "# here") {
					t.Errorf("reported in line %d, %q", w.Line, lines[w.Line-1])
				}
			}
		})
	}
	for _, g := range Guarantees {
		if !seen[g.Name] {
			t.Errorf("no bad journal breaks %s", g.Name)
		}
	}
}

func TestGoodJournalsAreAccepted(t *testing.T) {
	for _, file := range journals(t, "good.txtar") {
		t.Run(file.Name, func(t *testing.T) {
			if wrong, err := check(string(file.Data)); err != nil || len(wrong) > 0 {
				t.Errorf("got %v, %v", wrong, err)
			}
		})
	}
}

// A good journal without one of its hooks is rejected, at the next hook or at the end.
func TestMissingHooksAreReported(t *testing.T) {
	for _, file := range journals(t, "good.txtar") {
		lines := strings.Split(string(file.Data), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, "ran ") || strings.Contains(line, "# optional") {
				continue
			}
			less := slices.Concat(lines[:i], lines[i+1:])
			if wrong, err := check(strings.Join(less, "\n")); err == nil && len(wrong) == 0 {
				t.Errorf("%s: accepted without %q", file.Name, line)
			}
		}
	}
}

func TestInvalidJournalsAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"started web/0":                       `line 1 of the journal, "started web/0": unknown word "started"`,
		"\nend web/0":                         `line 2 of the journal, "end web/0": unexpected number of arguments: 0`,
		"end":                                 `line 1 of the journal, "end": no unit or service`,
		"begin web/0 start colour=red":        `line 1 of the journal, "begin web/0 start colour=red": unknown key "colour"`,
		"end web/0 0":                         `line 1 of the journal: end web/0: no hook is running`,
		"ran web/0 install\nsaw web/0 r u 1":  `line 2 of the journal: saw web/0: no hook is running`,
		"resolved web/0 retry":                `line 1 of the journal: resolved web/0: the unit has not run any hook`,
		"ran web/0 start\nresolved web/0 yes": `line 2 of the journal: resolved web/0: neither retry nor no-retry`,
	} {
		if _, err := check(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
