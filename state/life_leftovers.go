package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
)

// Leftovers returns the model's leftovers: what forced destruction has left outside
// state.
func (p Provisioning) Leftovers(ctx context.Context) ([]entity.Leftover, error) {
	model, err := p.st.db.Model()
	if err != nil {
		return nil, err
	}
	docs, err := p.st.db.Leftovers(nil)
	if err != nil {
		return nil, err
	}
	return mapped(docs, func(d modeldb.Leftover) entity.Leftover { return d.Leftover(model) }), nil
}

// DropLeftovers removes the leftovers of an instance, which no longer exists.
func (p Provisioning) DropLeftovers(ctx context.Context, instance string) error {
	return p.st.dropLeftovers(ctx, bson.D{{"instance", instance}})
}

func (st *State) dropLeftovers(ctx context.Context, query bson.D) error {
	return st.change(ctx, func(o *ops) error {
		docs, err := st.db.Leftovers(query)
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			return mongo.ErrNothing
		}
		for _, d := range docs {
			o.Remove(modeldb.LeftoversC, d.ID, nil)
		}
		return nil
	})
}
