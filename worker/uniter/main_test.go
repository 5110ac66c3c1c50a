package uniter

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
)

// hookTool is the real program, built once for all tests.
var hookTool string

func TestMain(m *testing.M) {
	if dir := os.Getenv(agentDirVar); dir != "" {
		agentMain(dir)
		return
	}
	os.Exit(testMain(m))
}

// testMain runs the tests in a temporary directory, and then looks for processes and
// goroutines that they have left.
func testMain(m *testing.M) int {
	root, err := os.MkdirTemp("", "uniter-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	os.Setenv("TMPDIR", root)
	os.Setenv("CGO_ENABLED", "0") // as in the Makefile, so that nothing is compiled twice
	hookTool = filepath.Join(root, "hook-tool")
	build := exec.Command("go", "build", "-o", hookTool, "juju/cmd/hook-tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build hook-tool: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, root) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			fmt.Fprintf(os.Stderr, "the tests have left a process: %q\n", cmdline)
			code = 1
		}
	}
	var stacks bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	if strings.Contains(stacks.String(), "juju/worker/uniter.(*") || strings.Contains(stacks.String(), "juju/hooks.(*") {
		fmt.Fprintf(os.Stderr, "the tests have left goroutines:\n%s", &stacks)
		code = 1
	}
	return code
}
