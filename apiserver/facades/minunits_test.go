package facades_test

import (
	"slices"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/state/entity"
)

func TestMinUnitsOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	admin := w.admin().client()
	manager := client.ApplicationScalerFacade{Caller: w.manager().client()}
	ctx := t.Context()
	events, err := manager.WatchMinUnits(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if names := facadestest.Receive(t, events); len(names) > 0 {
		t.Errorf("the first event names %q", names)
	}
	if err := admin.SetMinUnits(ctx, "mysql", 3); err != nil {
		t.Fatal(err)
	}
	if names := facadestest.Receive(t, events); !slices.Equal(names, []string{"mysql"}) {
		t.Errorf("the event names %q", names)
	}
	for range 2 {
		if err := manager.EnsureMinUnits(ctx, entity.ServiceTag("mysql")); err != nil {
			t.Fatal(err)
		}
	}
	status, err := admin.Status(ctx, "mysql")
	if err != nil || len(status.Services) != 1 || len(status.Services[0].Units) != 3 || status.Services[0].MinUnits != 3 {
		t.Errorf("status shows %+v (%v)", status, err)
	}
	if err := manager.EnsureMinUnits(ctx, entity.UnitTag("mysql/0")); entity.KindOf(err) != entity.Unauthorized ||
		entity.Hint(err) != `The agent of machine-0 can request this only for services, not for "unit-mysql-0"` {
		t.Errorf("about a unit: %v (%s)", err, entity.Hint(err))
	}
	if err := admin.SetMinUnits(ctx, "nosuch", 3); entity.KindOf(err) != entity.NotFound {
		t.Errorf("a service that does not exist: %v", err)
	}
}
