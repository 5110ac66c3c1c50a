package controller

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// The process plans with less than its control group allows, unless GOMEMLIMIT says how much.
func TestLimitMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	group := fstest.MapFS{
		"proc/self/cgroup":         {Data: []byte("0::/\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("1600000000\n")},
	}
	t.Setenv("GOMEMLIMIT", "off")
	LimitMemory(group)
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("with GOMEMLIMIT: %d", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	LimitMemory(fstest.MapFS{})
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("without a limit: %d", got)
	}
	LimitMemory(group)
	if got := debug.SetMemoryLimit(-1); got != 1360000000 {
		t.Errorf("%d, want 85 %% of the limit", got)
	}
}
