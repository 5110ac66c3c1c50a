package dashboard_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"golang.org/x/tools/txtar"

	"juju/doc/tools/verify"
)

// A system is a real controller, used by the programs of BIN.
type system struct {
	testing.TB
	bin, data string
}

// juju runs a command, and returns what it prints to standard output.
func (s *system) juju(args ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), verify.Patience) // also when the test has ended
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "juju"), args...)
	cmd.Env = append(os.Environ(), "JUJU_DATA="+s.data, "PATH="+s.bin+":"+os.Getenv("PATH"))
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		s.Fatalf("juju %q: %v\n%s%s", args, err, &stdout, &stderr)
	}
	return stdout.String()
}

const journal = `
-- metadata.yaml --
name: journal
summary: keeps what happens
description: its start hook fails until it has a place
requires:
  store: {interface: keyvalue}
storage:
  data: {type: filesystem, location: /srv/journal}
-- config.yaml --
options:
  place: {type: string, default: "", description: where the journal is kept}
  keep: {type: int, default: 7, description: for how many days}
-- actions.yaml --
rotate:
  description: begins another volume of the journal
  params:
    title: {type: string, description: of the volume}
    kind: {type: string, enum: [daily, weekly], default: daily}
  required: [title]
-- actions/rotate --
#!/bin/sh
action-log "closing the old volume"
action-set volume="$(action-get title)"
-- hooks/install --
#!/bin/sh
echo "preparing the journal"
-- hooks/start --
#!/bin/sh
[ -n "$(config-get place)" ] || { echo "there is no place for the journal" >&2; exit 1; }
echo "the journal is open"
status-set active "in $(config-get place)"
`

// writeCharm writes a charm into a folder.
func (s *system) writeCharm(text string) string {
	s.Helper()
	dir := s.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o755); err != nil {
			s.Fatal(err)
		}
	}
	return dir
}

// TestDashboardOfAController uses the dashboard of a real controller, whose agents run charms. BIN is where make build has put
// the programs; PICTURES may be a folder for pictures of the pages, which doc/ shows.
func TestDashboardOfAController(t *testing.T) {
	verify.Only(t, "runs a system in real processes")
	if os.Getenv("BIN") == "" {
		t.Skip("BIN does not say where the programs are; make verify-pages does")
	}
	s := &system{t, os.Getenv("BIN"), filepath.Join(t.TempDir(), "data")}
	s.juju("bootstrap", "local", "prod", "-q")
	t.Cleanup(func() { s.juju("destroy-environment", "prod", "-y", "-q") })
	login := strings.TrimSpace(s.juju("dashboard"))
	origin, path, _ := strings.Cut(login, "/dashboard/")
	b := openTab(t, origin)
	b.goes(path)
	b.reads("prod")
	b.goes("admin/default/")
	b.reads("The model has no services")

	// Services appear as they are deployed, and become healthy.
	examples := filepath.Join(s.bin, "..", "doc", "examples", "charms")
	s.juju("deploy", filepath.Join(examples, "keyvalue"), "store", "-q")
	s.juju("deploy", filepath.Join(examples, "webpage"), "web", "-n", "2", "-q")
	s.juju("add-relation", "web", "store", "-q")
	s.juju("deploy", s.writeCharm(journal), "journal", "-q")
	s.juju("add-relation", "journal", "store", "-q")
	b.until(`document.querySelectorAll(".node.healthy").length === 2 && document.querySelectorAll(".node.failing").length === 1`)
	b.accessible("topology")
	b.picture("topology")

	// What waits says who must act; its button does it.
	b.goes("admin/default/waits")
	b.reads(`hook failed: "start"`)
	b.picture("waits")
	b.goes("admin/default/service/journal")
	b.clicks("Settings")
	b.types("#set-place", "/srv/journal")
	b.clicks("Configure")
	b.reads("juju config journal place=/srv/journal")
	b.clicks("Run it")
	b.reads("Done")
	b.goes("admin/default/unit/journal/0")
	b.clicks("Retry a failed hook")
	b.reads("juju resolved journal/0")
	b.clicks("Run it")
	b.reads("Done")
	b.clicks("Close")
	b.until(`document.querySelector("h1 .healthy") !== null`)
	b.reads("in /srv/journal")
	b.clicks("1 line")
	b.reads("the journal is open")
	b.picture("unit")

	// An action has a form.
	b.clicks("Run rotate")
	b.types("#rotate-title", "The first")
	b.run(scroll("#rotate-title"))
	b.picture("action")
	b.clicks("Run it")
	b.reads("juju run-action journal/0 rotate 'title=The first'")
	b.clicks("Run it")
	b.reads("Done")
	b.goes("admin/default/operation/1")
	b.reads("volume: The first")

	// A plan says what a change would do, before it is made.
	b.goes("admin/default/service/web")
	b.types(`input[name="units"]`, "3")
	b.clicks("Scale")
	b.reads("store-relation-changed")
	b.accessible("plan")
	b.picture("plan")
	b.clicks("Run it")
	b.reads("Done")
	b.clicks("Close")
	b.until(`document.getElementById("u-web/2")?.querySelector(".healthy") != null`)

	// A unit that can't stop is being removed, and the page says what holds it up.
	s.juju("deploy", s.writeCharm(strings.ReplaceAll(journal, "name: journal", "name: log")), "log", "-q")
	b.goes("admin/default/unit/log/0")
	b.until(`document.querySelector("h1 .failing") !== null`)
	b.clicks("Destroy")
	b.reads("destroy-unit log/0")
	b.clicks("Run it")
	b.reads("Done")
	b.goes("admin/default/removals")
	b.reads("juju destroy-unit --force log/0")
	b.accessible("removals")
	b.picture("removals")
	b.run(cdpAction(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}))
	b.goes("admin/default/")
	b.until(`document.querySelectorAll(".node").length === 4`)
	b.picture("topology-dark")
}
