package hooks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reboots runs a hook of a unit whose machine can be restarted.
func (r *rig) reboots(script string) (*Context, error) {
	r.t.Helper()
	writeCharm(r.t, r.params.CharmDir, map[string]string{"start": script})
	params := testParams(Info{Kind: Start})
	params.CanReboot = true
	hctx, err := NewContext(r.backend, params)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return hctx, r.runner.Run(ctx, hctx, r.record)
}

// A hook that calls juju-reboot --now does nothing more, nor do its children, whatever it does about
// signals. It has neither succeeded nor failed.
func TestRebootNowEndsTheHook(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, script := range []string{
		"juju-reboot --now; touch went-on",
		"trap '' TERM; juju-reboot --now; touch went-on",
		"juju-reboot --now & wait; touch went-on",
		"juju-reboot; juju-reboot --now",
	} {
		hctx, err := r.reboots(script)
		if !errors.Is(err, ErrRebootNow) || hctx.Reboot() != RebootNow {
			t.Errorf("%s: %v, reboot %v", script, err, hctx.Reboot())
		}
		awaitGone(t, r.started[len(r.started)-1])
		if _, err := os.Stat(filepath.Join(r.params.CharmDir, "went-on")); err == nil {
			t.Errorf("%s: the hook went on", script)
		}
	}
}

// Without --now the hook ends as it would; only its success counts.
func TestRebootAfterTheHook(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	hctx, err := r.reboots("juju-reboot; touch went-on")
	if err != nil || hctx.Reboot() != RebootAfterHook {
		t.Errorf("%v, reboot %v", err, hctx.Reboot())
	}
	r.read("went-on")
	_, err = r.reboots("juju-reboot; exit 3")
	wantFailed(t, err, 3, "exit status 3")
	if hctx, err = r.reboots("true"); err != nil || hctx.Reboot() != NoReboot {
		t.Errorf("%v, reboot %v", err, hctx.Reboot())
	}
}

func TestActionsDoNotReboot(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.action("restart", "juju-reboot --now 2>refusal || exit 4")
	outcome, err := r.task(Task{ID: "1", Name: "restart"})
	if err != nil || !strings.Contains(outcome.Results, `"return-code":4`) {
		t.Errorf("%+v, %v", outcome, err)
	}
	if got := r.read("refusal"); got != "ERROR juju-reboot is not supported when running an action.\n" {
		t.Errorf("refused with %q", got)
	}
}
