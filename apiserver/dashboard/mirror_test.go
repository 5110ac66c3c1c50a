package dashboard

import (
	"encoding/json"
	"strconv"
	"testing"

	"juju/apiserver/deltas"
	"juju/state/entity"
)

// partOf returns a part with the key that state gives it.
func partOf(t *testing.T, one any) (p entity.Part) {
	t.Helper()
	key := func(kind entity.PartKind, id string) { p.Key = entity.PartKey{Kind: kind, ID: id} }
	switch one := one.(type) {
	case *entity.ServicePart:
		key(entity.PartService, one.Name)
		p.Service = one
	case *entity.RemotePart:
		key(entity.PartRemote, one.Name)
		p.Remote = one
	case *entity.UnitPart:
		key(entity.PartUnit, one.Name)
		p.Unit = one
	case *entity.MachineStatus:
		key(entity.PartMachine, one.ID)
		p.Machine = one
	case *entity.RelationStatus:
		key(entity.PartRelation, strconv.Itoa(one.ID))
		p.Relation = one
	case *entity.AnnotationsPart:
		key(entity.PartAnnotations, "s#"+one.Tag.ID)
		p.Annotations = one
	case *entity.Task:
		key(entity.PartTask, one.ID)
		p.Task = one
	default:
		t.Fatalf("%T is no part", one)
	}
	return p
}

// begins has a mirror take a whole model.
func begins(t *testing.T, m *Mirror, revision string, parts ...any) {
	t.Helper()
	news := deltas.News{Whole: true, Revision: revision}
	for _, one := range parts {
		news.Changes = append(news.Changes, deltas.Change{Part: partOf(t, one)})
	}
	m.Apply(news)
}

// becomes has a mirror take parts that have changed.
func becomes(t *testing.T, m *Mirror, parts ...any) { takes(t, m, false, parts...) }

// removes has a mirror take the end of parts.
func removes(t *testing.T, m *Mirror, parts ...any) { takes(t, m, true, parts...) }

func takes(t *testing.T, m *Mirror, removed bool, parts ...any) {
	t.Helper()
	news := deltas.News{Revision: m.Revision() + "+"}
	for _, one := range parts {
		news.Changes = append(news.Changes, deltas.Change{Part: partOf(t, one), Removed: removed})
	}
	m.Apply(news)
}

func service(name string, s entity.ServiceStatus) *entity.ServicePart {
	s.Name = name
	return &entity.ServicePart{ServiceStatus: s}
}

// unit returns a unit of a service, and what it and its agent say.
func unit(name, service, machine string, workload, agent entity.Status) *entity.UnitPart {
	return &entity.UnitPart{Service: service, UnitStatus: entity.UnitStatus{Name: name, Machine: machine, Workload: workload, Agent: agent}}
}

func says(word entity.StatusWord, message string) entity.Status {
	return entity.Status{Status: word, Message: message}
}

func shop() []any {
	mail := &entity.RemotePart{RemoteStatus: entity.RemoteStatus{Name: "mail", URL: "west:admin/mail.smtp", Status: says("waiting", "")}}
	return []any{
		service("web", entity.ServiceStatus{Exposed: true, Status: says("active", "")}),
		service("db", entity.ServiceStatus{Life: entity.Dying, Status: says("maintenance", "backing up")}),
		mail,
		unit("web/0", "web", "", says("active", ""), says("idle", "")),
		unit("web/10", "web", "", says("active", ""), says("lost", "")),
		unit("db/0", "db", "", says("maintenance", ""), says("executing", "")),
		&entity.AnnotationsPart{Tag: entity.ServiceTag("db"), Annotations: map[string]string{"gui-x": "12.5", "gui-y": "-3"}},
		&entity.AnnotationsPart{Tag: entity.ServiceTag("web"), Annotations: map[string]string{"gui-x": "NaN", "gui-y": "1"}},
		webToDB(),
		&entity.RelationStatus{Key: "db:ring", Endpoints: []entity.EndpointStatus{{Service: "db", Name: "ring", Role: "peer"}}},
	}
}

func webToDB() *entity.RelationStatus {
	return &entity.RelationStatus{ID: 1, Key: "web:db db:server", Interface: "sql", Endpoints: []entity.EndpointStatus{
		{Service: "db", Name: "server", Role: "provider"}, {Service: "web", Name: "db", Role: "requirer"}}}
}

func TestTopologyShowsServicesAndTheirRelations(t *testing.T) {
	m := NewMirror()
	begins(t, m, "a-1", shop()...)
	p := m.Topology()
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if p.Revision != "a-1" || len(p.Nodes) != 3 || len(p.Edges) != 1 {
		t.Fatalf("the topology is %s", text)
	}
	db, web, mail := p.Nodes[0], p.Nodes[1], p.Nodes[2]
	if db.Health != Working || !db.Dying || db.Units != 1 || db.Message != "backing up" || db.X == nil || *db.X != 12.5 || *db.Y != -3 {
		t.Errorf("db is %+v", db)
	}
	// An agent that is lost counts although its workload was fine when it was last seen.
	if web.Health != Failing || web.Counts[Failing] != 1 || web.Counts[Healthy] != 1 || !web.Exposed || web.X != nil {
		t.Errorf("web is %+v", web)
	}
	if !mail.Remote || mail.Health != Working {
		t.Errorf("mail is %+v", mail)
	}
	if e := p.Edges[0]; e.From != "web" || e.To != "db" || e.Interface != "sql" || e.Label != "db – server" {
		t.Errorf("the relation is %+v", e)
	}
}

func TestMirrorFollowsItsModel(t *testing.T) {
	m := NewMirror()
	begins(t, m, "a-1", shop()...)
	changed := m.Changed()
	removes(t, m, unit("web/10", "web", "", entity.Status{}, entity.Status{}), webToDB())
	select {
	case <-changed:
	default:
		t.Error("who waits for a change is not told")
	}
	p := m.Topology()
	if web := p.Nodes[1]; web.Health != Healthy || web.Units != 1 || len(p.Edges) != 0 {
		t.Errorf("web is %+v with %d relations", web, len(p.Edges))
	}
	// A client that has missed too much begins again.
	begins(t, m, "b-1", service("web", entity.ServiceStatus{Status: says("unknown", "")}))
	if p := m.Topology(); len(p.Nodes) != 1 || p.Nodes[0].Health != Unknown || p.Nodes[0].Units != 0 || m.Revision() != "b-1" {
		t.Errorf("the topology is %+v", p)
	}
}
