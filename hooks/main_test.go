package hooks

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"

	"juju/hooks/hooktools"
)

// hookTool is the real program, built once for all tests; toolsDir holds the
// tools' links to it.
var hookTool, toolsDir string

func TestMain(m *testing.M) {
	if dir := os.Getenv(agentDirVar); dir != "" {
		agentMain(dir)
		return
	}
	os.Exit(testMain(m))
}

// testMain runs the tests with everything they make below one directory, and
// then looks for what they have left.
func testMain(m *testing.M) int {
	root, err := os.MkdirTemp("", "hooks-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	os.Setenv("TMPDIR", root)
	os.Setenv("CGO_ENABLED", "0") // as in the Makefile, so that nothing is compiled twice
	hookTool, toolsDir = filepath.Join(root, "hook-tool"), filepath.Join(root, "tools")
	build := exec.Command("go", "build", "-o", hookTool, "juju/cmd/hook-tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build hook-tool: %v\n%s", err, out)
		return 1
	}
	if err := hooktools.Install(toolsDir, hookTool); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if left := processesBelow(root); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "the tests have left processes: %q\n", left)
		code = 1
	}
	var stacks bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	if strings.Contains(stacks.String(), "juju/hooks.(*") || strings.Contains(stacks.String(), "juju/hooks/tool.(*") {
		fmt.Fprintf(os.Stderr, "the tests have left goroutines:\n%s", &stacks)
		code = 1
	}
	return code
}

// processesBelow returns the command lines of the processes whose working
// directory is below dir.
func processesBelow(dir string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			found = append(found, string(cmdline))
		}
	}
	return found
}
