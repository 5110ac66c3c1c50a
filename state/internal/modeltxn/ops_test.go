package modeltxn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
)

// All that a transaction does to the counts of an entity is one operation.
func TestCounts(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, modeltest.Counts{Key: "s#mysql", Of: map[string]int{"units": 2, "relations": 1}}, modeltest.Counts{Key: "s#old", Of: map[string]int{}})
	m.Do(func(o *modeltxn.Ops) error {
		o.NewCounts("u#mysql/0", lifecycle.Principal)
		o.Inc("u#mysql/0", "subordinates", 2)
		o.Expect("s#mysql", "units", 2)
		o.Inc("s#mysql", "units", 1)
		o.Inc("s#mysql", "units", -2)
		o.DropCounts("s#old")
		if got := o.Taken("s#mysql", "units"); got != 1 {
			t.Errorf("the transaction takes %d", got)
		}
		if got := o.Taken("s#other", "units"); got != 0 {
			t.Errorf("the transaction takes %d", got)
		}
		return nil
	})
	got, err := m.CountsOf(m.Ctx, "s#mysql")
	m.OK(err)
	modeltest.Same(t, "counts", got, map[string]int{"units": 1, "relations": 1, "txn-revno": got["txn-revno"]})
	for _, ref := range lifecycle.RefsTo(lifecycle.Principal) {
		want := map[string]int{"subordinates": 2}[ref.Name]
		if got := m.CountOf("u#mysql/0", ref.Name); got != want {
			t.Errorf("%s: %d, want %d", ref.Name, got, want)
		}
	}
	if n, err := m.Database.Count(m.Ctx, modeldb.CountsC, bson.D{{"_id", "s#old"}}); n != 0 || err != nil {
		t.Errorf("%d are left, %v", n, err)
	}
	if got, err := m.CountsOf(m.Ctx, "s#gone"); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	m.PutIn(modeldb.CountsC, "odd", bson.M{"a": 1, "b": int64(2), "c": 3.0, "d": "4"})
	if got, err := m.CountsOf(m.Ctx, "odd"); err != nil || got["a"] != 1 || got["b"] != 2 || got["c"] != 3 || len(got) > 3 {
		t.Errorf("%v, %v", got, err)
	}
}

// Counts that are kept are not those of others that took the place of the first, even if they are as many.
func TestKeepCounts(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t)
	for name, before := range map[string]any{
		"changed by a transaction": bson.M{"units": 2, "txn-revno": 7},
		"put there by hand":        bson.M{"units": 2},
	} {
		m.PutIn(modeldb.CountsC, "s#mysql", before)
		keep := func(o *modeltxn.Ops) error {
			o.Inc("s#mysql", "units", 1)
			return o.KeepCounts(m.Ctx, m.DB, "s#mysql")
		}
		m.Do(keep)
		replaced := func() { m.Put(modeltest.Counts{Key: "s#mysql", Of: map[string]int{"units": 3}}) }
		if err := m.RaceOps(replaced, keep); err != nil || m.CountOf("s#mysql", "units") != 4 {
			t.Errorf("%s: %v, and there are %d", name, err, m.CountOf("s#mysql", "units"))
		}
	}
}

