package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/rollout"
)

const (
	old = "local:web-1"
	new = "local:web-2"
)

// A rolled is the service web, whose units are upgraded to another charm, one at a time within a minute.
type rolled struct {
	*modeltest.Model
	testing.TB
	lost string // a unit
}

// newRollout returns the service with units that all run the old charm, and are active and idle.
func newRollout(t *testing.T, units int, changes ...func(*modeldb.Service)) *rolled {
	t.Helper()
	r := &rolled{Model: modeltest.New(t), TB: t}
	s := modeldb.Service{Name: "web", CharmURL: new, Rollout: &modeldb.Rollout{ID: "r1", Former: old, Batch: 1, Timeout: time.Minute, Since: r.Time}}
	for _, change := range changes {
		change(&s)
	}
	r.Put(s)
	r.PutCharm(new, "{name: web, summary: s, description: d, provides: {site: {interface: http}}}")
	for i := range units {
		name := fmt.Sprintf("web/%d", i)
		r.Put(modeldb.Unit{Name: name, Service: "web", CharmURL: old})
		r.says(name, entity.StatusActive, "", entity.StatusIdle)
	}
	return r
}

func batch(n int) func(*modeldb.Service) { return func(s *modeldb.Service) { s.Rollout.Batch = n } }

func reverts(s *modeldb.Service) { s.Rollout.Reverts = true }

// says sets the statuses of a unit's workload and agent.
func (r *rolled) says(unit string, workload entity.StatusWord, message string, agent entity.StatusWord) {
	r.Helper()
	r.Put(modeldb.Status{ID: modeldb.WorkloadKey(unit), Status: workload, Message: message},
		modeldb.Status{ID: modeldb.UnitKey(unit), Status: agent})
}

// has records which charm a unit runs.
func (r *rolled) has(unit, charm string) {
	r.Helper()
	r.Set(modeldb.UnitsC, unit, bson.DocElem{Name: "charm", Value: charm})
}

func (r *rolled) upgraded(unit string) {
	r.Helper()
	r.has(unit, new)
	r.says(unit, entity.StatusActive, "", entity.StatusIdle)
}

func (r *rolled) service() modeldb.Service {
	r.Helper()
	return modeltest.Get[modeldb.Service](r.Model, "web")
}

// advance takes a step. It returns the units whose turn it is and that don't have the charm, why the rollout has stopped or
// that it has ended, and how long it waits.
func (r *rolled) advance() string {
	r.Helper()
	again, err := rollout.Advance(r.Ctx, r.DB, "web", func(unit string) bool { return unit == r.lost })
	r.OK(err)
	s := r.service()
	if s.Rollout == nil {
		return "ended"
	}
	if s.Rollout.Stopped != "" {
		return "stopped: " + s.Rollout.Stopped
	}
	var told []string
	for _, u := range modeltest.All[modeldb.Unit](r.Model) {
		if u.InTurn(s.Rollout) && u.CharmURL != s.CharmURL {
			told = append(told, u.Name)
		}
	}
	return fmt.Sprintf("%s, %v", strings.Join(told, " "), again)
}

func (r *rolled) does(what, want string) {
	r.Helper()
	if got := r.advance(); got != want {
		r.Errorf("%s: %q, want %q", what, got, want)
	}
}

func (r *rolled) later(d time.Duration) { r.Time = r.Time.Add(d) }

