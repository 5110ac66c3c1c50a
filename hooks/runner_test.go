package hooks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"juju/charm"
	"juju/state/entity"
)

// eventTimeout is how long a test waits for something that must happen.
const eventTimeout = 20 * time.Second

// A rig is a unit with a charm, and what its hooks have done.
type rig struct {
	t       *testing.T
	dir     string
	params  RunnerParams
	runner  *Runner
	backend *fakeBackend
	log     *logRecorder
	started []Process // what persist was given
}

// newRig makes a unit whose charm has these hooks: shell scripts, by name.
func newRig(t *testing.T, hooks map[string]string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), backend: newBackend(), log: newLog()}
	r.params = rigParams(r.dir)
	r.params.Log = r.log.log
	writeCharm(t, r.params.CharmDir, hooks)
	r.open()
	t.Cleanup(r.close)
	return r
}

// rigParams lays a unit out below dir.
func rigParams(dir string) RunnerParams {
	return RunnerParams{
		CharmDir:     filepath.Join(dir, "charm"),
		ToolsDir:     toolsDir,
		RunDir:       filepath.Join(dir, "run"),
		LauncherPath: hookTool,
		LockPath:     filepath.Join(dir, "lock"),
	}
}

func writeCharm(t *testing.T, dir string, hooks map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, script := range hooks {
		if err := os.WriteFile(filepath.Join(dir, "hooks", name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// open starts the unit's agent, so to speak, in place of the one before.
func (r *rig) open() {
	r.t.Helper()
	r.close()
	runner, err := NewRunner(r.params)
	if err != nil {
		r.t.Fatal(err)
	}
	r.runner = runner
}

func (r *rig) close() {
	r.t.Helper()
	if r.runner != nil {
		if err := r.runner.Close(); err != nil {
			r.t.Error(err)
		}
		r.runner = nil
	}
}

// run runs a hook to its end.
func (r *rig) run(info Info) (*Context, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	return r.runWith(ctx, info)
}

func (r *rig) runWith(ctx context.Context, info Info) (*Context, error) {
	r.t.Helper()
	hctx, err := NewContext(r.backend, testParams(info))
	if err != nil {
		r.t.Fatal(err)
	}
	return hctx, r.runner.Run(ctx, hctx, func(p Process) error {
		r.started = append(r.started, p)
		return nil
	})
}

// mustRun runs a hook that must succeed.
func (r *rig) mustRun(info Info) *Context {
	r.t.Helper()
	hctx, err := r.run(info)
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", info, err, strings.Join(r.log.take(), "\n"))
	}
	return hctx
}

// read returns what a hook has written to a file of the charm directory.
func (r *rig) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.params.CharmDir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// A fifo lets a hook tell a test how far it is, or the other way round.
type fifo struct {
	t     *testing.T
	file  *os.File
	lines *bufio.Reader
}

func newFIFO(t *testing.T, path string) *fifo {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &fifo{t, f, bufio.NewReader(f)}
}

// next waits for the next line.
func (f *fifo) next() string {
	f.t.Helper()
	f.file.SetReadDeadline(time.Now().Add(eventTimeout))
	line, err := f.lines.ReadString('\n')
	if err != nil {
		f.t.Fatalf("the hook did not say anything: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (f *fifo) say(line string) {
	f.t.Helper()
	if _, err := f.file.WriteString(line + "\n"); err != nil {
		f.t.Fatal(err)
	}
}

// awaitGone waits until a process that is not the test's child has ended.
func awaitGone(t *testing.T, p Process) {
	t.Helper()
	if gone, err := waitGroup(p.PID, eventTimeout); err != nil || !gone {
		t.Fatalf("process %d is still there: %v", p.PID, err)
	}
}

func wantFailed(t *testing.T, err error, code int, reason string) {
	t.Helper()
	var failed *FailedError
	if !errors.As(err, &failed) {
		t.Fatalf("got error %v, want a failed hook", err)
	}
	if failed.ExitCode != code || failed.Reason != reason {
		t.Errorf("failed with %d %q, want %d %q", failed.ExitCode, failed.Reason, code, reason)
	}
}

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

// What a hook can rely on: its directory, its name, its environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "do not tell")
	t.Setenv("TZ", "UTC")
	// What an agent has inherited from a careless parent.
	leak, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	r := newRig(t, map[string]string{
		"db-relation-departed": "env > env; pwd > pwd; echo $# $0 > args; readlink /proc/self/fd/0 > stdin; ulimit -n > " +
			"limit; ls /proc/self/fd > fds",
		"db-relation-broken": "env > env",
		"install":            "env > env",
	})
	env := func() map[string]string {
		vars := map[string]string{}
		for line := range strings.Lines(r.read("env")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			vars[name] = value
		}
		return vars
	}
	hctx, err := NewContext(r.backend, func() ContextParams {
		p := testParams(Info{Kind: RelationDeparted, RelationID: 0, RemoteUnit: "mysql/3"})
		p.DepartingUnit, p.Principal = "mysql/3", "haproxy/2"
		return p
	}())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.runner.Run(context.Background(), hctx, func(Process) error { return nil }); err != nil {
		t.Fatal(err)
	}
	got := env()
	for _, inherited := range []string{"HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "_", "SHLVL"} {
		delete(got, inherited)
	}
	if !strings.HasPrefix(got["JUJU_CONTEXT_ID"], "wordpress/0-db-relation-departed-") {
		t.Errorf("JUJU_CONTEXT_ID is %q", got["JUJU_CONTEXT_ID"])
	}
	delete(got, "JUJU_CONTEXT_ID")
	want := map[string]string{
		"APT_LISTCHANGES_FRONTEND":  "none",
		"CHARM_DIR":                 r.params.CharmDir,
		"DEBIAN_FRONTEND":           "noninteractive",
		"JUJU_AGENT_SOCKET":         filepath.Join(r.params.RunDir, "agent.socket"),
		"JUJU_AGENT_SOCKET_ADDRESS": filepath.Join(r.params.RunDir, "agent.socket"),
		"JUJU_AGENT_SOCKET_NETWORK": "unix",
		"JUJU_AVAILABILITY_ZONE":    "",
		"JUJU_CHARM_FTP_PROXY":      "",
		"JUJU_CHARM_HTTPS_PROXY":    "",
		"JUJU_CHARM_HTTP_PROXY":     "",
		"JUJU_CHARM_NO_PROXY":       "",
		"JUJU_DISPATCH_PATH":        "hooks/db-relation-departed",
		"JUJU_METER_INFO":           "not set",
		"JUJU_METER_STATUS":         "AMBER",
		"JUJU_SLA":                  "unsupported",
		"CLOUD_API_VERSION":         "",
		"JUJU_API_ADDRESSES":        "10.0.0.1:17070 10.0.0.2:17070",
		"JUJU_CHARM_DIR":            r.params.CharmDir,
		"JUJU_DEPARTING_UNIT":       "mysql/3",
		"JUJU_ENV_NAME":             "default",
		"JUJU_ENV_UUID":             "c0ffee00-0000-4000-8000-000000000001",
		"JUJU_HOOK_NAME":            "db-relation-departed",
		"JUJU_MACHINE_ID":           "4",
		"JUJU_MODEL_NAME":           "default",
		"JUJU_MODEL_UUID":           "c0ffee00-0000-4000-8000-000000000001",
		"JUJU_PRINCIPAL_UNIT":       "haproxy/2",
		"JUJU_RELATION":             "db",
		"JUJU_RELATION_ID":          "db:0",
		"JUJU_REMOTE_APP":           "mysql",
		"JUJU_REMOTE_UNIT":          "mysql/3",
		"JUJU_UNIT_NAME":            "wordpress/0",
		"JUJU_VERSION":              charm.Contract.String(),
		"LANG":                      "C.UTF-8",
		"PATH":                      toolsDir + ":" + os.Getenv("PATH"),
		"TERM":                      "dumb",
		"TMPDIR":                    os.Getenv("TMPDIR"),
		"TZ":                        "UTC",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment:\n%s", diff)
	}
	for file, want := range map[string]string{
		"pwd":   r.params.CharmDir,
		"args":  "0 " + filepath.Join(r.params.CharmDir, "hooks", "db-relation-departed"),
		"stdin": "/dev/null",
	} {
		if got := strings.TrimSpace(r.read(file)); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	// Nothing else of the agent's is open in the hook; 3 is ls looking.
	if got := strings.Fields(r.read("fds")); !slices.Equal(got, []string{"0", "1", "2", "3"}) {
		t.Errorf("the hook has descriptors %q", got)
	}
	if got, want := strings.TrimSpace(r.read("limit")), fmt.Sprint(openFiles(t)); got != want {
		t.Errorf("the hook may open %s files, want %s", got, want)
	}

	r.mustRun(Info{Kind: RelationBroken, RelationID: 7})
	got = env()
	remote, set := got["JUJU_REMOTE_UNIT"]
	if !set || remote != "" || got["JUJU_REMOTE_APP"] != "other" || got["JUJU_RELATION_ID"] != "db:7" {
		t.Errorf("in relation-broken: %q", got)
	}
	if _, set := got["JUJU_DEPARTING_UNIT"]; set {
		t.Errorf("JUJU_DEPARTING_UNIT is set in relation-broken")
	}

	r.mustRun(Info{Kind: Install})
	for name := range env() {
		if strings.HasPrefix(name, "JUJU_RELATION") || strings.HasPrefix(name, "JUJU_REMOTE") {
			t.Errorf("%s is set in install", name)
		}
	}
}

// openFiles returns how many files a child of this process may open, which is
// what this process was started with: Go raises its own limit.
func openFiles(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("sh", "-c", "ulimit -n").Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return n
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
	want := []string{"unit.wordpress/0.config-changed INFO ERROR cannot run hooks/config-changed: it is not executable"}
	if diff := cmp.Diff(want, r.log.take()); diff != "" {
		t.Error(diff)
	}
	if err := os.Symlink("nowhere", filepath.Join(hooks, "upgrade-charm")); err != nil {
		t.Fatal(err)
	}
	_, err = r.run(Info{Kind: UpgradeCharm})
	wantFailed(t, err, 127, "exit status 127")
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

// What a hook reads is one picture of the world, and what it writes waits.
func TestSandbox(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"db-relation-changed": `
		relation-get host > first
		config-get title >> first
		echo seen > fifo
		read go < go
		relation-get host > second
		config-get title >> second
		relation-set host="$(unit-get private-address)" port=$(config-get port)
		relation-get - $JUJU_UNIT_NAME --format json > own
		open-port 443
		close-port 80
	`})
	seen, proceed := newFIFO(t, filepath.Join(r.params.CharmDir, "fifo")),
		newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	go func() {
		seen.next()
		r.backend.change(func(b *fakeBackend) {
			b.config["title"] = "Changed"
			b.settings["0 mysql/0"] = map[string]string{"host": "elsewhere"}
		})
		proceed.say("on")
	}()
	hctx := r.mustRun(Info{Kind: RelationChanged, RemoteUnit: "mysql/0"})
	if first, second := r.read("first"), r.read("second"); first != second || first != "10.0.0.2\nMy blog\n" {
		t.Errorf("first saw %q, then %q", first, second)
	}
	if got, want := r.read("own"),
		`{"host":"10.0.0.7","port":"8080","private-address":"10.0.0.7","user":"wp"}`+"\n"; got != want {
		t.Errorf("own settings are %s, want %s", got, want)
	}
	want := entity.HookChanges{
		Relations:  map[int]map[string]string{0: {"host": "10.0.0.7", "port": "8080"}},
		OpenPorts:  []entity.PortRange{{From: 443, To: 443, Protocol: "tcp"}},
		ClosePorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}},
	}
	if diff := cmp.Diff(want, hctx.Changes()); diff != "" {
		t.Error(diff)
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

// The agent's directory may lie deeper than a socket's address can say.
func TestLongPath(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"install": "config-get title > title"})
	r.params.RunDir = filepath.Join(r.dir, strings.Repeat("long/", 40))
	r.open()
	r.mustRun(Info{Kind: Install})
	if got := r.read("title"); got != "My blog\n" {
		t.Errorf("got %q", got)
	}
	info, err := os.Stat(r.params.RunDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's directory has mode %v, %v", info.Mode(), err)
	}
}

// A hook is over when its own process is, whatever it has left running. A child in the
// background goes on printing to the log, but its tools are refused, both between hooks and
// during the next one.
func TestBackgroundChildLivesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"start": `
			trap '' HUP
			(
				read line < cmd; echo "daemon heard $line"
				read line < cmd; config-get title; echo "between: $?"
				read line < cmd; relation-set -r db:0 evil=yes; echo "later: $?"
				echo bye > events
			) &
			echo started`,
		"config-changed": "echo running > events; read line < go",
	})
	cmd, events, proceed := newFIFO(t, filepath.Join(r.params.CharmDir, "cmd")),
		newFIFO(t, filepath.Join(r.params.CharmDir, "events")), newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	await := func(line string) {
		t.Helper()
		if err := r.log.await(ctx, line); err != nil {
			t.Fatal(err)
		}
	}
	r.mustRun(Info{Kind: Start})
	await("unit.wordpress/0.start INFO started")
	cmd.say("hello")
	await("unit.wordpress/0.start INFO daemon heard hello")
	cmd.say("between")
	await("unit.wordpress/0.start INFO a hook tool works only while the hook that started it runs")
	await("unit.wordpress/0.start INFO between: 1")

	done := make(chan error, 1)
	var hctx *Context
	go func() {
		var err error
		hctx, err = r.runWith(ctx, Info{Kind: ConfigChanged})
		done <- err
	}()
	if got := events.next(); got != "running" {
		t.Fatalf("got %q", got)
	}
	cmd.say("later")
	await("unit.wordpress/0.config-changed INFO ERROR hook context is over")
	await("unit.wordpress/0.config-changed INFO later: 1")
	proceed.say("on")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !hctx.Changes().IsEmpty() {
		t.Errorf("an old hook's child has written %v", hctx.Changes())
	}
	if got := events.next(); got != "bye" {
		t.Fatalf("got %q", got)
	}
	awaitGone(t, r.started[0])
}

