package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// clientCharms are the charms that testdata/clients deploy.
const clientCharms = `
-- app/metadata.yaml --
name: app
summary: s
description: d
requires:
  db: {interface: dbi}
-- app/config.yaml --
options:
  title: {type: string, default: hello, description: t}
  n: {type: int, default: 3, description: n}
  flag: {type: boolean, default: false, description: f}
-- app/actions.yaml --
hi: {description: says hi, params: {who: {type: string}}}
bad: {description: fails}
-- app/actions/hi --
#!/bin/sh
action-set greeting="hi $(action-get who)"
action-log "saying hi"
-- app/actions/bad --
#!/bin/sh
action-fail "no good"
-- app/hooks/start --
#!/bin/sh
status-set active
open-port 8080
-- db/metadata.yaml --
name: db
summary: s
description: d
provides:
  db: {interface: dbi}
-- db/hooks/start --
#!/bin/sh
status-set active
-- db/hooks/db-relation-joined --
#!/bin/sh
relation-set url=x
-- store/metadata.yaml --
name: store
summary: s
description: d
storage:
  data: {type: filesystem, location: /srv/data, multiple: {range: 0+}}
resources:
  file: {type: file, filename: file.txt, description: a file}
-- store/hooks/start --
#!/bin/sh
status-set active
`

// A clientSystem is a controller for a client of others, with charms for it to deploy.
type clientSystem struct{ bin, data, charms string }

func newClientSystem(t *testing.T) clientSystem {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	bin, _ := buildSystem(t, root)
	s := clientSystem{bin, filepath.Join(t.TempDir(), "data"), t.TempDir()}
	writeCharms(t, s.charms, clientCharms)
	t.Cleanup(func() { sweep(t, bin, s.data) })
	s.run(t, "", nil, "juju", "bootstrap", "-q")
	return s
}

// run runs a program with an input and more variables, logs what it prints to standard error, and returns the rest.
func (s clientSystem) run(t *testing.T, input string, variables []string, args ...string) string {
	t.Helper()
	if args[0] == "juju" {
		args[0] = filepath.Join(s.bin, "juju")
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), "JUJU_DATA="+s.data, "PATH="+s.bin+":"+os.Getenv("PATH")), variables...)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	t.Logf("%s%s", stdout.String(), stderr.String())
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return stdout.String()
}

// TestJubilant calls jubilant, a client of the command line as published: JUBILANT is the directory of its source.
func TestJubilant(t *testing.T) {
	verify.Only(t, "needs a client as it is published")
	callClient(t, "JUBILANT", "canonical/jubilant", "python3", "jubilant_calls.py")
}

// TestLibjuju calls python-libjuju, a client of the API as published: LIBJUJU is the directory of its source. The system's
// Python must have what it imports.
func TestLibjuju(t *testing.T) {
	verify.Only(t, "needs a client as it is published")
	callClient(t, "LIBJUJU", "juju/python-libjuju", "/usr/bin/python3", "libjuju_calls.py")
}

// callClient runs a script, which calls a client. The variable names the directory of the client's source.
func callClient(t *testing.T, variable, repository, python, script string) {
	source := os.Getenv(variable)
	if source == "" {
		t.Skipf("%s does not name the source of github.com/%s", variable, repository)
	}
	t.Parallel()
	s := newClientSystem(t)
	// The client leaves temporary files.
	s.run(t, "", []string{"PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1", "TMPDIR=" + t.TempDir()},
		python, filepath.Join("testdata", "clients", script), s.charms, t.TempDir())
}

// TestDashboard uses Juju's dashboard in Chromium: DASHBOARD is a directory with it, as published and built, and
// PLAYWRIGHT one with npm's playwright-core. PICTURES may be a directory for pictures of the pages.
func TestDashboard(t *testing.T) {
	verify.Only(t, "needs a client as it is published")
	dashboard := os.Getenv("DASHBOARD")
	if dashboard == "" || os.Getenv("PLAYWRIGHT") == "" {
		t.Skip("DASHBOARD and PLAYWRIGHT do not name a build of github.com/canonical/juju-dashboard and npm's playwright-core")
	}
	t.Parallel()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	s := newClientSystem(t)
	juju := func(args ...string) string { return s.run(t, "", nil, append([]string{"juju"}, args...)...) }
	s.run(t, "opensesame\n", nil, "juju", "change-user-password", "admin", "--no-prompt", "-q")
	for _, name := range []string{"app", "db"} {
		juju("deploy", filepath.Join(s.charms, name), "-q")
	}
	juju("add-user", "bob", "-q")
	juju("add-relation", "app", "db", "-q")
	juju("wait-for", "--timeout", "3m", "-q")
	var controllers map[string]struct {
		Details struct {
			Endpoints []string `json:"api-endpoints"`
		} `json:"details"`
	}
	if err := json.Unmarshal([]byte(juju("show-controller", "--format", "json")), &controllers); err != nil {
		t.Fatal(err)
	}
	for _, one := range controllers {
		s.run(t, "opensesame", nil, "node", filepath.Join("testdata", "clients", "dashboard.mjs"), dashboard, chromium,
			one.Details.Endpoints[0], "admin", cmp.Or(os.Getenv("PICTURES"), t.TempDir()))
	}
	if title := juju("config", "app", "title"); title != "from the dashboard\n" {
		t.Errorf("the option is %q", title)
	}
	if users := juju("users", "default"); !regexp.MustCompile(`(?m)^bob +write`).MatchString(users) {
		t.Errorf("the users are\n%s", users)
	}
	juju("status", "-m", "fresh")
}
