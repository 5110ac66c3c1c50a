package facades_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/state/constraints"
	"juju/state/entity"
)

// EnableHA adds machines for as many controllers as are wanted, and demotes those that are lost.
func TestEnableHA(t *testing.T) {
	f := &facadestest.Controllers{All: []entity.ControllerNode{{Machine: "0", Up: true}}}
	w := newWorld(t, func(c *facades.Config) { c.Controllers = f })
	ctx := t.Context()
	admin := w.root().client()
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
	f.All = append(f.All, entity.ControllerNode{Machine: "1"}, entity.ControllerNode{Machine: "2", Up: true})
	f.Upgraded = &entity.ControllerUpgrade{Turn: "1"}
	enable(0, "0 1 2", "", "") // one that is being upgraded is not lost
	f.Upgraded.Turn = "2"
	enable(0, "0 2", "3", "1")
	enable(5, "0 2 3", "4 5", "")
	for id, manages := range map[string]bool{"0": true, "1": false, "3": true} {
		m, err := w.backend.ControllerModel.Machine(ctx, id)
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
	if _, err := alone.root().client().EnableHA(ctx, 3, constraints.Value{}); !errors.Is(err, entity.NotSupported) ||
		!strings.Contains(entity.Hint(err), "--mongo-url") {
		t.Errorf("an embedded store: %v (%s)", err, entity.Hint(err))
	}
}

// Several controllers are upgraded like one, and everyone who may see them sees how far that is.
func TestSeveralControllersAreUpgraded(t *testing.T) {
	w, f := upgradeWorld(t)
	others := &facadestest.Controllers{All: []entity.ControllerNode{{Machine: "0"}, {Machine: "1", SHA256: "cd"}}}
	w.backend.Controllers = others
	admin := w.root().client()
	newer := entity.Binaries{Version: "1.3.0", SHA256: strings.Repeat("ab", 32)}
	_, err := admin.UpgradeModel(t.Context(), w.backend.ControllerModel.UUID(), newer, false)
	if w.ok(err); len(f.Switched) != 1 || f.By != "admin" {
		t.Errorf("%q upgrades to %v", f.By, f.Switched)
	}
	others.Upgraded = &entity.ControllerUpgrade{To: newer, By: f.By, Turn: "1", Turns: 1}
	nodes, upgrade, err := admin.ControllerNodes(t.Context())
	if w.ok(err); !reflect.DeepEqual(nodes, others.All) || !reflect.DeepEqual(upgrade, others.Upgraded) {
		t.Errorf("it shows %+v and %+v", nodes, upgrade)
	}
}

// Agents are told where the controllers are, at first and when that changes.
func TestAgentsLearnTheAddressesOfControllers(t *testing.T) {
	f := &facadestest.Controllers{All: []entity.ControllerNode{{Addresses: []string{"10.0.0.1:17070"}}}}
	w := newWorld(t, func(c *facades.Config) { c.Controllers = f }).populate()
	for _, agent := range []entity.Tag{entity.MachineTag("0"), entity.UnitTag("mysql/0")} {
		api := client.APIAddresserFacade{Caller: w.agent(agent).client()}
		events, err := api.WatchAPIHostPorts(t.Context())
		w.ok(err)
		<-events
		f.All = append(f.All, entity.ControllerNode{Addresses: []string{"10.0.0.2:17070"}})
		f.Moved <- struct{}{}
		<-events
		got, err := api.APIAddresses(t.Context())
		w.ok(err)
		if !slices.Equal(got, f.Addresses()) {
			t.Errorf("%s learnt %v, want %v", agent, got, f.Addresses())
		}
	}
}
