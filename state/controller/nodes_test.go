package controller_test

import (
	"slices"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// What a node tells of itself is there until its machine is removed.
func TestNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	events, err := w.ctrl.WatchNodes(w.ctx)
	w.ok(err)
	<-events
	one := controller.Node{ID: "1", Addresses: []string{"10.0.0.1:17070"}, Version: "1.2.3", Commit: "c0ffee", SHA256: "beef",
		Forms: controller.Forms{Controller: 4, Models: 9}}
	w.ok(w.ctrl.SetNode(w.ctx, one))
	<-events
	one = controller.Node{ID: "1", Addresses: []string{"10.0.0.2:17070"}, Version: "1.2.4", Commit: "decaf", SHA256: "feed",
		Forms: controller.Forms{Controller: 5, Models: 10}}
	w.ok(w.ctrl.SetNode(w.ctx, one))
	<-events
	is := func() {
		t.Helper()
		nodes, err := w.ctrl.Nodes(t.Context())
		w.ok(err)
		w.same("the nodes", nodes, []controller.Node{one})
	}
	is()
	fails := []controller.NodeFailure{{Model: "m", WorkerFailure: entity.WorkerFailure{Worker: "provisioner", Error: "no such region",
		Since: time.Unix(1000, 0)}}}
	for n := range int64(2) {
		beats, err := w.ctrl.Beat(w.ctx, controller.Beat{ID: "1", Failures: fails})
		w.ok(err)
		if len(beats) != 1 || beats[0].Count != n+1 || len(beats[0].Failures) != 1 ||
			!beats[0].Failures[0].Since.Equal(fails[0].Since) || beats[0].Failures[0].Error != fails[0].Error {
			t.Errorf("beat %d: %+v", n+1, beats)
		}
	}
	w.before(func() { w.ok(w.ctrl.RemoveNode(w.ctx, "1")) }) // it starts again meanwhile
	one.Version = "1.2.5"
	w.ok(w.ctrl.SetNode(w.ctx, one))
	<-events
	w.ok(w.ctrl.SetPresence(t.Context(), "1", w.st.UUID(), []entity.AgentPresence{{Agent: entity.UnitTag("web/0"), Connected: true}}))
	ids := []string{"1#" + w.st.UUID()}
	presences, err := w.ctrl.Presences(t.Context(), ids)
	w.ok(err)
	if len(presences) != 1 || presences[0].Node != "1" || !presences[0].Agents[0].Connected {
		t.Errorf("the presence of node 1 is %+v", presences)
	}
	is()
	w.ok(w.ctrl.RemoveNode(w.ctx, "1"))
	<-events
	nodes, err := w.ctrl.Nodes(t.Context())
	w.ok(err)
	presences, err2 := w.ctrl.Presences(t.Context(), ids)
	w.ok(err2)
	beats, err := w.ctrl.Beat(w.ctx, controller.Beat{ID: "0"})
	w.ok(err)
	if len(nodes)+len(presences) > 0 || len(beats) != 1 {
		t.Errorf("left of node 1: %+v %+v %+v", nodes, presences, beats)
	}
}

// What the nodes know about the agents of a model goes with the node, and with the model.
func TestPresence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node(time.Unix(1000, 0))
	other := w.mustAddModel("other")
	agent := func(connected bool) []entity.AgentPresence {
		return []entity.AgentPresence{{Agent: entity.UnitTag("web/0"), Connected: connected}}
	}
	id := func(node string, st *state.State) string { return node + "#" + st.UUID() }
	all := []string{id("0", w.st), id("1", w.st), id("0", other), id("1", other)}
	for _, node := range []string{"0", "1"} {
		for _, st := range []*state.State{w.st, other} {
			w.ok(n.SetPresence(w.ctx, node, st.UUID(), agent(true)))
		}
	}
	is := func(want ...string) {
		t.Helper()
		known, err := n.Presences(w.ctx, all)
		w.ok(err)
		var got []string
		for _, p := range known {
			if got = append(got, p.ID); p.ID != p.Node+"#"+p.Model || len(p.Agents) != 1 || p.Version == 0 {
				t.Errorf("a presence is %+v", p)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		w.same("the presences", got, want)
	}
	is(all...)
	some, err := n.Presences(w.ctx, []string{id("1", other), "no such"})
	if w.ok(err); len(some) != 1 || some[0].ID != id("1", other) {
		t.Errorf("the presence asked for is %+v", some)
	}
	events, err := n.WatchPresences(w.ctx)
	w.ok(err)
	w.named(events, all...)
	n.passes(time.Second)
	w.ok(n.SetPresence(w.ctx, "1", other.UUID(), agent(false)))
	w.named(events, id("1", other))
	if some, err = n.Presences(w.ctx, []string{id("1", other)}); err != nil || len(some) != 1 || some[0].Agents[0].Connected {
		t.Errorf("the changed presence is %+v, %v", some, err)
	}
	w.ok(n.DropPresence(w.ctx, "0"))
	is(id("1", w.st), id("1", other))
	w.beginRemoval(other)
	w.checkResumed()
	is(id("1", w.st))
}
