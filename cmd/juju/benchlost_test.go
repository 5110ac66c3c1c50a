package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"juju/agent/host/process"
)

// BenchmarkLostController reports how long a change takes to reach all units of a service through three controllers,
// and how long if the one that leads is killed at the same moment. JUJU_UNITS is the number of units, 50 by default, and
// JUJU_MACHINES that of the machines that they share, 1 by default; 20 users run a command each second meanwhile.
// Controllers, agents, hooks and commands are real processes.
func BenchmarkLostController(b *testing.B) {
	units, machines := numberIn(b, "JUJU_UNITS", 50), numberIn(b, "JUJU_MACHINES", 1)
	var to, declared []string
	for n := range units {
		to = append(to, fmt.Sprintf("'%d'", n%machines))
	}
	for n := range machines {
		declared = append(declared, fmt.Sprintf("'%d': ", n))
	}
	journal := filepath.Join(b.TempDir(), "journal")
	s := newBenchHost(b, map[string]string{
		"web/metadata.yaml":        "{name: web, summary: s, description: d}\n",
		"web/config.yaml":          "options:\n  title: {type: string, default: none}\n",
		"web/hooks/config-changed": "#!/bin/sh\necho \"$(config-get title) $JUJU_UNIT_NAME\" >>" + journal + "\n",
		"bundle.yaml": fmt.Sprintf("applications: {web: {charm: ./web, num_units: %d, to: [%s]}}\nmachines: {%s}\n",
			units, strings.Join(to, ", "), strings.Join(declared, ", ")),
	})
	s.bootstrap("local", "h", "--mongo-url", startMongod(b, s.bin))
	s.juju("enable-ha")
	s.juju("wait-for", "-m", "controller", "--timeout=3m")
	s.juju("deploy", filepath.Join(s.dir, "bundle.yaml"), "-q", "--force", "--wait=60m")
	dirs := controllerDirs(b, s.data)
	users := newBenchUsers(s, 20)
	defer users.leave()

	reaches := func(title string) time.Duration {
		start := time.Now()
		s.juju("set", "web", "title="+title)
		for {
			text, err := os.ReadFile(journal)
			if err != nil {
				b.Fatal(err)
			}
			// One whose controller is lost runs the hook again, once it is connected to another.
			reached := map[string]bool{}
			for line := range strings.Lines(string(text)) {
				if unit, ok := strings.CutPrefix(line, title+" "); ok {
					reached[unit] = true
				}
			}
			if len(reached) == units {
				return time.Since(start)
			}
			if time.Since(start) > 10*time.Minute {
				b.Fatalf("%s has reached %d units", title, len(reached))
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for b.Loop() {
		users.slowest()
		_, ticks := wakeUps(b, pidsOf(b, dirs))
		whole := reaches("whole")
		_, ticksThen := wakeUps(b, pidsOf(b, dirs))
		b.ReportMetric(whole.Seconds(), "s/change")
		b.ReportMetric(users.slowest().Seconds(), "s/slowest-command")
		b.ReportMetric(float64(ticksThen-ticks)/100, "cpu-s/change") // a tick is 10 ms
		for i, dir := range dirs {
			b.ReportMetric(float64(memory(b, pidsOf(b, []string{dir})))/1000, fmt.Sprintf("MB/controller-%d", i))
		}
		if err := syscall.Kill(pidsOf(b, dirs[:1])[0], syscall.SIGKILL); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(reaches("killed").Seconds(), "s/change-without-one")
		b.ReportMetric(users.slowest().Seconds(), "s/slowest-command-without-one")
		b.ReportMetric(float64(users.failures(b)), "failed-commands")
	}
	b.ReportMetric(0, "ns/op")
}

// pidsOf returns the processes that run in directories.
func pidsOf(b *testing.B, dirs []string) (pids []int) {
	b.Helper()
	for _, dir := range dirs {
		id, err := process.Holder(dir)
		if err != nil {
			b.Fatal(err)
		}
		pids = append(pids, id.PID)
	}
	return pids
}

// benchUsers run a command each second.
type benchUsers struct {
	mu      sync.Mutex
	longest time.Duration
	failed  []error
	left    chan struct{}
	all     sync.WaitGroup
}

func newBenchUsers(s *benchSystem, n int) *benchUsers {
	u := &benchUsers{left: make(chan struct{})}
	for range n {
		u.all.Go(func() {
			for {
				start := time.Now()
				err := s.try("get", "web")
				u.note(time.Since(start), err)
				select {
				case <-time.After(time.Second):
				case <-u.left:
					return
				}
			}
		})
	}
	return u
}

func (u *benchUsers) note(took time.Duration, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.longest = max(u.longest, took)
	if err != nil {
		u.failed = append(u.failed, err)
	}
}

// slowest returns how long the slowest command took since the last call.
func (u *benchUsers) slowest() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	longest := u.longest
	u.longest = 0
	return longest
}

// failures returns how many commands have failed, and logs their errors.
func (u *benchUsers) failures(b *testing.B) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, err := range u.failed {
		b.Log(err)
	}
	return len(u.failed)
}

func (u *benchUsers) leave() {
	close(u.left)
	u.all.Wait()
}
