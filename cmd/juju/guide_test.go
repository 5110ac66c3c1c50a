package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"juju/cmd/juju/clitest"
	"juju/doc/tools/fenced"
)

// scriptFollow follows a page, or the part of it below a heading, as a reader does. It writes the files that the page shows,
// and runs each block of commands on a terminal, where all commands must succeed unless the page shows an ERROR. A block
// without a kind after that is what the terminal shows then, but for what differs from run to run; a line … is for any
// number of lines. With -update, blocks that differ are written anew.
func scriptFollow(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: follow PAGE [HEADING]")
	}
	text, err := os.ReadFile(args[0])
	ts.Check(err)
	before, part := "", string(text)
	if len(args) == 2 {
		var found bool
		if before, part, found = strings.Cut(part, "\n## "+args[1]+"\n"); !found {
			ts.Fatalf("%s has no heading %q", args[0], args[1])
		}
		before += "\n## " + args[1] + "\n"
		part, _, _ = strings.Cut(part, "\n## ")
	}
	blocks, err := fenced.Blocks(part)
	ts.Check(err)
	ran, compared, changed := 0, 0, string(text)
	for i, b := range blocks {
		place := fmt.Sprintf("%s:%d", filepath.Base(args[0]), b.Line+strings.Count(before, "\n"))
		if b.Path != "" {
			path := ts.MkAbs(b.Path)
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			ts.Check(os.WriteFile(path, []byte(b.Text), 0o644))
		}
		if b.Kind != "sh" || b.Path != "" {
			continue
		}
		ran++
		want := fenced.Block{}
		if i+1 < len(blocks) && blocks[i+1].Kind == "" {
			want = blocks[i+1]
			compared++
		}
		shown, err := runOnTerminal(ts, b.Text)
		if fails := strings.Contains("\n"+want.Text, "\nERROR"); fails == (err == nil) {
			ts.Fatalf("%s: %v\n%s\nshows\n%s", place, err, b.Text, shown)
		}
		if want.Line == 0 || matchesShown(want.Text, shown) {
			continue
		}
		if !*update || strings.Contains(want.Text, "…\n") {
			ts.Fatalf("%s:\n%s\nshows\n%s\nwant\n%s", place, b.Text, shown, want.Text)
		}
		changed = strings.Replace(changed, "```\n"+want.Text+"```\n", "```\n"+shown+"```\n", 1)
	}
	if ran == 0 || compared == 0 {
		ts.Fatalf("%s has %d blocks of commands, and shows %d outputs", args[0], ran, compared)
	}
	if changed != string(text) {
		ts.Check(os.WriteFile(args[0], []byte(changed), 0o644))
	}
}

// runOnTerminal runs commands on a terminal, and returns what this shows in the end.
func runOnTerminal(ts *testscript.TestScript, commands string) (string, error) {
	cmd := exec.Command("sh", "-ec", commands)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "JUJU_DATA", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "NO_COLOR=1")
	written, err := onTerminal(cmd, "")
	s := clitest.NewScreen(1000, castHeight) // the page has long lines whole
	fmt.Fprint(s, written)
	if len(s.Unknown) > 0 {
		err = errors.Join(err, fmt.Errorf("unknown sequences %q", s.Unknown))
	}
	return s.String(), err
}

// What a page shows is compared by its words, without what differs from run to run; only … stands for more.
func TestMatchesShown(t *testing.T) {
	t.Parallel()
	const text = "Model  Timestamp\nx  11:45:05Z\n\nweb/0*  at 127.1.2.3:80\nunit web/0 is alive, for 1m3s (2s)\n"
	for page, want := range map[string]bool{
		text: true,
		"Model  Timestamp\nx  08:00:00Z\nweb/0* at 127.9.9.9:80\nunit web/0 is alive, for\n  9s\n": true,
		"…\nweb/0* at 127.9.9.9:80\n…\n": true, "Model Timestamp\n…\nunit web/0 is alive, for 1s\n": true, "…\n": true,
		"web/0* at 127.9.9.9:80\n…\n": false, "…\nweb/0* at 127.9.9.9:80\n": false, "": false,
		"…\nweb/0* at 127.9.9.9:81\n…\n": false, "…\nunit web/0 is alive, for 9s\n…\nModel Timestamp\n…\n": false,
	} {
		if got := matchesShown(page, text); got != want {
			t.Errorf("%q: %v, want %v", page, got, want)
		}
	}
}

// matchesShown reports whether a page shows a text, in which a line … is for any number of words.
func matchesShown(page, text string) bool {
	var parts []string
	for part := range strings.SplitSeq("\n"+page, "\n…\n") {
		parts = append(parts, regexp.QuoteMeta(strings.Join(invariable(part), " ")))
	}
	return regexp.MustCompile(`^\s*` + strings.Join(parts, `(.*)`) + `\s*$`).MatchString(strings.Join(invariable(text), " "))
}
