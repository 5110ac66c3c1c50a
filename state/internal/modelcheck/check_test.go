package modelcheck_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/check/checktest"
	"juju/state/entity"
	"juju/state/internal/modelcheck"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/schema"
)

// A checked is a model with every kind of entity. Relation 0 is riak:ring, 1 is mysql with logging, 2 is wordpress with
// mysql, and 3 is with a remote service.
type checked struct {
	*modeltest.Model
	*testing.T
	outside  modelcheck.Outside
	leases   *mongo.Database
	referred []string // archives to which a repair has added a reference
	ended    []string // services whose leases a repair has removed
}

// newChecked returns the model of testdata/model.txt.
func newChecked(t *testing.T) *checked {
	t.Helper()
	c := &checked{Model: modeltest.New(t), T: t}
	text, err := os.ReadFile("testdata/model.txt")
	c.OK(err)
	docs := map[string][]any{}
	for line := range strings.Lines(string(text)) {
		if collection, json, _ := strings.Cut(line, " "); collection != "#" {
			var doc bson.M
			c.OK(bson.UnmarshalJSON([]byte(json), &doc))
			docs[collection] = append(docs[collection], doc)
		}
	}
	c.Model.Remove(modeldb.ModelC, modeldb.ModelC)
	for collection, all := range docs {
		c.OK(c.With(c.Ctx, collection, func(c *mgo.Collection) error { return c.Insert(all...) }))
	}
	c.OK(c.Store.Make(c.Ctx, "controller", mongo.Schema{LogSize: 1 << 20}))
	c.leases = c.Store.Open("controller")
	t.Cleanup(func() { c.leases.Close(errors.New("the test has ended")) })
	c.outside = modelcheck.Outside{UUID: modeltest.UUID, Archives: c,
		Leases: lease.New(c.leases, lease.Collection, c.Store.Barrier, func() time.Time { return c.Time }),
		Made: func() (modeldb.Model, error) {
			return modeldb.Model{ID: modeldb.ModelC, Name: "default", UUID: modeltest.UUID}, nil
		},
		EndLease: func(_ context.Context, service string) error { c.ended = append(c.ended, service); return nil }}
	return c
}

// Find and Refer are those of archives: all exist but 0, and the model refers to all but 1.
func (c *checked) Find(_ context.Context, sum string) (there, referred bool, err error) {
	return sum != "0", sum != "1" || slices.Contains(c.referred, sum), nil
}

func (c *checked) Refer(_ context.Context, sum string) error {
	c.referred = append(c.referred, sum)
	return nil
}

func (c *checked) check(repair bool) []entity.Finding {
	c.Helper()
	k := &check.Checker{DB: c.Database, Model: "default", Now: c.Time, Rules: c.outside.Rules(), Fields: modelcheck.Fields}
	found, err := k.Run(c.Ctx, repair)
	c.OK(err)
	return found
}

// lines returns findings as text, one per line.
func lines(found []entity.Finding) string {
	var all []string
	for _, f := range found {
		all = append(all, f.Where+": "+f.What)
	}
	return strings.Join(all, "\n     ")
}

// A damage is an edit by hand of one document.
type damage struct {
	collection, id string
	change         bson.D // to an existing document; nil removes it
	insert         bson.M // a document that should not exist
	finding        string // where, and what
	stays          bool   // no repair can fix it
}

func (d damage) String() string {
	if d.insert != nil {
		return d.collection + " " + d.id + " inserted"
	}
	if d.change != nil {
		return d.collection + " " + d.id + " changed"
	}
	return d.collection + " " + d.id + " removed"
}

func (d damage) do(c *mgo.Collection) error {
	switch {
	case d.insert != nil:
		d.insert["_id"] = d.id
		return c.Insert(d.insert)
	case d.change != nil:
		return c.UpdateId(d.id, d.change)
	}
	return c.RemoveId(d.id)
}

func set(field string, value any) bson.D { return bson.D{{"$set", bson.D{{field, value}}}} }

const wm = "wordpress:db mysql:server"

