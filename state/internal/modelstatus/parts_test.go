package modelstatus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
	"juju/state/internal/modeltest"
	"juju/state/watcher"
)

// A backlog counts what waits or has failed, and nothing else.
func TestBacklog(t *testing.T) {
	t.Parallel()
	m := newModel(t, modeldb.Machine{ID: "7", Living: dying}, modeldb.Cleanup{ID: "c", Kind: "destroy"}, status("m#1", entity.StatusError, ""),
		status("u#mysql/0", entity.StatusError, ""), status("u#mysql/1#workload", entity.StatusError, ""), status("u#web/0", entity.StatusBlocked, ""),
		status("st#data/0", entity.StatusError, ""), status("s#web", entity.StatusError, ""), modeldb.Credential{ID: "unit-mysql-0"}, modeldb.Credential{ID: "machine-0"},
		modeldb.Credential{ID: "machine-1"}, modeldb.Task{ID: "t", Status: entity.TaskPending}, modeldb.Task{ID: "u", Status: entity.TaskRunning})
	got, err := modelstatus.Backlog(m.Ctx, m.DB)
	m.OK(err)
	modeltest.Same(t, "the backlog", got, entity.Backlog{Cleanups: 1, Pending: 3, FailedMachines: 1, FailedUnits: 2, Tasks: 1, Agents: 3})
}

// The goal state of a unit has all units of its service and of those it is related to; over a container relation only those
// beside it. What is going is dying, what is Dead is left out.
func TestGoalState(t *testing.T) {
	t.Parallel()
	ring := modeldb.NewRelation(3, end("mysql", "ring", "peer"))
	broken := site
	broken.Living = dying
	m := newModel(t, broken, ring, modeldb.Unit{Name: "mysql/2", Service: "mysql", Living: modeldb.Living{Life: entity.Dead}},
		modeldb.Unit{Name: "mysql/3", Service: "mysql", Living: dying}, modeldb.Unit{Name: "log/3", Service: "log", Principal: "mysql/3"},
		status("u#mysql/0#workload", entity.StatusActive, ""), modeldb.Unit{Name: "other/0", Service: "other"})
	for _, r := range []modeldb.Relation{broken, ring, container} {
		for _, e := range r.Endpoints {
			m.Put(modeldb.RelationEnd{Service: e.Service, Relation: r.Key})
		}
	}
	mysql := "mysql/0 active, mysql/1 waiting, mysql/3 dying"
	for name, want := range map[string]string{
		"mysql/0": mysql + "; juju-info: log joined, log/0 waiting; server: web broken, web/0 waiting",
		"web/0":   "web/0 waiting; db: mysql broken, " + mysql,
		"log/3":   "log/0 waiting, log/3 waiting; info: mysql joined, mysql/3 dying",
		"other/0": "other/0 waiting",
	} {
		goal, err := modelstatus.GoalState(m.Ctx, m.DB, modeltest.Get[modeldb.Unit](m, name))
		m.OK(err)
		shown := func(of map[string]entity.GoalStatus) string {
			var all []string
			for _, key := range strings.Fields("log log/0 log/3 mysql mysql/0 mysql/1 mysql/2 mysql/3 other/0 web web/0") {
				if s, ok := of[key]; ok {
					all = append(all, key+" "+s.Status)
				}
			}
			return strings.Join(all, ", ")
		}
		got := shown(goal.Units)
		for _, endpoint := range strings.Fields("db info juju-info ring server") {
			if of, ok := goal.Relations[endpoint]; ok {
				got += "; " + endpoint + ": " + shown(of)
			}
		}
		modeltest.Same(t, name+" has the goal state", got, want)
	}
}

