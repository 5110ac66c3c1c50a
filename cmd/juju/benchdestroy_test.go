package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkDestroyModels reports how long the slowest of a user's commands takes while five other models are destroyed by
// force at the same time, and how long before. JUJU_UNITS is the number of units of each, 20 by default, all on one machine.
// With JUJU_CPU the controller gets only that many percent of a processor, through a control group (version 1, as root).
func BenchmarkDestroyModels(b *testing.B) {
	const models = 5
	units := max(1, numberIn(b, "JUJU_UNITS", 20))
	s := newBenchHost(b, map[string]string{
		"web/metadata.yaml": "{name: web, summary: s, description: d}\n",
		"bundle.yaml": fmt.Sprintf("applications: {web: {charm: ./web, num_units: %d, to: [%s'0']}}\nmachines: {'0': }\n",
			units, strings.Repeat("'0', ", units-1)),
	})
	s.bootstrap("local", "h")
	s.juju("deploy", filepath.Join(s.dir, "web"), "-q", "--wait=10m")
	for b.Loop() {
		var names []string
		for n := range models {
			names = append(names, "busy"+letters(n+1))
			s.juju("add-model", names[n], "--no-switch", "-q")
			s.juju("deploy", filepath.Join(s.dir, "bundle.yaml"), "-m", names[n], "-q", "--force", "--wait=60m")
		}
		unlimit := limitCPU(b, pidsOf(b, controllerDirs(b, s.data))[0], numberIn(b, "JUJU_CPU", 0))
		users := newBenchUsers(s, 1)
		time.Sleep(10 * time.Second)
		b.ReportMetric(users.slowest().Seconds(), "s/slowest-before")
		begun := time.Now()
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				if err := s.try("destroy-model", name, "-y", "-q", "--force", "--timeout=10s"); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
		b.ReportMetric(time.Since(begun).Seconds(), "s/destruction")
		users.leave()
		b.ReportMetric(users.slowest().Seconds(), "s/slowest")
		b.ReportMetric(float64(users.failures(b)), "failed-commands")
		unlimit()
	}
	b.ReportMetric(0, "ns/op")
}

// numberIn returns the number in a variable of the environment, or another one if it is not set.
func numberIn(b *testing.B, name string, otherwise int) int {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// limitCPU limits a process to some percent of a processor, until it is undone; 0 does nothing.
func limitCPU(b *testing.B, pid, percent int) (undo func()) {
	b.Helper()
	if percent == 0 {
		return func() {}
	}
	const all = "/sys/fs/cgroup/cpu"
	group, err := os.MkdirTemp(all, "juju-bench")
	if err != nil {
		b.Fatal(err)
	}
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0); err != nil {
			b.Error(err)
		}
	}
	write(group+"/cpu.cfs_quota_us", fmt.Sprint(percent*1000)) // of 100,000
	write(group+"/cgroup.procs", fmt.Sprint(pid))
	return func() {
		write(all+"/cgroup.procs", fmt.Sprint(pid))
		if err := os.Remove(group); err != nil {
			b.Error(err)
		}
	}
}
