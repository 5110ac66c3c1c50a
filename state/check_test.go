package state_test

import (
	"fmt"
	"slices"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// fullModels returns a function that adds a model with every kind of entity,
// all in one controller. Relation 0 is riak:ring, 1 is mysql with logging, 2 is
// wordpress with mysql.
func fullModels(t *testing.T) func(*testing.T) *world {
	ctrl, _ := statetest.Controller(t)
	services := []struct {
		name, archive string
		units         int
	}{
		{"riak", statetest.CharmArchive(t, statetest.Riak), 1}, {"mysql", statetest.CharmArchive(t, statetest.MySQL), 2},
		{"logging", statetest.CharmArchive(t, statetest.Logging), 0},
		{"wordpress", statetest.CharmArchive(t, statetest.Wordpress), 1},
		{"disk", statetest.CharmArchive(t, disk), 1},
	}
	models := 0
	return func(t *testing.T) *world {
		w := &world{T: t, ctx: t.Context(), ctrl: ctrl, st: nil}
		models++
		var err error
		w.st, err = ctrl.AddModel(w.ctx, controller.AddModelParams{Name: fmt.Sprint("m", models), Owner: statetest.Admin,
			Series: "jammy"})
		w.ok(err)
		for _, s := range services {
			url, err := w.st.Charms().Add(w.ctx, s.archive, "")
			w.ok(err)
			_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: s.name, CharmURL: url, Units: s.units})
			w.ok(err)
		}
		w.relate("mysql", "logging")
		w.relate("wordpress", "mysql")
		for unit, relations := range map[string][]int{"riak/0": {0}, "mysql/0": {1, 2}, "wordpress/0": {2}} {
			u := w.started(unit)
			for _, r := range relations {
				w.ok(u.EnterScope(w.ctx, r))
			}
		}
		w.ok(w.unit("logging/0").EnterScope(w.ctx, 1))
		x := w.st.CrossModel()
		w.ok(x.AddOffer(w.ctx, entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}}))
		w.ok(x.Consume(w.ctx, consumedDB))
		w.relate("wordpress", "db")
		w.ok(x.Mirror(w.ctx, 3, entity.Members{Units: aMember}))
		w.ok(mustService(w, "riak").SetMinUnits(w.ctx, 1))
		w.claims("mysql/0", 1)
		w.enqueues(command("riak/0"))
		w.ok(w.unit("mysql/0").CommitHook(w.ctx, entity.HookChanges{OpenPorts: []entity.PortRange{{From: 80, To: 80,
			Protocol: "tcp"}}}))
		return w
	}
}

// A check names an edit by hand, while the rest of the model keeps working. A repair fixes it and all that follows from it;
// a second repair has nothing to do. Package modelcheck has the damages that the rules find.
func TestCheckFindsAndRepairsDamage(t *testing.T) {
	full := fullModels(t)
	for _, d := range []struct{ collection, id, finding string }{
		{"units", "mysql/0", "units logging/0: its principal does not exist: units mysql/0"},
		{"relations", "wordpress:db mysql:server", "endpoints mysql#wordpress:db mysql:server: its relation does not exist: relations wordpress:db mysql:server"},
		{"settings", "r#3#db/3", "settings r#3#db/3: it is missing"},
		{"counts", "s#mysql", "counts s#mysql: it is missing"},
		{"schema", "schema", "schema schema: it is missing, so all upgrades would run again"},
	} {
		t.Run(d.collection, func(t *testing.T) {
			w := full(t)
			w.checkClean()
			w.ok(w.st.Write(t.Context(), d.collection, func(c *mgo.Collection) error { return c.RemoveId(d.id) }))
			if !slices.ContainsFunc(w.check(false), func(f entity.Finding) bool { return f.Where+": "+f.What == d.finding }) {
				t.Fatalf("want %s\n got %s", d.finding, statetest.Lines(w.check(false)))
			}
			_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "other", CharmURL: mustService(w, "logging").CharmURL()})
			w.ok(err)
			w.ok(mustService(w, "other").Destroy(w.ctx, entity.Destruction{}))
			for _, f := range w.check(true) {
				if f.Failed != "" || !f.Done {
					t.Errorf("not repaired: %+v", f)
				}
			}
			if left := w.check(true); len(left) > 0 {
				t.Errorf("after the repair: %s", statetest.Lines(left))
			}
			w.checkCounts()
		})
	}
}

func set(field string, value any) bson.D { return bson.D{{"$set", bson.D{{field, value}}}} }

func (w *world) check(repair bool) []entity.Finding {
	w.Helper()
	found, err := w.st.Check(w.ctx, repair)
	w.ok(err)
	return found
}

// checkClean fails if a check of the model finds anything.
func (w *world) checkClean() {
	w.Helper()
	if found := w.check(false); len(found) > 0 {
		w.Fatalf("check of an undamaged model found %s", statetest.Lines(found))
	}
}