// A unit sees in its relations what it has set itself, and what the units and the service at the other end have, but not what
// units have left that are gone: web/1, log/1, and a unit of another model that is in no scope.
func TestRelationData(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	set := func(r modeldb.Relation, of, container string) {
		m.Put(modeldb.Settings{ID: modeldb.RelationSettingsKey(r.ID, of), Relation: &r.ID, Container: container, Settings: map[string]any{"by": of}})
	}
	across := modeldb.NewRelation(9, end("mysql", "backup", "requirer"), modeldb.Endpoint{Service: "store", Name: "disk", Role: "provider", Remote: true})
	m.Put(across)
	for _, r := range []modeldb.Relation{site, container, across} {
		for _, e := range r.Endpoints {
			m.Put(modeldb.RelationEnd{Service: e.Service, Relation: r.Key})
		}
	}
	for _, of := range []string{"mysql/0", "mysql/1", "mysql", "web/0", "web/1", "web"} {
		set(site, of, "")
	}
	for _, of := range []string{"store", "store/0", "store/1"} {
		set(across, of, "")
	}
	set(container, "mysql/0", "mysql/0")
	set(container, "log/0", "mysql/0")
	set(container, "log/1", "mysql/1")
	m.Put(modeldb.Scope{ID: "2#requirer#web/0", Relation: 2, Unit: "web/0"}, modeldb.Scope{ID: "2#provider#mysql/0", Relation: 2, Unit: "mysql/0"},
		modeldb.Scope{ID: "9#provider#store/1", Relation: 9, Unit: "store/1"})
	got, err := modelstatus.RelationData(m.Ctx, m.DB, modeltest.Get[modeldb.Unit](m, "mysql/0"))
	m.OK(err)
	by := func(in bool, of string) entity.UnitRelationData {
		return entity.UnitRelationData{InScope: in, Settings: map[string]string{"by": of}}
	}
	modeltest.Same(t, "mysql/0 sees", got, []entity.RelationData{
		{ID: 1, Endpoint: "juju-info", RelatedEndpoint: "info", Units: map[string]entity.UnitRelationData{"mysql/0": by(false, "mysql/0"), "log/0": by(false, "log/0")}},
		{ID: 2, Endpoint: "server", RelatedEndpoint: "db", Application: map[string]string{"by": "web"},
			Units: map[string]entity.UnitRelationData{"mysql/0": by(true, "mysql/0"), "web/0": by(true, "web/0")}},
		{ID: 9, Endpoint: "backup", RelatedEndpoint: "disk", CrossModel: true, Application: map[string]string{"by": "store"},
			Units: map[string]entity.UnitRelationData{"store/1": by(true, "store/1")}}})
}

// Storage is shown with where it is, and with what happens to it.
func TestStorage(t *testing.T) {
	t.Parallel()
	later := since.Add(time.Hour)
	stored := func(id string, life entity.Life, filesystem string) modeldb.Storage {
		return modeldb.Storage{ID: id, Living: modeldb.Living{Life: life, Since: since}, Pool: entity.StoragePool{Name: "fast"}, Size: 10, Filesystem: filesystem, Machine: "0"}
	}
	attached := func(storage string, life entity.Life, location string) modeldb.Attachment {
		return modeldb.Attachment{ID: "unit-mysql-0#" + storage, Unit: "mysql/0", Machine: "0", Storage: storage, Location: location, Living: modeldb.Living{Life: life, Since: later}}
	}
	released := stored("data/8", entity.Dying, "f")
	released.Release, released.Made, released.Machine = true, 12, ""
	m := newModel(t, stored("data/10", entity.Alive, ""), stored("data/1", entity.Alive, "f"), attached("data/1", entity.Alive, ""), stored("data/2", entity.Alive, "f"),
		attached("data/2", entity.Alive, "/srv"), stored("data/3", entity.Alive, "f"), attached("data/3", entity.Dying, "/srv"), stored("data/4", entity.Dying, "f"),
		stored("data/5", entity.Alive, "f"), stored("data/6", entity.Alive, ""), attached("data/6", entity.Alive, ""), stored("data/7", entity.Alive, "f"),
		status("st#data/7", entity.StatusError, "no disk"), released, status("st#data/5", entity.StatusPending, "x"))
	all, err := modelstatus.Storage(m.Ctx, m.DB)
	m.OK(err)
	var got []string
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s %s %v", s.ID, said(s.Status), s.Status.Since.Equal(since)))
	}
	modeltest.Same(t, "storage", got, []string{"data/1 attaching false", "data/2 attached false", "data/3 detaching false", "data/4 destroying true", "data/5 detached true",
		"data/6 pending true", "data/7 error: no disk true", "data/8 destroying true", "data/10 pending true"})
	modeltest.Same(t, "data/2", all[1], entity.StorageStatus{ID: "data/2", Pool: "fast", Size: 10, Filesystem: "f", Unit: "mysql/0", Machine: "0", Location: "/srv", Status: all[1].Status})
	if s := all[7]; !s.Persistent || !s.Release || s.Size != 12 || s.Unit != "" {
		t.Errorf("data/8 is %+v", s)
	}
	for _, i := range []int{0, 3} {
		if all[i].Release || all[i].Persistent {
			t.Errorf("%s is %+v", all[i].ID, all[i])
		}
	}
	some, err := modelstatus.Storage(m.Ctx, m.DB, "data/7", "data/2")
	m.OK(err)
	modeltest.Same(t, "two of them", some, []entity.StorageStatus{all[1], all[6]})
	_, err = modelstatus.Storage(m.Ctx, m.DB, "data/2", "gone/0")
	m.Refused(err, entity.NotFound, `storage "gone/0" not found`)
}

