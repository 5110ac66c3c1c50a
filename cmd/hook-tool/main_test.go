package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"juju/hooks/tool"
)

// When called by its name, the test binary is the program itself.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == tool.BinaryName {
		main()
	}
	os.Exit(m.Run())
}

// launch starts a script through the launcher, passes it the pipe to write its words to, and
// returns the process's output and state.
func launch(t *testing.T, script string, words func(pipe *os.File, pid int)) (string, *os.ProcessState) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if script != "" {
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	wait, word, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer word.Close()
	var out bytes.Buffer
	cmd := tool.LaunchCommand(os.Args[0], path)
	cmd.ExtraFiles = []*os.File{wait}
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Start()
	wait.Close()
	if err != nil {
		t.Fatal(err)
	}
	words(word, cmd.Process.Pid)
	word.Close()
	cmd.Wait()
	return strings.ReplaceAll(out.String(), path, "SCRIPT"), cmd.ProcessState
}

func TestLaunch(t *testing.T) {
	say := func(words string) func(*os.File, int) {
		return func(pipe *os.File, pid int) { pipe.WriteString(words) }
	}
	const script = "#!/bin/sh\necho ran with $#; exit 7"
	for _, test := range []struct {
		name   string
		script string
		words  func(*os.File, int)
		out    string
		code   int
	}{
		{"told to go", script, say("g"), "ran with 0\n", 7},
		{"told nothing", script, say(""), "ERROR the unit agent has gone away, nothing was run\n", 1},
		{"told something else", script, say("x"), "ERROR cannot launch a hook: unexpected word 'x'\n", 2},
		{"no first line", "echo ran", say("g"),
			"ERROR cannot run SCRIPT: it is neither a program for this machine nor a script that begins with #!\n", 126},
		{"no interpreter", "#! /usr/bin/no-python -u\nprint(1)", say("g"),
			"ERROR cannot run SCRIPT: its interpreter \"/usr/bin/no-python\" does not exist\n", 127},
		{"lines of DOS", "#!/bin/sh\r\necho ran\r\n", say("g"),
			"ERROR cannot run SCRIPT: its interpreter \"/bin/sh\\r\" does not exist\n", 127},
		{"interpreter without rights", "#!/etc/passwd\n", say("g"),
			"ERROR cannot run SCRIPT: its interpreter \"/etc/passwd\" cannot be run: permission denied\n", 126},
		{"no script", "", say("g"), "ERROR cannot run SCRIPT: no such file or directory\n", 127},
		{"killed before", script, func(pipe *os.File, pid int) { syscall.Kill(pid, syscall.SIGKILL) }, "", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, state := launch(t, test.script, test.words)
			if out != test.out || state.ExitCode() != test.code {
				t.Errorf("got %q and %v, want %q and code %d", out, state, test.out, test.code)
			}
		})
	}
	// The recorded process is the one that runs.
	var pid int
	out, _ := launch(t, "#!/bin/sh\necho $$", func(pipe *os.File, p int) { pid = p; pipe.WriteString("g") })
	if want := fmt.Sprintln(pid); out != want {
		t.Errorf("process %q ran, want %q", out, want)
	}
}

// Hooks start this program dozens of times, so it must stay small.
func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		ours := strings.HasPrefix(dep, "juju/")
		foreign := strings.Contains(strings.SplitN(dep, "/", 2)[0], ".")
		switch {
		case ours && dep != "juju/cmd/hook-tool" && dep != "juju/hooks/tool" && dep != "juju/state/entity/shell":
			t.Errorf("hook-tool must not need %s", dep)
		case foreign && dep != "golang.org/x/sys/unix":
			t.Errorf("hook-tool must not need %s", dep)
		}
	}
}