// Each batch waits until the units of the one before are healthy, and the leader comes last.
func TestBatches(t *testing.T) {
	t.Parallel()
	r := newRollout(t, 5, batch(2))
	r.Put(modeldb.Leader{Service: "web", Holder: "web/1"})
	r.does("the first two that do not lead", "web/0 web/2, 1m0s")
	turn := modeltest.Get[modeldb.Unit](r.Model, "web/0").Turn
	modeltest.Same(t, "the turn", *turn, modeldb.Turn{Rollout: "r1", At: r.Time, Was: entity.StatusActive})
	r.later(20 * time.Second)
	r.does("they have not begun", "web/0 web/2, 40s")
	r.upgraded("web/2")
	r.has("web/0", new)
	r.says("web/0", entity.StatusMaintenance, "migrating", entity.StatusIdle)
	r.does("one is in maintenance", ", 40s")
	r.says("web/0", entity.StatusActive, "", entity.StatusExecuting)
	r.does("its agent is at work", ", 40s")
	r.says("web/0", entity.StatusUnknown, "", entity.StatusIdle)
	r.Put(modeldb.Unit{Name: "web/5", Service: "web", CharmURL: new}, modeldb.Unit{Name: "web/6", Service: "web"}) // they are new
	r.Kill(modeldb.UnitsC, "web/3", entity.Dying)                                                                  // it is not waited for
	r.does("only the leader would fill the batch", "web/4, 1m0s")
	r.upgraded("web/4")
	r.says("web/0", entity.StatusMaintenance, "", entity.StatusExecuting) // it was healthy once
	r.does("the leader", "web/1, 1m0s")
	r.upgraded("web/1")
	r.does("the end", "ended")
	r.does("nothing", "ended")
}

// The turns of two batches differ, even if the clock does not.
func TestTurnsDiffer(t *testing.T) {
	t.Parallel()
	r := newRollout(t, 2)
	r.does("the first", "web/0, 1m0s")
	r.upgraded("web/0")
	r.does("the second", "web/1, 1m0s")
	if at := modeltest.Get[modeldb.Unit](r.Model, "web/1").Turn.At; !at.Equal(r.Time.Add(time.Millisecond)) {
		t.Errorf("its turn was at %v, want %v", at, r.Time.Add(time.Millisecond))
	}
	// The turn of an earlier rollout is none of this one.
	s := r.service()
	s.CharmURL, s.Rollout.ID = "local:web-3", "r2"
	r.Put(s)
	r.does("another rollout", "web/0, 1m0s")
}

// A rollout stops when the units of a batch are not healthy in time.
func TestStops(t *testing.T) {
	for name, c := range map[string]struct {
		service func(*modeldb.Service)
		was     entity.StatusWord
		do      func(*rolled)
		want    string // why it stops; "" if it goes on
	}{
		"not upgraded": {do: func(*rolled) {}, want: "not upgraded yet"},
		"in error":     {do: func(r *rolled) { r.says("web/0", entity.StatusError, "hook failed", entity.StatusIdle) }, want: "in error: hook failed"},
		"at work":      {do: func(r *rolled) { r.upgraded("web/0"); r.says("web/0", entity.StatusActive, "", entity.StatusExecuting) }, want: "executing"},
		"blocked": {do: func(r *rolled) {
			r.upgraded("web/0")
			r.says("web/0", entity.StatusBlocked, "no license", entity.StatusIdle)
		}, want: "blocked: no license"},
		"waiting": {do: func(r *rolled) { r.upgraded("web/0"); r.says("web/0", entity.StatusWaiting, "", entity.StatusIdle) }, want: "waiting"},
		"lost":    {do: func(r *rolled) { r.upgraded("web/0"); r.lost = "web/0" }, want: "lost: its agent is not connected"},
		"blocked as before": {was: entity.StatusBlocked, do: func(r *rolled) {
			r.upgraded("web/0")
			r.says("web/0", entity.StatusBlocked, "still", entity.StatusIdle)
		}},
		"unknown":            {do: func(r *rolled) { r.upgraded("web/0"); r.says("web/0", entity.StatusUnknown, "", entity.StatusIdle) }},
		"another is lost":    {do: func(r *rolled) { r.upgraded("web/0"); r.lost = "web/1" }},
		"in error as before": {was: entity.StatusError, do: func(r *rolled) { r.has("web/0", new) }, want: "in error: "},
		"in error as before, forced": {service: func(s *modeldb.Service) { s.ForceCharm = true }, was: entity.StatusError,
			do: func(r *rolled) { r.has("web/0", new) }},
		"in error, forced": {service: func(s *modeldb.Service) { s.ForceCharm = true },
			do: func(r *rolled) { r.says("web/0", entity.StatusError, "hook failed", entity.StatusIdle) }, want: "in error: hook failed"},
		"in error as before, forced, reverted": {service: func(s *modeldb.Service) { s.ForceCharm = true; reverts(s) }, was: entity.StatusError,
			do: func(r *rolled) { r.has("web/0", new) }, want: "in error: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := c.service
			if change == nil {
				change = func(*modeldb.Service) {}
			}
			r := newRollout(t, 2, change)
			if c.was != "" {
				r.says("web/0", c.was, "", entity.StatusIdle)
			}
			r.does("the first", "web/0, 1m0s")
			c.do(r)
			if c.want == "" {
				r.does("the next", "web/1, 1m0s")
				return
			}
			r.later(time.Minute - time.Millisecond)
			if got := r.advance(); !strings.HasSuffix(got, ", 1ms") {
				t.Errorf("before the time is over: %s", got)
			}
			r.later(time.Millisecond)
			r.does("the time is over", "stopped: not healthy within 1m0s: unit web/0 is "+c.want)
			if since := r.service().Rollout.Since; !since.Equal(r.Time) {
				t.Errorf("it has stopped at %v", since)
			}
			r.upgraded("web/0")
			r.does("it goes on", "stopped: not healthy within 1m0s: unit web/0 is "+c.want)
		})
	}
}

