package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// Payloads returns the payloads that charms have registered for all units, by unit and class.
func (c Charms) Payloads(ctx context.Context) ([]entity.UnitPayload, error) {
	st := c.st
	var docs []modeldb.Payloads
	if err := st.db.All(ctx, modeldb.PayloadsC, bson.D{}, &docs); err != nil {
		return nil, fmt.Errorf("cannot list payloads: %w", err)
	}
	all := []entity.UnitPayload{}
	for _, doc := range docs {
		unit, err := st.db.Unit(ctx, strings.TrimPrefix(doc.ID, modeldb.UnitKey("")))
		if entity.IsNotFound(err) { // removed with its payloads in the meantime
			continue
		} else if err != nil {
			return nil, err
		}
		machine, err := st.db.MachineOf(ctx, unit)
		if entity.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		for _, p := range doc.Payloads {
			all = append(all, entity.UnitPayload{Unit: unit.Name, Machine: machine, Payload: p})
		}
	}
	slices.SortFunc(all, func(a, b entity.UnitPayload) int {
		return cmp.Or(entity.CompareNatural(a.Unit, b.Unit), strings.Compare(a.Class, b.Class))
	})
	return all, nil
}
