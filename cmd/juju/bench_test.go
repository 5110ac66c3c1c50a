package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The time from `juju deploy` until the first hook runs, through the command, a machine agent
// and a unit agent. Controller, agents and hook are real processes.
func BenchmarkDeployToFirstHook(b *testing.B) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		b.Fatal(err)
	}
	bin, _ := buildSystem(b, root)
	dir := b.TempDir()
	data, fifo, charm := filepath.Join(dir, "data"), filepath.Join(dir, "began"), filepath.Join(dir, "charm")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{
		"metadata.yaml": "{name: bench, summary: s, description: d}\n",
		"hooks/install": "#!/bin/sh\necho >" + fifo + "\n",
	} {
		file := filepath.Join(charm, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	juju := func(args ...string) {
		b.Helper()
		cmd := exec.CommandContext(b.Context(), filepath.Join(bin, "juju"), args...)
		cmd.Env = append(os.Environ(), "JUJU_DATA="+data)
		if text, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("juju %v: %v\n%s", args, err, text)
		}
	}
	juju("bootstrap", "-q")
	defer sweep(b, bin, data)
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
		juju("deploy", charm, fmt.Sprintf("bench%c", 'a'+rune(n%26))+letters(n/26), "-q")
		select {
		case err := <-began:
			if err != nil {
				b.Fatal(err)
			}
		case <-time.After(scriptBound):
			b.Fatal("no hook began")
		}
		total += time.Since(start)
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(n), "ms/first-hook")
}

// letters writes a number in letters, since the name of a service can't end with a digit.
func letters(n int) string {
	if n == 0 {
		return ""
	}
	return letters(n/26) + string('a'+rune(n%26))
}
