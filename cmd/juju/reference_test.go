package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"juju/cmd/juju/commands"
	"juju/doc/tools/verify"
)

var update = flag.Bool("update", false, "generate doc/cli.md")

// doc/cli.md is generated from the commands, and up to date.
func TestReference(t *testing.T) {
	verify.Smoke(t)
	t.Parallel()
	path := filepath.Join("..", "..", "doc", "cli.md")
	u := newUser(t)
	u.Types("documentation")
	want := u.Out.String()
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

// Every command has help, with examples that it accepts.
func TestHelp(t *testing.T) {
	verify.Smoke(t)
	t.Parallel()
	u := newUser(t)
	root := commands.New(u.Session)
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
		names := strings.FieldsFunc(cmd.Annotations["see also"], func(c rune) bool { return c == ',' || c == ' ' })
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
			u.Types("help", name)
			want := []string{"Usage: juju " + cmd.Use, "Examples:\n" + cmd.Example}
			want = append(want, cmd.Aliases...)
			for _, w := range want {
				if u.Code != 0 || !strings.Contains(u.Out.String(), w) {
					t.Errorf("juju help %s: exit code %d, no %q in\n%s%s", name, u.Code, w, u.Out.String(), u.Err.String())
				}
			}
			if name == "help" {
				continue
			}
			byHelp := u.Out.String()
			u.Types(name, "--help")
			if u.Code != 0 || u.Out.String() != byHelp {
				t.Errorf("juju %s --help: exit code %d, prints other than juju help %s:\n%s", name, u.Code, name, u.Out.String())
			}
		}
	}
	// Commands are listed, except hidden ones.
	u.Types("help")
	listed := u.Out.String()
	for _, cmd := range root.Commands() {
		if strings.Contains(listed, "\n  "+cmd.Name()+" ") == cmd.Hidden {
			t.Errorf("juju lists %s, or does not:\n%s", cmd.Name(), listed)
		}
	}
	u.Types("--help")
	u.Sees(0, listed, "")
}