// A unit of an earlier batch, which was healthy, must only not be in error or lost. Those that are not healthy are named, but
// not all.
func TestEarlierBatches(t *testing.T) {
	t.Parallel()
	r := newRollout(t, 6, batch(5))
	r.does("the first", "web/0 web/1 web/2 web/3 web/4, 1m0s")
	for i := range 5 {
		r.upgraded(fmt.Sprint("web/", i))
	}
	r.later(time.Second)
	r.says("web/0", entity.StatusBlocked, "", entity.StatusExecuting)
	r.upgraded("web/0")
	r.does("the next", "web/5, 1m0s")
	r.upgraded("web/5")
	for i := range 3 {
		r.says(fmt.Sprint("web/", i), entity.StatusError, "x", entity.StatusIdle)
	}
	r.later(time.Minute)
	r.does("three are not healthy", "stopped: not healthy within 1m0s: unit web/0 is in error: x; unit web/1 is in error: x; "+
		"unit web/2 is in error: x")
	r.says("web/3", entity.StatusError, "x", entity.StatusIdle)
	r.lost = "web/4"
	r.OK(rollout.Resume(r.Ctx, r.DB, "web", 0, 0))
	r.later(time.Minute)
	r.does("the time is over", "stopped: not healthy within 1m0s: unit web/0 is in error: x; unit web/1 is in error: x; "+
		"unit web/2 is in error: x; and 2 more")
}

// A revert runs the hooks again that have failed, unless a user has said what to do.
func TestARevertResolvesErrors(t *testing.T) {
	for name, c := range map[string]struct {
		service  func(*modeldb.Service)
		status   entity.StatusWord
		resolved entity.Resolved
		want     entity.Resolved
	}{
		"in error":               {reverts, entity.StatusError, entity.ResolvedNone, entity.ResolvedRetry},
		"in error, resolved":     {reverts, entity.StatusError, entity.ResolvedNoHooks, entity.ResolvedNoHooks},
		"active":                 {reverts, entity.StatusActive, entity.ResolvedNone, entity.ResolvedNone},
		"in error, not a revert": {batch(1), entity.StatusError, entity.ResolvedNone, entity.ResolvedNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRollout(t, 1, c.service)
			r.says("web/0", c.status, "x", entity.StatusIdle)
			if c.resolved != entity.ResolvedNone {
				r.Set(modeldb.UnitsC, "web/0", bson.DocElem{Name: "resolved", Value: c.resolved})
			}
			r.does("its turn", "web/0, 1m0s")
			if got := modeltest.Get[modeldb.Unit](r.Model, "web/0").Resolved; got != c.want {
				t.Errorf("it is resolved %q, want %q", got, c.want)
			}
		})
	}
}

