package hooks

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"juju/state/entity"
)

// The complete environment of whatever runs for a unit: a hook, one about a relation, storage or the machine's next series,
// an action, and commands of juju exec and of juju-exec.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	type vars = map[string]string
	always := vars{
		"APT_LISTCHANGES_FRONTEND": "none", "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8", "TERM": terminal(),
		"PATH":      "/tools:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin",
		"CHARM_DIR": "/charm", "JUJU_CHARM_DIR": "/charm",
		"JUJU_AGENT_SOCKET": "/socket", "JUJU_AGENT_SOCKET_ADDRESS": "/socket", "JUJU_AGENT_SOCKET_NETWORK": "unix",
		"JUJU_UNIT_NAME": "wordpress/0", "JUJU_PRINCIPAL_UNIT": "", "JUJU_MACHINE_ID": "4", "JUJU_AVAILABILITY_ZONE": "",
		"JUJU_MODEL_NAME": "default", "JUJU_MODEL_UUID": "c0ffee00-0000-4000-8000-000000000001",
		"JUJU_ENV_NAME": "default", "JUJU_ENV_UUID": "c0ffee00-0000-4000-8000-000000000001",
		"JUJU_API_ADDRESSES": "10.0.0.1:17070 10.0.0.2:17070",
		"JUJU_VERSION":       entity.JujuVersion, "CLOUD_API_VERSION": "", "JUJU_SLA": "unsupported",
		"JUJU_CHARM_HTTP_PROXY": "http://juju:3128", "JUJU_CHARM_HTTPS_PROXY": "", "JUJU_CHARM_FTP_PROXY": "", "JUJU_CHARM_NO_PROXY": "",
		"http_proxy": "http://legacy:3128", "HTTP_PROXY": "http://legacy:3128",
		"TZ": "UTC", "TMPDIR": "/var/tmp",
	}
	relation, ids := Info{Kind: RelationChanged, RelationID: 0, RemoteUnit: "mysql/9"}, map[string]bool{}
	for what, test := range map[string]struct {
		info   Info
		task   *Task
		series string // that the machine gets
		more   vars
	}{
		"a hook": {info: Info{Kind: Install}, more: vars{"JUJU_HOOK_NAME": "install", "JUJU_DISPATCH_PATH": "hooks/install"}},
		"relation-created": {info: Info{Kind: RelationCreated}, more: vars{
			"JUJU_HOOK_NAME": "db-relation-created", "JUJU_DISPATCH_PATH": "hooks/db-relation-created",
			"JUJU_RELATION": "db", "JUJU_RELATION_ID": "db:0", "JUJU_REMOTE_UNIT": "", "JUJU_REMOTE_APP": "mysql"}},
		"relation-changed": {info: relation, more: vars{
			"JUJU_HOOK_NAME": "db-relation-changed", "JUJU_DISPATCH_PATH": "hooks/db-relation-changed",
			"JUJU_RELATION": "db", "JUJU_RELATION_ID": "db:0", "JUJU_REMOTE_UNIT": "mysql/9", "JUJU_REMOTE_APP": "mysql"}},
		"relation-changed of a service": {info: Info{Kind: RelationChanged, RemoteApplication: "mysql"}, more: vars{
			"JUJU_HOOK_NAME": "db-relation-changed", "JUJU_DISPATCH_PATH": "hooks/db-relation-changed",
			"JUJU_RELATION": "db", "JUJU_RELATION_ID": "db:0", "JUJU_REMOTE_UNIT": "", "JUJU_REMOTE_APP": "mysql"}},
		"relation-broken": {info: Info{Kind: RelationBroken, RelationID: 0}, more: vars{
			"JUJU_HOOK_NAME": "db-relation-broken", "JUJU_DISPATCH_PATH": "hooks/db-relation-broken",
			"JUJU_RELATION": "db", "JUJU_RELATION_ID": "db:0", "JUJU_REMOTE_UNIT": "", "JUJU_REMOTE_APP": "mysql"}},
		"relation-departed": {info: Info{Kind: RelationDeparted, RelationID: 7, RemoteUnit: "mysql/0"}, more: vars{
			"JUJU_HOOK_NAME": "db-relation-departed", "JUJU_DISPATCH_PATH": "hooks/db-relation-departed",
			"JUJU_RELATION": "db", "JUJU_RELATION_ID": "db:7", "JUJU_REMOTE_UNIT": "mysql/0", "JUJU_REMOTE_APP": "mysql",
			"JUJU_DEPARTING_UNIT": "mysql/0"}},
		"storage-attached": {info: Info{Kind: StorageAttached, Storage: "data/0"}, more: vars{
			"JUJU_HOOK_NAME": "data-storage-attached", "JUJU_DISPATCH_PATH": "hooks/data-storage-attached",
			"JUJU_STORAGE_ID": "data/0", "JUJU_STORAGE_LOCATION": "/srv/data", "JUJU_STORAGE_KIND": "filesystem"}},
		"pre-series-upgrade": {info: Info{Kind: PreSeriesUpgrade}, series: "noble", more: vars{
			"JUJU_HOOK_NAME": "pre-series-upgrade", "JUJU_DISPATCH_PATH": "hooks/pre-series-upgrade",
			"JUJU_TARGET_SERIES": "noble", "JUJU_TARGET_BASE": "ubuntu@24.04"}},
		"secret-changed": {info: SecretHook(entity.SecretEvent{Kind: entity.SecretChanged, ID: "9m4e2mr0ui3e8a215n4g", Revision: 3, Label: "db"}),
			more: vars{"JUJU_HOOK_NAME": "secret-changed", "JUJU_DISPATCH_PATH": "hooks/secret-changed",
				"JUJU_SECRET_ID": "secret:9m4e2mr0ui3e8a215n4g", "JUJU_SECRET_LABEL": "db"}},
		"secret-rotate": {info: SecretHook(entity.SecretEvent{Kind: entity.SecretRotate, ID: "9m4e2mr0ui3e8a215n4g", Revision: 3}),
			more: vars{"JUJU_HOOK_NAME": "secret-rotate", "JUJU_DISPATCH_PATH": "hooks/secret-rotate",
				"JUJU_SECRET_ID": "secret:9m4e2mr0ui3e8a215n4g", "JUJU_SECRET_LABEL": ""}},
		"secret-remove": {info: SecretHook(entity.SecretEvent{Kind: entity.SecretRemove, ID: "9m4e2mr0ui3e8a215n4g", Revision: 2, Label: "db"}),
			more: vars{"JUJU_HOOK_NAME": "secret-remove", "JUJU_DISPATCH_PATH": "hooks/secret-remove",
				"JUJU_SECRET_ID": "secret:9m4e2mr0ui3e8a215n4g", "JUJU_SECRET_LABEL": "db", "JUJU_SECRET_REVISION": "2"}},
		"secret-expired": {info: SecretHook(entity.SecretEvent{Kind: entity.SecretExpired, ID: "9m4e2mr0ui3e8a215n4g", Revision: 2}),
			more: vars{"JUJU_HOOK_NAME": "secret-expired", "JUJU_DISPATCH_PATH": "hooks/secret-expired",
				"JUJU_SECRET_ID": "secret:9m4e2mr0ui3e8a215n4g", "JUJU_SECRET_LABEL": "", "JUJU_SECRET_REVISION": "2"}},
		"an action": {task: &Task{ID: "12", Name: "backup"}, more: vars{"JUJU_HOOK_NAME": "", "JUJU_DISPATCH_PATH": "actions/backup",
			"JUJU_ACTION_NAME": "backup", "JUJU_ACTION_UUID": "12", "JUJU_ACTION_TAG": "action-12"}},
		"a command of juju exec": {task: &Task{ID: "13", Name: entity.CommandTask, Command: "df"}, more: vars{"JUJU_HOOK_NAME": "",
			"JUJU_ACTION_NAME": "juju-exec", "JUJU_ACTION_UUID": "13", "JUJU_ACTION_TAG": "action-13"}},
		"a command of juju-exec": {task: &Task{Name: entity.CommandTask, Command: "df"}, more: vars{"JUJU_HOOK_NAME": ""}},
		"a command of juju-exec about a relation": {info: relation, task: &Task{Name: entity.CommandTask, Command: "df"}, more: vars{
			"JUJU_HOOK_NAME": "",
			"JUJU_RELATION":  "db", "JUJU_RELATION_ID": "db:0", "JUJU_REMOTE_UNIT": "mysql/9", "JUJU_REMOTE_APP": "mysql"}},
	} {
		params := testParams(test.info)
		params.Task, params.TargetSeries, params.DepartingUnit = test.task, test.series, test.info.RemoteUnit
		params.Settings = map[string]string{"juju-http-proxy": "http://juju:3128", "http-proxy": "http://legacy:3128"}
		hctx, err := NewContext(newBackend(), params)
		if err != nil {
			t.Fatal(err)
		}
		agent := []string{"HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/sh", "AWS_SECRET_ACCESS_KEY=x", "PATH=/home/me/bin", "TZ=UTC", "TMPDIR=/var/tmp"}
		got := vars{}
		for _, entry := range hctx.environment(agent, "/charm", "/tools", "/socket") {
			name, value, _ := strings.Cut(entry, "=")
			got[name] = value
		}
		if ids[hctx.id] {
			t.Errorf("%s has the context of another: %s", what, hctx.id)
		}
		ids[hctx.id] = true
		want := vars{"JUJU_CONTEXT_ID": hctx.id}
		maps.Copy(want, always)
		maps.Copy(want, test.more)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
}

