package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/limits"
)

// Payloads returns what the unit's charm says that it runs, by class. CommitHook changes it.
func (u *Unit) Payloads(ctx context.Context) ([]entity.Payload, error) {
	doc, _, err := u.payloads(ctx)
	return doc.Payloads, err
}

func (u *Unit) payloads(ctx context.Context) (doc modeldb.Payloads, there bool, err error) {
	err = u.st.db.Get(ctx, modeldb.PayloadsC, modeldb.UnitKey(u.doc.Name), &doc, "payloads of "+u.doc.Name)
	if entity.IsNotFound(err) {
		return modeldb.Payloads{Payloads: []entity.Payload{}}, false, nil
	}
	return doc, err == nil, err
}

// payloadOps adds the operations that change the unit's payloads. The caller asserts that the unit exists.
func (u *Unit) payloadOps(ctx context.Context, o *ops, set []entity.Payload, drop []string) error {
	if len(set)+len(drop) == 0 {
		return nil
	}
	doc, there, err := u.payloads(ctx)
	if err != nil {
		return err
	}
	byClass := map[string]entity.Payload{}
	for _, p := range doc.Payloads {
		byClass[p.Class] = p
	}
	for _, class := range drop {
		delete(byClass, class)
	}
	for _, p := range set {
		byClass[p.Class] = p
	}
	after := make([]entity.Payload, 0, len(byClass))
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		after = append(after, byClass[class])
	}
	if slices.EqualFunc(after, doc.Payloads, entity.Payload.Equal) {
		return nil
	}
	if err := limits.CheckPayloads(after); err != nil {
		return fmt.Errorf("cannot change the payloads of %s: %w", u.doc.Name, err)
	}
	if key := modeldb.UnitKey(u.doc.Name); there {
		o.Update(modeldb.PayloadsC, key, bson.D{{"version", doc.Version}},
			bson.D{{"$set", bson.D{{"payloads", after}}}, {"$inc", bson.D{{"version", 1}}}})
	} else {
		o.Insert(modeldb.PayloadsC, key, modeldb.Payloads{ID: key, Payloads: after})
	}
	return nil
}
