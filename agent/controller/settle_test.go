package controller

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/loggo"

	"juju/agent"
	"juju/agent/host/process"
	"juju/state"
	"juju/state/entity"
)

// A teller can be waited for, and can report what may explain a lack of progress.
type teller interface {
	fmt.Stringer
	tell() string
}

// settle waits until missing returns "" for all. It checks when something may have changed, and
// fails with what is missing when there was no progress for too long: hundreds of agents on a busy
// machine need not all be done within one wait. look runs before each
// check, and reads what missing needs.
func settle[T teller](s *system, what string, all []T, look func() error, missing func(T) string) {
	s.Helper()
	began := time.Now()
	changes := s.cloud.Watch(s.ctx) // the provisioners list instances all the time
	stall := time.NewTimer(patience)
	defer stall.Stop()
	left := slices.Clone(all)
	var last []string
	for len(left) > 0 {
		select {
		case <-changes:
		case <-stall.C:
			for _, one := range left {
				last = append(last, one.tell())
			}
			s.Fatalf("gave up waiting for %d of %d to be %s:\n%s\n%s", len(left), len(all), what, strings.Join(last, "\n"),
				s.circumstances())
		}
		looked := time.Now()
		if look() != nil {
			continue // as while the controller is away
		}
		last = nil
		before := len(left)
		left = slices.DeleteFunc(left, func(one T) bool {
			lack := missing(one)
			if lack != "" {
				last = append(last, one.String()+": "+lack)
			}
			return lack == ""
		})
		if len(left) < before {
			stall.Reset(patience)
		}
		// Checking must not become most of the work.
		select {
		case <-time.After(4 * time.Since(looked)):
		case <-s.ctx.Done():
		}
	}
	s.Logf("%d %s after %v", len(all), what, time.Since(began).Round(time.Millisecond))
}

// circumstances returns what may explain a lack of progress: the agents that run and those that
// have ended, what all goroutines wait for, and the latest log.
func (s *system) circumstances() string {
	var b bytes.Buffer
	for _, pattern := range []string{"machine-*", "unit-*"} {
		homes, _ := filepath.Glob(filepath.Join(s.machines, "*", "agents", pattern, agent.ConfigName))
		for _, home := range homes {
			home = filepath.Dir(home)
			config, err := agent.ReadConfig(home)
			why, ended := process.Ended(home)
			fmt.Fprintf(&b, "agent %s of model %s in %s: runs %v, has ended %v %s %v\n", config.Tag, config.ModelName, home,
				s.host.Runs(home), ended, why, err)
		}
	}
	pprof.Lookup("goroutine").WriteTo(&b, 1)
	b.WriteString(s.log.String())
	return b.String()
}

// history returns the status history of units, and of their machines.
func (s *system) history(st *state.State, names ...string) string {
	var b strings.Builder
	say := func(kind entity.HistoryKind, id string) {
		past, err := st.StatusHistory(s.ctx, kind, id, entity.HistoryFilter{Size: 20})
		fmt.Fprintf(&b, "%s: %+v %v\n", id, past, err)
	}
	for _, name := range names {
		say(entity.HistoryUnit, name)
		if u, err := st.Unit(s.ctx, name); err == nil && u.Machine() != "" {
			say(entity.HistoryMachine, u.Machine())
		}
	}
	return b.String()
}

// A lately is a log that keeps the latest lines.
type lately struct {
	mu    sync.Mutex
	lines []string
	next  chan struct{} // if not nil, is closed with the next line
}

// Write implements loggo.Writer.
func (l *lately) Write(e loggo.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const kept = 2000
	if len(l.lines) >= 2*kept {
		l.lines = slices.Delete(l.lines, 0, kept)
	}
	l.lines = append(l.lines, fmt.Sprintf("%s %s %s %s", e.Timestamp.Format(time.TimeOnly), e.Level, e.Module, e.Message))
	if l.next != nil {
		close(l.next)
		l.next = nil
	}
}

// await waits until a line has this text, and reports whether one has.
func (l *lately) await(text string) bool {
	timeout := time.After(patience)
	for {
		l.mu.Lock()
		found := slices.ContainsFunc(l.lines, func(line string) bool { return strings.Contains(line, text) })
		if l.next == nil {
			l.next = make(chan struct{})
		}
		next := l.next
		l.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-next:
		case <-timeout:
			return false
		}
	}
}

func (l *lately) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// keepsLog keeps the log from level INFO while the test runs, without printing more.
func (s *system) keepsLog() {
	s.Helper()
	loggo.GetLogger("juju").SetLogLevel(loggo.INFO)
	before, err := loggo.RemoveWriter(loggo.DefaultWriterName)
	s.ok(err)
	s.ok(loggo.RegisterWriter(loggo.DefaultWriterName, loggo.NewMinimumLevelWriter(before, loggo.WARNING)))
	s.ok(loggo.RegisterWriter("lately", &s.log))
	s.Cleanup(func() {
		loggo.GetLogger("juju").SetLogLevel(loggo.UNSPECIFIED)
		loggo.RemoveWriter("lately")
		loggo.ReplaceDefaultWriter(before)
	})
}
