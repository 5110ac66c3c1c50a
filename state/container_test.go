package state_test

import (
	"slices"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// Two subordinates that are related to each other beside one principal.
const (
	collector = `{name: collector, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}},
  provides: {feed: {interface: feed, scope: container}}}`
	shipper = `{name: shipper, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}, feed: {interface: feed, scope: container}}}`
)

func TestSubordinateLeavesAfterItsSiblingIsGone(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("collector", collector, 0)
	w.deploy("shipper", shipper, 0)
	rc, rs := w.relate("mysql", "collector"), w.relate("mysql", "shipper")
	feed := w.relate("collector:feed", "shipper:feed")
	my := w.started("mysql/0")
	w.ok(my.EnterScope(w.ctx, rc.ID()))
	c := w.started("collector/0")
	sees := func(r *state.Relation) bool {
		t.Helper()
		all, err := c.Relations(w.ctx)
		w.ok(err)
		return slices.ContainsFunc(all, func(i entity.RelationInfo) bool { return i.ID == r.ID() })
	}
	events, err := w.st.Watches().Relations(w.ctx, "collector/0")
	w.ok(err)
	// Start following the log, so that the watch below sees only new changes.
	other, err := w.st.Watches().Machines(w.ctx)
	w.ok(err)
	next(t, other)
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	next(t, other)
	next(t, events)
	if sees(feed) {
		t.Error("the relation is listed with no other unit in it")
	}
	w.ok(my.EnterScope(w.ctx, rs.ID()))
	until(t, events, func(struct{}) bool { return sees(feed) })
	w.ok(c.EnterScope(w.ctx, feed.ID()))

	// The other subordinate ends first, with its relation to the principal.
	w.ok(rs.Destroy(w.ctx, entity.Destruction{}))
	_, _, err = w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	w.end("shipper/0")
	if !sees(feed) {
		t.Fatal("the agent does not see a relation that its unit is in")
	}
	w.ok(rc.Destroy(w.ctx, entity.Destruction{}))
	w.ok(c.DestroySelf(w.ctx))
	w.refused(c.EnsureDead(w.ctx), entity.InUse, "in the scope of a relation")
	w.end("collector/0", feed.ID())
}

func TestSubordinateStaysOutOfOtherContainers(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("logging", statetest.Logging, 0)
	r := w.relate("mysql", "logging")
	other := w.relate("wordpress", "logging")
	w.ok(w.started("mysql/0").EnterScope(w.ctx, r.ID()))
	w.refused(w.started("logging/0").EnterScope(w.ctx, other.ID()), entity.CannotEnter, "")
}

func TestSubordinatesEndWithAnEmptyContainerRelation(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", `{name: logging, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}, too: {interface: mysql, scope: container}}}`, 0)
	one, two := w.relate("mysql", "logging:info"), w.relate("mysql:server", "logging:too")
	w.ok(w.started("mysql/0").EnterScope(w.ctx, one.ID()))
	w.started("logging/0")
	cleanup := func() {
		_, _, err := w.st.Cleaner().Cleanup(w.ctx)
		w.ok(err)
	}
	w.ok(one.Destroy(w.ctx, entity.Destruction{}))
	cleanup()
	if life := w.unit("logging/0").Life(); life != entity.Alive {
		t.Fatalf("subordinate is %s with a relation left, want alive", life)
	}
	w.ok(two.Destroy(w.ctx, entity.Destruction{}))
	cleanup()
	if life := w.unit("logging/0").Life(); life != entity.Dying {
		t.Errorf("subordinate is %s, want dying", life)
	}
}

// Settings made in one container are not visible in another.
func TestSettingsAreVisibleOnlyInTheirContainer(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	w.deploy("logging", statetest.Logging, 0)
	r := w.relate("mysql", "logging")
	for _, name := range []string{"mysql/0", "mysql/1"} {
		w.ok(w.started(name).EnterScope(w.ctx, r.ID()))
	}
	for _, name := range []string{"logging/0", "logging/1"} {
		w.ok(w.started(name).EnterScope(w.ctx, r.ID()))
	}
	beside := map[string]string{}
	for _, name := range []string{"logging/0", "logging/1"} {
		beside[w.unit(name).Principal()] = name
	}
	mine := w.unit("mysql/0")
	_, err := mine.RelationSettings(w.ctx, r.ID(), beside["mysql/0"])
	w.ok(err)
	_, err = mine.RelationSettings(w.ctx, r.ID(), beside["mysql/1"])
	w.refused(err, entity.Unauthorized, "permission denied")
}
