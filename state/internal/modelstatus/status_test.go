package modelstatus_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
	"juju/state/internal/modeltest"
)

var since = time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)

func status(key string, word entity.StatusWord, message string) modeldb.Status {
	return modeldb.Status{ID: key, Status: word, Message: message, Since: since}
}

var (
	dying     = modeldb.Living{Life: entity.Dying, Since: since}
	site      = modeldb.NewRelation(2, end("web", "db", "requirer"), end("mysql", "server", "provider"))
	container = modeldb.NewRelation(1, modeldb.Endpoint{Service: "log", Name: "info", Role: "requirer", Interface: "juju-info", Scope: "container"},
		modeldb.Endpoint{Service: "mysql", Name: "juju-info", Role: "provider", Interface: "juju-info", Scope: "global"})
)

func end(service, name, role string) modeldb.Endpoint {
	return modeldb.Endpoint{Service: service, Name: name, Role: role, Interface: "mysql", Scope: "global"}
}

// newModel returns a model with mysql/0 and its subordinate log/0 on machine 0, mysql/1 on machine 1, and web/0 in a container.
func newModel(t *testing.T, docs ...any) *modeltest.Model {
	t.Helper()
	return modeltest.New(t, append([]any{
		modeldb.Machine{ID: "0", Series: "jammy", InstanceID: "i-0", Addresses: []string{"10.0.0.1", "10.1.0.1"}, Hardware: "mem=1024M", Jobs: []string{modeldb.JobManageModel}},
		modeldb.Machine{ID: "1", Birth: modeldb.Birth{Born: since}}, modeldb.Machine{ID: "10", InstanceID: "manual:host", Placement: "ssh:root@host"},
		modeldb.Machine{ID: "1/lxd/0", Host: "1"}, modeldb.Machine{ID: "1/lxd/0/lxd/3", Host: "1/lxd/0"},
		modeldb.Service{Name: "mysql", CharmURL: "local:mysql-1", Series: "jammy", MinUnits: 2}, modeldb.Service{Name: "web", CharmURL: "local:web-1", Exposed: true},
		modeldb.Service{Name: "log", CharmURL: "local:log-1", Subordinate: true},
		modeldb.Unit{Name: "mysql/0", Service: "mysql", Machine: "0", Started: true}, modeldb.Unit{Name: "mysql/1", Service: "mysql", Machine: "1"},
		modeldb.Unit{Name: "log/0", Service: "log", Principal: "mysql/0", Started: true}, modeldb.Unit{Name: "web/0", Service: "web", Machine: "1/lxd/0", CharmURL: "local:web-0"},
		modeldb.Charm{URL: "local:mysql-1", Base: "local:mysql", Revision: 1}, modeldb.Charm{URL: "local:mysql-9", Base: "local:mysql", Revision: 9},
		modeldb.Charm{URL: "local:mysql-3", Base: "local:mysql", Revision: 3}, modeldb.Charm{URL: "local:web-1", Base: "local:web", Revision: 1},
		modeldb.Charm{URL: "local:web-0", Base: "local:web"},
		status("m#0", entity.StatusStarted, ""), status("m#0#instance", "stopped", "by hand"), status("u#mysql/0", entity.StatusIdle, ""),
		status("s#mysql", entity.StatusUnknown, ""), status("s#web", entity.StatusUnknown, ""), status("s#log", entity.StatusUnknown, ""), site, container}, docs...)...)
}

func read(m *modeltest.Model) *entity.ModelStatus {
	s, err := modelstatus.Read(m.Ctx, m.DB)
	m.OK(err)
	return s
}

// machine, service and unit return a part of a status.
func machine(s *entity.ModelStatus, id string) entity.MachineStatus {
	all := s.Machines
	for i := 0; i < len(all); i++ {
		if all[i].ID == id {
			return all[i]
		}
		all = append(all, all[i].Containers...)
	}
	return entity.MachineStatus{}
}

func service(s *entity.ModelStatus, name string) entity.ServiceStatus {
	for _, svc := range s.Services {
		if svc.Name == name {
			return svc
		}
	}
	return entity.ServiceStatus{}
}