// Hooks of one machine run one at a time, also those of different units, and the wait can be
// cancelled.
func TestOneHookAtATime(t *testing.T) {
	t.Parallel()
	first := newRig(t, map[string]string{"start": "echo in > events; read line < go; echo out > events"})
	second := newRig(t, map[string]string{"start": "echo 'other in' > " + first.params.CharmDir + "/events"})
	second.params.LockPath = first.params.LockPath
	second.open()
	events, proceed := newFIFO(t, filepath.Join(first.params.CharmDir, "events")),
		newFIFO(t, filepath.Join(first.params.CharmDir, "go"))

	results := make(chan error, 2)
	run := func(ctx context.Context, r *rig) {
		_, err := r.runWith(ctx, Info{Kind: Start})
		results <- err
	}
	go run(context.Background(), first)
	if got := events.next(); got != "in" {
		t.Fatalf("got %q", got)
	}
	bound, done := context.WithTimeout(context.Background(), eventTimeout)
	defer done()
	waits := func() {
		t.Helper()
		if err := second.log.await(bound, `juju.hooks DEBUG "start" hook waits for another hook of the machine`); err != nil {
			t.Fatal(err)
		}
		second.log.take()
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	go run(ctx, second)
	waits()
	cancel(enough)
	if err := <-results; !errors.Is(err, enough) {
		t.Fatalf("waiting ended with %v", err)
	}
	go run(context.Background(), second)
	waits()
	proceed.say("on")
	for _, want := range []string{"out", "other in"} {
		if got := events.next(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if len(second.started) != 1 {
		t.Errorf("recorded %v, want one process", second.started)
	}
}

// An agent that is stopped lets its hook finish.
func TestStopLetsHookFinish(t *testing.T) {
	t.Parallel()
	r := newRig(t,
		map[string]string{"start": "echo in > events; read line < go; relation-set -r 0 a=\"$(config-get title)\""})
	events, proceed := newFIFO(t, filepath.Join(r.params.CharmDir, "events")),
		newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		events.next()
		cancel()
		proceed.say("on")
	}()
	hctx, err := r.runWith(ctx, Info{Kind: Start})
	if err != nil {
		t.Fatal(err)
	}
	// Its tools have worked to the end.
	if got := hctx.Changes().Relations[0]["a"]; got != "My blog" {
		t.Errorf("changes are %v", hctx.Changes())
	}
}

// A hook that doesn't finish when its agent is stopped has failed. So has one that is aborted,
// at once. All its children are ended too, even those that ignore SIGTERM.
func TestStopAndAbortEndTheGroup(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout time.Duration
		cause   error
		reason  string
		trap    string
	}{
		{"stop", time.Millisecond, context.Canceled, "the agent was stopped before it was over", ""},
		{"abort", time.Hour, ErrAbort, "aborted", ""},
		{"abort of the unwilling", time.Hour, ErrAbort, "aborted", "trap '' TERM; "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{"start": test.trap + "sleep 1000 & echo in > events; while :; do sleep 1000; done"})
			r.params.StopTimeout = test.timeout
			r.open()
			events := newFIFO(t, filepath.Join(r.params.CharmDir, "events"))
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() {
				events.next()
				cancel(test.cause)
			}()
			_, err := r.runWith(ctx, Info{Kind: Start})
			wantFailed(t, err, -1, test.reason)
			if left, err := groupMembers(r.started[0].PID); err != nil || len(left) != 0 {
				t.Errorf("left running: %v, %v", left, err)
			}
		})
	}
}

