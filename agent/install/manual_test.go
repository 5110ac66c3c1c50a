package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"juju/agent/host/atomicfile"
	"juju/provider"
)

// A fakeHost is a directory with what a script finds on a host.
type fakeHost struct {
	t   *testing.T
	dir string
}

func newFakeHost(t *testing.T) fakeHost {
	t.Helper()
	h := fakeHost{t, t.TempDir()}
	for _, dir := range []string{"bin", "var/lib", "var/log", "run/systemd/system", "proc/1", "etc/init.d", "etc/cron.d", "run/nft", "usr/bin",
		"etc/systemd/system/multi-user.target.wants"} {
		if err := os.MkdirAll(h.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.program("id", "echo 0")
	h.program("sync", ":")
	h.program("nft", `case "$1 $2 $3" in
"list table inet") [ -e `+h.path("run/nft")+`/$4 ] || { echo "there is none" >&2; exit 1; } ;;
"delete table inet") rm `+h.path("run/nft")+`/$4 ;;
*) exit 1 ;;
esac`)
	h.program("systemctl", `echo "$@" >>`+h.path("run/asked")+`
case $1 in enable) ln -s x `+h.path("etc/systemd/system/multi-user.target.wants")+`/$3.service;; esac`)
	return h
}

func (h fakeHost) path(name string) string { return filepath.Join(h.dir, name) }

func (h fakeHost) program(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(h.path("bin/"+name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		h.t.Fatal(err)
	}
}

// run runs a script whose paths are those of the host.
func (h fakeHost) run(script string) (string, error) {
	h.t.Helper()
	var pairs []string
	for _, path := range []string{"/var/l", "/etc/systemd", "/run/systemd", "/etc/init.d", "/etc/cron.d", "/proc/",
		"/usr/bin/juju-run", "/usr/bin/juju-exec"} {
		pairs = append(pairs, path, h.dir+path)
	}
	return h.runOn(strings.NewReplacer(pairs...).Replace(script))
}

// runOn runs a script that has the host's paths already, and waits for what it starts in the background.
func (h fakeHost) runOn(script string) (string, error) {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "/bin/sh", "-s", "start")
	cmd.Env = []string{"PATH=" + h.path("bin") + ":" + os.Getenv("PATH"), "attempts=1", "pause=0"}
	cmd.Stdin = strings.NewReader(script)
	ended, running, err := os.Pipe() // all that the script starts inherits the second end
	if err != nil {
		h.t.Fatal(err)
	}
	defer ended.Close()
	cmd.ExtraFiles = []*os.File{running}
	out, err := cmd.CombinedOutput()
	running.Close()
	if _, err := io.Copy(io.Discard, ended); err != nil {
		h.t.Fatal(err)
	}
	return string(out), err
}

// listing lists the host's files, without what systemctl was asked.
func (h fakeHost) listing() string {
	h.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(h.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && path != h.path("run/asked") {
			fmt.Fprintln(&b, path, e.Type())
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return b.String()
}

// serveArchive serves an archive at /good.
func serveArchive(t *testing.T) provider.Tools {
	t.Helper()
	text := archive(t, "machine-agent", "unit-agent", "hook-tool")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/good" {
			http.NotFound(w, r)
			return
		}
		w.Write(text)
	}))
	t.Cleanup(server.Close)
	return provider.Tools{URLs: []string{server.URL + "/good"}, SHA256: hash(text), CACert: certificate(server)}
}

const manualConfig = "tag: machine-3\npassword: it's secret $(id)\n"