func unit(s *entity.ModelStatus, name string) entity.UnitStatus {
	for _, svc := range s.Services {
		all := svc.Units
		for i := 0; i < len(all); i++ {
			if all[i].Name == name {
				return all[i]
			}
			all = append(all, all[i].Subordinates...)
		}
	}
	return entity.UnitStatus{}
}

func said(s entity.Status) string {
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", s.Status, s.Message), ": ")
}

// A status has everything that users see of machines, services, units and relations.
func TestRead(t *testing.T) {
	t.Parallel()
	m := newModel(t, modeldb.Constraints{Key: "m#0", Value: "mem=1G"}, modeldb.Leader{Service: "mysql", Holder: "mysql/1"},
		modeldb.Status{ID: "u#mysql/0#workload", Status: entity.StatusActive, Version: "8.0", Since: since},
		modeldb.Status{ID: "s#mysql", Status: entity.StatusUnknown, Version: "8", Since: since},
		modeldb.Ports{ID: "0", Ports: []modeldb.OpenPort{{Unit: "mysql/0", From: 3306, To: 3306, Protocol: "tcp"}, {Unit: "mysql/0", From: 80, To: 80, Protocol: "tcp"},
			{Unit: "log/0", From: 0, To: 0, Protocol: "tcp"}}},
		modeldb.Networks{ID: modeldb.NetworksC, Spaces: []modeldb.Space{{ID: "1", Name: "db"}}})
	m.Put(modeldb.Service{Name: "web", CharmURL: "local:web-1", Exposed: true, Bindings: []modeldb.Binding{{Endpoint: "db", Space: "1"}},
		Living: modeldb.Living{Strength: entity.Lenient}})
	s := read(m)
	modeltest.Same(t, "the model", s.Model, entity.ModelHeader{Name: "default", UUID: modeltest.UUID, Cloud: "dummy", Status: entity.Status{Status: entity.StatusAvailable}})
	if !s.At.Equal(m.Time) {
		t.Errorf("it is of %v", s.At)
	}
	var ids []string
	for _, d := range s.Machines {
		ids = append(ids, d.ID)
	}
	modeltest.Same(t, "machines", ids, []string{"0", "1", "10"})
	modeltest.Same(t, "machine 0", machine(s, "0"), entity.MachineStatus{ID: "0", Series: "jammy", Status: entity.Status{Status: entity.StatusStarted, Since: since},
		InstanceID: "i-0", InstanceStatus: entity.Status{Status: "stopped", Message: "by hand", Since: since}, Addresses: []string{"10.0.0.1", "10.1.0.1"},
		Constraints: "mem=1G", Manager: true, Hardware: "mem=1024M"})
	if one := machine(s, "1"); said(one.Status) != "pending" || !one.Status.Since.Equal(since) || said(one.InstanceStatus) != "pending" || len(one.Containers) != 1 ||
		one.Containers[0].Containers[0].ID != "1/lxd/0/lxd/3" {
		t.Errorf("machine 1 is %+v", one)
	}
	if host := machine(s, "10"); host.SSH != "root@host" || said(host.InstanceStatus) != "running" {
		t.Errorf("the host is %+v", host)
	}
	mysql := service(s, "mysql")
	modeltest.Same(t, "relations", mysql.Relations, map[string][]string{"server": {"web"}, "juju-info": {"log"}})
	if mysql.CanUpgradeTo != "local:mysql-9" || mysql.MinUnits != 2 || mysql.WorkloadVersion != "8" || mysql.Exposed || len(mysql.Units) != 2 || len(mysql.SubordinateTo) > 0 ||
		said(mysql.Status) != "waiting: waiting for machine" || mysql.Bindings != nil {
		t.Errorf("mysql is %+v", mysql)
	}
	web := service(s, "web")
	modeltest.Same(t, "bindings", web.Bindings, map[string]string{"": "alpha", "db": "db"})
	if web.CanUpgradeTo != "" || !web.Exposed || web.Endpoints.String() != entity.Everywhere().String() {
		t.Errorf("web is %+v", web)
	}
	log := service(s, "log")
	if len(log.Units) != 0 || fmt.Sprint(log.SubordinateTo) != "[mysql]" || !log.Subordinate {
		t.Errorf("log is %+v", log)
	}
	first := unit(s, "mysql/0")
	if first.PublicAddress != "10.0.0.1" || first.Machine != "0" || first.Leader || first.WorkloadVersion != "8.0" || said(first.Workload) != "active" ||
		said(first.Agent) != "idle" || fmt.Sprint(first.OpenedPorts) != "[80/tcp 3306/tcp]" || first.CharmURL != "" || len(first.Subordinates) != 1 {
		t.Errorf("mysql/0 is %+v", first)
	}
	if sub := unit(s, "log/0"); sub.Machine != "0" || said(sub.Agent) != "allocating: (damaged: 1 invalid open ports: run juju check)" || len(sub.OpenedPorts) > 0 {
		t.Errorf("log/0 is %+v", sub)
	}
	if !unit(s, "mysql/1").Leader {
		t.Error("mysql/1 does not lead")
	}
	if u := unit(s, "web/0"); u.CharmURL != "local:web-0" || u.Strength != entity.Lenient || u.Turned {
		t.Errorf("web/0 is %+v", u)
	}
	modeltest.Same(t, "a relation", s.Relations[0], entity.RelationStatus{ID: 1, Key: container.Key, Interface: "juju-info", Scope: "container",
		Status: entity.Status{Status: "joined"}, Endpoints: []entity.EndpointStatus{{Service: "log", Name: "info", Role: "requirer", Subordinate: true},
			{Service: "mysql", Name: "juju-info", Role: "provider"}}})
}

