package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// completions returns the words that a shell offers for a command line, of which the last word is begun.
func completions(u *clitest.User, line string) []string {
	u.T.Helper()
	u.Types(append([]string{"__complete"}, strings.Split(line, " ")...)...)
	words, _, ok := strings.Cut(u.Out.String(), ":")
	if u.Code != 0 || !ok {
		u.T.Fatalf("juju __complete %s: exit code %d\n%s%s", line, u.Code, u.Out.String(), u.Err.String())
	}
	return strings.Fields(words)
}

// A shell completes names of what there is, where a command takes them.
func TestShellsCompleteNames(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) {
		c.Controllers["test"] = &store.Controller{UUID: "t", Cloud: "elsewhere", User: "admin"}
	})
	for line, want := range map[string]string{
		"config ":             "store web",
		"config w":            "web",
		"trust web ":          "",
		"destroy-unit web/0 ": "store/0 web/1",
		"remove-unit s":       "store/0",
		"destroy-machine ":    "0 1",
		"resolved ":           "0 1 store/0 web/0 web/1",
		"status web":          "web web/0 web/1",
		"ssh ":                "0 1 store/0 web/0 web/1",
		"destroy-model ":      "controller default",
		"switch t":            "test",
		"bootstrap l":         "local lxd",
		"status --format j":   "tabular yaml json oneline short line summary", // shells pick what fits
		"exec --unit web/":    "web/0 web/1",
		"show-unit -m c":      "controller",
		"show-controller -c ": "prod test",
		"completion ":         "bash zsh fish",
		"add-user ":           "",
	} {
		u.Model.Returns.Statuses = []*entity.ModelStatus{{
			Services: []entity.ServiceStatus{{Name: "store", Units: []entity.UnitStatus{{Name: "store/0"}}},
				{Name: "web", Units: []entity.UnitStatus{{Name: "web/0"}, {Name: "web/1"}}}},
			Machines: []entity.MachineStatus{{ID: "0"}, {ID: "1"}}}}
		if got := strings.Join(completions(u, line), " "); got != want {
			t.Errorf("juju %s| completes %q, want %q", line, got, want)
		}
	}
	if got := completions(u, "set-co"); !slices.Contains(got, "set-constraints") {
		t.Errorf("commands complete as %q", got)
	}
	// A charm is a file.
	u.Types("__complete", "deploy", "./")
	if u.Out.String() != ":0\n" {
		t.Errorf("deploy completes %q", u.Out.String())
	}
}

// A controller that does not answer costs a shell two seconds, and no errors on the terminal.
func TestCompletionIsBounded(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > 2*time.Second {
			t.Errorf("the connection has %v", left)
		}
		return nil, entity.Errorf(entity.Unavailable, "the controller is away")
	}
	if got := completions(u, "config "); len(got) > 0 {
		t.Errorf("completes %q", got)
	}
	if strings.Contains(u.Err.String(), "away") {
		t.Errorf("the shell prints\n%s", u.Err.String())
	}
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for shell, mark := range map[string]string{"bash": "__start_juju", "zsh": "#compdef juju", "fish": "complete -c juju"} {
		u.Types("completion", shell)
		if u.Code != 0 || !strings.Contains(u.Out.String(), mark) {
			t.Errorf("%s: exit code %d, no %q", shell, u.Code, mark)
		}
		if path, err := exec.LookPath(shell); err == nil && shell != "fish" {
			cmd := exec.CommandContext(t.Context(), path, "-n")
			cmd.Stdin = strings.NewReader(u.Out.String())
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s can't read it: %v\n%s", shell, err, text)
			}
		}
	}
	u.Types("completion")
	u.Sees(2, "", "ERROR no shell specified\nFor usage: juju help completion\n")
	u.Types("completion", "tcsh")
	u.Sees(2, "", "ERROR unknown shell \"tcsh\": expected bash, zsh or fish\nFor usage: juju help completion\n")
}

// A program juju-NAME on PATH is the command NAME, unless there is one.
func TestPlugins(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"juju-hello": 0o755, "juju-status": 0o755, "juju-data": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	u.Env["PATH"] = "/nonexistent:" + dir
	var ran []cli.Replacement
	u.Session.Exec = func(r cli.Replacement) error { ran = append(ran, r); return nil }
	u.Types("--debug", "hello", "a", "--format", "json")
	if u.Code != 0 || len(ran) != 1 || !slices.Equal(ran[0].Argv, []string{"juju-hello", "a", "--format", "json"}) {
		t.Errorf("exit code %d, ran %v\n%s", u.Code, ran, u.Err.String())
	}
	u.Types("--logging-config", "hello", "hello", "b") // the first one is a flag's value
	if len(ran) != 2 || !slices.Equal(ran[1].Argv, []string{"juju-hello", "b"}) {
		t.Errorf("after a flag's value, exit code %d, ran %v", u.Code, ran)
	}
	ran = ran[:1]
	u.Types("data")
	if u.Code != 2 || len(ran) != 1 {
		t.Errorf("a file that is no program: exit code %d, ran %v", u.Code, ran)
	}
	u.Types("status")
	if u.Code != 0 || len(ran) != 1 {
		t.Errorf("a command of juju's own: exit code %d, ran %v", u.Code, ran)
	}
	u.Types("help", "plugins")
	if !strings.Contains(u.Out.String(), "\n  hello\n  status\n") {
		t.Errorf("the help lists\n%s", u.Out.String())
	}
}