// Each step is taken from what was read.
func TestStepsAreOfWhatWasRead(t *testing.T) {
	set := func(collection, id, field string, value any) func(*rolled) {
		return func(r *rolled) { r.Set(collection, id, bson.DocElem{Name: field, Value: value}) }
	}
	resumes := func(batch int, timeout time.Duration) func(*rolled) {
		return func(r *rolled) { r.OK(rollout.Resume(r.Ctx, r.DB, "web", batch, timeout)) }
	}
	inError := func(r *rolled) { r.says("web/0", entity.StatusError, "x", entity.StatusIdle) }
	late := func(r *rolled) { r.advance(); r.later(time.Minute) }
	done := func(r *rolled) { r.upgraded("web/0"); r.upgraded("web/1") }
	for _, c := range []struct {
		name    string
		service func(*modeldb.Service)
		before  func(*rolled)
		between func(*rolled)
		want    string
	}{
		{"destroyed", batch(1), nil, set(modeldb.ServicesC, "web", "life", entity.Dying), ", 0s"},
		{"another rollout", batch(1), nil, set(modeldb.ServicesC, "web", "rollout.id", "r2"), "web/0, 1m0s"},
		{"stopped", batch(1), nil, set(modeldb.ServicesC, "web", "rollout.stopped", "x"), "stopped: x"},
		{"another charm", batch(1), nil, set(modeldb.ServicesC, "web", "charm", "local:web-3"), "web/0, 1m0s"},
		{"one leads", batch(1), nil, func(r *rolled) { r.Put(modeldb.Leader{Service: "web", Holder: "web/0"}) }, "web/1, 1m0s"},
		{"another leads", batch(1), func(r *rolled) { r.Put(modeldb.Leader{Service: "web", Holder: "web/0"}) },
			set(modeldb.LeadersC, "web", "holder", "web/1"), "web/0, 1m0s"},
		{"a unit is destroyed", batch(1), nil, set(modeldb.UnitsC, "web/0", "life", entity.Dying), "web/1, 1m0s"},
		{"a unit is upgraded", batch(1), nil, set(modeldb.UnitsC, "web/0", "charm", new), "web/1, 1m0s"},
		{"an error is gone", reverts, inError, func(r *rolled) { r.says("web/0", entity.StatusActive, "", entity.StatusIdle) }, "web/0, 1m0s"},
		{"a user resolves", reverts, inError, set(modeldb.UnitsC, "web/0", "resolved", entity.ResolvedNoHooks), "web/0, 1m0s"},
		{"stops when another begins", batch(1), late, func(r *rolled) {
			r.Set(modeldb.ServicesC, "web", bson.DocElem{Name: "rollout.id", Value: "r2"}, bson.DocElem{Name: "rollout.since", Value: r.Time})
		}, "web/0, 1m0s"},
		{"stops when its units get the time again", batch(1), late, resumes(0, time.Minute), "web/0, 1m0s"},
		{"stops when its units get more time", batch(1), late, set(modeldb.ServicesC, "web", "rollout.timeout", time.Hour), "web/0, 59m0s"},
		{"its pace is doubled", batch(1), nil, resumes(2, 0), "web/0 web/1, 1m0s"},
		{"stops when it is destroyed", batch(1), late, set(modeldb.ServicesC, "web", "life", entity.Dying), "web/0, 0s"},
		{"ends when it is bound", batch(1), done, set(modeldb.ServicesC, "web", "bindings", []modeldb.Binding{{Endpoint: "site", Space: "1"}}), "ended"},
		{"ends when another begins", batch(1), done, set(modeldb.ServicesC, "web", "rollout.id", "r2"), "ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRollout(t, 2, c.service)
			if c.before != nil {
				c.before(r)
			}
			var got string
			r.OK(r.Race(func() { c.between(r) }, func() error { got = r.advance(); return nil }))
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// When a rollout ends, what is bound of endpoints that only the former charm had is bound no more.
func TestTheEndDropsBindings(t *testing.T) {
	for _, c := range []struct{ before, after []modeldb.Binding }{
		{nil, nil},
		{[]modeldb.Binding{{Endpoint: "site", Space: "1"}}, []modeldb.Binding{{Endpoint: "site", Space: "1"}}},
		{[]modeldb.Binding{{Endpoint: "old", Space: "1"}}, nil},
		{[]modeldb.Binding{{Endpoint: "old", Space: "1"}, {Endpoint: "site", Space: "2"}}, []modeldb.Binding{{Endpoint: "site", Space: "2"}}},
	} {
		r := newRollout(t, 0, func(s *modeldb.Service) { s.Bindings = c.before })
		r.does("the end", "ended")
		modeltest.Same(t, "bound are", r.service().Bindings, c.after)
	}
	r := newRollout(t, 0, func(s *modeldb.Service) { s.CharmURL = "local:gone-1" })
	_, err := rollout.Advance(r.Ctx, r.DB, "web", nil)
	r.Refused(err, entity.NotFound, `cannot continue the upgrade of service "web": charm "local:gone-1" not found`)
}

// There is nothing to do without a rollout, and without the service.
func TestNothingToAdvance(t *testing.T) {
	t.Parallel()
	r := newRollout(t, 1, func(s *modeldb.Service) { s.Life = entity.Dying })
	r.does("a dying service", ", 0s")
	if again, err := rollout.Advance(r.Ctx, r.DB, "moon", nil); again != 0 || err != nil {
		t.Errorf("no service: %v, %v", again, err)
	}
	r.Put(modeldb.Service{Name: "web", CharmURL: new})
	r.does("no rollout", "ended")
}

// A unit that waits for its turn says what it waits for.
func TestHolds(t *testing.T) {
	t.Parallel()
	r := newRollout(t, 3, batch(2))
	holds := func(unit, want string, wantUser bool) {
		t.Helper()
		why, user, err := rollout.Holds(r.service(), modeltest.Get[modeldb.Unit](r.Model, unit), func() (string, error) {
			return rollout.Ailing(r.Ctx, r.DB, r.service())
		})
		if r.OK(err); why != want || user != wantUser {
			t.Errorf("%s: %q, %v; want %q, %v", unit, why, user, want, wantUser)
		}
	}
	keeps := func(unit string) string {
		return fmt.Sprintf("unit %q keeps charm %s until its turn: service \"web\" is upgraded to %s, 2 units at a time", unit, old, new)
	}
	holds("web/2", keeps("web/2"), false)
	r.advance()
	holds("web/0", "", false) // it is its turn
	holds("web/2", keeps("web/2")+"; until then unit web/0 is not upgraded yet; unit web/1 is not upgraded yet", false)
	r.Kill(modeldb.UnitsC, "web/2", entity.Dying)
	holds("web/2", "", false)
	r.Put(modeldb.Unit{Name: "web/2", Service: "web"})
	holds("web/2", "", false)
	r.has("web/2", new)
	holds("web/2", "", false)
	r.has("web/2", old)
	r.Set(modeldb.ServicesC, "web", bson.DocElem{Name: "rollout.stopped", Value: "broken"})
	holds("web/2", keeps("web/2")+"; the upgrade has stopped: broken", true)
	r.Unset(modeldb.ServicesC, "web", "rollout")
	holds("web/2", "", false)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		batch   int
		timeout time.Duration
		want    string
	}{
		{1, time.Second, ""},
		{entity.MaxBatch, entity.MaxTimeout, ""},
		{0, time.Minute, "a batch has 1 to 100 units, not 0"},
		{101, time.Minute, "a batch has 1 to 100 units, not 101"},
		{1, time.Second - 1, "the health timeout must be 1s to"},
		{1, entity.MaxTimeout + 1, "the health timeout must be 1s to"},
	} {
		if err := rollout.Check(c.batch, c.timeout); c.want != "" {
			modeltest.Refused(t, err, entity.Invalid, c.want)
		} else if err != nil {
			t.Errorf("%d units, %v: %v", c.batch, c.timeout, err)
		}
	}
}

// A rollout that has stopped goes on, and gets the pace that the user asks for; the rest stays as it is, also if another
// user changes it at the same time.
func TestResume(t *testing.T) {
	t.Parallel()
	r := newRollout(t, 1)
	resume := func(batch int, timeout time.Duration) error {
		return rollout.Resume(r.Ctx, r.DB, "web", batch, timeout)
	}
	is := func(batch int, timeout time.Duration) {
		t.Helper()
		if now := r.service().Rollout; now.Stopped != "" || now.Batch != batch || now.Timeout != timeout || !now.Since.Equal(r.Time) {
			t.Errorf("the rollout is %+v", now)
		}
	}
	stop := func() { r.Set(modeldb.ServicesC, "web", bson.DocElem{Name: "rollout.stopped", Value: "broken"}) }
	err := resume(0, 0)
	r.Refused(err, entity.Invalid, `cannot resume the upgrade of service "web": it has not stopped`)
	r.Refused(err, entity.Invalid, "juju status web")
	r.later(time.Minute)
	r.OK(resume(2, 0)) // it goes on at another pace
	is(2, time.Minute)
	stop()
	r.later(time.Minute)
	r.OK(resume(0, 0))
	is(2, time.Minute)
	r.later(time.Minute)
	r.OK(resume(0, time.Hour))
	is(2, time.Hour)
	r.Ignores(func() { r.Set(modeldb.ServicesC, "web", bson.DocElem{Name: "rollout.batch", Value: 7}) }, func() error { return resume(0, 2*time.Hour) })
	is(7, 2*time.Hour)
	r.Ignores(func() { r.Set(modeldb.ServicesC, "web", bson.DocElem{Name: "rollout.timeout", Value: time.Hour}) }, func() error { return resume(2, 0) })
	is(2, time.Hour)
	r.Refused(resume(101, 0), entity.Invalid, "a batch has 1 to 100 units, not 101")
	r.Refused(resume(0, 1), entity.Invalid, "the health timeout must be")
	stop()
	r.OK(r.Race(func() { r.Set(modeldb.ServicesC, "web", bson.DocElem{Name: "rollout.stopped", Value: "again"}) }, func() error { return resume(0, 0) }))
	is(2, time.Hour)
	r.OK(r.Race(func() { r.Set(modeldb.ServicesC, "web", bson.DocElem{Name: "rollout.id", Value: "r2"}) }, func() error { return resume(3, 0) }))
	r.Refused(r.Race(func() { r.Unset(modeldb.ServicesC, "web", "rollout") }, func() error { return resume(4, 0) }), entity.Invalid,
		"it is not being upgraded in batches")
	r.Refused(resume(0, 0), entity.Invalid, "juju upgrade-charm web --revision N")
	r.Refused(rollout.Resume(r.Ctx, r.DB, "moon", 0, 0), entity.NotFound, `service "moon" not found`)
}

// What users have changed since, a revert keeps; what the rollout, and those that it replaced, have changed is restored.
func TestSettings(t *testing.T) {
	t.Parallel()
	type settings = map[string]any
	first := rollout.Settings(nil, settings{"a": "old", "c": 1, "same": true}, settings{"a": "new", "b": "new", "c": nil, "same": true})
	modeltest.Same(t, "the first changes", first, []modeldb.Setting{{Name: "a", Was: "old", Set: "new"}, {Name: "b", Was: nil, Set: "new"},
		{Name: "c", Was: 1, Set: nil}})
	second := rollout.Settings(&modeldb.Rollout{Settings: first}, settings{"a": "new", "b": "mine", "d": "x"}, settings{"a": "newer", "b": "theirs"})
	modeltest.Same(t, "the second changes", second, []modeldb.Setting{{Name: "c", Was: 1, Set: nil}, {Name: "a", Was: "old", Set: "newer"},
		{Name: "b", Was: "mine", Set: "theirs"}})
	third := rollout.Settings(&modeldb.Rollout{Settings: first}, settings{"a": "new"}, settings{"a": "old"})
	modeltest.Same(t, "a third, which reverts a", third, []modeldb.Setting{{Name: "b", Was: nil, Set: "new"}, {Name: "c", Was: 1, Set: nil}})
	changes, restored, kept := rollout.Restore(&modeldb.Rollout{Settings: second}, settings{"a": "newer", "b": "mine", "c": 2})
	modeltest.Same(t, "changes", changes, settings{"a": "old"})
	modeltest.Same(t, "restored", restored, []string{"a"})
	modeltest.Same(t, "kept", kept, []string{"c"})
	changes, restored, kept = rollout.Restore(&modeldb.Rollout{Settings: append(second, modeldb.Setting{Name: "A", Set: "x"})},
		settings{"a": "newer", "b": "theirs", "A": "x"})
	modeltest.Same(t, "changes", changes, settings{"a": "old", "b": "mine", "c": 1, "A": nil})
	modeltest.Same(t, "restored", restored, []string{"A", "a", "b", "c"})
	modeltest.Same(t, "kept", kept, []string(nil))
}
