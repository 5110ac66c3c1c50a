package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state/entity"
)

func TestMissingHookSucceeds(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.mustRun(Info{Kind: Start})
	if len(r.started) != 0 {
		t.Errorf("a process was recorded: %v", r.started)
	}
	want := []string{`juju.hooks INFO skipped "start" hook (missing)`}
	if diff := cmp.Diff(want, r.log.take()); diff != "" {
		t.Error(diff)
	}
}

// A link that leads nowhere is a missing hook or dispatch.
func TestADanglingLinkIsAMissingHook(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"install": ""})
	for _, link := range []string{"hooks/start", "dispatch"} {
		if err := os.Symlink("nowhere", filepath.Join(r.params.CharmDir, link)); err != nil {
			t.Fatal(err)
		}
	}
	r.mustRun(Info{Kind: Start})
	r.mustRun(Info{Kind: Install})
	if len(r.started) != 1 {
		t.Errorf("%d hooks ran, want install alone", len(r.started))
	}
}

// A missing charm is not a charm without hooks.
func TestMissingCharmIsNoSuccess(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if err := os.RemoveAll(r.params.CharmDir); err != nil {
		t.Fatal(err)
	}
	_, err := r.run(Info{Kind: Start})
	var failed *FailedError
	if !errors.Is(err, os.ErrNotExist) || errors.As(err, &failed) {
		t.Errorf("got %v, want an error of the agent's", err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"install": "echo before; relation-set -r db:0 a=b; status-set blocked 'help me'; echo cannot go on >&2; " +
			"echo after; exit 3",
		"start":          "kill -KILL $$",
		"config-changed": "exit 0",
		"stop":           "config-get nonsense --format nope || exit $?",
	})
	hooks := filepath.Join(r.params.CharmDir, "hooks")
	hctx, err := r.run(Info{Kind: Install})
	wantFailed(t, err, 3, "exit status 3")
	if got, want := err.Error(), `hook "install" failed: exit status 3: cannot go on`; got != want {
		t.Errorf("error is %q, want %q", got, want)
	}
	// The buffered writes stay until the caller discards them.
	if got := hctx.Changes().Relations[0]["a"]; got != "b" {
		t.Errorf("buffered %q", got)
	}
	if r.backend.status.Status != entity.StatusBlocked {
		t.Errorf("status is %v", r.backend.status)
	}
	_, err = r.run(Info{Kind: Start})
	wantFailed(t, err, -1, "signal: killed")
	_, err = r.run(Info{Kind: Stop})
	wantFailed(t, err, 2, "exit status 2")

	if err := os.Chmod(filepath.Join(hooks, "config-changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.log.take()
	_, err = r.run(Info{Kind: ConfigChanged})
	wantFailed(t, err, 126, "exit status 126")
	want := []string{"unit.wordpress/0.config-changed WARNING ERROR cannot run hooks/config-changed: it is not executable"}
	if diff := cmp.Diff(want, r.log.take()); diff != "" {
		t.Error(diff)
	}
	if err := os.Symlink("upgrade-charm", filepath.Join(hooks, "upgrade-charm")); err != nil { // to itself
		t.Fatal(err)
	}
	_, err = r.run(Info{Kind: UpgradeCharm})
	wantFailed(t, err, 126, "exit status 126")
}

// A hook of a context that has been used would answer to the wrong tools.
func TestContextIsForOneRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	hctx := r.mustRun(Info{Kind: Start})
	if err := r.runner.Run(context.Background(), hctx, nil); err == nil {
		t.Error("a context was used twice")
	}
}

// Many tools at once, more than the agent serves at a time, all get their answer,
// and read a fact once.
func TestConcurrentTools(t *testing.T) {
	t.Parallel()
	const n = 100
	r := newRig(t, map[string]string{"install": fmt.Sprintf(`
		for i in $(seq %d); do config-get title > out.$i & done
		wait
		cat out.* > all
	`, n)})
	r.mustRun(Info{Kind: Install})
	if got := strings.Count(r.read("all"), "My blog\n"); got != n {
		t.Errorf("%d of %d tools were answered", got, n)
	}
	if got := r.backend.takeCalls(); got != "Config" {
		t.Errorf("the controller was asked: %q", got)
	}
}
