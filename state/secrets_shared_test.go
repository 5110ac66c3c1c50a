package state_test

import (
	"testing"

	"juju/state"
	"juju/state/entity"
)

// The worker that tells another model of the secrets that a relation shares does not watch the secrets, which change with each
// hook: that one more is shared, it hears by the relation.
func TestSharingASecretWakesTheRelations(t *testing.T) {
	v := newSafe(t)
	x := v.st.CrossModel()
	v.ok(x.AddOffer(v.ctx, entity.NewOffer{Name: "shop", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := x.Offers(v.ctx)
	v.ok(err)
	v.ok(v.connect(offers[0].UUID, "server"))
	v.rel, err = v.st.RelationByID(v.ctx, v.connections()[0].Relation)
	v.ok(err)
	subject := v.rel.Endpoints()[0].Service
	if subject == "mysql" {
		subject = v.rel.Endpoints()[1].Service
	}
	id := v.adds("mysql/0", "login", "one", false)
	machines, err := v.st.Watches().Machines(v.ctx)
	v.ok(err)
	next(t, machines)
	m, err := v.st.AddMachine(v.ctx, state.AddMachineParams{})
	v.ok(err)
	named(t, machines, m.ID()) // all earlier changes were published
	events, err := x.WatchRemotes(v.ctx)
	v.ok(err)
	next(t, events)
	v.ok(v.grants("mysql/0", id, subject))
	next(t, events)
}
