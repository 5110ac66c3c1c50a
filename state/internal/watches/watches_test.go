package watches_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/watches"
	"juju/state/lifecycle"
	"juju/state/modelconfig"
	"juju/state/watcher"
)

// A watched model tells its watches only of the changes that a test publishes.
type watched struct {
	*modeltest.Model
	*testing.T
	watches.Watches
	hub *watcher.Hub
}

// newWatched returns a model in a synctest bubble, in which a test knows when no event will come.
func newWatched(t *testing.T, docs ...any) *watched {
	t.Helper()
	t.Cleanup(func() { time.Sleep(time.Minute) }) // runs last: until mgo's pings end
	m := modeltest.New(t, docs...)
	hub := watcher.NewHub(nil)
	t.Cleanup(hub.Close)
	return &watched{m, t, watches.New(m.DB, hub), hub}
}

// changes publishes changes, "machines 0, model model", and once more: what a watch has read for the first time it names
// again at the next change, because a transaction may have been half applied.
func (w *watched) changes(texts string) {
	for range 2 {
		for text := range strings.SplitSeq(texts, ", ") {
			collection, id, _ := strings.Cut(text, " ")
			w.hub.Publish(watcher.Change{Collection: collection, ID: id})
		}
		synctest.Wait()
	}
}

// event returns the event that there is, as text; "" if there is none.
func event[E any](w *watched, events <-chan E) string {
	w.Helper()
	synctest.Wait()
	select {
	case e, ok := <-events:
		if !ok {
			w.Fatal("the watch has ended")
		}
		return fmt.Sprint(e)
	default:
		return ""
	}
}

const (
	db  = "web:db mysql:server"
	log = "log:info mysql:juju-info"
)

// docs are the units mysql/0, with the subordinate log/0, and web/0 on machines 0 and 1, in relations.
func docs() []any {
	return []any{modeldb.Unit{Name: "mysql/0", Service: "mysql", Machine: "0"}, modeldb.Unit{Name: "log/0", Service: "log", Principal: "mysql/0"},
		modeldb.Unit{Name: "web/0", Service: "web", Machine: "1"}, modeldb.Unit{Name: "idle/0", Service: "idle"},
		modeldb.Machine{ID: "0"}, modeldb.Machine{ID: "1"},
		modeldb.Operation{ID: "1"}, modeldb.Task{ID: "unit-mysql-0#2", Number: 2, Operation: "1", Receiver: "mysql/0"},
		modeldb.Task{ID: "machine-1#3", Number: 3, Operation: "1", Receiver: "1"}, modeldb.Task{ID: "unit-mysql-0#5", Number: 5, Operation: "4", Receiver: "mysql/0"}}
}

