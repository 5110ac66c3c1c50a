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
	"juju/cmd/juju/store"
	"juju/state/constraints"
	"juju/state/entity"
)

// completions returns the words that a shell offers for a command line, of which the last word is begun.
func (u *user) completions(line string) []string {
	u.t.Helper()
	u.types(append([]string{"__complete"}, strings.Split(line, " ")...)...)
	words, _, ok := strings.Cut(u.out.String(), ":")
	if u.code != 0 || !ok {
		u.t.Fatalf("juju __complete %s: exit code %d\n%s%s", line, u.code, u.out.String(), u.err.String())
	}
	return strings.Fields(words)
}

// A shell completes names of what there is, where a command takes them.
func TestShellsCompleteNames(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.note(func(c *store.Contents) {
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
		u.fake.statuses = []*entity.ModelStatus{{
			Services: []entity.ServiceStatus{{Name: "store", Units: []entity.UnitStatus{{Name: "store/0"}}},
				{Name: "web", Units: []entity.UnitStatus{{Name: "web/0"}, {Name: "web/1"}}}},
			Machines: []entity.MachineStatus{{ID: "0"}, {ID: "1"}}}}
		if got := strings.Join(u.completions(line), " "); got != want {
			t.Errorf("juju %s| completes %q, want %q", line, got, want)
		}
	}
	if got := u.completions("set-co"); !slices.Contains(got, "set-constraints") {
		t.Errorf("commands complete as %q", got)
	}
	// A charm is a file.
	u.types("__complete", "deploy", "./")
	if u.out.String() != ":0\n" {
		t.Errorf("deploy completes %q", u.out.String())
	}
}

// A controller that does not answer costs a shell two seconds, and no errors on the terminal.
func TestCompletionIsBounded(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.session.Connect = func(ctx context.Context) (io.Closer, error) {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > 2*time.Second {
			t.Errorf("the connection has %v", left)
		}
		return nil, entity.Errorf(entity.Unavailable, "the controller is away")
	}
	if got := u.completions("config "); len(got) > 0 {
		t.Errorf("completes %q", got)
	}
	if strings.Contains(u.err.String(), "away") {
		t.Errorf("the shell prints\n%s", u.err.String())
	}
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for shell, mark := range map[string]string{"bash": "__start_juju", "zsh": "#compdef juju", "fish": "complete -c juju"} {
		u.types("completion", shell)
		if u.code != 0 || !strings.Contains(u.out.String(), mark) {
			t.Errorf("%s: exit code %d, no %q", shell, u.code, mark)
		}
		if path, err := exec.LookPath(shell); err == nil && shell != "fish" {
			cmd := exec.CommandContext(t.Context(), path, "-n")
			cmd.Stdin = strings.NewReader(u.out.String())
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s can't read it: %v\n%s", shell, err, text)
			}
		}
	}
	u.types("completion")
	u.sees(2, "", "ERROR no shell specified\nFor usage: juju help completion\n")
	u.types("completion", "tcsh")
	u.sees(2, "", "ERROR unknown shell \"tcsh\": expected bash, zsh or fish\nFor usage: juju help completion\n")
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
	u.env["PATH"] = "/nonexistent:" + dir
	var ran []cli.Replacement
	u.session.Exec = func(r cli.Replacement) error { ran = append(ran, r); return nil }
	u.types("--debug", "hello", "a", "--format", "json")
	if u.code != 0 || len(ran) != 1 || !slices.Equal(ran[0].Argv, []string{"juju-hello", "a", "--format", "json"}) {
		t.Errorf("exit code %d, ran %v\n%s", u.code, ran, u.err.String())
	}
	u.types("--logging-config", "hello", "hello", "b") // the first one is a flag's value
	if len(ran) != 2 || !slices.Equal(ran[1].Argv, []string{"juju-hello", "b"}) {
		t.Errorf("after a flag's value, exit code %d, ran %v", u.code, ran)
	}
	ran = ran[:1]
	u.types("data")
	if u.code != 2 || len(ran) != 1 {
		t.Errorf("a file that is no program: exit code %d, ran %v", u.code, ran)
	}
	u.types("status")
	if u.code != 0 || len(ran) != 1 {
		t.Errorf("a command of juju's own: exit code %d, ran %v", u.code, ran)
	}
	u.types("help", "plugins")
	if !strings.Contains(u.out.String(), "\n  hello\n  status\n") {
		t.Errorf("the help lists\n%s", u.out.String())
	}
}