// What is going, upgraded or suspended is shown so.
func TestReadOfWhatChanges(t *testing.T) {
	t.Parallel()
	m := newModel(t, modeldb.Model{ID: modeldb.ModelC, Name: "controller", Living: dying})
	m.Put(modeldb.Service{Name: "web", CharmURL: "local:web-1", Rollout: &modeldb.Rollout{ID: "r1", Since: since, Stopped: "why"}},
		modeldb.Unit{Name: "web/0", Service: "web", CharmURL: "local:web-1", Turn: &modeldb.Turn{Rollout: "r1"}},
		modeldb.Machine{ID: "1", Upgrade: &modeldb.SeriesUpgrade{To: "noble", Completing: true, Since: since, Waiting: []string{"web/0"}}})
	suspended := site
	suspended.Suspended, suspended.Message, suspended.Told = true, "no money", since
	broken := container
	broken.Living, broken.Suspended = dying, true
	m.Put(suspended, broken)
	s := read(m)
	if !s.Model.Controller || said(s.Model.Status) != "destroying: 5 machine(s), 3 service(s) are left in it" || !s.Model.Status.Since.Equal(since) {
		t.Errorf("the model is %+v", s.Model)
	}
	if web := service(s, "web"); said(web.Status) != "blocked: upgrade stopped: why" || !web.Status.Since.Equal(since) || web.Rollout == nil || !unit(s, "web/0").Turned {
		t.Errorf("web is %+v", web)
	}
	modeltest.Same(t, "the upgrade", machine(s, "1").Upgrade, &entity.SeriesUpgrade{To: "noble", Completing: true, Since: since, Waiting: []string{"web/0"}})
	if r := s.Relations[1]; said(r.Status) != "suspended: no money" || !r.Status.Since.Equal(since) {
		t.Errorf("a suspended relation is %+v", r)
	}
	if r := s.Relations[0]; said(r.Status) != "broken" || r.Life != entity.Dying {
		t.Errorf("a dying relation is %+v", r)
	}
	m.Put(status("u#web/0#workload", entity.StatusError, "broken"))
	if got := said(service(read(m), "web").Status); got != "error: upgrade stopped: why" {
		t.Errorf("web is %s", got)
	}
}

