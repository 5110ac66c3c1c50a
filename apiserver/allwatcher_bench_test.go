package apiserver

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// cpuTime returns the CPU time that the process has used.
func cpuTime(b testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkWatchAll has ten clients watch everything in a model of 5,000 units, each on a machine. It measures the memory
// of the feed; from the commit of a status until all clients have its delta; and the CPU time of that, which includes
// their side of the connections, and, for the changes that come as fast as they can, that of the changes.
func BenchmarkWatchAll(b *testing.B) {
	const units, clients, steps, burst = 5000, 10, 100, 2000
	w := newWorld(b)
	ctx := b.Context()
	if _, err := w.st.AddService(ctx, state.AddServiceParams{Name: "mysql", CharmURL: statetest.Charm(b, w.st, statetest.MySQL),
		Units: units}); err != nil {
		b.Fatal(err)
	}
	var all []*rawConn
	for range clients {
		all = append(all, w.admin())
	}
	before := inUse()
	var watchers []string
	began := time.Now()
	for _, c := range all {
		watchers = append(watchers, c.watchesAll().id)
	}
	next := func() {
		var group sync.WaitGroup
		for i, c := range all {
			group.Go(func() {
				c.send("AllWatcher", 3, "Next", watchers[i], nil)
				if _, _, err := c.ws.ReadMessage(); err != nil {
					b.Error(err)
				}
			})
		}
		group.Wait()
	}
	next()
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-first")
	b.ReportMetric((inUse()-before)/1e6, "MB")
	set := func(i int) {
		u, err := w.st.Unit(ctx, fmt.Sprint("mysql/", i%units))
		if err != nil {
			b.Fatal(err)
		}
		if err := u.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: fmt.Sprint(i)}); err != nil {
			b.Fatal(err)
		}
	}
	for range b.N {
		var waited time.Duration
		cpu := cpuTime(b)
		for i := range steps {
			arrived := make(chan struct{})
			go func() { defer close(arrived); next() }()
			set(i)
			committed := time.Now()
			<-arrived
			waited += time.Since(committed)
		}
		b.ReportMetric(float64(waited.Microseconds())/1000/steps, "ms-delay")
		b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/1000/steps, "ms-cpu/change")

		// Changes as fast as they can come, while the clients ask all the time.
		done, ended := make(chan struct{}), make(chan int)
		go func() {
			n := 0
			for {
				select {
				case <-done:
					ended <- n
					return
				default:
					next()
					n++
				}
			}
		}()
		cpu, began := cpuTime(b), time.Now()
		for i := range burst {
			set(steps + i)
		}
		took := time.Since(began)
		close(done)
		set(0)
		n := <-ended
		b.ReportMetric(burst/took.Seconds(), "changes/s")
		b.ReportMetric(float64(n)/took.Seconds(), "events/s")
		b.ReportMetric((cpuTime(b)-cpu).Seconds()/took.Seconds(), "cpus")
	}
	b.ReportMetric(0, "ns/op")
}
