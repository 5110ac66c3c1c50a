package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"juju/provider/local"
)

// startMongod starts jujud mongod, which goes with the test, and returns its URL.
func startMongod(t testing.TB, bin string) (url string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "jujud"), "mongod", "--dbpath", filepath.Join(t.TempDir(), "db"), "--port", "0", "--only-op-msg")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "waiting for connections on ")
	if !ok {
		t.Fatalf("the store said %q (%v)", line, err)
	}
	return "mongodb://" + address
}

// controllerDirs returns the directories of the processes of controller h.
func controllerDirs(t testing.TB, data string) []string {
	t.Helper()
	nodes, err := filepath.Glob(filepath.Join(data, "local", "h", "machines", "*", "*", "agents", "*", local.ControllerConfigName))
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{local.ControllerDir(filepath.Join(data, "local", "h"))}
	for _, file := range nodes {
		dirs = append(dirs, filepath.Dir(file))
	}
	return dirs
}
