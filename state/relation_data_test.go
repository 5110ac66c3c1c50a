package state_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// Whoever looks at a unit sees what it has set in its relations, what the units at the other end have, and who is in
// scope; of a container relation, only its own.
func TestRelationData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 2)
	w.deploy("mysql", statetest.MySQL, 2)
	r := w.relate("wordpress:db", "mysql:server")
	for _, unit := range []string{"wordpress/0", "mysql/0", "mysql/1"} {
		w.ok(w.unit(unit).EnterScope(w.ctx, r.ID()))
	}
	w.ok(w.unit("mysql/1").CommitHook(w.ctx, entity.HookChanges{Relations: map[int]map[string]string{r.ID(): {"url": "x", "a.b": "$"}}}))
	w.ok(w.unit("mysql/1").LeaveScope(w.ctx, r.ID()))
	all, err := w.unit("wordpress/0").RelationData(w.ctx)
	w.ok(err)
	if len(all) != 1 || all[0].ID != r.ID() || all[0].Endpoint != "db" || all[0].RelatedEndpoint != "server" {
		t.Fatalf("relations %+v", all)
	}
	units := all[0].Units
	if got := strings.Join(slices.Sorted(maps.Keys(units)), " "); got != "mysql/0 mysql/1 wordpress/0" {
		t.Errorf("it sees %s", got)
	}
	if one := units["mysql/1"]; one.InScope || one.Settings["url"] != "x" || one.Settings["a.b"] != "$" {
		t.Errorf("mysql/1, which has left: %+v", one)
	}
	if !units["mysql/0"].InScope || !units["wordpress/0"].InScope {
		t.Errorf("those in scope: %+v", units)
	}
}
