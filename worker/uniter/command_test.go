package uniter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"juju/agent/host/process"
	"juju/doc/tools/verify"
	"juju/hooks"
	"juju/worker/uniter/localstate"
)

// jujuRun returns the command that calls juju-exec on the rig's machine.
func (r *rig) jujuRun(args ...string) *exec.Cmd {
	r.t.Helper()
	agents := filepath.Join(r.dir, "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(r.dir, filepath.Join(agents, "unit-web-0")); err != nil && !os.IsExist(err) {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), verify.Patience)
	r.t.Cleanup(cancel)
	return exec.CommandContext(ctx, filepath.Join(r.dir, "tools", "juju-exec"), args...)
}

// expectRun calls juju-exec and compares its exit code and what it prints.
func (r *rig) expectRun(code int, stdout, stderr string, args ...string) {
	r.t.Helper()
	cmd := r.jujuRun(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("typed\n"), &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() != code || out.String() != stdout || errs.String() != stderr {
		r.t.Errorf("juju-exec %q ends with %d, %q and %q;\nwant %d, %q and %q", args,
			cmd.ProcessState.ExitCode(), out.String(), errs.String(), code, stdout, stderr)
	}
}

// A command of a user of the machine runs like a hook: with its streams and exit code, and what it
// changes is committed if it succeeds.
func TestJujuRun(t *testing.T) {
	r := newRig(t, nil)
	r.c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1})
	r.start()
	r.settle(nil)
	r.hooks()
	charm := filepath.Join(r.dir, "charm")
	r.expectRun(0, "typed\n"+charm+"\n", "oops\n", "web/0",
		"cat; pwd; echo oops >&2; relation-set -r 3 a=b; open-port 81")
	if got := r.c.settings[3]["a"]; got != "b" || len(r.c.ports["web/0"]) != 1 {
		t.Errorf("the settings are %v, the ports %v", r.c.settings, r.c.ports)
	}
	r.expectRun(7, "", "", "unit-web-0", "relation-set -r 3 a=c; exit 7")
	r.expectRun(1, "", "ERROR no good\n", "web/0", "relation-set -r 3 a=c; juju-fail no good")
	r.expectRun(1, "", "ERROR signal: killed\n", "web/0", "relation-set -r 3 a=c; kill -9 $$")
	if got := r.c.settings[3]["a"]; got != "b" {
		t.Errorf("a command that fails has set %q", got)
	}
	r.expectRun(0, "mysql/0 db:3 mysql none\n", "", "-r", "3", "-u", "web/0",
		"echo $JUJU_REMOTE_UNIT $JUJU_RELATION_ID $JUJU_REMOTE_APP ${JUJU_ACTION_NAME-none}")
	r.expectRun(0, "mysql/9\n", "", "--relation", "db:3", "--remote-unit", "mysql/9", "--force-remote-unit", "web/0",
		"echo $JUJU_REMOTE_UNIT")
	r.expectRun(1, "", "ERROR unit \"mysql/9\" is not in relation 3\nhint: to run the command all the same: --force-remote-unit\n",
		"-r", "3", "--remote-unit", "mysql/9", "web/0", "true")
	r.settle(nil) // the agent is idle a moment after juju-run has ended
	r.settle(func() { r.c.relations[3].members["mysql/1"] = 1 })
	r.hooks()
	r.expectRun(1, "", "ERROR ambiguous remote unit; possibilities are [mysql/0 mysql/1]\n", "-r", "3", "web/0", "true")
	r.expectRun(0, "- mysql\n", "", "-r", "3", "--remote-app", "mysql", "web/0", "echo $JUJU_REMOTE_UNIT- $JUJU_REMOTE_APP")
	r.expectRun(1, "", "ERROR service \"x\" is not in relation 3\n", "-r", "3", "--remote-app", "x", "web/0", "true")
	r.expectRun(1, "", "ERROR relation 4 not found\n", "-r", "4", "web/0", "true")
	r.expectRun(1, "", "ERROR not running an action\n", "web/0", "action-set a=b")
	r.expectRun(1, "", "ERROR unit \"web/1\" not found on this machine\n", "web/1", "true")
	r.expectRun(2, "", "ERROR missing unit-name\n")
	r.expectRun(2, "", "ERROR missing commands\n", "web/0")
	r.expectRun(0, "two words;true\n", "", "web/0", "echo", "two words;true")
	r.expectRun(1, "", "ERROR juju-exec cannot be called from within a hook, have context \"ID\"\n"+
		"hint: it would wait for the end of the hook; what a hook has left running must unset JUJU_CONTEXT_ID\n",
		"web/0", `said=$(juju-exec web/0 true 2>&1) && exit 9; echo "${said/$JUJU_CONTEXT_ID/ID}" >&2; exit 1`)
	// The event of a charm's own, which its daemon runs.
	r.expectRun(0, "hooks/tick []\n", "", "-u", "", "JUJU_DISPATCH_PATH=hooks/tick", "sh", "-c", "echo $JUJU_DISPATCH_PATH [$JUJU_HOOK_NAME]")
	// The shell is juju-run's child, not the agent's, and has the hook's tools.
	shell := r.jujuRun("--interactive", "web/0")
	shell.Stdin = strings.NewReader("echo $PPID in $PWD; relation-set -r 3 a=d\nexit\n")
	out, err := shell.CombinedOutput()
	if want := fmt.Sprintf("%d in %s\n", shell.ProcessState.Pid(), charm); err != nil || string(out) != want {
		t.Errorf("the shell: %q, %v; want %q", out, err, want)
	}
	if got := r.c.settings[3]["a"]; got != "d" {
		t.Errorf("after the shell the relation has %q", got)
	}
	r.expectRun(127, "", "bash: line 1: typed: command not found\n", "-i", "web/0")
	info, err := os.Stat(filepath.Join(r.dir, "run"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the socket: %v, %v", info.Mode(), err)
	}
	r.expect()
}

// A user can run commands while a hook has failed, install too; the unit stays in error.
func TestJujuRunInAnErrorState(t *testing.T) {
	r := newRig(t, map[string]string{"install": "exit 1"})
	r.start()
	r.settle(nil)
	r.expectRun(0, "hello\n", "", "web/0", "echo hello")
	if r.c.failure() == "" {
		t.Error("the failed hook is forgotten")
	}
	r.expect("install")
}

// A command ends with the juju-run that waits for it. The unit's agent waits for it before it stops.
func TestJujuRunEndsWithItsUserAndItsAgent(t *testing.T) {
	r := newRig(t, nil)
	r.start()
	r.settle(nil)
	r.hooks()
	cmd := r.jujuRun("web/0", ": >../begun; sleep 1000 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.awaitFile("begun")
	cmd.Process.Kill()
	cmd.Wait()
	r.expectRun(0, "next\n", "", "web/0", "echo next") // which waits for the end of the first

	cmd = r.jujuRun("web/0", ": >../begun-again; while [ ! -e ../go ]; do sleep 0.01; done; echo over")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.awaitFile("begun-again")
	r.cancel(errors.New("told to stop"))
	r.awaitStopping("running action juju-run")
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.end()
	if err := cmd.Wait(); err != nil || out.String() != "over\n" {
		t.Errorf("at the agent's end the command prints %q, %v", out.String(), err)
	}

	// An agent that was killed can't say so; the next one ends what is left of the command.
	store := localstate.Open(filepath.Join(r.dir, "state", stateFile))
	state, err := store.Read()
	if err != nil {
		t.Fatal(err)
	}
	interrupted := localstate.Op{Kind: localstate.RunTask, Step: localstate.Pending, Process: &hooks.Process{Identity: process.Identity{PID: 1}}}
	if err := store.Write(state.With(&interrupted)); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.settle(nil)
	if state, err = store.Read(); err != nil || state.Op != nil {
		t.Errorf("left over: %+v, %v", state.Op, err)
	}
}