// Until its first hook, a unit's status says what it waits for.
func TestWhatANewUnitWaitsFor(t *testing.T) {
	attachment := func(storage, location string, life entity.Life) modeldb.Attachment {
		return modeldb.Attachment{ID: "unit-mysql-1#" + storage, Unit: "mysql/1", Storage: storage, Location: location, Living: modeldb.Living{Life: life}}
	}
	up := modeldb.Machine{ID: "1", InstanceID: "i-1", Addresses: []string{"10.0.0.2"}}
	started := modeldb.Unit{Name: "mysql/1", Service: "mysql", Machine: "1", Started: true}
	for _, c := range []struct {
		docs        []any
		want, agent string
	}{
		{nil, "waiting: waiting for machine", "allocating"},
		{[]any{status("m#1", entity.StatusError, "no room")}, "waiting: waiting for machine 1, which cannot start", "allocating"},
		{[]any{modeldb.Machine{ID: "1", InstanceID: "i-1"}}, "waiting: waiting for machine", "allocating"},
		{[]any{modeldb.Machine{ID: "1", InstanceID: "i-1"}, status("m#1", entity.StatusError, "x")}, "waiting: waiting for the address of machine 1", "allocating"},
		{[]any{up, status("m#1", entity.StatusStarted, "")}, "waiting: installing agent", "allocating"},
		{[]any{up, status("m#1", entity.StatusStarted, ""), started}, "waiting: agent initializing", "allocating"},
		{[]any{up, status("m#1", entity.StatusStarted, ""), started, attachment("data/0", "", entity.Alive)}, "waiting: waiting for storage data/0", "allocating"},
		{[]any{up, status("m#1", entity.StatusStarted, ""), started, attachment("data/0", "/srv", entity.Alive), attachment("data/1", "", entity.Dying)},
			"waiting: agent initializing", "allocating"},
		{[]any{up, status("m#1", entity.StatusStarted, ""), started, attachment("data/0", "", entity.Alive), attachment("data/1", "", entity.Alive),
			status("st#data/1", entity.StatusError, "no disk")}, "waiting: waiting for storage data/1", "allocating: storage data/1: no disk"},
		{[]any{status("u#mysql/1#workload", entity.StatusWaiting, "for godot")}, "waiting: for godot", "allocating"},
	} {
		m := newModel(t, c.docs...)
		s := read(m)
		if u := unit(s, "mysql/1"); said(u.Workload) != c.want || said(u.Agent) != c.agent {
			t.Errorf("%s, %s; want %s, %s", said(u.Workload), said(u.Agent), c.want, c.agent)
		}
	}
}

// A service shows what its leader has set, or else the worst of its units' statuses; of equally bad ones, the leader's.
func TestOfService(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ set, workloads, leader, want string }{
		{"active", "error", "", "active: "},
		{"unknown", "active blocked waiting blocked", "", "blocked: 1"},
		{"unknown", "active blocked waiting blocked", "3", "blocked: 3"},
		{"unknown", "active blocked waiting", "0", "blocked: 1"},
		{"unknown", "", "0", "unknown: "},
	} {
		words := strings.Fields(c.workloads)
		var units []string
		for i := range words {
			units = append(units, strconv.Itoa(i))
		}
		got := modelstatus.OfService(entity.Status{Status: entity.StatusWord(c.set), Since: since}, c.leader, units, func(unit string) entity.Status {
			i, _ := strconv.Atoi(unit)
			return entity.Status{Status: entity.StatusWord(words[i]), Message: unit, Since: since}
		})
		if shown := string(got.Status) + ": " + got.Message; shown != c.want || !got.Since.Equal(since) {
			t.Errorf("%v: it is %s since %v", c, shown, got.Since)
		}
	}
}

