package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"juju/cmd/juju/commands"
)

// A lineOf is how a script runs a command: it succeeds, or it fails for another reason than its usage.
type lineOf struct{ succeeds, fails bool }

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
		for line := range strings.Lines(script) {
			words := strings.Fields(line)
			juju := slices.Index(words, "juju")
			if juju < 1 || juju+1 >= len(words) {
				continue
			}
			name := words[juju+1]
			l := lines[name]
			switch before := strings.Join(words[:juju], " "); before {
			case "exec", "exits 0":
				l.succeeds = true
			case "! exec", "exits 1":
				l.fails = true
			}
			lines[name] = l
		}
	}
	return lines
}

// unscripted are the commands that no script runs, or runs to see them fail. There should be fewer.
var unscripted = struct{ succeeds, fails string }{
	// autoload-credentials wants lxc's certificate, completion a shell, upgrade-controller other programs; the others are
	// to come.
	succeeds: "add-ssh-key autoload-credentials completion import-filesystem retry-provisioning show-action-output " +
		"show-action-status unset upgrade-controller",
	// completion, documentation, version, login, logout, whoami and controllers fail by their usage or the network alone;
	// the others are to come.
	fails: "add-ssh-key change-user-password clouds completion controllers documentation enable-command find-offers import-ssh-key " +
		"login logout model-defaults offers revoke version whoami",
}

// Scripts run each command, and see it fail for another reason than its usage.
func TestScriptsRunEveryCommand(t *testing.T) {
	t.Parallel()
	lines := scriptLines(t)
	check := func(what, exceptions string, holds func(lineOf) bool) {
		left := strings.Fields(exceptions)
		var missing []string
		for _, cmd := range commands.New(newUser(t).session).Commands() {
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
	check("succeed", unscripted.succeeds, func(l lineOf) bool { return l.succeeds })
	check("fail (exits 1)", unscripted.fails, func(l lineOf) bool { return l.fails })
}
