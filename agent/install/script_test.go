package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"juju/agent/binaries/pack"
	"juju/agent/host/process"
	"juju/provider"
	"juju/state/entity"
)

// archive returns tools with these files, in which each file holds its name.
func archive(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range names {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(name)), Uid: 12345})
		if err == nil {
			_, err = w.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// fetchInto runs the part of the script that downloads, with no downloader but the given one. It
// returns the directory of the binaries, and the output.
func fetchInto(t *testing.T, dir, program string, tools provider.Tools, before string) (string, string, error) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{program, "sh", "sha256sum", "tar", "gzip", "mktemp", "mkdir", "rm", "mv", "sync",
		"sleep", "timeout"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("there is no %s here", name)
		}
		// Not a link: pyenv's programs look at the name they are called by.
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexec "+path+" \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	head, err := variables(dir, tools)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh")
	if program == "python3" { // whose real path may be a script of pyenv, which needs the rest
		if path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
			text := "#!/bin/sh\nexec " + strings.TrimSpace(string(path)) + " \"$@\"\n"
			if err := os.WriteFile(filepath.Join(bin, program), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Env = []string{"PATH=" + bin, "pause=0", "attempts=2"}
	cmd.Stdin = strings.NewReader(head + before + fetch)
	out, err := cmd.CombinedOutput()
	return filepath.Join(dir, tools.SHA256[:16]), string(out), err
}

func TestBinariesAreDownloadedWithTheAvailableProgram(t *testing.T) {
	text := archive(t, "machine-agent", "unit-agent")
	var asked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%2 == 1 { // each first attempt fails
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		w.Write(text)
	}))
	defer server.Close()
	for _, program := range []string{"curl", "python3", "wget"} {
		t.Run(program, func(t *testing.T) {
			tools := provider.Tools{URLs: []string{server.URL + "/tools?a=b&c='d"}, SHA256: hash(text),
				CACert: certificate(server)}
			dir := filepath.Join(t.TempDir(), "a", "b")
			in, out, err := fetchInto(t, dir, program, tools, "")
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got, err := os.ReadFile(filepath.Join(in, "unit-agent")); string(got) != "unit-agent" {
				t.Errorf("unit-agent holds %q (%v)", got, err)
			}
			if all, err := os.ReadDir(dir); len(all) != 1 {
				t.Errorf("left are %v (%v), want only the binaries", all, err)
			}
			if info, err := os.Stat(in); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("the directory is %v (%v)", info, err)
			}
			// What is there is not downloaded again.
			before := asked.Load()
			if _, out, err := fetchInto(t, dir, program, tools, ""); err != nil || asked.Load() != before {
				t.Errorf("the second time: %v, %s", err, out)
			}
		})
	}
}

func TestWrongBinariesAreNotInstalled(t *testing.T) {
	good, empty := archive(t, "machine-agent"), archive(t, "README")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			w.Write(good)
		case "/empty":
			w.Write(empty)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	ca := certificate(server)
	for name, test := range map[string]struct {
		tools provider.Tools
		want  string
	}{
		"hash":  {provider.Tools{URLs: []string{server.URL + "/empty"}, SHA256: hash(good), CACert: ca}, "does not have the SHA-256"},
		"none":  {provider.Tools{URLs: []string{server.URL + "/none"}, SHA256: hash(good), CACert: ca}, "gave up after 2"},
		"empty": {provider.Tools{URLs: []string{server.URL + "/empty"}, SHA256: hash(empty), CACert: ca}, "no machine-agent"},
		"trust": {provider.Tools{URLs: []string{server.URL + "/good"}, SHA256: hash(good)}, "gave up after 2"},
	} {
		for _, program := range []string{"curl", "python3", "wget"} {
			t.Run(name+" "+program, func(t *testing.T) {
				dir := t.TempDir()
				_, out, err := fetchInto(t, dir, program, test.tools, "")
				if err == nil || !strings.Contains(out, test.want) {
					t.Errorf("got %v, %s; want %q", err, out, test.want)
				}
				if all, _ := os.ReadDir(dir); len(all) != 0 {
					t.Errorf("left are %v", all)
				}
			})
		}
	}
	// The second of two URLs will do.
	tools := provider.Tools{URLs: []string{server.URL + "/none", server.URL + "/empty", server.URL + "/good"},
		SHA256: hash(good), CACert: ca}
	if _, out, err := fetchInto(t, t.TempDir(), "curl", tools, "attempts=1\n"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestScript(t *testing.T) {
	good := provider.Tools{URLs: []string{"https://10.0.0.1:17070/tools"}, SHA256: strings.Repeat("ab", 32)}
	text, err := Script("0/lxd/1", good)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"#!/bin/sh\n", "unit=jujud-machine-0-lxd-1\n",
		"agent=/var/lib/juju/agents/machine-0-lxd-1\n", "tools=/var/lib/juju/tools/abababababababab\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the script has no %q", want)
		}
	}
	if out, err := exec.Command("/bin/sh", "-n", "-c", text).CombinedOutput(); err != nil {
		t.Errorf("the script is no script: %v: %s", err, out)
	}
	for name, change := range map[string]func(*provider.Tools){
		"no URL":         func(t *provider.Tools) { t.URLs = nil },
		"a blank":        func(t *provider.Tools) { t.URLs = []string{"https://a/b c"} },
		"another scheme": func(t *provider.Tools) { t.URLs = []string{"file:///tools"} },
		"no hash":        func(t *provider.Tools) { t.SHA256 = "" },
		"a long hash":    func(t *provider.Tools) { t.SHA256 += "\n" },
		"no PEM":         func(t *provider.Tools) { t.CACert = "x" },
		"no certificate": func(t *provider.Tools) {
			t.CACert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))
		},
	} {
		bad := good
		change(&bad)
		if _, err := Script("0", bad); !errors.Is(err, entity.Invalid) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	quoted, err := exec.Command("/bin/sh", "-c", assign("v", "it's\n$(false)`")+`printf %s "$v"`).Output()
	if fmt.Sprint(string(quoted), err) != "it's\n$(false)`<nil>" {
		t.Errorf("the shell reads %q (%v)", quoted, err)
	}
}

