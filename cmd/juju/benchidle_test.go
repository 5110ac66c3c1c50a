package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"juju/agent/host/process"
)

// BenchmarkIdleUnits reports what the agents of 50 units on one machine cost while nothing happens:
// memory, as the kernel shares it out among processes, wake-ups and processor time. Controller and
// agents are real processes.
func BenchmarkIdleUnits(b *testing.B) {
	const units, while = 50, 20 * time.Second
	s := newBenchSystem(b, map[string]string{
		"idle/metadata.yaml": "{name: idle, summary: s, description: d}\n",
		"idle/hooks/start":   "#!/bin/sh\nstatus-set active\n",
		"bundle.yaml": fmt.Sprintf("applications: {idle: {charm: ./idle, num_units: %d, to: [%s'0']}}\nmachines: {'0': }\n",
			units, strings.Repeat("'0', ", units-1)),
	})
	s.juju("deploy", filepath.Join(s.dir, "bundle.yaml"), "-q", "--wait=5m")
	homes, err := filepath.Glob(filepath.Join(s.data, "local", "*", "machines", "*", "local-*", "agents", "unit-*"))
	if err != nil || len(homes) != units {
		b.Fatalf("%d agents, %v", len(homes), err)
	}
	var agents []int
	for _, home := range homes {
		id, err := process.Holder(home)
		if err != nil {
			b.Fatal(err)
		}
		agents = append(agents, id.PID)
	}
	for b.Loop() {
		time.Sleep(while / 2) // until the work of the beginning is over
		woken, ticks := wakeUps(b, agents)
		time.Sleep(while)
		wokenThen, ticksThen := wakeUps(b, agents)
		per := float64(units) * while.Seconds()
		b.ReportMetric(float64(wokenThen-woken)/per, "wakeups/s/agent")
		b.ReportMetric(float64(ticksThen-ticks)*10/per, "cpu-ms/s/agent") // a tick is 10 ms
		b.ReportMetric(float64(memory(b, agents))/1000/units, "MB/agent")
	}
	b.ReportMetric(0, "ns/op")
}

// wakeUps returns how often the threads of processes have given up the processor by themselves, and
// the ticks of processor time that they have used.
func wakeUps(b *testing.B, pids []int) (switches, ticks int) {
	b.Helper()
	for _, pid := range pids {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil || len(files) == 0 {
			b.Fatalf("process %d has gone: %v", pid, err)
		}
		for _, file := range files {
			switches += field(b, file, "voluntary_ctxt_switches:")
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Fatal(err)
		}
		words := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')'):])
		for _, word := range words[12:14] { // utime and stime
			n, err := strconv.Atoi(word)
			if err != nil {
				b.Fatal(err)
			}
			ticks += n
		}
	}
	return switches, ticks
}

// memory returns the proportional memory of processes in kB.
func memory(b *testing.B, pids []int) (kB int) {
	b.Helper()
	for _, pid := range pids {
		kB += field(b, fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
	}
	return kB
}

// field returns the number after a name in a file of /proc.
func field(b *testing.B, file, name string) int {
	b.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("%s has no %s", file, name)
	return 0
}
