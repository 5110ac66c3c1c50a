package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// A leftDoc records a leftover: a removed model whose cloud resources may still exist.
type leftDoc struct {
	Model string    `bson:"_id"` // UUID
	Name  string    `bson:"name"`
	Owner string    `bson:"owner"`
	Why   string    `bson:"why"`
	How   string    `bson:"how"`
	At    time.Time `bson:"at"`
	// Filesystems are the ids of those still to be destroyed.
	Filesystems []string `bson:"filesystems,omitempty"`
	Credential  string   `bson:"credential,omitempty"` // that reaches them
	Disowned    bool     `bson:"disowned,omitempty"`   // see ModelRow
}

// leaveLeftover records resources outside the store that the removal of a model could not remove.
func (c *Controller) leaveLeftover(ctx context.Context, row ModelRow, why error) error {
	doc := leftDoc{Model: row.UUID, Name: row.Name, Owner: row.Owner, Why: why.Error(), How: entity.Hint(why), At: c.now(),
		Filesystems: row.Filesystems, Credential: row.Credential, Disowned: row.Disowned}
	if doc.How == "" {
		doc.How = fmt.Sprintf("remove the cloud resources tagged with model %s; the controller retries when it starts, "+
			"or when it removes another model", row.UUID)
	}
	logger.Errorf("model %q is removed, but its cloud resources may still exist: %v", row.Name, why)
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		n, err := c.db.Count(ctx, modelLeftoversC, bson.D{{"_id", row.UUID}})
		if err != nil {
			return err
		}
		if n > 0 {
			return mongo.ErrNothing
		}
		o.Insert(modelLeftoversC, row.UUID, doc)
		return nil
	})
}

// removeLeftover retries the removal of a leftover, and then deletes its document.
func (c *Controller) removeLeftover(
	ctx context.Context, row ModelRow, outside func(context.Context, ModelRow) error,
) error {
	if err := outside(ctx, row); err != nil {
		return err
	}
	return c.db.Change(ctx, func(o *mongo.Ops) error { o.Remove(modelLeftoversC, row.UUID, nil); return nil })
}

// ModelLeftovers returns the resources outside the store that the forced removal of models left behind, for one owner's
// models, or for all if owner is "".
func (c *Controller) ModelLeftovers(ctx context.Context, owner string) (all []entity.Leftover, err error) {
	var docs []leftDoc
	if err := c.db.All(ctx, modelLeftoversC, nil, &docs); err != nil {
		return nil, err
	}
	slices.SortFunc(docs, func(a, b leftDoc) int { return entity.CompareNatural(a.Name, b.Name) })
	for _, d := range docs {
		if owner == "" || !d.Disowned && userID(owner) == userID(d.Owner) {
			what := fmt.Sprintf("instances of model %q", d.Name)
			if len(d.Filesystems) > 0 {
				what += ", and its filesystem " + strings.Join(d.Filesystems, ", ") + ","
			}
			all = append(all, entity.Leftover{ID: d.Model, Of: d.Model, What: what,
				Where: "cloud " + c.doc.Cloud, Why: d.Why, How: d.How, At: d.At})
		}
	}
	return all, nil
}