// The controller's script gives jujud its parameters, which hold a password, and removes them.
func TestControllerScript(t *testing.T) {
	for _, restore := range []bool{false, true} {
		t.Run(map[bool]string{false: "bootstrap", true: "restore"}[restore], func(t *testing.T) { testControllerScript(t, restore) })
	}
}

func testControllerScript(t *testing.T, restore bool) {
	said := "bootstrap --dir "
	given := "the password"
	if restore {
		said, given = "restore --dir ", "the passwordthe backup"
	}
	root, bin, binaries := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range pack.Names {
		text := "#!/bin/sh\necho \"$@\"; cat\n"
		if err := os.WriteFile(filepath.Join(binaries, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var archive bytes.Buffer
	if _, err := pack.WriteArchive(&archive, binaries, pack.Names...); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, "juju")
	if err := os.MkdirAll(filepath.Join(root, "system"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	in := func(path string) string { return filepath.Join(dir, strings.TrimPrefix(path, Root)) }
	give := func(params string) {
		t.Helper()
		write(in(ControllerArchive), archive.String(), 0o600)
		write(in(ControllerParams), params, 0o600)
		if restore {
			write(in(ControllerBackup), "the backup", 0o600)
		}
	}
	give("the password")
	// The system does not answer at first.
	write(filepath.Join(bin, "systemctl"), "#!/bin/sh\necho \"$@\" >>"+root+"/asked\n[ $(grep -c . "+root+"/asked) -gt 1 ]\n", 0o700)
	write(filepath.Join(bin, "sleep"), "#!/bin/sh\n", 0o700)
	script := strings.NewReplacer("dir="+Root+"\n", "dir="+dir+"\n", "/var/log/juju", root+"/log", "/etc/systemd/system",
		root+"/system").Replace(ControllerScript(restore))
	run := func() {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			log, _ := os.ReadFile(in(ControllerLog))
			t.Fatalf("%v: %s%s", err, out, log)
		}
	}
	run()
	for path, want := range map[string]string{
		in(Bootstrapped):                             said + dir + "\n" + given,
		filepath.Join(root, "asked"):                 "daemon-reload\ndaemon-reload\nenable --quiet jujud-controller\nstart --no-block jujud-controller\n",
		in(Root + "/tools/controller/machine-agent"): "#!/bin/sh\necho \"$@\"; cat\n",
	} {
		if text, err := os.ReadFile(path); string(text) != want {
			t.Errorf("%s holds %q (%v), want %q", path, text, err, want)
		}
	}
	if info, err := os.Stat(in(Bootstrapped)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("what jujud says is %v (%v)", info.Mode(), err)
	}
	for _, path := range []string{in(ControllerParams), in(ControllerArchive), in(ControllerBackup)} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	// When it is run again, it goes on with the controller that it has made of the same input.
	write(in(Bootstrapped), "made", 0o600)
	for _, params := range []string{"the password", "another"} {
		give(params)
		run()
		text, err := os.ReadFile(in(Bootstrapped))
		if same := params == "the password"; err != nil || same != (string(text) == "made") {
			t.Errorf("run again with %q, it says %q (%v)", params, text, err)
		}
	}
	unit, err := os.ReadFile(filepath.Join(root, "system", "jujud-controller.service"))
	if want := "ExecStart=" + dir + "/tools/controller/jujud controller --dir " + dir + "\n"; !strings.Contains(string(unit), want) {
		t.Errorf("the service is %s (%v), want %s", unit, err, want)
	}
	// When the kernel has killed the controller, or someone else has, the next one learns of it.
	_, after, _ := strings.Cut(string(unit), "ExecStopPost=/bin/sh -c '")
	after, _, _ = strings.Cut(after, "'\n")
	if err := os.Mkdir(in(Root+"/controller"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, end := range []struct{ result, status, want string }{
		{"oom-kill", "KILL", "the kernel killed it at "}, {"success", "0", ""},
		{"signal", "KILL", "it was killed (SIGKILL) at "}, {"exit-code", "1", ""},
	} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.ReplaceAll(after, "$$", "$"))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SERVICE_RESULT=" + end.result, "EXIT_STATUS=" + end.status}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", end.result, err, out)
		}
		how, _ := process.Killed(in(Root + "/controller"))
		if !strings.HasPrefix(how, end.want) || (how == "") != (end.want == "") {
			t.Errorf("after %s %s: %q", end.result, end.status, how)
		}
	}
}

// All agents on a machine are told the addresses, which only they can read.
func TestTellScript(t *testing.T) {
	dir := t.TempDir()
	for _, agent := range []string{"machine-0", "unit-web-0"} {
		if err := os.MkdirAll(filepath.Join(dir, "agents", agent), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.ReplaceAll(TellScript([]string{"10.0.0.1:17070", "[fd00::1]:17070"}), Root, dir)
	if out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, agent := range []string{"machine-0", "unit-web-0"} {
		path := filepath.Join(dir, "agents", agent, Addresses)
		if text, err := os.ReadFile(path); string(text) != "10.0.0.1:17070\n[fd00::1]:17070\n" {
			t.Errorf("%s is told %q (%v)", agent, text, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v (%v)", path, info.Mode(), err)
		}
	}
}