var damages = []damage{
	{collection: "model", id: "model", finding: "model model: it is missing, so nothing can be added to the model"},
	{collection: "model", id: "model", change: set("life", 1),
		finding: "model model: it is dying, storage data/0 is alive, and no cleanup will destroy it"},
	{collection: "offers", id: "hosted", finding: "counts o#hosted: its owner does not exist: offers hosted"},
	{collection: "offers", id: "hosted", change: set("service", "gone"), finding: "offers hosted: its service does not exist: services gone"},
	{collection: "offers", id: "hosted", change: set("life", 1),
		finding: "offers hosted: it is dying, nothing refers to it, and nothing will remove it"},
	{collection: "remotes", id: "db", finding: "relations wordpress:db db:server: its service does not exist: remotes db"},
	{collection: "settings", id: "r#3#db/3", finding: "settings r#3#db/3: it is missing"},
	{collection: "tasks", id: "unit-riak-0#2", finding: "operations 1: it has no tasks"},
	{collection: "tasks", id: "unit-gone-0#2", insert: bson.M{"number": 8, "operation": "1", "unit": "gone/0",
		"status": "pending"},
		finding: "tasks unit-gone-0#2: its unit is gone, and no cleanup will cancel it"},
	{collection: "tasks", id: "unit-riak-0#9", insert: bson.M{"number": 9, "operation": "1", "unit": "riak/0",
		"status": "pending"},
		finding: "sequence task: its next number is 2, and 8 is taken"},
	{collection: "imports", id: "a:b", insert: bson.M{"storage": "data/7", "pool": "fast", "began": time.Unix(0, 0)},
		finding: "imports a:b: its import was cut off, and the cloud may count it as the model's, but it is no storage; " +
			"repeat the import: juju import-filesystem fast a:b data", stays: true},
	{collection: "secrets", id: "s#gone", insert: bson.M{"kind": "party", "token": "t"},
		finding: "secrets s#gone: s#gone does not exist, whose secrets it stands for"},
	{collection: "secrets", id: "r#99", insert: bson.M{"kind": "party", "token": "t"},
		finding: "secrets r#99: r#99 does not exist, whose secrets it stands for"},
	{collection: "secrets", id: "0123456789abcdefghi0", insert: bson.M{"kind": "secret", "owner": "s#mysql", "token": "t", "latest": 1},
		finding: "secrets 0123456789abcdefghi0: its owner does not exist"},
	{collection: "secrets", id: "0123456789abcdefghi0/1", insert: bson.M{"kind": "content", "secret": "0123456789abcdefghi0"},
		finding: "secrets 0123456789abcdefghi0/1: its secret does not exist"},
	{collection: "secrets", id: "odd", insert: bson.M{"kind": "odd"}, finding: "secrets odd: it is of no known kind"},
	{collection: "operations", id: "1", finding: "tasks unit-riak-0#2: its operation does not exist: operations 1"},
	{collection: "machines", id: "3", finding: "units wordpress/0: its machine does not exist: machines 3"},
	{collection: "machines", id: "3", change: set("life", 2),
		finding: "units wordpress/0: machine 3, its machine, is dead"},
	{collection: "machines", id: "3", change: set("life", 1),
		finding: "units wordpress/0: it is alive, and machine 3, its machine, is dying"},
	{collection: "machines", id: "9", insert: bson.M{"life": 0},
		finding: "sequence machine: its next number is 5, and 9 is taken"},
	{collection: "machines", id: "3/lxd/0", insert: bson.M{"life": 0, "host": "8"},
		finding: "machines 3/lxd/0: its host does not exist: machines 8"},
	{collection: "units", id: "wordpress/0", finding: "scopes 2#requirer#wordpress/0: its unit does not exist: units wordpress/0"},
	{collection: "units", id: "mysql/0", finding: "units logging/0: its principal does not exist: units mysql/0"},
	{collection: "units", id: "wordpress/0", change: set("life", 2),
		finding: "scopes 2#requirer#wordpress/0: unit wordpress/0, its unit, is dead"},
	{collection: "units", id: "mysql/0", change: set("life", 2),
		finding: "units logging/0: unit mysql/0, its principal, is dead"},
	{collection: "units", id: "mysql/0", change: set("life", 1),
		finding: "units mysql/0: it is dying, unit logging/0 is alive, and no cleanup will destroy it"},
	{collection: "units", id: "mysql/1", change: set("life", 1),
		finding: "counts m#2: it counts 1 alive-units, there are 0"},
	{collection: "units", id: "mysql/1", change: set("machine", "0"),
		finding: "deployments machine-2#mysql/1: unit mysql/1 is deployed by \"machine-0\""},
	{collection: "units", id: "mysql/1", change: set("charm", "local:jammy/none-1"),
		finding: "units mysql/1: its charm does not exist: charms local:jammy/none-1", stays: true},
	{collection: "services", id: "riak", finding: "units riak/0: its service does not exist: services riak"},
	{collection: "services", id: "riak", finding: "relations riak:ring: its service does not exist: services riak"},
	{collection: "services", id: "mysql", change: set("life", 1),
		finding: "services mysql: it is dying, unit mysql/0 is alive, and no cleanup will destroy it"},
	{collection: "services", id: "empty", insert: bson.M{"life": 1},
		finding: "services empty: it is dying, nothing refers to it, and nothing will remove it"},
	{collection: "storage", id: "data/0", finding: "attachments unit-disk-0#data/0: its storage does not exist: storage data/0"},
	{collection: "storage", id: "data/0", change: set("life", 1),
		finding: "attachments unit-disk-0#data/0: it is alive, and storage data/0, its storage, is dying"},
	{collection: "storage", id: "data/0", change: set("machine", "8"),
		finding: "storage data/0: its machine does not exist: machines 8"},
	{collection: "storage", id: "data/9", insert: bson.M{"life": 0}, finding: "sequence stores: its next number is 1, and 9 is taken"},
	{collection: "attachments", id: "unit-disk-0#data/0", finding: "counts u#disk/0: it counts 1 attachments, there are 0"},
	{collection: "attachments", id: "unit-none-0#data/0", insert: bson.M{"life": 0, "unit": "none/0", "storage": "data/0"},
		finding: "attachments unit-none-0#data/0: its unit does not exist: units none/0"},
	{collection: "counts", id: "at#disk/0:data/7", insert: bson.M{},
		finding: "counts at#disk/0:data/7: its owner does not exist: attachments unit-disk-0#data/7"},
	{collection: "relations", id: wm, finding: "endpoints mysql#" + wm + ": its relation does not exist: relations " + wm},
	{collection: "relations", id: wm, change: set("life", 1), finding: "endpoints wordpress#" +
		wm + ": it is alive (plain) and its relation dying (plain)"},
	{collection: "relations", id: "a:b mysql:admin", insert: bson.M{"life": 1, "id": 1000,
		"endpoints": []bson.M{{"service": "mysql"}}},
		finding: "relations a:b mysql:admin: it is dying, nothing refers to it, and nothing will remove it"},
	{collection: "endpoints", id: "mysql#" + wm, finding: "endpoints mysql#" + wm + ": it is missing"},
	{collection: "endpoints", id: "riak#" + wm, insert: bson.M{"service": "riak", "relation": wm, "life": 0},
		finding: "endpoints riak#" + wm + ": relation \"" + wm + "\" has no such endpoint"},
	{collection: "scopes", id: "2#provider#mysql/0", finding: "counts r#2: it counts 2 scopes, there are 1"},
	{collection: "scopes", id: "7#provider#mysql/0", insert: bson.M{"relation": 7, "unit": "mysql/0"},
		finding: "scopes 7#provider#mysql/0: its relation does not exist: relations (number 7)"},
	{collection: "deployments", id: "machine-1#mysql/0", finding: "deployments machine-1#mysql/0: it is missing"},
	{collection: "deployments", id: "machine-8#mysql/0", insert: bson.M{"parent": "machine-8", "unit": "mysql/0"},
		finding: "deployments machine-8#mysql/0: its deployer does not exist: machines 8"},
	{collection: "settings", id: "s#mysql", finding: "settings s#mysql: it is missing"},
	{collection: "settings", id: "r#1#mysql/0", finding: "settings r#1#mysql/0: it is missing"},
	{collection: "settings", id: "r#1#mysql/0", change: bson.D{{"$unset", bson.D{{"relation", 1}}}},
		finding: "settings r#1#mysql/0: it does not name its relation"},
	{collection: "settings", id: "r#70#mysql/0", insert: bson.M{"relation": 70},
		finding: "settings r#70#mysql/0: relation 70 is gone, and no cleanup will delete it"},
	{collection: "settings", id: "s#none", insert: bson.M{},
		finding: "settings s#none: its owner does not exist: services none"},
	{collection: "constraints", id: "s#mysql", finding: "constraints s#mysql: it is missing"},
	{collection: "constraints", id: "m#77", insert: bson.M{},
		finding: "constraints m#77: its owner does not exist: machines 77"},
	{collection: "annotations", id: "s#none", insert: bson.M{},
		finding: "annotations s#none: its owner does not exist: services none"},
	{collection: "annotations", id: "s#mysql", insert: bson.M{"annotations": bson.M{"a": "b"}, "version": 0},
		finding: "counts s#mysql: it does not count annotations, of which there are 1"},
	{collection: "counts", id: "s#mysql", finding: "counts s#mysql: it is missing"},
	{collection: "counts", id: "s#mysql", change: set("units", 3),
		finding: "counts s#mysql: it counts 3 units, there are 2"},
	{collection: "counts", id: "m#1", change: bson.D{{"$unset", bson.D{{"units", 1}}}},
		finding: "counts m#1: it does not count units, of which there are 1"},
	{collection: "counts", id: "u#mysql/0", change: set("apples", 1),
		finding: "counts u#mysql/0: it counts apples, of which there are none"},
	{collection: "counts", id: "r#9", insert: bson.M{"scopes": 0},
		finding: "counts r#9: its owner does not exist: relations (number 9)"},
	{collection: "statuses", id: "s#mysql", finding: "statuses s#mysql: it is missing"},
	{collection: "statuses", id: "u#none/1#workload", insert: bson.M{},
		finding: "statuses u#none/1#workload: its owner does not exist: units none/1"},
	{collection: "statuses", id: "??", insert: bson.M{}, finding: "statuses ??: it has no owner of a known kind",
		stays: true},
	{collection: "statuses", id: "u#mysql/0", change: set("since", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		finding: "statuses u#mysql/0: it is damaged: since: the year 10000"},
	{collection: "statuses", id: "u#mysql/0", change: set("data", bson.M{"a": math.NaN()}),
		finding: "statuses u#mysql/0: it is damaged: status data: NaN is not a number"},
	{collection: "statuses", id: "u#mysql/0", change: set("message", strings.Repeat("x", 20<<10)),
		finding: "statuses u#mysql/0: it is damaged: status message: 20480 bytes, the limit is 16384"},
	{collection: "statuses", id: "u#mysql/0", change: set("message", 5),
		finding: "statuses u#mysql/0: it is damaged: status data: a value is of type entity.Status"},
	{collection: "machines", id: "3", change: set("addresses", []string{"127.0.0.9", "a\x00b"}),
		finding: `machines 3: its addresses are damaged: address: it contains a NUL character`},
	{collection: "machines", id: "3", change: set("upgrade", bson.M{"number": 1, "to": "noble", "version": 1, "waiting": []string{"mysql/99"}}),
		finding: "machines 3: its upgrade waits for a unit that it lacks: mysql/99"},
	{collection: "services", id: "mysql", change: set("bindings", []bson.M{{"endpoint": "", "space": "77"}, {"endpoint": "admin", "space": "0"}}),
		finding: "services mysql: it is bound to spaces that are gone: 77"},
	{collection: "services", id: "mysql", change: set("exposures", []bson.M{{"endpoint": "admin", "spaces": []string{"alpha", "gone"}}}),
		finding: `services mysql: it is exposed to the space "gone", which is gone: expose or unexpose it`, stays: true},
	{collection: "model", id: "model", change: set("constraints", "mem=1G spaces=alpha,^gone"),
		finding: "model model: its constraints name spaces that are gone: gone"},
	{collection: "constraints", id: "s#mysql", change: set("value", "spaces=db,^gone"),
		finding: "constraints s#mysql: its constraints name spaces that are gone: db, gone"},
	{collection: "constraints", id: "m#0", insert: bson.M{"value": "spaces=db"},
		finding: "constraints m#0: its constraints name spaces that are gone: db"},
	{collection: "constraints", id: "s#mysql", change: set("value", "mem=x"),
		finding: `constraints s#mysql: its constraints are damaged: ` +
			`bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`, stays: true},
	{collection: "networks", id: "networks", insert: bson.M{"spaces": []any{}, "subnets": []bson.M{{"cidr": "10.0.0.0/8", "space": "77"},
		{"cidr": "10.1.0.0/16", "space": "0"}}, "version": 1},
		finding: "networks networks: it has subnets of spaces that are gone: 1"},
	{collection: "ports", id: "1", change: bson.D{{"$push",
		bson.D{{"ports", bson.M{"unit": "mysql/0", "from": 0, "to": 99999, "protocol": "x"}}}}},
		finding: "ports 1: it has invalid open ports: 1"},
	{collection: "ports", id: "1", change: bson.D{{"$push",
		bson.D{{"ports", bson.M{"unit": "mysql/0", "from": 79, "to": 80, "protocol": "tcp"}}}}},
		finding: "ports 1: port ranges 80/tcp and 79-80/tcp conflict: a unit must close one of them", stays: true},
	{collection: "ports", id: "99", insert: bson.M{"ports": []any{}},
		finding: "ports 99: its owner does not exist: machines 99"},
	{collection: "ports", id: "0", insert: bson.M{"ports": []bson.M{{"unit": "none/3", "from": 1, "to": 1,
		"protocol": "tcp"}}, "version": 1},
		finding: "ports 0: units that are not on the machine have open ports: none/3"},
	{collection: "credentials", id: "machine-44", insert: bson.M{},
		finding: "credentials machine-44: its owner does not exist: machines 44"},
	{collection: "minunits", id: "riak", finding: "minunits riak: it is missing, so the service's minimum number of units is not kept"},
	{collection: "minunits", id: "mysql", insert: bson.M{},
		finding: "minunits mysql: its service has no minimum number of units"},
	{collection: "minunits", id: "gone", insert: bson.M{},
		finding: "minunits gone: its owner does not exist: services gone"},
	{collection: "services", id: "mysql", change: set("rollout",
		bson.M{"id": "1", "former": "local:jammy/mysql-9", "batch": 1, "timeout": time.Minute}),
		finding: "services mysql: its former charm does not exist: charms local:jammy/mysql-9", stays: true},
	{collection: "services", id: "mysql", change: set("rollout", bson.M{"id": "1", "former": "local:jammy/riak-0", "timeout": time.Minute}),
		finding: "services mysql: its upgrade in batches can't go on: the record is damaged"},
	{collection: "services", id: "riak", change: bson.D{{"$set", bson.D{{"life", 1}, {"rollout", bson.M{"id": "1",
		"former": "local:jammy/riak-0", "batch": 1, "timeout": time.Minute}}}}},
		finding: "services riak: it is being destroyed, and upgraded in batches"},
	{collection: "leaders", id: "mysql", finding: "counts s#mysql: it counts leaders, of which there are none"},
	{collection: "services", id: "mysql", change: set("machines", true),
		finding: "counts s#mysql: it does not count machines, of which there are 1"},
	{collection: "leaders", id: "gone", insert: bson.M{"holder": "gone/0"},
		finding: "leaders gone: its owner does not exist: services gone"},
	{collection: "charms", id: "local:jammy/riak-0", change: set("sha256", "0"),
		finding: "charms local:jammy/riak-0: its archive does not exist (SHA-256 0): deploy the charm again from its source",
		stays:   true},
	{collection: "charms", id: "local:jammy/riak-0", finding: "services riak: its charm does not exist: charms local:jammy/riak-0", stays: true},
	{collection: "resources", id: "s#riak", insert: bson.M{"files": bson.M{"site": bson.M{"sha256": "0"}}},
		finding: "resources s#riak: the file of resource \"site\" does not exist (SHA-256 0): juju attach-resource riak site=FILE",
		stays:   true},
	{collection: "resources", id: "u#gone/0", insert: bson.M{},
		finding: "resources u#gone/0: its owner does not exist: units gone/0"},
	{collection: "payloads", id: "u#gone/0", insert: bson.M{"payloads": []bson.M{}},
		finding: "payloads u#gone/0: its owner does not exist: units gone/0"},
	{collection: "uploads", id: "x", insert: bson.M{"sha256": "0", "stored": true},
		finding: "uploads x: its file does not exist (SHA-256 0)"},
	{collection: "cleanups", id: "x", insert: bson.M{"kind": "dishes"},
		finding: "cleanups x: unknown cleanup kind \"dishes\""},
	{collection: "services", id: "riak", change: bson.D{{"$set", bson.D{{"life", 1}, {"strength", 2}}}},
		finding: "cleanups force-s#riak: it is missing, so service riak will not be removed by force"},
	{collection: "sequence", id: "relation", change: set("counter", 1),
		finding: "sequence relation: its next number is 1, and 3 is taken"},
	{collection: "sequence", id: "service-mysql", finding: "sequence service-mysql: its next number is 0, and 1 is taken"},
}

// A check names every edit by hand. A repair fixes it and all that follows from it; a second repair has nothing to do.
func TestCheckFindsAndRepairsDamage(t *testing.T) {
	for _, d := range damages {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			c := newChecked(t)
			c.OK(c.With(c.Ctx, d.collection, d.do))
			if found := c.check(false); !slices.ContainsFunc(found, func(f entity.Finding) bool { return f.Where+": "+f.What == d.finding }) {
				t.Fatalf("want %s\n got %s", d.finding, lines(found))
			}
			for _, f := range c.check(true) {
				if f.Failed != "" || !f.Done && !d.stays {
					t.Errorf("not repaired: %+v", f)
				}
			}
			before, err := c.Dump(c.Ctx)
			c.OK(err)
			if left := c.check(true); (len(left) > 0) != d.stays || slices.ContainsFunc(left, func(f entity.Finding) bool { return f.Done }) {
				t.Errorf("after the repair: %s", lines(left))
			}
			if after, err := c.Dump(c.Ctx); err != nil || !reflect.DeepEqual(before, after) {
				t.Errorf("a second repair changed something (%v)", err)
			}
		})
	}
}

// An undamaged model has nothing to find.
func TestCheckOfAnUndamagedModel(t *testing.T) {
	t.Parallel()
	c := newChecked(t)
	if found := c.check(true); len(found) > 0 {
		t.Errorf("found %s", lines(found))
	}
}

// Check would remove a cleanup of a kind that it does not know.
func TestCheckKnowsEveryCleanupKind(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../modeldb/life.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Cleanup") {
			return true
		}
		n++
		if kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value); err != nil ||
			!slices.Contains(modelcheck.CleanupKinds, kind) {
			t.Errorf("CleanupKinds of modelcheck lacks %s (%v)", kind, err)
		}
		return true
	})
	if n < 5 {
		t.Errorf("life.go has only %d kinds", n)
	}
}

// A new collection needs a rule of the check, and a damage above that shows that the rule finds something.
func TestEveryCollectionIsChecked(t *testing.T) {
	damaged := []string{schema.Collection}
	for _, d := range damages {
		damaged = append(damaged, d.collection)
	}
	checktest.EveryCollectionIsChecked(t, "../modeldb/collections.go", slices.Collect(maps.Keys(modelcheck.Fields)), modelcheck.Unruled, damaged, 18)
}