// Each watch fires at first, for changes of what it is of, and for no others.
func TestNotify(t *testing.T) {
	status := []string{"model x", "machines x", "services x", "units x", "relations x", "statuses x", "ports x", "constraints x", "charms x",
		"leaders x", "cleanups x", "offers x", "remotes x"}
	var end []string
	for _, ref := range lifecycle.RefsTo(lifecycle.Model) {
		end = append(end, ref.In+" x")
	}
	for _, c := range []struct {
		name   string
		open   func(*watched) (<-chan struct{}, error)
		fires  []string
		silent []string
	}{
		{"machine", func(w *watched) (<-chan struct{}, error) { return w.Machine(w.Ctx, "0") },
			[]string{"machines 0", "model model", "deployments machine-0#mysql/0"}, []string{"machines 1", "deployments machine-1#web/0", "units mysql/0"}},
		{"end", func(w *watched) (<-chan struct{}, error) { return w.End(w.Ctx) }, append(end, "model model"), []string{"statuses x", "settings x"}},
		{"config", func(w *watched) (<-chan struct{}, error) { return w.ModelConfig(w.Ctx) }, []string{"model model"}, []string{"machines 0"}},
		{"binaries", func(w *watched) (<-chan struct{}, error) { return w.Binaries(w.Ctx, entity.MachineTag("0")) }, []string{"model model"}, []string{"machines 0"}},
		{"exposure of a host", func(w *watched) (<-chan struct{}, error) { return w.HostExposure(w.Ctx, "0") },
			[]string{"ports 0", "services x", "machines 9", "networks networks"}, []string{"ports 1", "units mysql/0"}},
		{"exposure of a host, global", func(w *watched) (<-chan struct{}, error) {
			w.Put(modeldb.Model{ID: modeldb.ModelC, Config: map[string]string{modelconfig.FirewallMode: modelconfig.FirewallGlobal}})
			return w.HostExposure(w.Ctx, "0")
		}, []string{"ports 0", "ports 1"}, []string{"units mysql/0"}},
		{"tasks of a machine", func(w *watched) (<-chan struct{}, error) { return w.MachineTasks(w.Ctx, "1") },
			[]string{"tasks machine-1#3"}, []string{"tasks machine-11#4", "tasks unit-mysql-0#2"}},
		{"operation", func(w *watched) (<-chan struct{}, error) { return w.Operation(w.Ctx, "1") },
			[]string{"tasks unit-mysql-0#2", "tasks machine-1#3"}, []string{"tasks unit-mysql-0#5", "operations 1"}},
		{"unit", func(w *watched) (<-chan struct{}, error) { return w.Unit(w.Ctx, "mysql/0") },
			[]string{"model model", "units mysql/0", "services mysql", "networks networks", "settings s#mysql", "settings s#mysql#leader",
				"deployments unit-mysql-0#log/0", "tasks unit-mysql-0#9", "attachments unit-mysql-0#data/0", "machines 0"},
			[]string{"units mysql/1", "services web", "settings s#web", "machines 1", "endpoints mysql#" + db, "statuses u#mysql/0"}},
		{"subordinate", func(w *watched) (<-chan struct{}, error) { return w.Unit(w.Ctx, "log/0") },
			[]string{"units log/0", "services log", "endpoints log#" + log, "machines 0"}, []string{"units mysql/0", "endpoints mysql#" + log}},
		{"unit without a machine", func(w *watched) (<-chan struct{}, error) { return w.Unit(w.Ctx, "idle/0") }, []string{"units idle/0"}, []string{"machines 0"}},
		{"rollout", func(w *watched) (<-chan struct{}, error) { return w.Rollout(w.Ctx, "mysql") },
			[]string{"services mysql", "units mysql/7", "statuses x"}, []string{"services web", "units web/0"}},
		{"relations", func(w *watched) (<-chan struct{}, error) { return w.Relations(w.Ctx, "mysql/0") },
			[]string{"endpoints mysql#" + db}, []string{"endpoints web#" + db, "deployments unit-mysql-0#log/0", "scopes x"}},
		{"relations of a subordinate", func(w *watched) (<-chan struct{}, error) { return w.Relations(w.Ctx, "log/0") },
			[]string{"endpoints log#" + log, "deployments unit-mysql-0#other/0"}, []string{"endpoints mysql#" + log}},
		{"status", func(w *watched) (<-chan struct{}, error) { return w.Status(w.Ctx) }, status, []string{"annotations e", "settings x"}},
		{"summary", func(w *watched) (<-chan struct{}, error) { return w.Summary(w.Ctx) }, append(status, "annotations e"), []string{"annotations m#0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatched(t, docs()...)
				events, err := c.open(w)
				if w.OK(err); event(w, events) == "" {
					t.Error("it does not fire at first")
				}
				for _, change := range c.silent {
					if w.changes(change); event(w, events) != "" {
						t.Errorf("it fires for %s", change)
					}
				}
				for _, change := range c.fires {
					if w.changes(change); event(w, events) == "" {
						t.Errorf("it does not fire for %s", change)
					}
				}
			})
		})
	}
}