// A history has what was said, oldest first, and what is said now.
func TestHistory(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return since.Add(time.Duration(n) * time.Minute) }
	m := newModel(t)
	past := func(key string, n int, word entity.StatusWord, message, cause string) {
		m.Put(modeldb.PastStatus{ID: bson.NewObjectId(), Key: key, Status: word, Message: message, Cause: cause, Since: at(n)})
	}
	past("u#mysql/0", 1, entity.StatusIdle, "", "")
	past("u#mysql/0#workload", 2, entity.StatusError, "hook failed", "exit status 1")
	past("u#mysql/1", 2, entity.StatusIdle, "", "")
	past("u#mysql/0#workload", 3, entity.StatusActive, "ready", "")
	past("m#0", 3, entity.StatusStarted, "", "")
	past("u#gone/0", 4, entity.StatusIdle, "x", "")
	m.Put(modeldb.Status{ID: "u#mysql/0#workload", Status: entity.StatusActive, Message: "ready", Since: at(5)},
		modeldb.Status{ID: "u#mysql/0", Status: entity.StatusExecuting, Message: "hook", Since: at(4)})
	history := func(kind entity.HistoryKind, id string, f entity.HistoryFilter) string {
		t.Helper()
		all, err := modelstatus.History(m.Ctx, m.DB, kind, id, f)
		m.OK(err)
		var texts []string
		for _, p := range all {
			texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", p.Kind, said(p.Status), p.Since.Sub(since)/time.Minute, p.Status.Cause())))
		}
		return strings.Join(texts, ", ")
	}
	for _, c := range []struct {
		kind   entity.HistoryKind
		id     string
		filter entity.HistoryFilter
		want   string
	}{
		{entity.HistoryUnit, "mysql/0", entity.HistoryFilter{}, "A idle 1, W error: hook failed 2 exit status 1, W active: ready 3, A executing: hook 4"},
		{entity.HistoryUnitAgent, "mysql/0", entity.HistoryFilter{}, "A idle 1, A executing: hook 4"},
		{entity.HistoryWorkload, "mysql/0", entity.HistoryFilter{}, "W error: hook failed 2 exit status 1, W active: ready 3"},
		{entity.HistoryUnit, "mysql/0", entity.HistoryFilter{Size: 2}, "W active: ready 3, A executing: hook 4"},
		{entity.HistoryUnit, "mysql/0", entity.HistoryFilter{From: at(3)}, "W active: ready 3, A executing: hook 4"},
		{entity.HistoryUnit, "mysql/0", entity.HistoryFilter{Exclude: []string{"hook", "hook failed"}}, "A idle 1, W active: ready 3"},
		{entity.HistoryUnit, "gone/0", entity.HistoryFilter{}, "A idle: x 4"},
		{entity.HistoryUnit, "gone/0", entity.HistoryFilter{From: at(9)}, ""},
	} {
		want := strings.NewReplacer("A ", string(entity.HistoryUnitAgent)+" ", "W ", string(entity.HistoryWorkload)+" ").Replace(c.want)
		modeltest.Same(t, fmt.Sprint(c.kind, " ", c.id, " ", c.filter), history(c.kind, c.id, c.filter), want)
	}
	if got := history(entity.HistoryMachine, "0", entity.HistoryFilter{}); !strings.Contains(got, "started 3") || !strings.Contains(got, "stopped: by hand") {
		t.Errorf("of a machine: %s", got)
	}
	if got := history(entity.HistoryMachineAgent, "0", entity.HistoryFilter{}); !strings.Contains(got, "started 3") || strings.Contains(got, "stopped") {
		t.Errorf("of a machine's agent: %s", got)
	}
	m.Put(status("rs#far", entity.StatusActive, "there"))
	if got := history(entity.HistoryService, "mysql", entity.HistoryFilter{}) + history(entity.HistoryRemote, "far", entity.HistoryFilter{}); !strings.Contains(got, "unknown 0") ||
		!strings.Contains(got, "active: there 0") {
		t.Errorf("of services: %s", got)
	}
	for _, c := range []struct {
		kind entity.HistoryKind
		id   string
		is   entity.Kind
		want string
	}{
		{entity.HistoryUnit, "none/0", entity.NotFound, `unit "none/0" not found`},
		{entity.HistoryMachine, "77", entity.NotFound, "machine 77 not found"},
		{entity.HistoryMachineAgent, "77", entity.NotFound, "machine 77 not found"},
		{entity.HistoryService, "none", entity.NotFound, `service "none" not found`},
		{entity.HistoryRemote, "none", entity.NotFound, `remote service "none" not found`},
		{entity.HistoryUnit, "mysql", entity.Invalid, `"mysql" is not a valid unit name`},
		{entity.HistoryMachine, "x", entity.Invalid, `"x" is not a valid machine id`},
		{entity.HistoryService, "a/b", entity.Invalid, `"a/b" is not a valid service name`},
		{"model", "m", entity.NotSupported, "juju show-model"},
		{"moon", "m", entity.Invalid, `unknown status history kind "moon", expected one of`},
	} {
		_, err := modelstatus.History(m.Ctx, m.DB, c.kind, c.id, entity.HistoryFilter{})
		m.Refused(err, c.is, c.want)
	}
}

