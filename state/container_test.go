package state_test

import (
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// Two subordinates that are related beside their principal.
const (
	collector = `{name: collector, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}},
  provides: {feed: {interface: feed, scope: container}}}`
	shipper = `{name: shipper, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}, feed: {interface: feed, scope: container}}}`
)

func TestTheLastContainerRelationTakesItsSubordinatesThoughNobodyIsInIt(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", `{name: logging, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}, too: {interface: mysql, scope: container}}}`, 0)
	one, two := w.relate("mysql", "logging:info"), w.relate("mysql:server", "logging:too")
	w.ok(w.started("mysql/0").EnterScope(w.ctx, one.ID()))
	w.started("logging/0")
	cleanup := func() {
		_, err := w.st.Cleanup(w.ctx)
		w.ok(err)
	}
	w.ok(one.Destroy(w.ctx))
	cleanup()
	if life := w.unit("logging/0").Life(); life != entity.Alive {
		t.Fatalf("subordinate is %s with a relation left, want alive", life)
	}
	w.ok(two.Destroy(w.ctx))
	cleanup()
	if life := w.unit("logging/0").Life(); life != entity.Dying {
		t.Errorf("subordinate is %s, want dying", life)
	}
}