// What is not there can't be watched.
func TestNothingToWatch(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, append(docs(), modeldb.Unit{Name: "lost/0", Service: "lost", Principal: "gone/0"}, modeldb.NewRelation(5,
		modeldb.Endpoint{Service: "web", Name: "db", Role: "requirer"}, modeldb.Endpoint{Service: "mysql", Name: "server", Role: "provider"}))...)
	w := watches.New(m.DB, m.Hub)
	_, unit := w.Unit(m.Ctx, "gone/0")
	_, principal := w.Unit(m.Ctx, "lost/0")
	_, relations := w.Relations(m.Ctx, "gone/0")
	_, operation := w.Operation(m.Ctx, "99")
	_, of := w.RelationUnits(m.Ctx, "gone/0", 5)
	_, in := w.RelationUnits(m.Ctx, "mysql/0", 99)
	_, member := w.RelationUnits(m.Ctx, "idle/0", 5)
	for want, err := range map[string]error{`unit "gone/0" not found`: unit, `operation "99" not found`: operation, "relation 99 not found": in,
		`service "idle" is not a member of relation "web:db mysql:server"`: member} {
		m.Refused(err, entity.NotFound, want)
	}
	for _, err := range []error{principal, relations, of} {
		m.Refused(err, entity.NotFound, `unit "gone/0" not found`)
	}
}

// Watches of machines, deployed units and rollouts name those of which something has changed that their readers want.
func TestStrings(t *testing.T) {
	set := func(collection, id, field string, value any) func(*watched) {
		return func(w *watched) { w.Set(collection, id, bson.DocElem{Name: field, Value: value}) }
	}
	deployed := func(units ...string) func(*watched) {
		return func(w *watched) {
			for _, u := range units {
				w.Put(modeldb.Deployment{Parent: "machine-0", Unit: u}, modeldb.Unit{Name: u})
			}
		}
	}
	rollout := func(service string, r *modeldb.Rollout) func(*watched) {
		return func(w *watched) { w.Put(modeldb.Service{Name: service, Rollout: r}) }
	}
	type step struct {
		do      func(*watched)
		changes string
		want    string
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		open  func(*watched) (<-chan []string, error)
		steps []step
	}{
		{"machines", func(w *watched) (<-chan []string, error) { return w.Machines(w.Ctx) }, []step{
			{changes: "machines 0, machines 1", want: "[0 1]"},
			{set(modeldb.MachinesC, "0", "addresses", []string{"10.0.0.1"}), "machines 0", ""},
			{set(modeldb.MachinesC, "0", "life", entity.Dying), "machines 0, machines 1", "[0]"},
			{set(modeldb.MachinesC, "1", "retries", 1), "machines 1", "[1]"},
			{func(w *watched) { w.Remove(modeldb.MachinesC, "1") }, "machines 1", "[1]"},
			{func(w *watched) { w.Put(modeldb.Machine{ID: "2"}) }, "machines 2", "[2]"},
		}},
		{"deployed", func(w *watched) (<-chan []string, error) {
			deployed("mysql/0", "mysql/1")(w)
			w.Put(modeldb.Deployment{Parent: "machine-00", Unit: "other/0"}, modeldb.Deployment{Parent: "machine-1", Unit: "web/0"})
			return w.Deployed(w.Ctx, entity.MachineTag("0"))
		}, []step{
			{changes: "units mysql/0, units mysql/1", want: "[mysql/0 mysql/1]"},
			{set(modeldb.UnitsC, "mysql/0", "started", true), "units mysql/0", ""},
			{set(modeldb.UnitsC, "web/0", "life", entity.Dying), "units web/0, deployments machine-1#web/0", ""},
			{set(modeldb.UnitsC, "mysql/0", "life", entity.Dying), "units mysql/0, units mysql/1", "[mysql/0]"},
			{deployed("new/0"), "deployments machine-0#new/0", "[new/0]"},
			{func(w *watched) { w.Remove(modeldb.DeploymentsC, "machine-0#mysql/1") }, "deployments machine-0#mysql/1", "[mysql/1]"},
		}},
		{"rollouts", func(w *watched) (<-chan []string, error) {
			rollout("a", &modeldb.Rollout{ID: "r1", Since: at})(w)
			rollout("b", &modeldb.Rollout{ID: "r2", Since: at, Stopped: "why"})(w)
			rollout("c", nil)(w)
			return w.Rollouts(w.Ctx)
		}, []step{
			{changes: "services a, services b, services c", want: "[a]"},
			{rollout("a", &modeldb.Rollout{ID: "r1", Since: at, Batch: 7}), "services a", ""},
			{rollout("b", &modeldb.Rollout{ID: "r2", Since: at}), "services b, services a", "[b]"},
			{rollout("a", &modeldb.Rollout{ID: "r1", Since: at, Stopped: "why"}), "services a", "[a]"},
			{rollout("b", &modeldb.Rollout{ID: "r2", Since: at.Add(time.Second)}), "services b", "[b]"},
			{rollout("b", &modeldb.Rollout{ID: "r3", Since: at.Add(time.Second)}), "services b", "[b]"},
			{rollout("c", &modeldb.Rollout{ID: "r4", Since: at}), "services c", "[c]"},
			{rollout("b", nil), "services b", "[b]"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatched(t, docs()...)
				var events <-chan []string
				for i, s := range c.steps {
					if i == 0 {
						var err error
						events, err = c.open(w)
						w.OK(err)
					} else {
						s.do(w)
					}
					w.changes(s.changes)
					if got := event(w, events); got != s.want {
						t.Errorf("step %d (%s): %s, want %s", i, s.changes, got, s.want)
					}
				}
			})
		})
	}
}