// What is followed reads again what has changed, and names what may look different.
func TestLive(t *testing.T) {
	t.Parallel()
	m := newModel(t, modeldb.Attachment{ID: "unit-mysql-0#data/0", Unit: "mysql/0", Storage: "data/0"}, modeldb.Offer{Name: "shop", Service: "web"},
		modeldb.Leader{Service: "mysql", Holder: "mysql/0"}, modeldb.Remote{Name: "far"}, modeldb.Task{ID: "t", Number: 1, Params: "{}", Status: entity.TaskPending})
	m.PutCharm("local:web-1", "{name: web, summary: s, description: d}", "config.yaml", "options: {title: {type: string, default: x}}")
	m.Set(modeldb.CharmsC, "local:web-1", bson.DocElem{Name: "version", Value: "v1-5"})
	m.PutCharm("local:mysql-1", "{name: mysql, summary: s, description: d}")
	hub := watcher.NewHub(nil)
	defer hub.Close()
	live, keys, err := modelstatus.Follow(m.Ctx, m.DB, hub)
	m.OK(err)
	defer live.Close()
	if len(keys) != 1+5+5+3+4+2+1+1+1 {
		t.Errorf("there are %d parts: %v", len(keys), keys)
	}
	shown := func(keys []entity.PartKey) string {
		var texts []string
		for _, k := range keys {
			if k.Kind == entity.PartModel {
				k.ID = ""
			}
			texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %s", kindNames[k.Kind], k.ID)))
		}
		return strings.Join(texts, ", ")
	}
	update := func(changes string) string {
		t.Helper()
		for text := range strings.SplitSeq(changes, ", ") {
			collection, id, _ := strings.Cut(text, " ")
			hub.Publish(watcher.Change{Collection: collection, ID: id})
		}
		keys, err := live.Update(m.Ctx)
		m.OK(err)
		return shown(keys)
	}
	update("model model")
	part := func(kind entity.PartKind, id string) entity.Part {
		t.Helper()
		p, _ := live.Part(m.Ctx, entity.PartKey{Kind: kind, ID: id})
		return p
	}
	for _, c := range []struct {
		change any
		of     string
		want   string
	}{
		{modeldb.Machine{ID: "0", InstanceID: "i-0", Addresses: []string{"10.9.0.1"}}, "machines 0", "model, machine 0, unit log/0, unit mysql/0, service log, service mysql"},
		{modeldb.Service{Name: "web", CharmURL: "local:web-1", MinUnits: 3}, "services web", "model, unit web/0, service web, offer shop"},
		{status("m#0", entity.StatusError, "x"), "statuses m#0", "machine 0, unit log/0, unit mysql/0, service log, service mysql"},
		{status("s#web", entity.StatusActive, "x"), "statuses s#web", "service web"},
		{status("rs#far", entity.StatusActive, "x"), "statuses rs#far", "remote far"},
		{status("st#data/0", entity.StatusError, "x"), "statuses st#data/0", "unit mysql/0, service mysql"},
		{status("u#web/0#workload", entity.StatusActive, "x"), "statuses u#web/0#workload", "unit web/0, service web"},
		{modeldb.Ports{ID: "0", Ports: []modeldb.OpenPort{{Unit: "mysql/0", From: 9, To: 9, Protocol: "tcp"}}}, "ports 0", "unit log/0, unit mysql/0, service log, service mysql"},
		{modeldb.Constraints{Key: "m#1", Value: "mem=1G"}, "constraints m#1, constraints s#web, constraints u#web/0", "machine 1, service web"},
		{modeldb.Charm{URL: "local:new-1"}, "charms local:new-1", "charm local:new-1"},
		{modeldb.Leader{Service: "mysql", Holder: "mysql/1"}, "leaders mysql", "unit mysql/0, unit mysql/1, service mysql"},
		{modeldb.Attachment{ID: "unit-web-0#data/1", Unit: "web/0", Storage: "data/1"}, "attachments unit-web-0#data/1", "unit web/0, service web"},
		{modeldb.Settings{ID: "s#web", Settings: map[string]any{"title": "y"}}, "settings s#web, settings s#web#leader, settings r#1#web", "service web"},
		{modeldb.Annotations{Key: "s#web", Annotations: map[string]string{"a．b": "c"}}, "annotations s#web", "annotations s#web"},
		{modeldb.Offer{Name: "shop", Service: "mysql"}, "offers shop", "offer shop"},
		{modeldb.Remote{Name: "far", URL: "u"}, "remotes far", "remote far"},
		{modeldb.Task{ID: "t", Number: 1, Params: "{}", Status: entity.TaskRunning}, "tasks t", "task t"},
		{modeldb.Unit{Name: "mysql/0", Service: "mysql", Machine: "1", Living: dying}, "units mysql/0", "unit log/0, unit mysql/0, service log, service mysql"},
		{modeldb.Unit{Name: "web/7", Service: "web"}, "units web/7", "unit web/7, service web"},
		{func() modeldb.Relation { r := site; r.Living = dying; r.Offer = "shop"; return r }(), "relations " + site.Key, "relation 2, offer shop"},
		{modeldb.Model{ID: modeldb.ModelC, Name: "other"}, "model model", "model"},
	} {
		m.Put(c.change)
		got := strings.Split(update(c.of), ", ")
		want := strings.Split(c.want, ", ")
		for _, w := range want {
			if !strings.Contains(strings.Join(got, ", ")+",", w+",") {
				t.Errorf("%s: %q does not name %s", c.of, got, w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %q, want %q", c.of, got, want)
		}
	}
	if u := part(entity.PartUnit, "mysql/0").Unit; u.Machine != "1" || u.Life != entity.Dying || u.Charm != "local:mysql-1" || u.Leader || u.Service != "mysql" {
		t.Errorf("mysql/0 is %+v", u)
	}
	if u := part(entity.PartUnit, "log/0").Unit; u.Principal != "mysql/0" || u.Machine != "1" {
		t.Errorf("log/0 is %+v", u)
	}
	if s := part(entity.PartService, "web").Service; said(s.Status) != "active: x" || s.MinUnits != 3 || s.Config["title"] != "y" {
		t.Errorf("web is %+v", s)
	}
	if a := part(entity.PartAnnotations, "s#web").Annotations; a.Tag != entity.ServiceTag("web") || a.Annotations["a.b"] != "c" {
		t.Errorf("the annotations are %+v", a)
	}
	if r := part(entity.PartRelation, "2").Relation; said(r.Status) != "broken" {
		t.Errorf("the relation is %+v", r)
	}
	if k := part(entity.PartTask, "t").Task; k.Status != entity.TaskRunning || k.Params != nil {
		t.Errorf("the task is %+v", k)
	}
	if c := part(entity.PartCharm, "local:web-1").Charm; c.URL != "local:web-1" || c.Version != "v1-5" || c.Defaults["title"] != "x" {
		t.Errorf("the charm is %+v", c)
	}
	if p := part(entity.PartModel, modeltest.UUID).Model; p.Name != "other" {
		t.Errorf("the model is %+v", p)
	}
	if o := part(entity.PartOffer, "shop").Offer; o.Service != "mysql" || o.Charm != "mysql" || o.Total != 1 || o.Active != 0 {
		t.Errorf("the offer is %+v", o)
	}
	if r := part(entity.PartRemote, "far").Remote; r.URL != "u" || said(r.Status) != "active: x" {
		t.Errorf("the remote service is %+v", r)
	}
	if d := part(entity.PartMachine, "0").Machine; said(d.Status) != "error: x" || fmt.Sprint(d.Addresses) != "[10.9.0.1]" {
		t.Errorf("machine 0 is %+v", d)
	}
	// Agents that should run other binaries have a pending upgrade.
	m.Put(modeldb.Model{ID: modeldb.ModelC, Name: "other", Binaries: &modeldb.Binaries{Version: "2"}})
	if got := update("model model"); !strings.Contains(got, "machine 10") || !strings.Contains(got, "unit web/7") {
		t.Errorf("other binaries: %s", got)
	}
	// What is gone is named once more, and is not there.
	m.Remove(modeldb.UnitsC, "web/7")
	if got := update("units web/7"); !strings.Contains(got, "unit web/7") {
		t.Errorf("a unit that is gone: %s", got)
	}
	if _, there := live.Part(m.Ctx, entity.PartKey{Kind: entity.PartUnit, ID: "web/7"}); there {
		t.Error("web/7 is there")
	}
	// When changes may have been missed, everything is read anew.
	m.Put(modeldb.Machine{ID: "99"})
	hub.Reset()
	keys, err = live.Update(m.Ctx)
	m.OK(err)
	if got := shown(keys); !strings.Contains(got, "machine 99") || !strings.Contains(got, "task t") {
		t.Errorf("after a reset: %s", got)
	}
	tasks, err := live.Tasks(m.Ctx, []string{"t", "gone"})
	if m.OK(err); len(tasks) != 1 || string(tasks["t"].Params) != "{}" {
		t.Errorf("the tasks are %+v", tasks)
	}
}

var kindNames = map[entity.PartKind]string{entity.PartModel: "model", entity.PartCharm: "charm", entity.PartMachine: "machine", entity.PartService: "service",
	entity.PartRemote: "remote", entity.PartOffer: "offer", entity.PartUnit: "unit", entity.PartRelation: "relation", entity.PartAnnotations: "annotations",
	entity.PartTask: "task"}
