package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "generate doc/cli.md")

// doc/cli.md is generated from the commands, and up to date.
func TestReference(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "doc", "cli.md")
	want := reference(newRoot(newUser(t).session))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("doc/cli.md (-) is out of date (+); to generate it: go test ./cmd/juju -update\n%s", diff)
	}
}

// reference writes the help of every command as one page.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# The command line\n\nThe help of every command of `juju`. " +
		"This page is generated: `go test ./cmd/juju -update`.\n")
	fmt.Fprintf(&b, "\n%s\n", root.Long)
	b.WriteString(`
Exit codes: 0 success, 1 failure, 2 invalid command line. An error is a line on standard error that starts with ERROR,
often followed by a hint about what to do next. Standard output has only results.

| variable | |
|---|---|
| ` + "`JUJU_DATA`" + ` | the directory of juju's data and of the local cloud; ` + "`~/.local/share/juju`" + ` by default |
| ` + "`JUJU_MODEL`" + ` | the model to use, as MODEL or CONTROLLER:MODEL; ` + "`-m`" + ` overrides it |
| ` + "`JUJU_CONTROLLER`" + ` | the controller to use, and its selected model |
| ` + "`JUJU_REPOSITORY`" + ` | the local repository of charms; ` + "`--repository`" + ` overrides it |
| ` + "`NO_COLOR`" + ` | if set, output has no colors |
`)
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "\n%s ", group.Title)
		first := true
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID {
				if !first {
					b.WriteString(", ")
				}
				first = false
				fmt.Fprintf(&b, "[%s](#%s)", cmd.Name(), cmd.Name())
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\nFlags of all commands:\n\n")
	flags(&b, root.PersistentFlags())
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n    juju %s\n", cmd.Name(), cmd.Short, cmd.Use)
		if len(cmd.Aliases) > 0 {
			fmt.Fprintf(&b, "\nAlso known as: `%s`.\n", strings.Join(cmd.Aliases, "`, `"))
		}
		fmt.Fprintf(&b, "\n%s\n", cmd.Long)
		if cmd.LocalNonPersistentFlags().HasAvailableFlags() {
			b.WriteString("\n")
			flags(&b, cmd.LocalNonPersistentFlags())
		}
		var examples []string
		for _, line := range strings.Split(cmd.Example, "\n") {
			examples = append(examples, "    "+strings.TrimSpace(line))
		}
		fmt.Fprintf(&b, "\nExamples:\n\n%s\n", strings.Join(examples, "\n"))
		if related := related(cmd); len(related) > 0 {
			for i, name := range related {
				related[i] = fmt.Sprintf("[%s](#%[1]s)", name)
			}
			fmt.Fprintf(&b, "\nSee also: %s\n", strings.Join(related, ", "))
		}
	}
	return b.String()
}

// related returns the commands that the help of a command refers to under "See also".
func related(cmd *cobra.Command) []string {
	names := cmd.Annotations["see also"]
	if names == "" {
		return nil
	}
	return strings.Split(names, ", ")
}

// flags writes a table of flags.
func flags(b *strings.Builder, set *pflag.FlagSet) {
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := f.DefValue
		_, usage := pflag.UnquoteUsage(f)
		switch value {
		case "false", "[]", "0s":
			value = ""
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, value, usage)
	})
}

// Every command has help, with examples that it accepts.
func TestHelp(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	root := newRoot(u.session)
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}
		if cmd.Long == "" || cmd.Short == "" || cmd.Example == "" || cmd.GroupID == "" {
			t.Errorf("juju %s does not explain itself: %q, %q, %q, in group %q", cmd.Name(), cmd.Short, cmd.Long, cmd.Example,
				cmd.GroupID)
		}
		for _, text := range []string{cmd.Short, cmd.Long, cmd.Example} {
			for _, line := range strings.Split(text, "\n") {
				if len([]rune(line)) > 90 {
					t.Errorf("juju help %s: a line of %d letters: %s", cmd.Name(), len(line), line)
				}
			}
		}
		names := related(cmd)
		if len(names) == 0 && cmd.Name() != "help" {
			t.Errorf("juju %s names no related command: give it Annotations: seeAlso(…)", cmd.Name())
		}
		for _, name := range names {
			found, _, err := root.Find([]string{name})
			if err != nil || found.Hidden || found.Name() != name || found == cmd {
				t.Errorf("juju help %s: see also %s, which is not another command", cmd.Name(), name)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" && !f.Hidden {
				t.Errorf("juju help %s does not explain --%s", cmd.Name(), f.Name)
			}
		})
		for _, line := range strings.Split(cmd.Example, "\n") {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "juju" || words[1] != cmd.Name() {
				t.Errorf("an example of %s is of something else: %s", cmd.Name(), line)
				continue
			}
			found, rest, err := root.Find(words[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		for _, name := range append([]string{cmd.Name()}, cmd.Aliases...) {
			u.types("help", name)
			want := []string{"Usage: juju " + cmd.Use, "Examples:\n" + cmd.Example}
			want = append(want, cmd.Aliases...)
			for _, w := range want {
				if u.code != 0 || !strings.Contains(u.out.String(), w) {
					t.Errorf("juju help %s: exit code %d, no %q in\n%s%s", name, u.code, w, u.out.String(), u.err.String())
				}
			}
			if name == "help" {
				continue
			}
			byHelp := u.out.String()
			u.types(name, "--help")
			if u.code != 0 || u.out.String() != byHelp {
				t.Errorf("juju %s --help: exit code %d, prints other than juju help %s:\n%s", name, u.code, name, u.out.String())
			}
		}
	}
	// Commands are listed, except hidden ones.
	u.types()
	listed := u.out.String()
	for _, cmd := range root.Commands() {
		if strings.Contains(listed, "\n  "+cmd.Name()+" ") == cmd.Hidden {
			t.Errorf("juju lists %s, or does not:\n%s", cmd.Name(), listed)
		}
	}
	u.types("help")
	u.sees(0, listed, "")
	u.types("--help")
	u.sees(0, listed, "")
}
