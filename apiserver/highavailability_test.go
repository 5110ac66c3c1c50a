package apiserver

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/state/constraints"
	"juju/state/entity"
)

// fakeControllers are those that share a store, as far as a server is told.
type fakeControllers struct {
	nodes   []entity.ControllerNode
	upgrade *entity.ControllerUpgrade
	moved   chan struct{} // of the last Watch
}

func (f *fakeControllers) Nodes(ctx context.Context) ([]entity.ControllerNode, error) {
	return f.nodes, nil
}
func (f *fakeControllers) Alone() bool { return len(f.nodes) == 1 }
func (f *fakeControllers) Upgrade(ctx context.Context) (*entity.ControllerUpgrade, error) {
	return f.upgrade, nil
}
func (f *fakeControllers) Watch(context.Context) (<-chan struct{}, error) {
	f.moved = make(chan struct{}, 1)
	f.moved <- struct{}{}
	return f.moved, nil
}

func (f *fakeControllers) Addresses() (all []string) {
	for _, n := range f.nodes {
		all = append(all, n.Addresses...)
	}
	return all
}

// EnableHA adds machines for as many controllers as are wanted, and demotes those that are lost.
func TestEnableHA(t *testing.T) {
	f := &fakeControllers{nodes: []entity.ControllerNode{{Machine: "0", Up: true}}}
	w := newWorld(t, func(c *Config) { c.Controllers = f })
	ctx := t.Context()
	admin := w.dial(w.adminInfo(""))
	enable := func(n int, maintained, added, demoted string) {
		t.Helper()
		got, err := admin.EnableHA(ctx, n, constraints.Value{})
		w.ok(err)
		for what, lists := range map[string][2]string{
			"maintained": {strings.Join(got.Maintained, " "), maintained}, "added": {strings.Join(got.Added, " "), added},
			"demoted": {strings.Join(got.Demoted, " "), demoted},
		} {
			if lists[0] != lists[1] {
				t.Errorf("%d controllers: %s %q, want %q", n, what, lists[0], lists[1])
			}
		}
	}
	enable(0, "0", "1 2", "")
	enable(3, "0 1 2", "", "") // those that have not joined yet are expected to
	f.nodes = append(f.nodes, entity.ControllerNode{Machine: "1"}, entity.ControllerNode{Machine: "2", Up: true})
	f.upgrade = &entity.ControllerUpgrade{Turn: "1"}
	enable(0, "0 1 2", "", "") // one that is being upgraded is not lost
	f.upgrade.Turn = "2"
	enable(0, "0 2", "3", "1")
	enable(5, "0 2 3", "4 5", "")
	for id, manages := range map[string]bool{"0": true, "1": false, "3": true} {
		m, err := w.server.controllerModel.Machine(ctx, id)
		w.ok(err)
		if m.IsManager() != manages {
			t.Errorf("machine %s is a manager: %v", id, m.IsManager())
		}
	}
	for n, why := range map[int]string{
		2: "number of controllers must be odd and non-negative", -1: "number of controllers must be odd and non-negative",
		3: "cannot remove controllers with enable-ha", 9: "controller count is too large (allowed 7)",
	} {
		if _, err := admin.EnableHA(ctx, n, constraints.Value{}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%d controllers: %v", n, err)
		}
	}
	nodes, _, err := admin.ControllerNodes(ctx)
	w.ok(err)
	if len(nodes) != 3 || nodes[2].Machine != "2" || !nodes[2].Up {
		t.Errorf("the controllers are %+v", nodes)
	}

	alone := newWorld(t)
	if _, err := alone.dial(alone.adminInfo("")).EnableHA(ctx, 3, constraints.Value{}); !errors.Is(err, entity.NotSupported) ||
		!strings.Contains(entity.Hint(err), "--mongo-url") {
		t.Errorf("an embedded store: %v (%s)", err, entity.Hint(err))
	}
}

// Several controllers are upgraded like one, and everyone who may see them sees how far that is.
func TestSeveralControllersAreUpgraded(t *testing.T) {
	w, f := upgradeWorld(t)
	others := &fakeControllers{nodes: []entity.ControllerNode{{Machine: "0"}, {Machine: "1", SHA256: "cd"}}}
	w.server.backend.Controllers = others
	admin := w.dial(w.adminInfo(""))
	newer := entity.Binaries{Version: "1.3.0", SHA256: strings.Repeat("ab", 32)}
	_, err := admin.UpgradeModel(t.Context(), w.server.controllerModel.UUID(), newer, false)
	if w.ok(err); len(f.switched) != 1 || f.by != "admin" {
		t.Errorf("%q upgrades to %v", f.by, f.switched)
	}
	others.upgrade = &entity.ControllerUpgrade{To: newer, By: f.by, Turn: "1", Turns: 1}
	nodes, upgrade, err := admin.ControllerNodes(t.Context())
	if w.ok(err); !reflect.DeepEqual(nodes, others.nodes) || !reflect.DeepEqual(upgrade, others.upgrade) {
		t.Errorf("it shows %+v and %+v", nodes, upgrade)
	}
}

// Agents are told where the controllers are, at first and when that changes.
func TestAgentsLearnTheAddressesOfControllers(t *testing.T) {
	f := &fakeControllers{nodes: []entity.ControllerNode{{Addresses: []string{"10.0.0.1:17070"}}}}
	w := newWorld(t, func(c *Config) { c.Controllers = f }).populate()
	for _, agent := range []entity.Tag{entity.MachineTag("0"), entity.UnitTag("mysql/0")} {
		api := client.APIAddresserFacade{Caller: w.dial(w.info(agent))}
		events, err := api.WatchAPIHostPorts(t.Context())
		w.ok(err)
		<-events
		f.nodes = append(f.nodes, entity.ControllerNode{Addresses: []string{"10.0.0.2:17070"}})
		f.moved <- struct{}{}
		<-events
		got, err := api.APIAddresses(t.Context())
		w.ok(err)
		if !slices.Equal(got, f.Addresses()) {
			t.Errorf("%s learnt %v, want %v", agent, got, f.Addresses())
		}
	}
}

// While a controller is not sure that it may, it executes no request.
func TestARequestIsNotExecutedByAnUnsteadyController(t *testing.T) {
	var steady error
	w := newWorld(t, func(c *Config) { c.Steady = func(context.Context) error { return steady } })
	admin := w.dial(w.adminInfo(""))
	_, err := admin.ModelSummaries(t.Context())
	w.ok(err)
	steady = entity.Errorf(entity.Unavailable, "it was paused")
	if _, err := admin.ModelSummaries(t.Context()); !errors.Is(err, entity.Unavailable) {
		t.Errorf("it is executed: %v", err)
	}
	steady = nil
	_, err = admin.ModelSummaries(t.Context())
	w.ok(err)
}
