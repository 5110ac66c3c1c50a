package metrics

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"juju/apiserver/presence"
	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
)

// BenchmarkScrape measures a scrape of a model with many units, all of which are connected and have run a hook.
func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("units=%d", n), func(b *testing.B) {
			_, st := statetest.Controller(b)
			s, err := st.AddService(b.Context(), state.AddServiceParams{Name: "mysql", CharmURL: statetest.Charm(b, st, statetest.MySQL)})
			if err == nil {
				_, err = s.AddUnits(b.Context(), n, nil)
			}
			if err != nil {
				b.Fatal(err)
			}
			agents := presence.New(time.Now)
			m := New("1", "", func(ctx context.Context) (Reading, error) {
				r, _ := full(ctx)
				backlog, err := state.Backlog(ctx, st)
				r.Models = []Model{{Name: "default", Backlog: backlog, Present: agents.Counts()[st.UUID()].Present}}
				return r, err
			})
			for i := range n {
				agents.Arrive(st.UUID(), entity.UnitTag(fmt.Sprint("mysql/", i)), &presence.Line{}, entity.Binaries{})
				agents.Arrive(st.UUID(), entity.MachineTag(fmt.Sprint(i)), &presence.Line{}, entity.Binaries{})
				m.HookRan("default", fmt.Sprint("mysql", i), time.Second)
			}
			now := time.Now()
			handler := m.handler(func() time.Time { now = now.Add(fresh); return now })
			var bytes int
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
				bytes = w.Body.Len()
			}
			b.ReportMetric(float64(bytes), "B/scrape")
		})
	}
}

// BenchmarkMeter measures transactions with and without metrics, in turn, and what it takes to tell of one.
func BenchmarkMeter(b *testing.B) {
	run := map[bool]func(i int){}
	for _, metered := range []bool{false, true} {
		o := mongo.Options{}
		if metered {
			o.Meter = New("1", "", full)
		}
		store, err := mongo.OpenMemory(o)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { store.Close() })
		if err := store.Make(b.Context(), "db", mongo.Schema{LogSize: 1 << 20}); err != nil {
			b.Fatal(err)
		}
		db := store.Open("db")
		b.Cleanup(func() { db.Close(context.Canceled) })
		run[metered] = func(i int) {
			err := db.Change(b.Context(), func(o *mongo.Ops) error {
				o.Insert("c", fmt.Sprint(i), struct{ N int }{i})
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	took := map[bool]time.Duration{}
	for i := 0; b.Loop(); i++ {
		for _, metered := range []bool{i%2 == 0, i%2 != 0} {
			began := time.Now()
			run[metered](i)
			took[metered] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[true])/float64(took[false]), "with/without")
	m := New("1", "", full)
	const times = 100_000
	began := time.Now()
	for range times {
		m.Transaction(mongo.Applied, 1)
		m.Barrier(time.Millisecond)
		m.Delivered(time.Millisecond)
	}
	b.ReportMetric(float64(time.Since(began).Nanoseconds())/times, "ns/told")
}
