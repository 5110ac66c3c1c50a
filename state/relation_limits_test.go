package state_test

import (
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// limited is a charm whose services can have two relations with MySQL.
const limited = `{name: shop, summary: s, description: d, requires: {db: {interface: mysql, limit: 2}, log: {interface: http}}}`

const exceeded = "establishing a new relation for shop:db would exceed its maximum relation limit of 2: quota limit exceeded"

func TestLimitOfRelations(t *testing.T) {
	w := newWorld(t)
	w.deploy("shop", limited, 0)
	for _, name := range []string{"my1", "my2", "my3"} {
		w.deploy(name, statetest.MySQL, 0)
	}
	first := w.relate("shop", "my1")
	w.relate("shop", "my2")
	_, err := w.st.AddRelation(w.ctx, "shop", "my3")
	w.refused(err, entity.Invalid, exceeded)
	w.ok(first.Destroy(w.ctx, entity.Destruction{}))
	w.relate("shop", "my3")

	// Another charm may not allow fewer relations than there are.
	one := statetest.Charm(t, w.st, `{name: shop, summary: s, description: d, requires: {db: {interface: mysql, limit: 1}}}`)
	_, err = mustService(w, "shop").SetCharm(w.ctx, state.SetCharmParams{URL: one})
	w.refused(err, entity.Invalid, "new charm version imposes a maximum relation limit of 1 for shop:db which cannot be satisfied by "+
		"the number of already established relations (2): quota limit exceeded")
	many := statetest.Charm(t, w.st, `{name: shop, summary: s, description: d, requires: {db: mysql}}`)
	_, err = mustService(w, "shop").SetCharm(w.ctx, state.SetCharmParams{URL: many})
	w.ok(err)
	w.relate("shop", "my1")
}

// Neither another relation nor another charm that comes between makes more relations than the limit.
func TestLimitOfRelationsAddedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.deploy("shop", limited, 0)
	for _, name := range []string{"my1", "my2", "my3"} {
		w.deploy(name, statetest.MySQL, 0)
	}
	w.relate("shop", "my1")
	w.st.Before(func() { w.relate("shop", "my2") })
	_, err := w.st.AddRelation(w.ctx, "shop", "my3")
	w.refused(err, entity.Invalid, exceeded)

	many := statetest.Charm(t, w.st, `{name: shop, summary: s, description: d, requires: {db: mysql}}`)
	_, err = mustService(w, "shop").SetCharm(w.ctx, state.SetCharmParams{URL: many})
	w.ok(err)
	back := statetest.Charm(t, w.st, limited)
	w.st.Before(func() { w.relate("shop", "my3") })
	_, err = mustService(w, "shop").SetCharm(w.ctx, state.SetCharmParams{URL: back})
	w.refused(err, entity.Invalid, "imposes a maximum relation limit of 2 for shop:db")
}