func TestHelpTopics(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("help", "topics")
	for _, topic := range []string{"bundles", "commands", "constraints", "environment", "exit-codes", "placement", "plugins", "topics"} {
		if !strings.Contains("\n"+u.Out.String(), "\n"+topic+" ") {
			t.Errorf("%s is not listed in\n%s", topic, u.Out.String())
		}
	}
	u.Types("help", "commands")
	for _, want := range []string{"\nremove-unit ", "Another name of destroy-unit\n", "\nstatus "} {
		if !strings.Contains(u.Out.String(), want) {
			t.Errorf("no %q in\n%s", want, u.Out.String())
		}
	}
	u.Types("help", "placement")
	if u.Code != 0 || !strings.Contains(u.Out.String(), "lxd:3") {
		t.Errorf("exit code %d\n%s", u.Code, u.Out.String())
	}
	u.Types("help", "placement", "more")
	if u.Code != 2 {
		t.Errorf("a topic with more words: exit code %d", u.Code)
	}
}

func TestDocumentation(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("documentation")
	if u.Code != 0 || !strings.Contains(u.Out.String(), "\n## set-constraints\n") {
		t.Errorf("exit code %d, %d bytes", u.Code, u.Out.Len())
	}
	dir := filepath.Join(t.TempDir(), "man1")
	u.Types("documentation", "--man", dir)
	page, err := os.ReadFile(filepath.Join(dir, "juju-deploy.1"))
	if err != nil || !strings.HasPrefix(string(page), ".TH JUJU\\-DEPLOY 1 ") || !strings.Contains(string(page), ".B \\-n, \\-\\-num\\-units int\n") {
		t.Errorf("%v\n%s", err, page)
	}
	if _, err := os.Stat(filepath.Join(dir, "juju.1")); err != nil {
		t.Error(err)
	}
	u.Types("documentation", "--man", dir, "-o", "x")
	if u.Code != 2 {
		t.Errorf("--man with -o: exit code %d", u.Code)
	}
}

// The name of the file for the output chooses the format, unless the user does.
func TestOutputFileChoosesFormat(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := t.TempDir()
	for _, c := range []struct{ file, flags, begins string }{
		{"a.json", "", "{"}, {"a.yaml", "", "controllers:\n"}, {"a.yml", "", "controllers:\n"}, {"a.txt", "", "Controller "},
		{"b.json", "--format tabular", "Controller "}, {"c", "--format json", "{"},
	} {
		u.Types(append([]string{"controllers", "-o", filepath.Join(dir, c.file)}, strings.Fields(c.flags)...)...)
		text, err := os.ReadFile(filepath.Join(dir, c.file))
		if u.Code != 0 || err != nil || !strings.HasPrefix(string(text), c.begins) {
			t.Errorf("-o %s %s: exit code %d, %v\n%s", c.file, c.flags, u.Code, err, text)
		}
	}
	// A format is no file, unless one is chosen.
	for _, format := range []string{"json", "yaml", "tabular"} {
		u.Types("controllers", "--format", format)
		want := u.Out.String()
		u.Types("controllers", "-o", format)
		u.Sees(0, want, "")
		if _, err := os.Stat(format); err == nil {
			t.Errorf("-o %s writes a file", format)
		}
	}
}

// Flags of Juju's that are other ways to say what the commands take.
func TestFlagsOfJuju(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	u.Types("set-constraints", "-a", "web", "mem=2G")
	u.Asked(`SetServiceConstraints web "mem=2048M"`)
	u.Types("find-offers", "--url", "bob/shop.db")
	if u.Code > 1 {
		t.Errorf("find-offers --url: %s", u.Err.String())
	}
	u.Types("find-offers", "bob/shop", "--url", "bob/shop.db")
	u.Sees(2, "", "ERROR unrecognized args: [\"bob/shop\"]: --url says where to look\nFor usage: juju help find-offers\n")
	ca, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	u.Note(func(c *store.Contents) { c.Controllers["prod"].CACert = string(ca) })
	file := filepath.Join(t.TempDir(), "bob")
	u.Types("add-user", "bob", "--output", file)
	if text, err := os.ReadFile(file); u.Code != 0 || err != nil || u.Out.Len() > 0 || !strings.Contains(string(text), "juju register ") {
		t.Errorf("add-user --output: %v, %s%s", err, text, u.Err.String())
	}
	u.Types("create-backup", "--filename", file)
	u.Sees(1, "", "ERROR cannot back up: "+file+" exists\nName another file.\n")
	u.Types("create-backup", file, "--filename", file)
	u.Sees(2, "", "ERROR unrecognized args: [\""+file+"\"]\nFor usage: juju help create-backup\n")
	u.Types("kill-controller", "prod", "-y", "--no-wait", "-t", "0s")
	u.Sees(2, "", "ERROR --timeout must be positive, got 0s\nFor usage: juju help destroy-environment\n")
	for line, want := range map[string]string{
		"refresh web --base ubuntu@24.04": "juju refresh has no flag --base: a service keeps its base",
		"models --user bob":               "juju models has no flag --user: to see whom",
		"debug-log --include-labels x":    "juju debug-log has no flag --include-labels: its lines",
		"bootstrap --to x":                "juju bootstrap has no flag --to: the cloud chooses",
	} {
		u.Types(strings.Fields(line)...)
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), "ERROR "+want) {
			t.Errorf("%s: exit code %d, said %s", line, u.Code, u.Err.String())
		}
	}
}