// Offers count the relations that use them, and remote services have the relations with them.
func TestReadOfOtherModels(t *testing.T) {
	t.Parallel()
	offered := func(id int, life entity.Life, suspended bool) modeldb.Relation {
		r := modeldb.NewRelation(id, modeldb.Endpoint{Service: fmt.Sprint("far", id), Name: "db", Role: "requirer", Remote: true}, end("mysql", "server", "provider"))
		r.Offer, r.Life, r.Suspended = "shop", life, suspended
		return r
	}
	far := modeldb.Endpoint{Service: "db", Name: "server", Role: "provider", Interface: "mysql", Remote: true}
	m := newModel(t, offered(5, entity.Alive, false), offered(6, entity.Dying, false), offered(7, entity.Alive, true),
		modeldb.Offer{Name: "shop", Service: "mysql", Endpoints: []string{"server"}}, modeldb.Offer{Name: "gone", Service: "gone", Living: dying},
		modeldb.Remote{Name: "db", URL: "bob/shop.db", Endpoints: []modeldb.Endpoint{far}}, status("rs#db", entity.StatusBlocked, "far away"),
		modeldb.NewRelation(8, end("web", "db", "requirer"), far), modeldb.NewRelation(9, end("blog", "db", "requirer"), far))
	m.PutCharm("local:mysql-1", "{name: mysql, summary: s, description: d, provides: {server: {interface: mysql}, admin: {interface: root}}}")
	s := read(m)
	modeltest.Same(t, "offers", s.Offers, []entity.OfferStatus{{Name: "gone", Service: "gone", Life: entity.Dying}, {Name: "shop", Service: "mysql", CharmURL: "local:mysql-1",
		Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}}, Total: 3, Active: 1}})
	modeltest.Same(t, "remote services", s.Remotes, []entity.RemoteStatus{{Name: "db", URL: "bob/shop.db", Status: entity.Status{Status: entity.StatusBlocked, Message: "far away", Since: since},
		Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}}, Relations: map[string][]string{"server": {"blog", "web"}}}})
}

// A charm that can't be read hides nothing but the endpoints that are offered of it, and the service's status names it.
func TestReadOfADamagedCharm(t *testing.T) {
	t.Parallel()
	m := newModel(t, modeldb.Offer{Name: "shop", Service: "mysql", Endpoints: []string{"server"}}, modeldb.Offer{Name: "blog", Service: "web", Endpoints: []string{"site"}})
	m.PutCharm("local:web-1", "{name: web, summary: s, description: d, provides: {site: {interface: http}}}")
	m.PutCharm("local:mysql-1", "{name: mysql, summary: s}")
	s := read(m)
	modeltest.Same(t, "offers", s.Offers, []entity.OfferStatus{{Name: "blog", Service: "web", CharmURL: "local:web-1",
		Endpoints: []entity.RemoteEndpoint{{Name: "site", Role: "provider", Interface: "http"}}}, {Name: "shop", Service: "mysql", CharmURL: "local:mysql-1"}})
	for name, want := range map[string]bool{"mysql": true, "web": false} {
		if got := said(service(s, name).Status); strings.Contains(got, `(damaged: cannot read charm "local:mysql-1": `) != want {
			t.Errorf("the status of %s is %q", name, got)
		}
	}
	modeltest.Same(t, "services", len(s.Services), 3)
	for file, text := range map[string]string{"config.yaml": "options: 1", "actions.yaml": "backup: 1"} {
		m := newModel(t, modeldb.Offer{Name: "shop", Service: "mysql", Endpoints: []string{"server"}})
		m.PutCharm("local:mysql-1", "{name: mysql, summary: s, description: d, provides: {server: {interface: mysql}}}", file, text)
		if got := said(service(read(m), "mysql").Status); !strings.Contains(got, file) {
			t.Errorf("the status with a damaged %s is %q", file, got)
		}
	}
}

