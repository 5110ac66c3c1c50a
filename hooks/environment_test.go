package hooks

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"juju/charm"
	"juju/state/entity"
)

// What a hook can rely on: its directory, its name, its environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "do not tell")
	t.Setenv("TZ", "UTC")
	t.Setenv("PATH", "/home/me/.pyenv/shims:"+os.Getenv("PATH"))
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
		"JUJU_AVAILABILITY_ZONE":    "eu-1",
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
		"PATH":                      toolsDir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin",
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
