package charms

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// Payloads returns the payloads that charms have registered for all units, by unit and class.
func (c Charms) Payloads(ctx context.Context) ([]entity.UnitPayload, error) {
	var docs []modeldb.Payloads
	if err := c.db.All(ctx, modeldb.PayloadsC, bson.D{}, &docs); err != nil {
		return nil, fmt.Errorf("cannot list payloads: %w", err)
	}
	all := []entity.UnitPayload{}
	for _, doc := range docs {
		unit, err := c.db.Unit(ctx, strings.TrimPrefix(doc.ID, modeldb.UnitKey("")))
		if entity.IsNotFound(err) { // removed with its payloads in the meantime
			continue
		} else if err != nil {
			return nil, err
		}
		machine, err := c.db.MachineOf(ctx, unit)
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