func TestAManualHostIsLeftAsItWas(t *testing.T) {
	tools := serveArchive(t)
	script, err := ManualScript("3", []byte(manualConfig), tools)
	if err != nil {
		t.Fatal(err)
	}
	h := newFakeHost(t)
	logs := h.path("var/log/juju")
	if err := errors.Join(os.MkdirAll(logs, 0o755),
		os.WriteFile(filepath.Join(logs, "unit-other-0.log"), []byte("of another juju"), 0o644),
		os.WriteFile(h.path("run/nft/juju-machine-30"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	before := h.listing()
	if out, err := h.run(script); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Symlink(h.path("var/lib/juju/agents/unit-web-0/log"), filepath.Join(logs, "unit-web-0.log")); err != nil {
		t.Fatal(err)
	}
	conf := h.path("var/lib/juju/agents/machine-3/agent.conf")
	if text, err := os.ReadFile(conf); string(text) != manualConfig {
		t.Errorf("the agent's configuration is %q (%v)", text, err)
	}
	if info, err := os.Stat(conf); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the agent's configuration is %v (%v)", info.Mode(), err)
	}
	if text, err := os.ReadFile(h.path("etc/systemd/system/jujud-machine-3.service")); err != nil ||
		!strings.Contains(string(text), "/machine-agent "+h.path("var/lib/juju/agents/machine-3")+"\n") {
		t.Errorf("the service is %s (%v)", text, err)
	}
	for _, name := range []string{"juju-exec", "juju-run"} {
		if to, err := os.Readlink(h.path("usr/bin/" + name)); to != h.path("var/lib/juju/tools/machine-3/"+name) {
			t.Errorf("%s is a link to %q (%v)", name, to, err)
		}
	}
	// What a crash leaves of the write that replaces the service is removed too.
	draft := h.path(strings.Replace(atomicfile.Drafts(ServiceFile("3")), "*", "123", 1))
	if err := errors.Join(os.WriteFile(h.path("run/nft/juju-machine-3"), nil, 0o600),
		os.WriteFile(draft, []byte("[Unit]"), 0o600)); err != nil {
		t.Fatal(err)
	}
	during := h.listing()
	// A second machine is refused, and the first stays.
	if out, err := h.run(script); err == nil || !strings.Contains(out, "this host is a machine already: there is ") {
		t.Errorf("the second machine: %v, %s", err, out)
	}
	if got := h.listing(); got != during {
		t.Errorf("after a refusal there is\n%sand not\n%s", got, during)
	}
	// However far a removal came, the next one completes it. Before the last removal of files, the
	// service that runs it is still there.
	steps := strings.Split(Removal("3"), " && ")
	for n := range len(steps) - 2 {
		if out, err := h.run(strings.Join(steps[:n], " && ")); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := os.Stat(h.path("etc/systemd/system/jujud-machine-3.service")); err != nil {
			t.Errorf("after %d steps the service is gone: %v", n, err)
		}
	}
	if out, err := h.run(Removal("3")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := h.listing(); got != before {
		t.Errorf("after the removal there is\n%sand not\n%s", got, before)
	}
	if out, err := h.run(Removal("3")); err != nil {
		t.Errorf("another removal: %v: %s", err, out)
	}
}

func TestAFailedInstallationLeavesNothing(t *testing.T) {
	good := serveArchive(t)
	missing := good
	missing.URLs = []string{strings.Replace(good.URLs[0], "/good", "/none", 1)}
	for name, test := range map[string]struct {
		tools  provider.Tools
		change func(h fakeHost)
		want   string
	}{
		"the binaries are missing": {missing, func(fakeHost) {},
			"cannot download the agent binaries: gave up after 1 attempts"},
		"systemd refuses": {good, func(h fakeHost) {
			h.program("systemctl", `[ "$1" != enable ] || { echo "no" >&2; exit 1; }`)
		}, "no"},
		"not root": {good, func(h fakeHost) { h.program("id", "echo 1000") }, "this is not root"},
		"killed":   {good, func(h fakeHost) { h.program("tar", "kill -TERM $(ps -o ppid= $PPID)\nsleep 0.1\nexit 1") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHost(t)
			test.change(h)
			before := h.listing()
			script, err := ManualScript("3", []byte(manualConfig), test.tools)
			if err != nil {
				t.Fatal(err)
			}
			out, err := h.run(script)
			if err == nil || !strings.Contains(out, test.want) {
				t.Errorf("got %v: %s; want %q", err, out, test.want)
			}
			if got := h.listing(); got != before {
				t.Errorf("there is\n%sand not\n%s", got, before)
			}
		})
	}
}

// Without systemd the agent's program supervises it. What starts that when the host boots is one file,
// and goes with it.
func TestAHostWithoutSystemd(t *testing.T) {
	for first, file := range map[string]string{"init": "etc/init.d/jujud-machine-3", "cron": "etc/cron.d/jujud-machine-3",
		"sshd": ""} {
		h := newFakeHost(t)
		if err := os.Remove(h.path("run/systemd/system")); err != nil {
			t.Fatal(err)
		}
		h.program("update-rc.d", `echo update-rc.d "$@" >>`+h.path("run/asked"))
		h.program("setsid", `echo "$@" >>`+h.path("run/asked"))
		h.program("env", `echo "$@" >>`+h.path("run/asked"))
		if err := os.WriteFile(h.path("proc/1/comm"), []byte(first+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := h.listing()
		script, err := ManualScript("3", []byte(manualConfig), serveArchive(t))
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.run(script)
		if err != nil || strings.HasPrefix(out, "WARNING nothing starts the agent when this host boots") != (file == "") {
			t.Errorf("on %s: %v: %s", first, err, out)
		}
		command := "machine-agent supervise " + h.path("var/lib/juju/agents/machine-3")
		if asked, err := os.ReadFile(h.path("run/asked")); err != nil || !strings.Contains(string(asked), command+"\n") {
			t.Errorf("on %s the host runs %s (%v)", first, asked, err)
		}
		if file == "" {
			if !strings.Contains(out, command) {
				t.Errorf("the warning is %s", out)
			}
			continue
		}
		text, err := os.ReadFile(h.path(file))
		if err != nil {
			t.Fatal(err)
		}
		boot := string(text)
		if first == "cron" {
			boot = strings.ReplaceAll(boot, "@reboot root ", "")
		}
		// At the next boot it runs again; if the binaries are removed, it removes the rest.
		if err := os.Remove(h.path("run/asked")); err != nil {
			t.Fatal(err)
		}
		if _, err := h.runOn(boot); err != nil {
			t.Fatal(err)
		}
		asked, err := os.ReadFile(h.path("run/asked"))
		if err != nil || !strings.Contains(string(asked), command) {
			t.Errorf("on %s the boot runs %s (%v)", first, asked, err)
		}
		if err := os.RemoveAll(h.path("var/lib/juju/tools")); err != nil {
			t.Fatal(err)
		}
		h.program("setsid", `exec "$@"`)
		if out, err := h.runOn(boot); err != nil {
			t.Fatalf("on %s: %v: %s", first, err, out)
		}
		if got := h.listing(); got != before {
			t.Errorf("on %s there is\n%sand not\n%s", first, got, before)
		}
	}
}

// Cron ignores a file that has a command of more than 998 characters, whatever the number of the machine.
func TestCronReadsWhatStartsTheAgent(t *testing.T) {
	const machine, longest = "123456", 998
	h := newFakeHost(t)
	if err := errors.Join(os.Remove(h.path("run/systemd/system")),
		os.WriteFile(h.path("proc/1/comm"), []byte("cron\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h.program("setsid", ":")
	script, err := ManualScript(machine, []byte(manualConfig), serveArchive(t))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.run(script); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(h.path("etc/cron.d/" + ServiceName(machine)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(text), h.dir, "")) {
		command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "@reboot root ")
		if !ok || len(command) > longest || strings.Contains(command, "%") {
			t.Errorf("cron can't read this, whose command has %d characters: %s", len(command), line)
		}
	}
}

// A script that arrives in part does nothing.
func TestACutScriptDoesNothing(t *testing.T) {
	script, err := ManualScript("3", []byte(manualConfig), serveArchive(t))
	if err != nil {
		t.Fatal(err)
	}
	h := newFakeHost(t)
	before := h.listing()
	text := []byte(script)
	last := bytes.LastIndex(text, []byte("\nmake_machine")) + 1
	for cut := 0; cut <= last; cut++ {
		if text[cut] != '\n' && cut != last {
			continue
		}
		h.run(script[:cut])
		if got := h.listing(); got != before {
			t.Fatalf("cut after %q there is\n%s", script[max(0, cut-40):cut], got)
		}
	}
}

// Systemd replaces nothing in the command.
func TestTheRemovalServiceSaysWhatItDoes(t *testing.T) {
	text := RemovalService("3")
	if !strings.Contains(text, "\nExecStart=/bin/sh -c '"+Removal("3")+"'\n") {
		t.Errorf("the service is\n%s", text)
	}
	if strings.ContainsAny(Removal("3"), "$%'\"\\\n") {
		t.Errorf("the command is %s", Removal("3"))
	}
}

// A machine of an earlier release gets the link that charms look for now; a file of the user's stays, and other hosts get none.
func TestLinkOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	bin, tools := t.TempDir(), "/var/lib/juju/tools/machine-3"
	links := func(want string) {
		t.Helper()
		if err := LinkJujuExec(bin, tools); err != nil {
			t.Error(err)
		}
		if to, _ := os.Readlink(filepath.Join(bin, "juju-exec")); to != want {
			t.Errorf("juju-exec is a link to %q, want %q", to, want)
		}
	}
	links("")
	if err := os.Symlink(tools+"/juju-run", filepath.Join(bin, "juju-run")); err != nil {
		t.Fatal(err)
	}
	links(tools + "/juju-exec")
	if err := errors.Join(os.Remove(filepath.Join(bin, "juju-exec")), os.Symlink("/opt/mine", filepath.Join(bin, "juju-exec"))); err != nil {
		t.Fatal(err)
	}
	links("/opt/mine")
}