// What is expected of counts is what they are when the transaction is made.
func TestExpect(t *testing.T) {
	set := func(name string, n int) func(*modeltest.Model) {
		return func(m *modeltest.Model) { m.Set(modeldb.CountsC, "s#mysql", bson.DocElem{Name: name, Value: n}) }
	}
	step := lifecycle.Step{}
	for _, ref := range lifecycle.RefsTo(lifecycle.Service) {
		switch {
		case ref.Name == "units":
			step.None = append(step.None, ref)
		case ref.Name == "relations":
			step.Some = append(step.Some, ref)
		}
	}
	for name, c := range map[string]struct {
		build   func(*modeltxn.Ops)
		between func(*modeltest.Model)
		ignored bool
	}{
		"a condition":           {func(o *modeltxn.Ops) { o.Expect("s#mysql", "units", 2) }, set("units", 3), false},
		"with an increment":     {func(o *modeltxn.Ops) { o.Expect("s#mysql", "units", 2); o.Inc("s#mysql", "units", 1) }, set("units", 3), false},
		"with a removal":        {func(o *modeltxn.Ops) { o.Expect("s#mysql", "units", 2); o.DropCounts("s#mysql") }, set("units", 3), false},
		"none of what goes":     {func(o *modeltxn.Ops) { o.ExpectStep("s#mysql", step, map[string]int{"units": 2}) }, set("units", 3), false},
		"some beside what goes": {func(o *modeltxn.Ops) { o.ExpectStep("s#mysql", step, map[string]int{"units": 2, "relations": 1}) }, set("relations", 1), false},
		"more beside what goes": {func(o *modeltxn.Ops) { o.ExpectStep("s#mysql", step, map[string]int{"units": 2, "relations": 1}) }, set("relations", 9), true},
		"an increment only":     {func(o *modeltxn.Ops) { o.Inc("s#mysql", "units", 1) }, set("units", 7), true},
		"gone":                  {func(o *modeltxn.Ops) { o.Inc("s#mysql", "units", 1) }, func(m *modeltest.Model) { m.Remove(modeldb.CountsC, "s#mysql") }, false},
		"a new one": {func(o *modeltxn.Ops) { o.NewCounts("s#new", lifecycle.Service) },
			func(m *modeltest.Model) { m.Put(modeltest.Counts{Key: "s#new"}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(t, modeltest.Counts{Key: "s#mysql", Of: map[string]int{"units": 2, "relations": 2}})
			first := true
			call := func() error {
				return m.Change(m.Ctx, func(o *modeltxn.Ops) error {
					if first {
						c.build(o)
					}
					first = false
					return nil
				})
			}
			if c.ignored {
				m.Ignores(func() { c.between(m) }, call)
			} else {
				m.OK(m.Race(func() { c.between(m) }, call))
			}
		})
	}
}

// The common asserts are of lives.
func TestAsserts(t *testing.T) {
	for name, c := range map[string]struct {
		build   func(*modeltxn.Ops)
		between func(*modeltest.Model)
		ignored bool
	}{
		"alive":         {func(o *modeltxn.Ops) { o.Assert(modeldb.UnitsC, "mysql/0", modeltxn.IsAlive) }, kill(entity.Dying), false},
		"not dead":      {func(o *modeltxn.Ops) { o.Assert(modeldb.UnitsC, "mysql/0", modeltxn.NotDead) }, kill(entity.Dead), false},
		"not dead yet":  {func(o *modeltxn.Ops) { o.Assert(modeldb.UnitsC, "mysql/0", modeltxn.NotDead) }, kill(entity.Dying), true},
		"there":         {func(o *modeltxn.Ops) { o.Assert(modeldb.UnitsC, "mysql/0", modeltxn.Exists) }, func(m *modeltest.Model) { m.Remove(modeldb.UnitsC, "mysql/0") }, false},
		"a life":        {func(o *modeltxn.Ops) { o.AssertLife(modeldb.UnitsC, "mysql/0", entity.Alive) }, kill(entity.Dying), false},
		"the model":     {func(o *modeltxn.Ops) { o.AssertModelAlive() }, func(m *modeltest.Model) { m.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying) }, false},
		"a new cleanup": {func(o *modeltxn.Ops) { o.Cleanup("destroy", "s#mysql") }, func(m *modeltest.Model) { m.Put(modeldb.Cleanup{ID: "destroy-s#mysql"}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(t, modeldb.Unit{Name: "mysql/0"})
			first := true
			call := func() error {
				return m.Change(m.Ctx, func(o *modeltxn.Ops) error {
					if first {
						c.build(o)
					}
					first = false
					return nil
				})
			}
			if c.ignored {
				m.Ignores(func() { c.between(m) }, call)
			} else {
				m.OK(m.Race(func() { c.between(m) }, call))
			}
		})
	}
}

func kill(life entity.Life) func(*modeltest.Model) {
	return func(m *modeltest.Model) { m.Kill(modeldb.UnitsC, "mysql/0", life) }
}

func TestCleanups(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, modeldb.Cleanup{ID: modeldb.ForceID("m#0"), Kind: modeldb.CleanupForce, Arg: "m#0"})
	m.Do(func(o *modeltxn.Ops) error { o.Cleanup(modeldb.CleanupDestroy, "s#mysql"); return nil })
	modeltest.Same(t, "to do is", m.CleanupsLeft(), []string{"destroy s#mysql", "force m#0"})
	forced, failed := modeldb.Living{Strength: entity.Force}, entity.Status{Status: entity.StatusError}
	wakes := func(l modeldb.Living, s entity.Status) func(*modeltxn.Ops) error {
		return func(o *modeltxn.Ops) error { o.WakeForce("m#0", l, s); return nil }
	}
	m.Nothing(wakes(modeldb.Living{Strength: entity.Lenient}, failed))
	m.Nothing(wakes(forced, entity.Status{Status: entity.StatusActive}))
	m.Do(wakes(forced, failed))
	if n, err := m.Database.Count(m.Ctx, modeldb.CleanupsC, bson.D{{"_id", "force-m#0"}, {"woken", 1}}); n != 1 || err != nil {
		t.Errorf("the cleanup is not woken: %v", err)
	}
}

