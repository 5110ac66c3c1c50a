package commands

import (
	"cmp"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/doc/tools/generated"
	"juju/doc/tools/verify"
)

var update = flag.Bool("update", false, "write the tables of absent commands and flags into doc/coming-from-juju.md")

// The page for users of Juju lists all absent commands and flags.
func TestComingFromJuju(t *testing.T) {
	verify.Smoke(t)
	t.Parallel()
	code := func(words string, before string) string {
		names := strings.Fields(words)
		for i, name := range names {
			names[i] = "`" + before + name + "`"
		}
		return strings.Join(names, ", ")
	}
	cell := func(text string) string { return strings.NewReplacer("\n", " ", "|", `\|`).Replace(text) }
	table := "| command | instead |\n|---|---|\n"
	for _, a := range absent {
		table += fmt.Sprintf("| %s | %s |\n", code(a.names, ""), cell(cmp.Or(a.use, a.why)))
	}
	const page = "../../../doc/coming-from-juju.md"
	generated.Part(t, page, "commands", table, *update)
	dash := func(names string) string {
		words := strings.Fields(names)
		for i, name := range words {
			words[i] = "`" + dashed(name) + "`"
		}
		return strings.Join(words, ", ")
	}
	table = "| flag | of | why, or what to do instead |\n|---|---|---|\n"
	for _, a := range absentFlags {
		of := code(a.commands, "")
		if of == "" {
			of = "any"
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", dash(a.names), of, cell(a.why))
	}
	generated.Part(t, page, "flags", table, *update)
}

// What is said of an absent flag is so: the flag is absent, and the one to use is there.
func TestAbsentFlags(t *testing.T) {
	t.Parallel()
	root := New(&cli.Session{})
	named := regexp.MustCompile(`--[a-z-]+`)
	for _, a := range absentFlags {
		for _, command := range strings.Fields(a.commands) {
			cmd, _, err := root.Find([]string{command})
			if err != nil {
				t.Errorf("juju %s: %v", command, err)
				continue
			}
			for _, name := range strings.Fields(a.names) {
				if cmd.Flags().Lookup(name) != nil {
					t.Errorf("juju %s has --%s", command, name)
				}
			}
			for _, flag := range named.FindAllString(a.why, -1) {
				if cmd.Flags().Lookup(flag[2:]) == nil {
					t.Errorf("juju %s has no %s, which its --%s names", command, flag, a.names)
				}
			}
		}
	}
}

// Absent commands do not exist, and their replacements do.
func TestAbsentCommands(t *testing.T) {
	t.Parallel()
	names := commandNames(New(&cli.Session{}))
	seen := map[string]bool{}
	for _, a := range absent {
		for _, name := range strings.Fields(a.names) {
			if slices.Contains(names, name) {
				t.Errorf("juju %s is there: take it out of the table of absent commands", name)
			}
			if seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		}
		words := strings.Fields(a.use + " " + a.why)
		for i, word := range words {
			if word != "juju" || i+1 == len(words) {
				continue
			}
			if use := strings.Trim(words[i+1], ",.;:"); use != "help" && !slices.Contains(names, use) {
				t.Errorf("%s: there is no juju %s to use", a.names, use)
			}
		}
	}
	for command := range strings.SplitSeq("metrics sla wallets set-plan agree upgrade-gui cached-images branch add-secret-backend juju-run", " ") {
		text := ""
		for _, a := range absent {
			if slices.Contains(strings.Fields(a.names), command) {
				text = a.use + a.why
			}
		}
		if text == "" {
			t.Errorf("juju %s: neither why it is absent, nor what to do", command)
		}
	}
	if len(seen) < 110 {
		t.Errorf("the table has %d commands only", len(seen))
	}
}

// Every command that removes something, or asks for a confirmation, takes the flags with which scripts answer.
func TestYesFlags(t *testing.T) {
	t.Parallel()
	removes := regexp.MustCompile(`^(remove|destroy|delete|kill|detach|revoke)-|^(unregister|logout|revoke|restore-backup|upgrade-(model|controller|machine))$`)
	n := 0
	for _, cmd := range New(&cli.Session{}).Commands() {
		yes, noPrompt := cmd.Flags().Lookup("yes"), cmd.Flags().Lookup("no-prompt")
		switch asks := slices.ContainsFunc(append([]string{cmd.Name()}, cmd.Aliases...), removes.MatchString); {
		case asks && (yes == nil || yes.Shorthand != "y" || noPrompt == nil):
			t.Errorf("juju %s has no -y, --yes and --no-prompt", cmd.Name())
		case asks:
			n++
		case yes != nil:
			t.Errorf("juju %s has --yes: does it ask?", cmd.Name())
		}
	}
	if n < 20 {
		t.Errorf("only %d commands were looked at", n)
	}
}

// A command in two words, as in Juju 1 and other programs, is answered with the command that it means.
func TestCommandsOfTwoWords(t *testing.T) {
	t.Parallel()
	names := commandNames(New(&cli.Session{}))
	for words, want := range map[string]string{
		"machine add": "add-machine", "machine remove 3": "remove-machine", "machine list": "machines", "machines destroy 3": "destroy-machine",
		"user add bob": "add-user", "user info": "show-user", "user list": "users", "user change-password": "change-user-password",
		"service set web a=b": "set", "service get-constraints web": "get-constraints", "service add-unit web": "add-unit",
		"storage list": "storage", "storage add web/0 data": "add-storage", "storage pool list": "storage-pools",
		"action do web/0 go": "run-action", "action fetch 2": "show-task", "authorized-keys delete x": "delete-ssh-key",
		"backups create": "create-backup", "environment get": "model-config", "system list": "controllers",
		"list users": "users", "add unit web": "add-unit", "delete unit web/0": "remove-unit", "ls machines": "machines",
		"application remove web": "remove-service", "space create db": "add-space", "key add x": "add-ssh-key",
		"unit list": "", "frobnicate add": "", "machine": "", "machine 3": "", "machine status": "status", "machines storage": "",
	} {
		if got := joined(names, strings.Fields(words)); got != want {
			t.Errorf("juju %s means %q, want %q", words, got, want)
		}
	}
	for old, new := range map[string]string{"ensure-availability": "enable-ha", "get-environment": "model-config", "dump-model": "dump-db",
		"api-endpoints": "show-controller", "list-tasks": "operations", "use-environment": "switch", "environments": "models"} {
		if cmd, _, err := New(&cli.Session{}).Find([]string{old}); err != nil || cmd.Name() != new {
			t.Errorf("juju %s is not juju %s: %v", old, new, err)
		}
	}
}
