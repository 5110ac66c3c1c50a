package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"juju/cmd/juju/commands"
)

// A lineOf is how a script runs a command: it succeeds, or it fails for another reason than its usage, and the script
// compares what it says then.
type lineOf struct{ succeeds, fails bool }

// jujuWord is the word of a line that runs juju, which may be the first of a shell's command.
var jujuWord = regexp.MustCompile(`^'?(\S*/)?juju$`)

// scriptLines returns how the scripts run juju's commands, by the name or alias that they use.
func scriptLines(t *testing.T) map[string]lineOf {
	t.Helper()
	var files []string
	for _, pattern := range []string{"testdata/*/*.txtar", "testdata/*/*/*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	lines := map[string]lineOf{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut("\n"+string(text), "\n-- ") // files follow
		all := strings.Split(script, "\n")
		for i, line := range all {
			words := strings.Fields(line)
			juju := slices.IndexFunc(words, jujuWord.MatchString)
			if juju < 1 || juju+1 >= len(words) || strings.Contains(line, "|") {
				continue
			}
			name := words[juju+1]
			l := lines[name]
			switch before := strings.TrimSuffix(strings.Join(words[:juju], " "), " sh -c"); before {
			case "exec", "exits 0":
				l.succeeds = true
			case "! exec", "exits 1":
				l.fails = l.fails || comparesError(all[i+1:])
			}
			lines[name] = l
		}
	}
	return lines
}

var (
	comparison = regexp.MustCompile(`^(stderr|stdout|cmp) `)
	errorText  = regexp.MustCompile(`^stderr .*[a-z]{3}|^cmp stderr `)
)

// comparesError reports whether the lines that compare what a command has printed, which begin a script's rest, compare
// some text of its error.
func comparesError(rest []string) bool {
	for _, line := range rest {
		if !comparison.MatchString(strings.TrimPrefix(line, "! ")) {
			return false
		}
		if errorText.MatchString(line) {
			return true
		}
	}
	return false
}

// unscripted are the commands that never exit with 1 for an error: completion fails only by its usage, as it asks nobody
// and writes no file, and diff exits with 2 for an error.
const unscripted = "completion diff"

// Scripts run each command, and see it fail for another reason than its usage, with an error whose text they compare.
func TestScriptsRunEveryCommand(t *testing.T) {
	t.Parallel()
	lines := scriptLines(t)
	check := func(what, exceptions string, holds func(lineOf) bool) {
		left := strings.Fields(exceptions)
		var missing []string
		for _, cmd := range commands.New(newUser(t).Session).Commands() {
			if cmd.Hidden {
				continue
			}
			names := append([]string{cmd.Name()}, cmd.Aliases...)
			has := slices.ContainsFunc(names, func(name string) bool { return holds(lines[name]) })
			switch excepted := slices.Contains(left, cmd.Name()); {
			case !has && !excepted:
				missing = append(missing, cmd.Name())
			case has && excepted:
				t.Errorf("a script has %s %s: take it from the exceptions", cmd.Name(), what)
			}
		}
		if len(missing) > 0 {
			t.Errorf("no script has these commands %s: %s", what, strings.Join(missing, " "))
		}
	}
	check("succeed", "", func(l lineOf) bool { return l.succeeds })
	check("fail (exits 1, and a stderr line)", unscripted, func(l lineOf) bool { return l.fails })
}
