package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
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
	all := make([]entity.Leftover, len(docs))
	for i, d := range docs {
		kind, name := lifecycle.ParseKey(d.Of)
		what := fmt.Sprintf("instance %s of machine %s", d.Instance, name)
		if kind == lifecycle.Storage {
			what = fmt.Sprintf("filesystem %s of storage %s", d.Filesystem, name)
		}
		all[i] = entity.Leftover{ID: d.ID, Of: d.Of, Instance: d.Instance, What: what,
			Where: "cloud " + model.Cloud, Why: d.Why, How: d.How, At: d.At}
	}
	return all, nil
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
