package dashboard

import (
	"encoding/json"
	"testing"

	"juju/apiserver/deltas"
	"juju/apiserver/params"
)

// applies has a mirror take changes, as lists that AllWatcher.Next sends.
func applies(t *testing.T, m *Mirror, whole bool, revision, text string) {
	t.Helper()
	news := deltas.News{Whole: whole, Revision: revision}
	if err := json.Unmarshal([]byte(text), &news.Deltas); err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(news); err != nil {
		t.Fatal(err)
	}
}

const shop = `[
 ["application","change",{"name":"web","life":"alive","exposed":true,"status":{"current":"active"}}],
 ["application","change",{"name":"db","life":"dying","status":{"current":"maintenance","message":"backing up"}}],
 ["remoteApplication","change",{"name":"mail","life":"alive","offer-url":"west:admin/mail.smtp","status":{"current":"waiting"}}],
 ["unit","change",{"name":"web/0","application":"web","workload-status":{"current":"active"},"agent-status":{"current":"idle"}}],
 ["unit","change",{"name":"web/10","application":"web","workload-status":{"current":"active"},"agent-status":{"current":"lost"}}],
 ["unit","change",{"name":"db/0","application":"db","workload-status":{"current":"maintenance"},"agent-status":{"current":"executing"}}],
 ["annotation","change",{"tag":"application-db","annotations":{"gui-x":"12.5","gui-y":"-3"}}],
 ["annotation","change",{"tag":"application-web","annotations":{"gui-x":"NaN","gui-y":"1"}}],
 ["relation","change",{"key":"web:db db:server","id":1,"endpoints":[
   {"application-name":"db","relation":{"name":"server","role":"provider","interface":"sql"}},
   {"application-name":"web","relation":{"name":"db","role":"requirer","interface":"sql"}}]}],
 ["relation","change",{"key":"db:ring","id":0,"endpoints":[{"application-name":"db","relation":{"name":"ring","role":"peer"}}]}]]`

func TestTopologyShowsServicesAndTheirRelations(t *testing.T) {
	m := NewMirror()
	applies(t, m, true, "a-1", shop)
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
	applies(t, m, true, "a-1", shop)
	changed := m.Changed()
	applies(t, m, false, "a-2", `[["unit","remove",{"name":"web/10"}],["relation","remove",{"key":"web:db db:server","id":1}]]`)
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
	applies(t, m, true, "b-1", `[["application","change",{"name":"web","status":{"current":"unknown"}}]]`)
	if p := m.Topology(); len(p.Nodes) != 1 || p.Nodes[0].Health != Unknown || p.Nodes[0].Units != 0 || m.Revision() != "b-1" {
		t.Errorf("the topology is %+v", p)
	}
	if err := m.Apply(deltas.News{Deltas: []params.Delta{{Kind: "unit", Data: json.RawMessage(`[]`)}}}); err == nil {
		t.Error("a delta that is no object is taken")
	}
}