// A terminal that every system of its kind knows.
func TestTerminal(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]string{
		"NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n": "tmux-256color",
		"ID=debian\n":                   "screen",
		"ID=mint\nID_LIKE=\"ubuntu\"\n": "screen",
		"":                              "screen",
	} {
		if got := terminalOf(release); got != want {
			t.Errorf("%q has TERM %s, want %s", release, got, want)
		}
	}
}

// What the process of a hook has: its directory, its arguments, its files, and no more of the agent's environment than it
// should.
func TestHookProcess(t *testing.T) {
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
		p.DepartingUnit, p.Principal, p.Zone = "mysql/3", "haproxy/2", "eu-1"
		return p
	}())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.runner.Run(context.Background(), hctx, func(Process) error { return nil }); err != nil {
		t.Fatal(err)
	}
	got := env()
	for _, shells := range []string{"PWD", "OLDPWD", "_", "SHLVL"} {
		delete(got, shells)
	}
	want := map[string]string{}
	for _, entry := range hctx.environment(os.Environ(), r.params.CharmDir, toolsDir, filepath.Join(r.params.RunDir, "agent.socket")) {
		name, value, _ := strings.Cut(entry, "=")
		want[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" || want["JUJU_PRINCIPAL_UNIT"] != "haproxy/2" || want["JUJU_AVAILABILITY_ZONE"] != "eu-1" ||
		!strings.HasPrefix(want["JUJU_CONTEXT_ID"], "wordpress/0-db-relation-departed-") {
		t.Errorf("environment: %q\n%s", want, diff)
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
