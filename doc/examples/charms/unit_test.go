// Package charms_test tests the example charms. Each charm is a directory that can be deployed as
// is, once "make charms" has built its program into bin/.
//
// The tests run the charms' hooks as a unit agent does, with fake hook tools.
package charms_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"juju/doc/tools/verify"
)

// Fakes of the hook tools that the charms use. They keep their data in $STATE and $WORLD, and
// reject what the real tools would reject.
var tools = map[string]string{
	"unit-get": `[ "$*" = private-address ] || exit 2
cat "$STATE/address"`,
	"config-get": `[ $# = 1 ] || exit 2
cat "$STATE/config/$1"`,
	"relation-ids": `[ $# = 1 ] || exit 2
cat "$STATE/ids/$1" 2>/dev/null || true`,
	"relation-list": relationOption + `[ $# = 0 ] || exit 2
cat "$STATE/members/$relation" 2>/dev/null || true`,
	"relation-get": relationOption + `[ $# = 2 ] || exit 2
cat "$WORLD/$relation/$(echo "$2" | tr / -)/$1" 2>/dev/null || true`,
	"relation-set": relationOption + `[ $# -gt 0 ] || exit 2
mine=$WORLD/$relation/$(echo "$JUJU_UNIT_NAME" | tr / -)
mkdir -p "$mine"
for setting; do printf %s "${setting#*=}" >"$mine/${setting%%=*}"; done`,
	"open-port": `case $* in [0-9]*/tcp) ;; *) exit 2 ;; esac
echo "$1" >>"$STATE/ports"`,
	"close-port": `case $* in [0-9]*/tcp) ;; *) exit 2 ;; esac
grep -vx "$1" "$STATE/ports" >"$STATE/ports.new" || true
mv "$STATE/ports.new" "$STATE/ports"`,
	"status-set": `case $1 in maintenance | blocked | waiting | active) ;; *) exit 2 ;; esac
[ $# = 2 ] || exit 2
echo "$1: $2" >"$STATE/status"`,
	"juju-log": `echo "$*" >>"$STATE/log"`,
}

const relationOption = `relation=${JUJU_RELATION_ID:-}
if [ "$1" = -r ]; then relation=$2; shift 2; fi
relation=${relation#*:}
[ -n "$relation" ] || exit 2
`

// unit is a unit of a charm.
type unit struct {
	t     *testing.T
	name  string // "web/0"
	dir   string // the agent's directory
	addr  string // its own loopback address
	world string // the directory of relation settings, shared by all units of a test
}

// programs builds the programs of both charms into a directory, once for all tests.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "charms-test-")
	for _, name := range []string{"keyvalue", "webpage"} {
		// With the Makefile's flags, so that the build cache is shared.
		cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, name), "./"+name+"/src")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("cannot build %s: %v\n%s", name, err, out)
		}
	}
	return dir, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func buildPrograms(t *testing.T) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newUnit creates the directory of a unit, with the charm and the hook tools, as an agent would.
func newUnit(t *testing.T, world, bin, charm, name string, number int) *unit {
	t.Helper()
	// Each process has its own block of addresses, so that test runs don't collide.
	pid := os.Getpid()
	u := &unit{t: t, name: name, dir: t.TempDir(), world: world,
		addr: fmt.Sprintf("127.%d.%d.%d", 64+pid>>8&63, pid&255, number)}
	if err := os.CopyFS(u.charm(), os.DirFS(charm)); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(u.charm(), "src"))
	os.RemoveAll(filepath.Join(u.charm(), "bin"))
	if bin != "" {
		u.copyProgram(filepath.Join(bin, charm), charm)
	}
	for tool, body := range tools {
		u.write("tools/"+tool, "#!/bin/sh\nset -eu\n"+body+"\n", 0o755)
	}
	u.write("state/address", u.addr, 0o644)
	u.write("state/ports", "", 0o644)
	t.Cleanup(u.killProgram)
	return u
}

func (u *unit) charm() string { return filepath.Join(u.dir, "charm") }

func (u *unit) copyProgram(from, name string) {
	u.t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		u.t.Fatal(err)
	}
	u.write("charm/bin/"+name, string(data), 0o755)
}

func (u *unit) write(name, content string, perm fs.FileMode) {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), perm); err != nil {
		u.t.Fatal(err)
	}
}

func (u *unit) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(u.dir, name))
	return strings.TrimSpace(string(data))
}

func (u *unit) config(key, value string) { u.write("state/config/"+key, value, 0o644) }

// related sets the members of one of the unit's relations, or removes the relation if there are
// none.
func (u *unit) related(id string, members ...string) {
	name, number, _ := strings.Cut(id, ":")
	ids := id
	if len(members) == 0 {
		ids = ""
	}
	u.write("state/ids/"+name, ids, 0o644)
	u.write("state/members/"+number, strings.Join(members, "\n"), 0o644)
}

// try runs a hook as an agent does: in its own process group, which is killed after the hook, and
// with an output that the hook must not leave open.
func (u *unit) try(hook string, env ...string) error {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(u.charm(), "hooks", hook))
	cmd.Dir = u.charm()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append([]string{
		"PATH=" + filepath.Join(u.dir, "tools") + ":" + os.Getenv("PATH"),
		"CHARM_DIR=" + u.charm(),
		"JUJU_UNIT_NAME=" + u.name,
		"JUJU_CONTEXT_ID=secret-of-the-hook",
		"JUJU_AGENT_SOCKET=socket-of-the-hook",
		"STATE=" + filepath.Join(u.dir, "state"),
		"WORLD=" + u.world,
	}, env...)
	cmd.WaitDelay = verify.Patience // after that, an output still open is an error
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if len(out) > 0 {
		u.t.Logf("%s %s: %s", u.name, hook, out)
	}
	return err
}

// run is try for a hook that must succeed.
func (u *unit) run(hook string, env ...string) {
	u.t.Helper()
	if err := u.try(hook, env...); err != nil {
		u.t.Fatalf("%s %s: %v\nlog: %s\nprogram: %s", u.name, hook, err, u.read("state/log"), u.read("service/log"))
	}
}

// relation runs a relation hook for a remote unit, which is "" for broken.
func (u *unit) relation(id, event, remote string) {
	u.t.Helper()
	name, _, _ := strings.Cut(id, ":")
	u.run(name+"-relation-"+event, "JUJU_RELATION="+name, "JUJU_RELATION_ID="+id, "JUJU_REMOTE_UNIT="+remote)
}

func (u *unit) wantStatus(want string) {
	u.t.Helper()
	want = strings.ReplaceAll(want, "ADDR", u.addr)
	if got := u.read("state/status"); got != want {
		u.t.Errorf("%s has status %q, want %q", u.name, got, want)
	}
}

// pid returns the process id of the unit's program, or 0 if it is not running.
func (u *unit) pid() int {
	if exec.Command("flock", "-n", "-s", filepath.Join(u.dir, "service/lock"), "true").Run() == nil {
		return 0
	}
	pid, _ := strconv.Atoi(u.read("service/pid"))
	return pid
}

// killProgram kills the program with SIGKILL and waits for it to exit.
func (u *unit) killProgram() {
	if _, err := os.Stat(filepath.Join(u.dir, "service/lock")); err != nil {
		return
	}
	if pid := u.pid(); pid > 0 {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	exec.Command("timeout", fmt.Sprint(verify.Patience.Seconds()), "flock", "-s", filepath.Join(u.dir, "service/lock"), "true").Run()
}