func TestHelpTopics(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.types("help", "topics")
	for _, topic := range []string{"bundles", "commands", "constraints", "environment", "exit-codes", "placement", "plugins", "topics"} {
		if !strings.Contains("\n"+u.out.String(), "\n"+topic+" ") {
			t.Errorf("%s is not listed in\n%s", topic, u.out.String())
		}
	}
	u.types("help", "commands")
	for _, want := range []string{"\nremove-unit ", "Another name of destroy-unit\n", "\nstatus "} {
		if !strings.Contains(u.out.String(), want) {
			t.Errorf("no %q in\n%s", want, u.out.String())
		}
	}
	u.types("help", "placement")
	if u.code != 0 || !strings.Contains(u.out.String(), "lxd:3") {
		t.Errorf("exit code %d\n%s", u.code, u.out.String())
	}
	u.types("help", "placement", "more")
	if u.code != 2 {
		t.Errorf("a topic with more words: exit code %d", u.code)
	}
}

func TestDocumentation(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.types("documentation")
	if u.code != 0 || !strings.Contains(u.out.String(), "\n## set-constraints\n") {
		t.Errorf("exit code %d, %d bytes", u.code, u.out.Len())
	}
	dir := filepath.Join(t.TempDir(), "man1")
	u.types("documentation", "--man", dir)
	page, err := os.ReadFile(filepath.Join(dir, "juju-deploy.1"))
	if err != nil || !strings.HasPrefix(string(page), ".TH JUJU\\-DEPLOY 1 ") || !strings.Contains(string(page), ".B \\-n, \\-\\-num\\-units int\n") {
		t.Errorf("%v\n%s", err, page)
	}
	if _, err := os.Stat(filepath.Join(dir, "juju.1")); err != nil {
		t.Error(err)
	}
	u.types("documentation", "--man", dir, "-o", "x")
	if u.code != 2 {
		t.Errorf("--man with -o: exit code %d", u.code)
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
		u.types(append([]string{"controllers", "-o", filepath.Join(dir, c.file)}, strings.Fields(c.flags)...)...)
		text, err := os.ReadFile(filepath.Join(dir, c.file))
		if u.code != 0 || err != nil || !strings.HasPrefix(string(text), c.begins) {
			t.Errorf("-o %s %s: exit code %d, %v\n%s", c.file, c.flags, u.code, err, text)
		}
	}
	// A format is no file, unless one is chosen.
	for _, format := range []string{"json", "yaml", "tabular"} {
		u.types("controllers", "--format", format)
		want := u.out.String()
		u.types("controllers", "-o", format)
		u.sees(0, want, "")
		if _, err := os.Stat(format); err == nil {
			t.Errorf("-o %s writes a file", format)
		}
	}
}

func TestSwitchBack(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.types("switch", "-")
	u.sees(1, "", "ERROR nothing was selected before\nTo select a model: juju switch MODEL\n")
	u.types("switch", "controller")
	u.types("switch", "controller") // no change
	u.types("switch", "-")
	u.sees(0, "", "prod:admin/controller -> prod:admin/default\n")
	u.types("switch", "-")
	u.sees(0, "", "prod:admin/default -> prod:admin/controller\n")
}

