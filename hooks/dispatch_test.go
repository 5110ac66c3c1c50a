package hooks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A charm with dispatch gets every event there, whatever is in its hooks directory.
func TestDispatchGetsEveryEvent(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"install": "echo install >>ran"})
	dispatch := filepath.Join(r.params.CharmDir, "dispatch")
	script := "#!/bin/sh\necho dispatch $JUJU_DISPATCH_PATH $JUJU_HOOK_NAME $# $0 >>ran\n"
	if err := os.WriteFile(dispatch, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r.mustRun(Info{Kind: Install})
	r.mustRun(Info{Kind: RelationCreated, RelationID: 0})
	r.mustRun(Info{Kind: UpdateStatus})
	want := ""
	for _, name := range []string{"install", "db-relation-created", "update-status"} {
		want += "dispatch hooks/" + name + " " + name + " 0 " + dispatch + "\n"
	}
	if got := r.read("ran"); got != want {
		t.Errorf("ran\n%swant\n%s", got, want)
	}

	// A dispatch that can't be run is no missing one: its hooks fail.
	for _, damaged := range []struct {
		why    string
		damage func() error
	}{
		{"it is not executable", func() error { return os.Chmod(dispatch, 0o644) }},
		{"too many levels", func() error { return errors.Join(os.Remove(dispatch), os.Symlink("dispatch", dispatch)) }},
	} {
		if err := damaged.damage(); err != nil {
			t.Fatal(err)
		}
		_, err := r.run(Info{Kind: Install})
		if err == nil || !strings.Contains(err.Error(), "cannot run dispatch: "+damaged.why) {
			t.Errorf("with a dispatch of which %s: %v", damaged.why, err)
		}
	}

	// Without it, the hooks are back. A directory of that name is none.
	os.Remove(dispatch)
	if err := os.Mkdir(dispatch, 0o755); err != nil {
		t.Fatal(err)
	}
	r.mustRun(Info{Kind: Install})
	r.mustRun(Info{Kind: Start}) // missing
	if got := r.read("ran"); got != want+"install\n" {
		t.Errorf("ran\n%swant\n%sinstall", got, want)
	}
}

// Hooks can be added and removed at any time, by hooks too.
func TestReadImplemented(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check := func(name string, want bool) {
		t.Helper()
		has, err := ReadImplemented(dir)
		if err != nil || has.Has(name) != want {
			t.Errorf("%v, %v: has %s is not %v", has, err, name, want)
		}
	}
	check("remove", false)
	writeCharm(t, dir, map[string]string{"remove": ""})
	check("remove", true)
	check("update-status", false)
	hooks := filepath.Join(dir, "hooks")
	for link, target := range map[string]string{"update-status": "nowhere", "stop": "remove"} {
		if err := os.Symlink(target, filepath.Join(hooks, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(hooks, "start"), 0o755); err != nil {
		t.Fatal(err)
	}
	check("update-status", false)
	check("start", false)
	check("stop", true)
	if err := os.WriteFile(filepath.Join(dir, "dispatch"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	check("update-status", true)
	if has, err := ReadImplemented(filepath.Join(dir, "dispatch")); err == nil && has.Has("remove") {
		t.Error("a file is a charm")
	}
}

// The environment of a hook has the variables that the guide for authors of charms lists, and
// nothing else.
func TestEnvironmentIsAsDocumented(t *testing.T) {
	for name, value := range map[string]string{"AWS_SECRET_ACCESS_KEY": "do not tell", "JUJU_DATA": "/x", "LC_ALL": "C",
		"http_proxy": "http://inherited", "JUJU_LOCAL_INSTANCE": "i", "JUJU_LOCAL_ADDRESS": "127.0.0.9",
		"JUJU_HOST_AGENT": "/var/lib/juju/agents/machine-3"} {
		t.Setenv(name, value)
	}
	r := newRig(t, map[string]string{"install": "env >env", "db-relation-created": "env >env",
		"db-relation-departed": "env >env"})
	text, err := os.ReadFile("../doc/charms.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## The environment of hooks")
	table, _, _ = strings.Cut(table, "\n## ")
	documented := map[string]string{} // name → where it is set
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		for i, name := range strings.Split(cells[1], "`") {
			if i%2 == 1 {
				documented[name] = strings.TrimSpace(cells[2])
			}
		}
	}
	for _, info := range []Info{{Kind: Install}, {Kind: RelationCreated, RelationID: 0},
		{Kind: RelationDeparted, RelationID: 0, RemoteUnit: "mysql/0"}} {
		params := testParams(info)
		params.Settings = map[string]string{"juju-https-proxy": "http://p:1", "ftp-proxy": "http://p:2",
			"no-proxy": "localhost"}
		hctx, err := NewContext(r.backend, params)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.runner.Run(context.Background(), hctx, func(Process) error { return nil }); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for line := range strings.Lines(r.read("env")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			if name != "PWD" && name != "_" && name != "OLDPWD" && name != "SHLVL" { // the shell's own
				got[name] = value
			}
		}
		for name := range got {
			if documented[name] == "" {
				t.Errorf("%s has %s, which is not documented", hctx.HookName(), name)
			}
		}
		for name, where := range documented {
			always := where == "always" || where == "relation hooks" && info.Kind.IsRelation() || where == string(info.Kind)
			if _, ok := got[name]; always && !ok {
				t.Errorf("%s lacks %s, which is documented for %s", hctx.HookName(), name, where)
			} else if _, never := os.LookupEnv(name); ok && !always && !never && where != "if the model sets it" {
				t.Errorf("%s has %s, which is documented for %s", hctx.HookName(), name, where)
			}
		}
		remote, hasRemote := got["JUJU_REMOTE_UNIT"]
		if remote != info.RemoteUnit || hasRemote != info.Kind.IsRelation() || hasRemote && got["JUJU_REMOTE_APP"] != "mysql" {
			t.Errorf("%s is about %q of %q", hctx.HookName(), remote, got["JUJU_REMOTE_APP"])
		}
		for name, want := range map[string]string{"JUJU_CHARM_HTTPS_PROXY": "http://p:1", "JUJU_CHARM_HTTP_PROXY": "",
			"ftp_proxy": "http://p:2", "FTP_PROXY": "http://p:2", "NO_PROXY": "localhost", "http_proxy": "http://inherited",
			"JUJU_SLA":                  "unsupported",
			"JUJU_AGENT_SOCKET_NETWORK": "unix", "JUJU_DISPATCH_PATH": "hooks/" + hctx.HookName(),
			"JUJU_LOCAL_INSTANCE": "i", "JUJU_HOST_AGENT": "/var/lib/juju/agents/machine-3"} {
			if value, ok := got[name]; !ok || value != want {
				t.Errorf("%s has %s=%q, want %q", hctx.HookName(), name, value, want)
			}
		}
	}
}