// A status is cut down to what patterns match: with the principals, subordinates, machines and relations that belong to it.
func TestMatch(t *testing.T) {
	t.Parallel()
	m := newModel(t, status("u#mysql/1#workload", entity.StatusBlocked, ""), modeldb.Leader{Service: "mysql", Holder: "mysql/1"},
		modeldb.Ports{ID: "0", Ports: []modeldb.OpenPort{{Unit: "mysql/0", From: 80, To: 81, Protocol: "tcp"}, {Unit: "mysql/0", From: -1, To: -1, Protocol: "icmp"}}},
		modeldb.Offer{Name: "shop", Service: "mysql"}, modeldb.Remote{Name: "far"})
	m.PutCharm("local:mysql-1", "{name: mysql, summary: s, description: d}")
	sub := entity.UnitStatus{Name: "mysql/0", Subordinates: []entity.UnitStatus{{Name: "log/0"}, {Name: "stats/0"}}}
	two := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "mysql", Units: []entity.UnitStatus{sub}}}}
	m.OK(modelstatus.Match(two, []string{"log"}))
	if left := two.Services[0].Units[0].Subordinates; len(left) != 1 || left[0].Name != "log/0" {
		t.Errorf("of two subordinates, %v match log", left)
	}
	for _, c := range []struct {
		patterns string
		want     string // services with their units, machines, relations, offers and remote services
		not      string // what matches nothing
	}{
		{"", "log mysql(mysql/0(log/0) mysql/1) web(web/0) / 0 1 10 / 1 2 / shop / far", ""},
		{"mysql", "log mysql(mysql/0(log/0) mysql/1) / 0 1 / 1 2 / shop / ", ""},
		{"mysql/1", "mysql(mysql/1) / 1 / 1 2 / shop / ", ""},
		{"mysql/leader", "mysql(mysql/1) / 1 / 1 2 / shop / ", ""},
		{"log", "log mysql(mysql/0(log/0)) / 0 / 1 2 / shop / ", ""},
		{"log/0", "log mysql(mysql/0(log/0)) / 0 / 1 2 / shop / ", ""},
		{"w*", "web(web/0) / 1 / 2 /  / ", ""},
		{"*/0", "log mysql(mysql/0(log/0)) web(web/0) / 0 1 / 1 2 / shop / ", ""},
		{"exposed", "web(web/0) / 1 / 2 /  / ", ""},
		{"NOT EXPOSED", "log mysql(mysql/0(log/0) mysql/1) / 0 1 / 1 2 / shop / ", ""},
		{"blocked", "mysql(mysql/1) / 1 / 1 2 / shop / ", ""},
		{"idle", "log mysql(mysql/0(log/0)) / 0 / 1 2 / shop / ", ""},
		{"80-81/tcp", "log mysql(mysql/0(log/0)) / 0 / 1 2 / shop / ", ""},
		{"icmp", "log mysql(mysql/0(log/0)) / 0 / 1 2 / shop / ", ""},
		{"10.0.0.1", "log mysql(mysql/0(log/0)) / 0 / 1 2 / shop / ", ""},
		{"10.1.0.1", " / 0 /  /  / ", ""},
		{"10", " / 10 /  /  / ", ""},
		{"1/lxd/0", "web(web/0) / 1 / 2 /  / ", ""},
		{"started", " / 0 /  /  / ", ""},
		{"shop", " /  /  / shop / ", ""},
		{"fa?", "", "invalid characters"},
		{"far", " /  /  /  / far", ""},
		{"moon web mysql/9 web/leader", "web(web/0) / 1 / 2 /  / ", "moon mysql/9 web/leader"},
		{"a/b/c", "", `pattern "a/b/c" contains too many '/' characters`},
		{"b_d", "", `pattern "b_d" contains invalid characters`},
	} {
		s := read(m)
		err := modelstatus.Match(s, strings.Fields(c.patterns))
		if c.want == "" {
			m.Refused(err, entity.Invalid, c.not)
			continue
		}
		m.OK(err)
		var parts [5][]string
		for _, svc := range s.Services {
			var units []string
			for _, u := range svc.Units {
				text := u.Name
				for _, sub := range u.Subordinates {
					text += "(" + sub.Name + ")"
				}
				units = append(units, text)
			}
			text := svc.Name
			if len(units) > 0 {
				text += "(" + strings.Join(units, " ") + ")"
			}
			parts[0] = append(parts[0], text)
		}
		for _, d := range s.Machines {
			parts[1] = append(parts[1], d.ID)
		}
		for _, r := range s.Relations {
			parts[2] = append(parts[2], fmt.Sprint(r.ID))
		}
		for _, o := range s.Offers {
			parts[3] = append(parts[3], o.Name)
		}
		for _, r := range s.Remotes {
			parts[4] = append(parts[4], r.Name)
		}
		var texts []string
		for _, p := range parts {
			texts = append(texts, strings.Join(p, " "))
		}
		if got := strings.Join(texts, " / "); got != c.want || strings.Join(s.Unmatched, " ") != c.not {
			t.Errorf("%q shows %s, and %q match nothing; want %s and %q", c.patterns, got, s.Unmatched, c.want, c.not)
		}
	}
}
