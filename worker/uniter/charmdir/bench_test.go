package charmdir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkHistory measures the cost of the history for each hook, for a charm of N files of which none or one has
// changed, and for the first commit of the charm.
func BenchmarkHistory(b *testing.B) {
	for _, charm := range []struct{ files, size int }{{10, 4}, {100, 4}, {1000, 4}, {5000, 20_000}} {
		name := fmt.Sprintf("files=%d/kB=%d", charm.files, charm.files*charm.size/1000)
		h := History{Path: b.TempDir(), Author: "unit web/0"}
		write := func(i int, content string) {
			path := filepath.Join(h.Path, fmt.Sprintf("lib/%d/%d", i/50, i))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		record := func(b *testing.B, message string) {
			if err := h.Record(message); err != nil {
				b.Fatal(err)
			}
		}
		random := rand.New(rand.NewPCG(1, 2)) // content that does not compress
		for i := range charm.files {
			content := make([]byte, charm.size)
			for j := range content {
				content[j] = byte(random.Uint32())
			}
			write(i, string(content))
		}
		b.Run(name+"/deploy", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if err := os.RemoveAll(filepath.Join(h.Path, ".git")); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				record(b, "deploy")
			}
		})
		round := 0
		for _, changed := range []int{0, 1} {
			b.Run(fmt.Sprintf("%s/changed=%d", name, changed), func(b *testing.B) {
				for b.Loop() {
					if changed > 0 {
						round++
						write(7, fmt.Sprint("round ", round))
					}
					record(b, "hook")
				}
			})
		}
	}
}