// Settings are merged; nothing is written if no value changes.
func TestSettings(t *testing.T) {
	t.Parallel()
	five := 5
	begin := modeldb.Settings{ID: "r#5#mysql/0", Relation: &five, Container: "mysql/0"}
	m := modeltest.New(t)
	put := func(changes map[string]any, want bool) func(*modeltxn.Ops) error {
		return func(o *modeltxn.Ops) error {
			changed, err := m.PutSettings(m.Ctx, o, begin, changes)
			if err == nil && changed != want {
				t.Errorf("%v changes it: %v", changes, changed)
			}
			return err
		}
	}
	is := func(version int64, want map[string]any) {
		t.Helper()
		doc, err := m.Settings(m.Ctx, begin.ID)
		m.OK(err)
		modeltest.Same(t, "settings", doc.Settings, want)
		if doc.Version != version || *doc.Relation != 5 || doc.Container != "mysql/0" {
			t.Errorf("%+v, want version %d", doc, version)
		}
	}
	m.Nothing(put(map[string]any{"a": nil}, false))
	m.Do(put(map[string]any{"a.b": "1", "$set": "2", "gone": nil}, true))
	is(1, map[string]any{"a.b": "1", "$set": "2"})
	m.Nothing(put(map[string]any{"a.b": "1", "gone": nil}, false))
	m.Do(put(map[string]any{"a.b": nil, "c": "3"}, true))
	is(2, map[string]any{"$set": "2", "c": "3"})
	m.Do(put(map[string]any{"c": nil}, true))
	is(3, map[string]any{"$set": "2"})
	m.Do(put(map[string]any{"d": "4"}, true))
	is(4, map[string]any{"$set": "2", "d": "4"})
	m.Refused(m.Change(m.Ctx, put(map[string]any{"": "x"}, false)), entity.Invalid, "")
	// What another has written meanwhile is kept.
	m.OK(m.RaceOps(func() { m.Do(put(map[string]any{"e": "5"}, true)) }, put(map[string]any{"f": "6"}, true)))
	is(6, map[string]any{"$set": "2", "d": "4", "e": "5", "f": "6"})
	other := begin
	other.ID = "r#5#mysql/1"
	m.OK(m.RaceOps(func() { m.Put(modeldb.Settings{ID: other.ID, Settings: map[string]any{"a": "1"}, Version: 1}) }, func(o *modeltxn.Ops) error {
		_, err := m.PutSettings(m.Ctx, o, other, map[string]any{"b": "2"})
		return err
	}))
	if doc, err := m.Settings(m.Ctx, other.ID); err != nil || len(doc.Settings) != 2 {
		t.Errorf("%+v, %v", doc, err)
	}
	m.Put(modeldb.Settings{ID: "s#x", Settings: map[string]any{"a．b": "1"}})
	in, err := m.SettingsIn(m.Ctx, 5)
	if m.OK(err); len(in) != 1 || in[0].ID != begin.ID || in[0].Settings["$set"] != "2" {
		t.Errorf("%+v", in)
	}
	_, err = m.Settings(m.Ctx, "s#gone")
	m.Refused(err, entity.NotFound, `settings "s#gone" not found`)
	modeltest.Same(t, "deletions", modeltxn.EmptyDeletes(map[string]string{"a": "1", "b": ""}), map[string]any{"a": "1", "b": nil})
}

// Settings have a limit; those beyond it may shrink.
func TestSettingsAreLimited(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t)
	most := (&modeldb.Settings{ID: "r#1#x/0"}).Limit().Max
	doc := modeldb.Settings{ID: "r#1#x/0", Settings: map[string]any{"a": strings.Repeat("x", most+100)}, Version: 1}
	change := func(doc modeldb.Settings, changes map[string]any) error {
		return m.Change(m.Ctx, func(o *modeltxn.Ops) error { return o.ChangeSettings(doc, changes) })
	}
	m.Put(doc)
	m.Refused(change(doc, map[string]any{"b": "x"}), entity.Invalid, "settings of a unit in a relation")
	m.OK(change(doc, map[string]any{"a": strings.Repeat("x", most+50)}))
	m.Refused(change(modeldb.Settings{ID: "r#1#y/0", Absent: true}, map[string]any{"a": strings.Repeat("x", most+1)}), entity.Invalid, "settings of a unit in a relation")
	if n := modeltxn.SettingsSize(map[string]any{"a": "bc", "d": nil, "e": 5}); n != modeltxn.SettingsSize(map[string]any{"a": "bc"})+modeltxn.SettingsSize(map[string]any{"e": ""}) {
		t.Errorf("the size is %d", n)
	}
}

