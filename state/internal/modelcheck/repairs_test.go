package modelcheck_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/lease"
	"juju/state/mongo"
)

// What is on its way to be right is not wrong.
func TestNotWrong(t *testing.T) {
	cleanup := func(kind, arg string) modeldb.Cleanup { return modeldb.Cleanup{ID: "c", Kind: kind, Arg: arg} }
	relation := 70
	for name, do := range map[string]func(*checked){
		"settings that a cleanup deletes": func(c *checked) {
			c.Put(modeldb.Settings{ID: "r#70#mysql/0", Relation: &relation}, cleanup(modeldb.CleanupSettings, "r#70"))
		},
		"a task that a cleanup cancels": func(c *checked) {
			c.Put(modeldb.Task{ID: "unit-gone-0#2", Number: 1, Operation: "1", Receiver: "gone/0", Status: entity.TaskPending}, cleanup(modeldb.CleanupTasks, "gone/0"))
		},
		"a task that is over": func(c *checked) {
			c.Put(modeldb.Task{ID: "unit-gone-0#2", Number: 1, Operation: "1", Receiver: "gone/0", Status: entity.TaskFailed})
		},
		"a task of a machine": func(c *checked) {
			c.Put(modeldb.Task{ID: "machine-0#2", Number: 1, Operation: "1", Receiver: "0", Status: entity.TaskPending})
		},
		"a principal whose subordinates a cleanup destroys": func(c *checked) {
			c.Kill(modeldb.UnitsC, "mysql/0", entity.Dying)
			c.Set(modeldb.CountsC, "m#1", bson.DocElem{Name: "alive-units", Value: 0})
			c.Put(cleanup(modeldb.CleanupDestroy, "u#mysql/0"))
		},
		"an import that goes on":       func(c *checked) { c.Put(modeldb.Import{ID: "a", Storage: "data/1", Began: c.Time.Add(-time.Minute)}) },
		"an upload that is not stored": func(c *checked) { c.Put(modeldb.Upload{ID: "u", ResourceFile: entity.ResourceFile{SHA256: "0"}}) },
		"what a unit has fetched": func(c *checked) {
			c.Put(modeldb.Resources{ID: "u#mysql/0", Files: map[string]entity.ResourceFile{"a": {SHA256: "0"}}})
		},
		"an upgrade that lets units go": func(c *checked) {
			c.Set(modeldb.MachinesC, "3", bson.DocElem{Name: "upgrade", Value: modeldb.SeriesUpgrade{Waiting: []string{"wordpress/0", "gone/0"}}})
			c.Put(cleanup(modeldb.CleanupUpgrade, "gone/0"))
		},
		"an upgrade that waits for a subordinate": func(c *checked) {
			c.Set(modeldb.MachinesC, "1", bson.DocElem{Name: "upgrade", Value: modeldb.SeriesUpgrade{Waiting: []string{"logging/0"}}})
		},
		"ports of a subordinate": func(c *checked) {
			c.Put(modeldb.Ports{ID: "1", Ports: []modeldb.OpenPort{{Unit: "logging/0", From: 1, To: 2, Protocol: "tcp"}}})
		},
		"a rollout": func(c *checked) {
			c.Set(modeldb.ServicesC, "mysql", bson.DocElem{Name: "rollout", Value: modeldb.Rollout{ID: "1", Former: "local:jammy/riak-0", Batch: 1, Timeout: time.Second}})
		},
		"the lease of a service":     func(c *checked) { c.putLease(modeltest.UUID + "#mysql") },
		"the lease of another model": func(c *checked) { c.putLease("other#gone") },
		"a lease that a cleanup removes": func(c *checked) {
			c.putLease(modeltest.UUID + "#gone")
			c.Put(cleanup(modeldb.CleanupLease, "gone#token"))
		},
		"settings and constraints of alpha": func(c *checked) {
			c.Set(modeldb.ServicesC, "mysql", bson.DocElem{Name: "bindings", Value: []modeldb.Binding{{Endpoint: "", Space: "1"}, {Endpoint: "a", Space: "0"}}},
				bson.DocElem{Name: "exposures", Value: []modeldb.Exposed{{ExposedTo: entity.ExposedTo{Spaces: []string{"db", "alpha"}}}}})
			c.Put(modeldb.Networks{ID: modeldb.NetworksC, Spaces: []modeldb.Space{{ID: "1", Name: "db"}}, Subnets: []modeldb.Subnet{{Space: "1"}, {Space: "0"}}},
				modeldb.Constraints{Key: "s#mysql", Value: "mem=1G spaces=db,^alpha"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChecked(t)
			do(c)
			if found := c.check(true); len(found) > 0 {
				t.Errorf("found %s", lines(found))
			}
		})
	}
}

func (c *checked) putLease(id string) {
	c.Helper()
	c.OK(c.leases.With(c.Ctx, lease.Collection, func(col *mgo.Collection) error { return col.Insert(lease.Doc{ID: id, Holder: "x/0"}) }))
}

// show returns a field of a document, as text.
func (c *checked) show(collection, id, field string) string {
	c.Helper()
	var doc bson.M
	if err := c.Database.Get(c.Ctx, collection, id, &doc, id); err != nil {
		return "none"
	}
	if field == "" {
		for _, field := range append(mongo.TxnFields, "_id") {
			delete(doc, field)
		}
		return fmt.Sprint(doc)
	}
	return fmt.Sprint(doc[field])
}

// A repair keeps what is right.
func TestRepairs(t *testing.T) {
	type at struct{ collection, id, field, want string }
	set := func(collection, id, field string, value any) func(*checked) {
		return func(c *checked) { c.Set(collection, id, bson.DocElem{Name: field, Value: value}) }
	}
	remove := func(collection, id string) func(*checked) { return func(c *checked) { c.Model.Remove(collection, id) } }
	status := func(field string, value any) func(*checked) { return set(modeldb.StatusesC, "u#mysql/0", field, value) }
	const wm = "wordpress:db mysql:server"
	for _, c := range []struct {
		name string
		do   func(*checked)
		then []at
	}{
		{"the model", remove("model", "model"), []at{{"model", "model", "uuid", modeltest.UUID}}},
		{"a status", remove("statuses", "s#mysql"), []at{{"statuses", "s#mysql", "status", "unknown"}, {"statuses", "s#mysql", "message", "its status was lost"}}},
		{"its message", func(c *checked) {
			status("message", strings.Repeat("x", 20<<10))(c)
			status("data", bson.M{"a．b": "c"})(c)
		}, []at{
			{"statuses", "u#mysql/0", "data", "map[a．b:c]"}, {"statuses", "u#mysql/0", "status", "idle"}}},
		{"its data", func(c *checked) { status("data", bson.M{"a": math.NaN()})(c); status("message", "kept")(c) }, []at{
			{"statuses", "u#mysql/0", "message", "kept (damaged: status data: NaN is not a number)"}}},
		{"its time", status("since", "yesterday"), []at{{"statuses", "u#mysql/0", "status", "idle"}}},
		{"a deployment", remove("deployments", "unit-mysql-0#logging/0"), []at{{"deployments", "unit-mysql-0#logging/0", "", "map[parent:unit-mysql-0 unit:logging/0]"}}},
		{"an endpoint", remove("endpoints", "mysql#"+wm), []at{{"endpoints", "mysql#" + wm, "", "map[life:0 relation:" + wm + " service:mysql]"}}},
		{"an endpoint's strength", set("endpoints", "mysql#"+wm, "strength", 2), []at{{"endpoints", "mysql#" + wm, "strength", "0"}}},
		{"settings in a relation", remove("settings", "r#1#logging/0"), []at{{"settings", "r#1#logging/0", "relation", "1"},
			{"settings", "r#1#logging/0", "container", "mysql/0"}}},
		{"of a remote unit", remove("settings", "r#3#db/3"), []at{{"settings", "r#3#db/3", "relation", "3"}, {"settings", "r#3#db/3", "container", "<nil>"}}},
		{"their relation", func(c *checked) { c.Unset("settings", "r#1#mysql/0", "relation") }, []at{{"settings", "r#1#mysql/0", "relation", "1"}}},
		{"orphaned settings", func(c *checked) { c.PutIn("settings", "r#70#mysql/0", bson.M{"relation": 70}) }, []at{
			{"cleanups", "check-settings-r#70", "", "map[arg:r#70 kind:settings]"}}},
		{"counts", set("counts", "s#mysql", "units", 3), []at{{"counts", "s#mysql", "", "map[leaders:1 offers:1 relations:2 units:2]"}}},
		{"missing counts", remove("counts", "s#mysql"), []at{{"counts", "s#mysql", "", "map[leaders:1 offers:1 relations:2 units:2]"}}},
		{"counts of nothing", set("counts", "u#mysql/0", "apples", 1), []at{{"counts", "u#mysql/0", "apples", "<nil>"}, {"counts", "u#mysql/0", "subordinates", "1"}}},
		{"minimum", remove("minunits", "riak"), []at{{"minunits", "riak", "token", "mended"}}},
		{"a rollout", set("services", "mysql", "rollout", bson.M{"id": "1", "former": "local:jammy/riak-0", "batch": 1, "timeout": time.Second - 1}), []at{
			{"services", "mysql", "rollout", "<nil>"}}},
		{"a dying machine", set("machines", "3", "life", entity.Dying), []at{{"units", "wordpress/0", "life", "1"}}},
		{"force", func(c *checked) {
			c.Set("services", "riak", bson.DocElem{Name: "life", Value: entity.Dying}, bson.DocElem{Name: "strength", Value: entity.Force},
				bson.DocElem{Name: "deadline", Value: c.Time})
		}, []at{{"cleanups", "force-s#riak", "strength", "2"}, {"cleanups", "force-s#riak", "arg", "s#riak"}, {"cleanups", "force-s#riak", "kind", "force"},
			{"cleanups", "check-destroy-s#riak", "arg", "s#riak"}}},
		{"addresses", func(c *checked) {
			c.Set("machines", "3", bson.DocElem{Name: "addresses", Value: []string{"10.0.0.1", "a\x00b"}}, bson.DocElem{Name: "hostaddresses", Value: []string{"a\x00b", "10.0.0.2"}})
		}, []at{{"machines", "3", "addresses", "[10.0.0.1]"}, {"machines", "3", "hostaddresses", "[10.0.0.2]"}, {"machines", "3", "cloudaddresses", "<nil>"}}},
		{"invalid ports", func(c *checked) {
			c.Put(modeldb.Ports{ID: "1", Version: 4, Ports: []modeldb.OpenPort{{Unit: "mysql/0", From: 80, To: 80, Protocol: "tcp"},
				{Unit: "mysql/0", From: 0, To: 80, Protocol: "tcp"}, {Unit: "mysql/0", From: 80, To: 80, Protocol: "x"}}})
		}, []at{{"ports", "1", "version", "5"}, {"ports", "1", "ports", "[map[from:80 protocol:tcp to:80 unit:mysql/0]]"}}},
		{"ports of others", func(c *checked) {
			c.Put(modeldb.Ports{ID: "1", Version: 4, Ports: []modeldb.OpenPort{{Unit: "mysql/0", From: 80, To: 80, Protocol: "tcp"}, {Unit: "riak/0", From: 1, To: 1, Protocol: "tcp"}}})
		}, []at{{"ports", "1", "version", "5"}, {"ports", "1", "ports", "[map[from:80 protocol:tcp to:80 unit:mysql/0]]"}}},
		{"an upgrade", set("machines", "3", "upgrade", modeldb.SeriesUpgrade{Number: 1, Version: 2, Waiting: []string{"mysql/0", "wordpress/0"}}), []at{
			{"machines", "3", "upgrade", "map[number:1 since:" + time.Time{}.Local().String() + " to: version:3 waiting:[wordpress/0]]"}}},
		{"bindings", set("services", "mysql", "bindings", []modeldb.Binding{{Endpoint: "", Space: "77"}, {Endpoint: "admin", Space: "0"}}), []at{
			{"services", "mysql", "bindings", "[map[endpoint:admin space:0]]"}}},
		{"constraints", set("constraints", "s#mysql", "value", "mem=1G spaces=db,^gone"), []at{{"constraints", "s#mysql", "value", "mem=1024M"}}},
		{"subnets", func(c *checked) {
			c.Put(modeldb.Networks{ID: modeldb.NetworksC, Version: 2, Subnets: []modeldb.Subnet{{Space: "0"}, {Space: "77"}}})
		}, []at{{"networks", "networks", "version", "3"}}},
		{"a sequence", set("sequence", "relation", "counter", 1), []at{{"sequence", "relation", "counter", "4"}}},
		{"a container's sequence", func(c *checked) { c.Put(modeldb.Machine{ID: "0/lxd/4", Host: "0"}) }, []at{{"sequence", "machine0lxdContainer", "counter", "5"}}},
		{"an operation's sequence", func(c *checked) {
			c.Put(modeldb.Operation{ID: "40"}, modeldb.Task{ID: "machine-0#30", Number: 30, Operation: "40", Receiver: "0"})
		}, []at{{"sequence", "task", "counter", "40"}}},
		{"a unit's sequence", remove("sequence", "service-mysql"), []at{{"sequence", "service-mysql", "counter", "2"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newChecked(t)
			c.do(w)
			for _, f := range w.check(true) {
				if f.Failed != "" || !f.Done {
					t.Errorf("not repaired: %+v", f)
				}
			}
			for _, at := range c.then {
				if got := w.show(at.collection, at.id, at.field); got != at.want {
					t.Errorf("%s of %s %s is %s, want %s", at.field, at.collection, at.id, got, at.want)
				}
			}
		})
	}
}

// What is outside the model's database is repaired there: references to archives, and leases of services that are gone.
func TestRepairsOutside(t *testing.T) {
	t.Parallel()
	c := newChecked(t)
	c.Put(modeldb.Resources{ID: "s#mysql", Files: map[string]entity.ResourceFile{"a．b": {SHA256: "1"}}})
	c.putLease(modeltest.UUID + "#gone")
	found := c.check(true)
	if want := "resources s#mysql: the file of resource \"a.b\" has no reference from the model"; !strings.Contains(lines(found), want) ||
		len(c.referred) != 1 || c.referred[0] != "1" {
		t.Errorf("referred are %v, and found was %s", c.referred, lines(found))
	}
	if want := "leases " + modeltest.UUID + `#gone: service "gone" is gone, and no cleanup will remove it`; !strings.Contains(lines(found), want) ||
		len(c.ended) == 0 || c.ended[0] != "gone" {
		t.Errorf("ended are %v, and found was %s", c.ended, lines(found))
	}
}

// A finding says what its repair does.
func TestWhatARepairDoes(t *testing.T) {
	t.Parallel()
	for where, do := range map[string]func(*checked){
		"settings s#mysql: write an empty one; the charm's defaults apply":                    func(c *checked) { c.Model.Remove("settings", "s#mysql") },
		"constraints s#mysql: write an empty one":                                             func(c *checked) { c.Model.Remove("constraints", "s#mysql") },
		"scopes 7#provider#mysql/0: remove it":                                                func(c *checked) { c.Put(modeldb.Scope{ID: "7#provider#mysql/0", Relation: 7, Unit: "mysql/0"}) },
		"storage data/0: remove it with everything that it owns":                              func(c *checked) { c.Set("storage", "data/0", bson.DocElem{Name: "machine", Value: "8"}) },
		"settings r#1#mysql/0: write an empty one; what the unit set in the relation is lost": func(c *checked) { c.Model.Remove("settings", "r#1#mysql/0") },
		"uploads u: add the reference": func(c *checked) {
			c.Put(modeldb.Upload{ID: "u", Stored: true, ResourceFile: entity.ResourceFile{SHA256: "1"}})
		},
		"uploads v: remove it": func(c *checked) {
			c.Put(modeldb.Upload{ID: "v", Stored: true, ResourceFile: entity.ResourceFile{SHA256: "0"}})
		},
	} {
		c := newChecked(t)
		do(c)
		var got []string
		there := false
		for _, f := range c.check(true) {
			got = append(got, f.Where+": "+f.Repair)
			there = there || f.Where+": "+f.Repair == where && f.Done
		}
		if !there {
			t.Errorf("got\n%s\nwant %s", strings.Join(got, "\n"), where)
		}
	}
}
