package tool

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Which unit juju-run is about: of the agents of units here none runs.
func TestTheUnitOfJujuRun(t *testing.T) {
	root := t.TempDir()
	for _, tag := range []string{"machine-3", "unit-web-0", "unit-db-1"} {
		if err := os.MkdirAll(filepath.Join(root, "agents", tag), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self := filepath.Join(root, "tools", "machine-3", JujuRunName)
	socket := func(tag string) string { return filepath.Join(root, "agents", tag, "run") }
	for _, test := range []struct{ session, args, says string }{
		{"", "web/0 ls", socket("unit-web-0")},
		{"", "unit-web-0 ls", socket("unit-web-0")},
		{"", "-u web/0 ls", socket("unit-web-0")},
		{"", "--no-context ls", socket("machine-3")},
		{"", "", "missing unit-name"},
		{"", "-i", "missing unit-name"},
		{"", "ls", "missing commands"},
		{"web/0", "ls", socket("unit-web-0")},
		{"web/0", "hooks/start", socket("unit-web-0")},
		{"web/0", "-r 3 ls", socket("unit-web-0")},
		{"web/0", "-i", socket("unit-web-0")},
		{"web/0", "-i db/1", socket("unit-db-1")},
		{"web/0", "db/1 ls", socket("unit-db-1")},
		{"web/0", "-u db/1 ls", socket("unit-db-1")},
		{"web/0", "--no-context ls", socket("machine-3")},
		{"web/0", "db/1", "missing commands"},
		{"web/0", "unit-db-1 ls", socket("unit-db-1")},
		{"web/0", "", "missing unit-name"},
		{"web/0", "ls -l", socket("unit-web-0")},
		{"web/0", "db/1 -- ls -l", socket("unit-db-1")},
		{"", "web/0 ls -l", socket("unit-web-0")},
		{"", "ls -l", `"ls" is not a valid unit name`},
		{"web/0", "-i ls", `"ls" is not a valid unit name`},
		{"web/0", "-i db/1 ls", "unrecognized args"},
		{"web/7", "ls", `unit "web/7" not found on this machine`},
	} {
		code, said := ask(t, self, test.session, strings.Fields(test.args)...)
		if code == 0 || !strings.Contains(said, test.says) {
			t.Errorf("juju-run %s in a session of %q ends with %d and says %q, want %q", test.args, test.session, code, said, test.says)
		}
	}
}

// On a machine with one unit nobody must name it, as the daemons of charms don't. A hook can't wait for itself.
func TestTheOnlyUnit(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "agents", "unit-web-0"), 0o700); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(root, "tools", "machine-3", JujuExecName)
	for _, args := range [][]string{{"ls"}, {"ls", "-l"}, {"-u", "", "ls"}, {"-u", "web/0", "JUJU_DISPATCH_PATH=hooks/tick", "./dispatch"}, {"-i"}} {
		if code, said := ask(t, self, "", args...); code != 1 || !strings.Contains(said, filepath.Join(root, "agents", "unit-web-0", "run")) {
			t.Errorf("juju-exec %q ends with %d and says %q", args, code, said)
		}
	}
	if code, said := ask(t, self, "", "-u", "", "--no-context", "ls"); code != 2 {
		t.Errorf("a unit without its context: %d, %q", code, said)
	}
	if err := os.MkdirAll(filepath.Join(root, "agents", "unit-web-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, said := ask(t, self, "", "-u", "", "ls"); code != 2 || !strings.Contains(said, "no unit") {
		t.Errorf("one of two units: %d, %q", code, said)
	}
}

// Users who can't reach an agent are told who can.
func TestJujuRunNeedsRoot(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may enter every directory")
	}
	root := t.TempDir()
	for _, tag := range []string{"machine-3", "unit-web-0"} {
		dir := filepath.Join(root, "agents", tag)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o700)
	}
	for args, hint := range map[string]string{"web/0 ls": "sudo juju-run web/0 …", "--no-context ls": "sudo juju-run --no-context …"} {
		_, said := ask(t, filepath.Join(root, JujuRunName), "", strings.Fields(args)...)
		if !strings.HasSuffix(said, "permission denied\nonly root and the user of the agent can; as root: "+hint+"\n") {
			t.Errorf("juju-run %s says %s", args, said)
		}
	}
}

// ask runs juju-run in a session of juju ssh, and returns its exit code and what it says.
func ask(t *testing.T, self, unit string, args ...string) (code int, said string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	getenv := func(name string) string { return map[string]string{unitVar: unit}[name] }
	code = JujuExec(self, args, getenv, [3]*os.File{os.Stdin, w, w})
	w.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return code, string(text)
}