// A unit sees its counterparts in the scope of a relation: when they enter and leave, and the versions of what they and their
// service say.
func TestRelationUnits(t *testing.T) {
	global := modeldb.NewRelation(5, modeldb.Endpoint{Service: "web", Name: "db", Role: "requirer", Scope: "global"},
		modeldb.Endpoint{Service: "mysql", Name: "server", Role: "provider", Scope: "global"})
	container := modeldb.NewRelation(6, modeldb.Endpoint{Service: "log", Name: "info", Role: "requirer", Scope: "container"},
		modeldb.Endpoint{Service: "mysql", Name: "juju-info", Role: "provider", Scope: "container"})
	peer := modeldb.NewRelation(7, modeldb.Endpoint{Service: "mysql", Name: "ring", Role: "peer", Scope: "global"})
	for _, c := range []struct {
		unit     string
		relation modeldb.Relation
		prefix   string // of the scope
		others   [2]string
		service  string // whose settings it sees
		unseen   string // a member that it does not see
	}{
		{"mysql/0", global, "5#requirer#", [2]string{"web/0", "web/1"}, "web", "5#provider#mysql/0"},
		{"mysql/0", global, "5#requirer#", [2]string{"web/0", "web/1"}, "web", "5#provider#mysql/1"},
		{"web/0", global, "5#provider#", [2]string{"mysql/0", "mysql/1"}, "mysql", "5#requirer#web/1"},
		{"mysql/0", container, "6-unit-mysql-0#requirer#", [2]string{"log/0", "log/1"}, "log", "6-unit-mysql-1#requirer#log/7"},
		{"log/0", container, "6-unit-mysql-0#provider#", [2]string{"mysql/0", "mysql/9"}, "mysql", "6-unit-mysql-0#requirer#log/0"},
		{"mysql/0", peer, "7#peer#", [2]string{"mysql/1", "mysql/2"}, "mysql", "7#peer#mysql/0"},
	} {
		t.Run(c.unit+" "+c.unseen, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatched(t, append(docs(), c.relation)...)
				id := c.relation.ID
				settings := func(member string, version int64) {
					w.Put(modeldb.Settings{ID: modeldb.RelationSettingsKey(id, member), Relation: &id, Version: version})
				}
				enter := func(scope, member string, version int64) {
					settings(member, version)
					w.Put(modeldb.Scope{ID: scope, Relation: id, Unit: member})
				}
				_, own, _ := strings.Cut(c.unseen, "#")
				_, own, _ = strings.Cut(own, "#")
				enter(c.unseen, own, 3)
				enter(c.prefix+c.others[0], c.others[0], 4)
				settings(c.others[1], 9) // it has said something, and is not in the scope
				events, err := w.RelationUnits(w.Ctx, c.unit, id)
				w.OK(err)
				is := func(what string, want entity.RelationUnitsChange) {
					t.Helper()
					if want.Changed == nil {
						want.Changed = map[string]int64{}
					}
					if got := event(w, events); got != fmt.Sprint(want) {
						t.Errorf("%s: %s, want %v", what, got, want)
					}
				}
				nothing := func(what string) {
					t.Helper()
					if got := event(w, events); got != "" {
						t.Errorf("%s: %s", what, got)
					}
				}
				is("at first", entity.RelationUnitsChange{Changed: map[string]int64{c.others[0]: 4}})
				w.changes("scopes " + c.unseen + ", settings " + modeldb.RelationSettingsKey(id, own))
				nothing("one that it does not see")
				w.changes("scopes " + c.prefix + c.others[0] + ", settings " + modeldb.RelationSettingsKey(id, c.others[0]))
				nothing("nothing has changed")
				enter(c.prefix+c.others[1], c.others[1], 9)
				w.changes("scopes " + c.prefix + c.others[1])
				is("one enters", entity.RelationUnitsChange{Changed: map[string]int64{c.others[1]: 9}})
				settings(c.others[0], 5)
				w.changes("settings " + modeldb.RelationSettingsKey(id, c.others[0]))
				is("one says more", entity.RelationUnitsChange{Changed: map[string]int64{c.others[0]: 5}})
				settings(c.service, 2)
				w.changes("settings " + modeldb.RelationSettingsKey(id, c.service))
				is("the service says something", entity.RelationUnitsChange{Application: 2})
				w.changes("settings " + modeldb.RelationSettingsKey(id, c.service))
				nothing("the service says no more")
				w.Remove(modeldb.ScopesC, c.prefix+c.others[0])
				w.changes("scopes " + c.prefix + c.others[0])
				is("one leaves", entity.RelationUnitsChange{Departed: []string{c.others[0]}})
				// Another watch begins with what there is now.
				events, err = w.RelationUnits(w.Ctx, c.unit, id)
				w.OK(err)
				is("anew", entity.RelationUnitsChange{Changed: map[string]int64{c.others[1]: 9}, Application: 2})
			})
		})
	}
}

// A watch ends with its context.
func TestTheEndOfAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t, docs()...)
		ctx, cancel := context.WithCancel(w.Ctx)
		events, err := w.Machines(ctx)
		w.OK(err)
		event(w, events)
		cancel()
		if _, ok := <-events; ok {
			t.Error("there is an event")
		}
	})
}

func TestDeployedBy(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, modeldb.Deployment{Parent: "machine-0", Unit: "mysql/0"}, modeldb.Deployment{Parent: "unit-mysql-0", Unit: "log/0"},
		modeldb.Deployment{Parent: "machine-1", Unit: "web/0"})
	for tag, want := range map[entity.Tag]string{entity.MachineTag("0"): "[mysql/0]", entity.UnitTag("mysql/0"): "[log/0]", entity.MachineTag("7"): "[]"} {
		got, err := watches.DeployedBy(m.Ctx, m.DB, tag)
		if m.OK(err); fmt.Sprint(got) != want {
			t.Errorf("%s deploys %v, want %s", tag, got, want)
		}
	}
}
