package uniter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkHook measures what a hook costs: alone, as a process, and as the hook of a unit
// with all that its agent does about it. The controller is in memory. The hook changes no
// file of the charm directory, or one, which makes a commit of its history; old is the latter in
// a charm of 500 files after 1,000 hooks.
func BenchmarkHook(b *testing.B) {
	b.Run("process", func(b *testing.B) {
		script := filepath.Join(b.TempDir(), "hook")
		if err := os.WriteFile(script, []byte("#!/bin/sh\necho x >>/dev/null\n"), 0o755); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := exec.Command(script).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, unit := range []struct {
		name, script string
		files, past  int
	}{{"unit", "", 0, 0}, {"unit-history", "echo x >>state", 0, 0}, {"old", "echo x >>state", 500, 1000}} {
		scripts := map[string]string{"db-relation-joined": unit.script, "db-relation-changed": unit.script}
		for i := range unit.files {
			scripts[fmt.Sprintf("lib/%d/%d", i/50, i)] = strings.Repeat(fmt.Sprint("# line ", i, "\n"), 100)
		}
		r := newRig(b, scripts)
		r.start()
		r.settle(nil)
		runHooks(r, unit.past)
		b.Run(unit.name, func(b *testing.B) {
			took, n := runHooks(r, b.N)
			b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/hook")
		})
		if err := r.stop(); err == nil || r.c.failure() != "" {
			b.Fatal(err, r.c.workload)
		}
	}
}

// runHooks lets at least n hooks run, one after the other: two for each counterpart in new relations.
func runHooks(r *rig, n int) (took time.Duration, ran int) {
	for ran < n {
		members := map[string]int64{}
		for i := range min(100, (n-ran+1)/2) {
			members[fmt.Sprintf("mysql/%d", i)] = 1
		}
		began := time.Now()
		r.settle(func() {
			id := len(r.c.relations) + 3
			r.c.relations[id] = newRelation(id, "db", "mysql", members)
		})
		took += time.Since(began) - r.config.IdleDelay
		ran += 2 * len(members)
	}
	return took, ran
}