// A status that is set replaces the one before, which the history has; the first follows from the entity.
func TestSetStatus(t *testing.T) {
	t.Parallel()
	born := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	m := modeltest.New(t, modeldb.Unit{Name: "mysql/0", Birth: modeldb.Birth{Born: born}}, modeldb.Machine{ID: "0", Birth: modeldb.Birth{Born: born}},
		modeldb.Storage{ID: "data/0", Birth: modeldb.Birth{Born: born}})
	for key, want := range map[string]string{"u#mysql/0": "allocating", "u#mysql/0#workload": "waiting waiting for machine", "m#0": "pending", "st#data/0": "pending"} {
		got, err := m.Status(m.Ctx, key)
		if m.OK(err); strings.TrimSpace(fmt.Sprint(got.Status, " ", got.Message)) != want || !got.Since.Equal(born) {
			t.Errorf("%s is %+v, want %s", key, got, want)
		}
	}
	for _, key := range []string{"u#gone/0", "m#9", "st#x/0", "u#mysql/0#other", "m#0#instance", "s#mysql", "st#data/0#x"} {
		_, err := m.Status(m.Ctx, key)
		m.Refused(err, entity.NotFound, "status of "+key+" not found")
	}
	const key = "u#mysql/0#workload"
	set := func(s entity.Status) { t.Helper(); m.OK(m.SetStatus(m.Ctx, key, s)) }
	history := func(want ...string) {
		t.Helper()
		var got []string
		for _, p := range modeltest.All[modeldb.PastStatus](m) {
			got = append(got, strings.TrimSpace(fmt.Sprint(p.Status, " ", p.Message, " ", p.Cause)))
		}
		modeltest.Same(t, "the history", strings.Join(got, ", "), strings.Join(want, ", "))
	}
	set(entity.Status{Status: entity.StatusActive, Message: "ready"})
	history("waiting waiting for machine", "active ready")
	doc := modeltest.Get[modeldb.Status](m, key)
	if doc.Status != entity.StatusActive || !doc.Kept || !doc.Since.Equal(m.Time) {
		t.Errorf("%+v", doc)
	}
	m.Time = m.Time.Add(time.Minute)
	set(entity.Status{Status: entity.StatusActive, Message: "ready"}) // which it has been for a minute
	history("waiting waiting for machine", "active ready")
	if doc = modeltest.Get[modeldb.Status](m, key); !doc.Since.Equal(m.Time.Add(-time.Minute)) {
		t.Errorf("%+v", doc)
	}
	earlier := m.Time.Add(-time.Hour)
	set(entity.Status{Status: entity.StatusError, Message: "broken", Since: earlier, Data: map[string]any{"reason": "exit status 1", "a.b": "c"}})
	history("waiting waiting for machine", "active ready", "error broken exit status 1")
	got, err := m.Status(m.Ctx, key)
	if m.OK(err); !got.Since.Equal(earlier) || got.Data["a.b"] != "c" || got.Status != entity.StatusError || got.Message != "broken" {
		t.Errorf("%+v", got)
	}
	if past := modeltest.All[modeldb.PastStatus](m); !past[2].Since.Equal(m.Time) || !past[0].Since.Equal(born) {
		t.Errorf("the history has the times of %+v", past)
	}
	m.Refused(m.SetStatus(m.Ctx, key, entity.Status{Status: entity.StatusError}), entity.Invalid, `cannot set status "error" without info`)
	m.Refused(m.SetStatus(m.Ctx, "u#gone/0", entity.Status{Status: entity.StatusIdle}), entity.NotFound, "status of u#gone/0 not found")
	away := errors.New("no")
	if err := m.SetStatus(m.Ctx, key, entity.Status{Status: entity.StatusActive}, func(*modeltxn.Ops) error { return away }); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	// The entity is there when its first status is set, and the status when it is replaced.
	m.Refused(m.Race(func() { m.Remove(modeldb.MachinesC, "0") }, func() error {
		return m.SetStatus(m.Ctx, "m#0", entity.Status{Status: entity.StatusStarted})
	}), entity.NotFound, "status of m#0 not found")
	m.OK(m.Race(func() { m.Remove(modeldb.StatusesC, key) }, func() error { return m.SetStatus(m.Ctx, key, entity.Status{Status: entity.StatusActive}) }))
	m.Do(func(o *modeltxn.Ops) error { o.DropStatus(key); o.DropStatus("none"); return nil })
	if ids := m.IDsIn(modeldb.StatusesC); len(ids) > 0 {
		t.Errorf("left are %v", ids)
	}
}
