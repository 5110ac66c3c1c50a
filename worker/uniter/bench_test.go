package uniter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkHook measures what a hook costs: alone, as a process, and as the hook of a unit
// with all that its agent does about it. The controller is in memory. The hook changes no
// file of the charm directory, or one, which makes a commit of its history.
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
	for name, script := range map[string]string{"unit": "", "unit-history": "echo x >>state"} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, map[string]string{"db-relation-joined": script, "db-relation-changed": script})
			r.start()
			r.settle(nil)
			// Two hooks for each counterpart, one after the other.
			members := map[string]int64{}
			for i := range (b.N + 1) / 2 {
				members[fmt.Sprintf("mysql/%d", i)] = 1
			}
			b.ResetTimer()
			began := time.Now()
			r.settle(func() { r.c.relations[3] = newRelation(3, "db", "mysql", members) })
			took := time.Since(began) - r.config.IdleDelay
			b.StopTimer()
			b.ReportMetric(float64(took.Nanoseconds())/float64(2*len(members)), "ns/hook")
			if err := r.stop(); err == nil || r.c.failure() != "" {
				b.Fatal(err, r.c.workload)
			}
		})
	}
}
