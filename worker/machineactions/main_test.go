package machineactions

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// hookTool is the real program, built once for all tests.
var hookTool string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	root, err := os.MkdirTemp("", "machineactions-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	os.Setenv("TMPDIR", root)
	os.Setenv("CGO_ENABLED", "0")              // as in the Makefile, so that nothing is compiled twice
	hookTool = filepath.Join(root, "juju-run") // by which name it is juju-run
	build := exec.Command("go", "build", "-o", hookTool, "juju/cmd/hook-tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build hook-tool: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
