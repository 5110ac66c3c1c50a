package rehearsal

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
)

// A large is a model with many units.
type large struct {
	*testing.B
	ctx   context.Context
	ctrl  *controller.Controller
	st    *state.State
	stage *Stage
}

// newLarge returns a model with n units whose machines have started. If idle, so have they, and have run all hooks.
func newLarge(b *testing.B, n int, peers string, idle bool) *large {
	store, err := mongo.OpenMemory(mongo.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	l := &large{B: b, ctx: b.Context()}
	l.ctrl, l.st = statetest.ControllerOn(b, store, controller.Options{PasswordCost: statetest.PasswordCost})
	l.stage = &Stage{Store: store, Controller: l.ctrl, Temp: b.TempDir()}
	url := statetest.Charm(b, l.st, `{name: web, summary: s, description: d`+peers+`}`, "dispatch", "#!/bin/sh\n")
	_, err = l.st.AddService(l.ctx, state.AddServiceParams{Name: "web", CharmURL: url, Units: n})
	l.ok(err)
	status, err := l.st.Status(l.ctx)
	for ; err == nil && len(status.AllUnits()) < n; status, err = l.st.Status(l.ctx) { // the cleaner adds what one transaction can't
		_, _, err = l.st.Cleaner().Cleanup(l.ctx)
		l.ok(err)
	}
	l.ok(err)
	for _, m := range status.AllMachines() {
		machine, err := l.st.Machine(l.ctx, m.ID)
		l.ok(err)
		l.ok(machine.SetProvisioned(l.ctx, entity.Instance{ID: "i-" + m.ID, Nonce: "n", Addresses: []string{"10.0.0.1"}}))
	}
	for _, s := range status.AllUnits() {
		if !idle {
			break
		}
		u, err := l.st.Unit(l.ctx, s.Name)
		l.ok(err)
		l.ok(u.SetAgentStatus(l.ctx, entity.Status{Status: entity.StatusIdle}))
		l.ok(u.SetStatus(l.ctx, entity.Status{Status: entity.StatusActive}))
		l.ok(u.SetCharm(l.ctx, url))
		relations, err := u.Relations(l.ctx)
		l.ok(err)
		for _, r := range relations {
			l.ok(u.EnterScope(l.ctx, r.ID))
		}
	}
	return l
}

func (l *large) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// expose plans to expose the service, and returns how long that takes. begun is called when the plan has begun.
func (l *large) expose(user, model string, begun func()) time.Duration {
	before := time.Now()
	_, err := l.stage.Plan(l.ctx, user, model, func(string) bool { return false },
		func(ctx context.Context, _ *controller.Controller, st *state.State) error {
			begun()
			svc, err := st.Service(ctx, "web")
			if err != nil {
				return err
			}
			return svc.Expose(ctx, nil)
		})
	if err != nil {
		l.Error(err)
	}
	return time.Since(before)
}

// BenchmarkPlan measures how long the plan of a small change takes in a large model, as a ratio of its status.
func BenchmarkPlan(b *testing.B) {
	for _, kind := range []struct {
		name, peers string
		idle        bool
	}{{"idle", "", true}, {"peers", ", peers: {ring: {interface: ring}}", true}, {"waiting", "", false}} {
		for _, n := range []int{250, 1000} {
			b.Run(fmt.Sprintf("%s-%d", kind.name, n), func(b *testing.B) {
				l := newLarge(b, n, kind.peers, kind.idle)
				var plans, statuses time.Duration
				for b.Loop() {
					before := time.Now()
					_, err := l.st.Status(l.ctx)
					l.ok(err)
					statuses += time.Since(before)
					plans += l.expose("one", l.st.UUID(), func() {})
				}
				b.ReportMetric(float64(plans)/float64(statuses), "statuses")
			})
		}
	}
}

// BenchmarkPlanOfOther measures how long a user waits for a plan of a model of one unit while another has six plans made of a
// model of 500, as a ratio of how long it takes alone.
func BenchmarkPlanOfOther(b *testing.B) {
	l := newLarge(b, 500, "", true)
	st, err := l.ctrl.AddModel(l.ctx, controller.AddModelParams{Name: "small", Owner: statetest.Admin})
	l.ok(err)
	url := statetest.Charm(b, st, `{name: web, summary: s, description: d}`, "dispatch", "#!/bin/sh\n")
	_, err = st.AddService(l.ctx, state.AddServiceParams{Name: "web", CharmURL: url, Units: 1})
	l.ok(err)
	var alone, beside time.Duration
	for b.Loop() {
		alone += l.expose("other", st.UUID(), func() {})
		var six sync.WaitGroup
		first := make(chan struct{})
		begun := sync.OnceFunc(func() { close(first) })
		for range 6 {
			six.Go(func() { l.expose("one", l.st.UUID(), begun) })
		}
		<-first
		beside += l.expose("other", st.UUID(), func() {})
		six.Wait()
	}
	b.ReportMetric(float64(beside)/float64(alone), "times-alone")
}