func TestSettingsFromStandardInput(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for line, want := range map[string]string{
		"config web --file -": `SetServiceConfig web map[] "web: {title: x}\n"`,
		"set web --config -":  `SetServiceConfig web map[] "web: {title: x}\n"`,
	} {
		u.session.Stdin = strings.NewReader("web: {title: x}\n")
		u.types(strings.Fields(line)...)
		u.asked(want)
		u.sees(0, "", "")
	}
	u.session.Stdin = strings.NewReader("\xff")
	u.types("config", "web", "--file", "-")
	u.sees(1, "", "ERROR the settings on standard input are not UTF-8\n")
}

func TestShowApplication(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	status := []*entity.ModelStatus{{Services: []entity.ServiceStatus{
		{Name: "web", CharmURL: "local:jammy/web-1", Series: "jammy", Exposed: true},
		{Name: "log", CharmURL: "local:jammy/log-1", Series: "jammy", Subordinate: true}}}}
	u.fake.statuses = status
	cons, err := constraints.Parse("mem=2G")
	if err != nil {
		t.Fatal(err)
	}
	u.fake.constraints = cons
	u.fake.config.Bindings = map[string]string{"": "alpha", "site": "db"}
	u.types("show-application", "web", "log")
	u.sees(0, `log:
    charm: local:jammy/log-1
    base: ubuntu@22.04
    principal: false
    exposed: false
    remote: false
    life: alive
    endpoint-bindings:
        "": alpha
        site: db
web:
    charm: local:jammy/web-1
    base: ubuntu@22.04
    constraints: mem=2048M
    principal: true
    exposed: true
    remote: false
    life: alive
    endpoint-bindings:
        "": alpha
        site: db
`, "")
	u.asked("Status web,log", "ServiceConstraints web", "ServiceConfig web", "ServiceConfig log")
	u.fake.statuses = status
	u.types("show-application", "other")
	u.sees(1, "", "ERROR service \"other\" not found\nTo list services: juju status\n")
}

// Flags of Juju's that are other ways to say what the commands take.
func TestFlagsOfJuju(t *testing.T) {
	t.Parallel()
	u := atController(t)
	u.types("set-constraints", "-a", "web", "mem=2G")
	u.asked(`SetServiceConstraints web "mem=2048M"`)
	u.types("find-offers", "--url", "bob/shop.db")
	if u.code > 1 {
		t.Errorf("find-offers --url: %s", u.err.String())
	}
	u.types("find-offers", "bob/shop", "--url", "bob/shop.db")
	u.sees(2, "", "ERROR unrecognized args: [\"bob/shop\"]: --url says where to look\nFor usage: juju help find-offers\n")
	ca, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	u.note(func(c *store.Contents) { c.Controllers["prod"].CACert = string(ca) })
	file := filepath.Join(t.TempDir(), "bob")
	u.types("add-user", "bob", "--output", file)
	if text, err := os.ReadFile(file); u.code != 0 || err != nil || u.out.Len() > 0 || !strings.Contains(string(text), "juju register ") {
		t.Errorf("add-user --output: %v, %s%s", err, text, u.err.String())
	}
	u.types("create-backup", "--filename", file)
	u.sees(1, "", "ERROR cannot back up: "+file+" exists\nName another file.\n")
	u.types("create-backup", file, "--filename", file)
	u.sees(2, "", "ERROR unrecognized args: [\""+file+"\"]\nFor usage: juju help create-backup\n")
	u.types("kill-controller", "prod", "-y", "--no-wait", "-t", "0s")
	u.sees(2, "", "ERROR --timeout must be positive, got 0s\nFor usage: juju help destroy-environment\n")
	for line, want := range map[string]string{
		"refresh web --base ubuntu@24.04": "juju refresh has no flag --base: a service keeps its base",
		"models --user bob":               "juju models has no flag --user: to see whom",
		"debug-log --include-labels x":    "juju debug-log has no flag --include-labels: its lines",
		"bootstrap --to x":                "juju bootstrap has no flag --to: the cloud chooses",
	} {
		u.types(strings.Fields(line)...)
		if u.code != 2 || !strings.HasPrefix(u.err.String(), "ERROR "+want) {
			t.Errorf("%s: exit code %d, said %s", line, u.code, u.err.String())
		}
	}
}
