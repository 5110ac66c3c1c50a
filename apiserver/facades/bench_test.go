package facades_test

import (
	"errors"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// cpuTime returns the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkExplain measures what the explanation of all of a model costs in which 5,005 units wait: for their agents, on a
// machine each that was never started or all on one, or for their charms.
func BenchmarkExplain(b *testing.B) {
	for _, where := range []string{"unstarted", "one", "started"} {
		b.Run(where, func(b *testing.B) {
			b.StopTimer()
			w, ctx := newWorld(b), b.Context()
			var machine []entity.Placement
			if where == "one" {
				m, err := w.st.AddMachine(ctx, state.AddMachineParams{})
				w.ok(err)
				machine = []entity.Placement{statetest.At(m.ID())}
			}
			for name, n := range map[string]int{statetest.MySQL: 5000, statetest.Wordpress: 5} {
				s, err := w.st.AddService(ctx, state.AddServiceParams{Name: "s" + strconv.Itoa(n), CharmURL: statetest.Charm(w, w.st, name)})
				w.ok(err)
				names, err := s.AddUnits(ctx, n, slices.Repeat(machine, n))
				for _, name := range names {
					u, uerr := w.st.Unit(ctx, name)
					if err = errors.Join(err, uerr); err != nil || where != "started" {
						break
					}
					err = errors.Join(u.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}),
						u.SetStatus(ctx, entity.Status{Status: entity.StatusWaiting, Message: "not yet"}))
				}
				w.ok(err)
			}
			admin, before := w.admin().client(), cpuTime(b)
			b.StartTimer()
			for range b.N {
				all, more, err := admin.Explain(ctx)
				if w.ok(err); len(all)+more < 5005 {
					b.Fatalf("%d and %d more are explained", len(all), more)
				}
			}
			b.ReportMetric((cpuTime(b)-before).Seconds()/float64(b.N), "s-cpu/op")
		})
	}
}
