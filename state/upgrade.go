package state

import (
	"context"
	"fmt"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// An upgradeStep brings a database to the next version of its schema. It may be
// interrupted anywhere and run again, also by two controllers at once, and leaves alone
// what is done already. It runs after all of today's collections and indexes have been
// made, and reads and writes documents in the form of its own version: it does not use
// types that may change later.
type upgradeStep struct {
	about string // "archives know which models have them"
	run   func(ctx context.Context, c *Controller, db *mongo.Database) error
}

// The upgrade steps in order. The first leads from version 1, the version of a database
// that does not name one, to version 2. A released step is never changed. A new optional
// field, a collection or an index needs no step.
var (
	controllerSteps = []upgradeStep{
		{"archives know which models have them", referToBlobs},
		{"users can be disabled and removed", completeUsers},
		{"what is left of models has a name of its own", renameCollection("left", "modelleftovers")},
	}
	modelSteps = []upgradeStep{
		{"one kind of cleanup destroys what refers to an entity", mergeCleanups},
		{"residues are leftovers", renameCollection("residues", "leftovers")},
	}
)

// A schemaDoc is the version of a database's schema.
type schemaDoc struct {
	ID      string `bson:"_id"`
	Version int    `bson:"version"`
	Made    string `bson:"made"` // the mongo.Schema.Sum that was last made
}

// A form is the schema and upgrade steps that this program has for a database.
type form struct {
	schema mongo.Schema
	steps  []upgradeStep
}

func (c *Controller) controllerForm() form {
	return form{controllerSchema(c.options.Sizes), c.options.controllerSteps}
}

func (c *Controller) modelForm() form {
	return form{modelSchema(c.options.Sizes), c.options.modelSteps}
}

func (f form) version() int { return 1 + len(f.steps) }

// doc returns the document of a database in this form.
func (f form) doc() schemaDoc { return schemaDoc{schemaC, f.version(), f.schema.Sum()} }

// reach brings a database to the form. If it is interrupted, the next process that opens
// the database continues. The error is entity.NotSupported if the database has a newer
// program's form, which this one would damage.
func (f form) reach(ctx context.Context, c *Controller, db *mongo.Database, what string) error {
	now, _, err := readSchema(db)
	if err != nil {
		return err
	}
	if now.Version > f.version() {
		return entity.WithHint(entity.Errorf(entity.NotSupported,
			"the schema of %s has version %d, and this program knows up to %d",
			what, now.Version, f.version()), "A newer juju has used it: start that version or a newer one.")
	}
	if now.Made != f.schema.Sum() {
		if err := c.store.Make(db.Name(), f.schema); err != nil {
			return err
		}
		if err := changeSchema(ctx, db, now.Version, f.schema.Sum()); err != nil {
			return err
		}
	}
	for version := now.Version; version < f.version(); version++ {
		step := f.steps[version-1]
		logger.Infof("upgrading %s to version %d of its schema: %s", what, version+1, step.about)
		if err := ctx.Err(); err != nil {
			return err
		}
		err := step.run(ctx, c, db)
		if err == nil {
			err = changeSchema(ctx, db, version+1, f.schema.Sum())
		}
		if err != nil {
			return fmt.Errorf("cannot upgrade %s to version %d of its schema: %w", what, version+1, err)
		}
	}
	if now.Version < f.version() {
		logger.Infof("%s has version %d of its schema now", what, f.version())
	}
	return nil
}

// readSchema reads the form of a database; there is false if the database does not name
// one.
func readSchema(db *mongo.Database) (doc schemaDoc, there bool, err error) {
	err = db.Get(schemaC, schemaC, &doc, "schema")
	if isNotFound(err) {
		return schemaDoc{Version: 1}, false, nil
	}
	return doc, err == nil, err
}

// changeSchema records that a database has reached a version; nothing if it is there
// already.
func changeSchema(ctx context.Context, db *mongo.Database, to int, made string) error {
	return change(ctx, db, func(o *ops) error {
		now, there, err := readSchema(db)
		if err != nil {
			return err
		}
		switch {
		case now.Version > to || now.Version == to && now.Made == made:
			return mongo.ErrNothing
		case !there:
			o.insert(schemaC, schemaC, schemaDoc{schemaC, to, made})
		default:
			o.update(schemaC, schemaC, bson.D{{"version", now.Version}},
				bson.D{{"$set", bson.D{{"version", to}, {"made", made}}}})
		}
		return nil
	})
}

// upgrade brings the controller's database and all models to this program's form. A model
// that can't be upgraded is logged and can't be opened; the others are not affected.
func (c *Controller) upgrade(ctx context.Context) error {
	if err := c.controllerForm().reach(ctx, c, c.db, "the controller"); err != nil {
		return err
	}
	var rows []ModelRow
	if err := c.db.All(modelsC, bson.D{{"step", stepReady}}, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		st, err := c.openModel(ctx, row)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			logger.Errorf("model %q (%s) cannot be used: %v", row.Name, row.UUID, err)
			continue
		}
		st.close(closing())
	}
	return nil
}

// referToBlobs is the controller's step to version 2. In version 1 an archive was a file
// named by its sum, and nothing said which models used it.
func referToBlobs(ctx context.Context, c *Controller, db *mongo.Database) error {
	var models []struct {
		UUID string `bson:"_id"`
	}
	if err := db.All("models", bson.D{{"step", "ready"}}, &models); err != nil {
		return err
	}
	for _, m := range models {
		var charms []struct {
			SHA256 string `bson:"sha256"`
		}
		model := c.store.Open(m.UUID)
		err := model.With("charms", func(charmC *mgo.Collection) error {
			return charmC.Find(nil).Select(bson.D{{"sha256", 1}}).All(&charms)
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
	return change(ctx, db, func(o *ops) error {
		var doc struct {
			Models []string `bson:"models"`
		}
		isReady := bson.D{{"_id", model}, {"step", "ready"}}
		if n, err := db.Count("models", isReady); err != nil {
			return err
		} else if n == 0 {
			return mongo.ErrNothing // the model was removed meanwhile
		}
		err := db.Get("blobs", sum, &doc, "archive "+sum)
		o.assert("models", model, isReady)
		switch {
		case isNotFound(err):
			o.insert("blobs", sum, bson.D{{"file", sum}, {"models", []string{model}}})
		case err != nil:
			return err
		case slices.Contains(doc.Models, model):
			return mongo.ErrNothing
		default:
			o.update("blobs", sum, exists, bson.D{{"$addToSet", bson.D{{"models", model}}}})
		}
		return nil
	})
}
