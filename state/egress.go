package state

import (
	"cmp"
	"context"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// egressKey is the relation setting with the subnets that a unit's connections come from.
const egressKey = "egress-subnets"

// republishEgress has the units publish where the model says now that their connections come from, in place of what it said.
// What a charm has set, or the user for one relation, stays. A unit that is about to enter with what the model said before
// asserts that its relation is not counted meanwhile.
func (st *State) republishEgress(ctx context.Context, was string) error {
	relations, err := st.db.IDs(ctx, modeldb.RelationsC, bson.D{{"via", bson.D{{"$exists", false}}}})
	if err != nil {
		return err
	}
	for _, key := range relations {
		err := st.change(ctx, func(o *ops) error {
			if _, err := st.db.Relation(ctx, key); err != nil {
				return err
			}
			o.Update(modeldb.RelationsC, key, modeltxn.Exists, bson.D{{"$inc", bson.D{{"egresschanges", 1}}}})
			return nil
		})
		if err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	var scopes []modeldb.Scope
	if err := st.db.All(ctx, modeldb.ScopesC, bson.D{{"unit", bson.D{{"$gt", ""}}}}, &scopes); err != nil {
		return err
	}
	for _, s := range scopes {
		err := st.change(ctx, func(o *ops) error { return st.egressOps(ctx, o, s, was) })
		if err != nil && !entity.IsNotFound(err) { // it was left meanwhile
			return err
		}
	}
	return nil
}

func (st *State) egressOps(ctx context.Context, o *ops, s modeldb.Scope, was string) error {
	ru, err := st.relationUnit(ctx, s.Unit, s.Relation)
	if err != nil || len(ru.rel.doc.Via) > 0 {
		return cmp.Or(err, mongo.ErrNothing)
	}
	machine, err := ru.unit.machine(ctx)
	if err != nil {
		return err
	}
	at, err := ru.unit.addressing(ctx)
	if err != nil {
		return err
	}
	model, err := st.db.Model(ctx)
	if err != nil {
		return err
	}
	key := modeldb.RelationSettingsKey(s.Relation, s.Unit)
	settings, err := st.db.Settings(ctx, key)
	if err != nil {
		return err
	}
	own := entity.HostSubnet(at(ru.end.Name, machine.Addresses))
	next := cmp.Or(strings.Join(ru.rel.doc.Egress(model), ","), own)
	if has, _ := settings.Settings[egressKey].(string); has != cmp.Or(was, own) || next == has || next == "" {
		return mongo.ErrNothing
	}
	o.Update(modeldb.SettingsC, key, bson.D{{"version", settings.Version}}, bson.D{
		{"$set", bson.D{{"settings." + egressKey, next}}}, {"$inc", bson.D{{"version", 1}}}})
	return nil
}
