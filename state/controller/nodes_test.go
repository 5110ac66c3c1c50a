package controller_test

import (
	"reflect"
	"testing"
	"time"

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
	one.Addresses = []string{"10.0.0.2:17070"}
	w.ok(w.ctrl.SetNode(w.ctx, one))
	<-events
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
	w.ok(w.ctrl.SetPresence(t.Context(), "1", w.st.UUID(), []entity.AgentPresence{{Agent: entity.UnitTag("web/0"), Connected: true}}))
	ids := []string{"1#" + w.st.UUID()}
	presences, err := w.ctrl.Presences(t.Context(), ids)
	w.ok(err)
	if len(presences) != 1 || presences[0].Node != "1" || !presences[0].Agents[0].Connected {
		t.Errorf("the presence of node 1 is %+v", presences)
	}
	nodes, err := w.ctrl.Nodes(t.Context())
	w.ok(err)
	if !reflect.DeepEqual(nodes, []controller.Node{one}) {
		t.Errorf("the nodes are %+v, want %+v", nodes, one)
	}
	w.ok(w.ctrl.RemoveNode(w.ctx, "1"))
	<-events
	nodes, err = w.ctrl.Nodes(t.Context())
	w.ok(err)
	presences, err2 := w.ctrl.Presences(t.Context(), ids)
	w.ok(err2)
	beats, err := w.ctrl.Beat(w.ctx, controller.Beat{ID: "0"})
	w.ok(err)
	if len(nodes)+len(presences) > 0 || len(beats) != 1 {
		t.Errorf("left of node 1: %+v %+v %+v", nodes, presences, beats)
	}
}
