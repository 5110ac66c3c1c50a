package controller

import (
	"context"
	"fmt"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/cursor"
	"juju/state/schema"
)

// Steps are the upgrade steps of the controller's own database: see schema.Form.
var Steps = []schema.Step{
	{About: "archives record which models use them", Run: referToBlobs},
	{About: "users can be disabled and removed", Run: completeUsers},
	{About: "the collection of leftovers has a name of its own", Run: schema.Rename("left", "modelleftovers")},
}

func (c *Controller) form() schema.Form {
	return schema.Form{Schema: controllerSchema(c.options.Sizes), Steps: c.options.Steps}
}

func (c *Controller) modelForm() schema.Form {
	return schema.Form{Schema: state.Schema(c.options.Sizes), Steps: c.options.ModelSteps}
}

// upgrade upgrades the controller's database and all models to the current form. If a model can't be
// upgraded, that is logged and the model can't be opened; the others are not affected.
func (c *Controller) upgrade(ctx context.Context) error {
	if err := c.form().Reach(ctx, c.store, c.db, "the controller"); err != nil {
		return err
	}
	var rows []ModelRow
	if err := c.db.All(ctx, modelsC, bson.D{{"step", stepReady}}, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		m, err := c.openModel(ctx, row)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			logger.Errorf("model %q (%s) cannot be used: %v", row.Name, row.UUID, err)
			continue
		}
		m.close(closing())
	}
	if !c.alone {
		return c.setForms(ctx, true)
	}
	return nil
}

// referToBlobs upgrades to version 2. In version 1 an archive was a file named by its sum, and there was no record of
// which models used it.
func referToBlobs(ctx context.Context, store *mongo.Store, db *mongo.Database) error {
	var models []struct {
		UUID string `bson:"_id"`
	}
	if err := db.All(ctx, "models", bson.D{{"step", "ready"}}, &models); err != nil {
		return err
	}
	for _, m := range models {
		var charms []struct {
			SHA256 string `bson:"sha256"`
		}
		model := store.Open(m.UUID)
		err := model.With(ctx, "charms", func(charmC *mgo.Collection) error {
			return cursor.Find(charmC, nil).Select(bson.D{{"sha256", 1}}).All(&charms)
		})
		model.Close(closing())
		if err != nil {
			return fmt.Errorf("cannot read the charms of model %s: %w", m.UUID, err)
		}
		for _, ch := range charms {
			if err := referToOldBlob(ctx, db, m.UUID, ch.SHA256); err != nil {
				return err
			}
		}
	}
	return nil
}

func referToOldBlob(ctx context.Context, db *mongo.Database, model, sum string) error {
	return db.Change(ctx, func(o *mongo.Ops) error {
		var doc struct {
			Models []string `bson:"models"`
		}
		isReady := bson.D{{"_id", model}, {"step", "ready"}}
		if n, err := db.Count(ctx, "models", isReady); err != nil {
			return err
		} else if n == 0 {
			return mongo.ErrNothing // the model was removed meanwhile
		}
		err := db.Get(ctx, "blobs", sum, &doc, "archive "+sum)
		o.Assert("models", model, isReady)
		switch {
		case entity.IsNotFound(err):
			o.Insert("blobs", sum, bson.D{{"file", sum}, {"models", []string{model}}})
		case err != nil:
			return err
		case slices.Contains(doc.Models, model):
			return mongo.ErrNothing
		default:
			o.Update("blobs", sum, txn.DocExists, bson.D{{"$addToSet", bson.D{{"models", model}}}})
		}
		return nil
	})
}
