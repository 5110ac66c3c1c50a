package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
)

// The time from `juju deploy` until the first hook runs, through the command, a machine agent
// and a unit agent. Controller, agents and hook are real processes.
func BenchmarkDeployToFirstHook(b *testing.B) {
	fifo := filepath.Join(b.TempDir(), "began")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		b.Fatal(err)
	}
	s := newBenchSystem(b, map[string]string{
		"charm/metadata.yaml": "{name: bench, summary: s, description: d}\n",
		"charm/hooks/install": "#!/bin/sh\necho >" + fifo + "\n",
	})
	var total time.Duration
	n := 0
	for b.Loop() {
		n++
		began := make(chan error, 1)
		start := time.Now()
		go func() { // ends when the hook writes, or with the file that both have open
			_, err := os.ReadFile(fifo)
			began <- err
		}()
		s.juju("deploy", filepath.Join(s.dir, "charm"), fmt.Sprintf("bench%c", 'a'+rune(n%26))+letters(n/26), "-q")
		select {
		case err := <-began:
			if err != nil {
				b.Fatal(err)
			}
		case <-time.After(verify.Patience):
			b.Fatal("no hook began")
		}
		total += time.Since(start)
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(n), "ms/first-hook")
}

// A benchSystem is a controller of the real binaries, for one benchmark.
type benchSystem struct {
	*testing.B
	bin  string // the binaries
	dir  string // with the benchmark's files
	data string // the controller's
}

// newBenchSystem bootstraps a controller, which goes with the benchmark, and writes the files, by name.
func newBenchSystem(b *testing.B, files map[string]string) *benchSystem {
	b.Helper()
	s := newBenchHost(b, files)
	s.bootstrap()
	return s
}

// newBenchHost writes the files.
func newBenchHost(b *testing.B, files map[string]string) *benchSystem {
	b.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		b.Fatal(err)
	}
	bin, _ := buildSystem(b, root)
	s := &benchSystem{B: b, bin: bin, dir: b.TempDir()}
	s.data = filepath.Join(s.dir, "data")
	for name, text := range files {
		file := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// bootstrap creates the controller, which goes with the benchmark.
func (s *benchSystem) bootstrap(args ...string) {
	s.Helper()
	s.Cleanup(func() { sweep(s, s.bin, s.data) })
	s.juju(append([]string{"bootstrap", "-q"}, args...)...)
}

// juju runs a command, which must succeed.
func (s *benchSystem) juju(args ...string) {
	s.Helper()
	if err := s.try(args...); err != nil {
		s.Fatal(err)
	}
}

// try runs a command.
func (s *benchSystem) try(args ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, "juju"), args...)
	cmd.Env = append(os.Environ(), "JUJU_DATA="+s.data)
	text, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("juju %v: %w\n%s", args, err, text)
	}
	return err
}

// letters writes a number in letters, since the name of a service can't end with a digit.
func letters(n int) string {
	if n == 0 {
		return ""
	}
	return letters(n/26) + string('a'+rune(n%26))
}
