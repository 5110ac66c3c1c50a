package hooks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/loggo"

	"juju/hooks/tool"
)

// BenchmarkHook is a hook that does nothing, from the call of Run to its
// return; process is the same script by itself. The difference is what the agent
// adds, without what it writes to disk and to the controller.
func BenchmarkHook(b *testing.B) {
	params := rigParams(b.TempDir())
	params.Log = func(string, loggo.Level, string) {}
	path := filepath.Join(params.CharmDir, "hooks", "start")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	runner, err := NewRunner(params)
	if err != nil {
		b.Fatal(err)
	}
	defer runner.Close()
	b.Run("run", func(b *testing.B) {
		for b.Loop() {
			hctx, err := NewContext(newBackend(), testParams(Info{Kind: Start}))
			if err != nil {
				b.Fatal(err)
			}
			if err := runner.Run(context.Background(), hctx, func(Process) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(path).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTool is one use of a hook tool, from the start of its process to the end; process is the
// same program when it has nothing to ask. The difference is what the call adds.
func BenchmarkTool(b *testing.B) {
	hctx, err := NewContext(newBackend(), testParams(Info{Kind: Start}))
	if err != nil {
		b.Fatal(err)
	}
	socket := filepath.Join(b.TempDir(), "s")
	server, err := tool.Serve(socket, hctx.serve)
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	env := hctx.environment(nil, "/", toolsDir, socket)
	run := func(b *testing.B, want, path string, args ...string) {
		for b.Loop() {
			cmd := exec.Command(path, args...)
			cmd.Env = env
			if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), want) {
				b.Fatalf("got %q, %v", out, err)
			}
		}
	}
	b.Run("call", func(b *testing.B) { run(b, "My blog\n", filepath.Join(toolsDir, "config-get"), "title") })
	b.Run("process", func(b *testing.B) { run(b, "Usage: ", hookTool, "--help") })
}