// No hook begins before its process has been written down.
func TestUnrecordedHookNeverRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"start": "touch ran"})
	hctx, err := NewContext(r.backend, testParams(Info{Kind: Start}))
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	var process Process
	err = r.runner.Run(context.Background(), hctx, func(p Process) error {
		process = p
		if alive, err := p.runs(); err != nil || !alive {
			t.Errorf("the launcher is not there: %v", err)
		}
		if _, err := os.Stat(filepath.Join(r.params.CharmDir, "ran")); !os.IsNotExist(err) {
			t.Errorf("the hook has begun: %v", err)
		}
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	awaitGone(t, process)
	if _, err := os.Stat(filepath.Join(r.params.CharmDir, "ran")); !os.IsNotExist(err) {
		t.Errorf("the hook has run: %v", err)
	}
	r.mustRun(Info{Kind: Start}) // the lock and the socket are free
}

// A slow controller holds up a hook, but not its end: a tool that waits in the background is
// ended with the hook.
func TestHookEndsTools(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"start": "(config-get title; echo gone > events) & read line < go"})
	events, proceed := newFIFO(t, filepath.Join(r.params.CharmDir, "events")),
		newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	r.backend.block = make(chan struct{})
	proceed.say("on")
	r.mustRun(Info{Kind: Start})
	if got := events.next(); got != "gone" {
		t.Errorf("got %q", got)
	}
	awaitGone(t, r.started[0])
}
