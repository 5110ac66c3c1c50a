package local

import (
	"fmt"
	"testing"
)

// BenchmarkStartStop starts and stops machines among n others.
func BenchmarkStartStop(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(fmt.Sprintf("among=%d", n), func(b *testing.B) {
			h := newHost(b, newController())
			e := h.environ(h.cloud(notifyVariable + "="))
			for i := range n {
				h.start(e, fmt.Sprint(i))
			}
			for i := range b.N {
				inst := h.start(e, fmt.Sprint(n+i))
				if err := e.StopInstances(b.Context(), inst.ID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
