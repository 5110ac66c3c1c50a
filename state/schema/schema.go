// Package schema keeps a database's schema in step with the program: it creates the collections and indexes,
// and runs the upgrade steps from the database's version to the program's.
package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/juju/loggo"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/lease"
	"juju/state/mongo"
)

var logger = loggo.GetLogger("juju.state.schema")

// Collection exists in every database. Its only document, whose id is the same, contains the database's
// schema version.
const Collection = "schema"

// A Step brings a database to the next version of its schema.
type Step struct {
	About string // "archives record which models use them"
	// Run may be interrupted at any point and run again, even by two controllers concurrently, and skips work
	// already done. It runs after all of the program's collections and indexes have been created. It reads
	// and writes documents in the form of its own version, and does not use types that may change later.
	Run func(ctx context.Context, store *mongo.Store, db *mongo.Database) error
}

// A Form is the schema of a database and its upgrade steps. The first step upgrades version 1, the version of
// a database that does not record one, to version 2. A released step never changes. A new optional field,
// collection or index needs no step.
type Form struct {
	Schema mongo.Schema
	Steps  []Step
}

// A doc is the version of a database's schema.
type doc struct {
	ID      string `bson:"_id"`
	Version int    `bson:"version"`
	Made    string `bson:"made"` // the latest mongo.Schema.Sum whose collections and indexes were created
}

// Version returns the version of a database that has the form.
func (f Form) Version() int { return 1 + len(f.Steps) }

func (f Form) doc() doc { return doc{Collection, f.Version(), f.Schema.Sum()} }

// Record adds this form to the transaction that creates a database.
func (f Form) Record(o *mongo.Ops) { o.Insert(Collection, Collection, f.doc()) }

// Rule checks that a database records its form. Reach has upgraded it to this form, so the repair records
// this form.
func (f Form) Rule() check.Rule {
	return check.Rule{Of: Collection, IDs: func(*check.View) []string { return []string{Collection} },
		Judge: func(v *check.View, id string) *check.Wrong {
			if v.Get(Collection, id) != nil {
				return nil
			}
			return check.Insert(check.DocID{Collection: Collection, ID: id},
				"it is missing, so all upgrades would run again", "write it", f.doc())
		}}
}

// Reach upgrades a database to the form; what names the database in messages. If it is interrupted, the next
// process that opens the database continues. The error is entity.NotSupported if the database has the form of
// a newer program, because this program would damage it.
func (f Form) Reach(ctx context.Context, store *mongo.Store, db *mongo.Database, what string) error {
	now, _, err := read(ctx, db)
	if err != nil {
		return err
	}
	if now.Version > f.Version() {
		return TooNew(what, now.Version, f.Version())
	}
	if now.Made != f.Schema.Sum() {
		if err := store.Make(ctx, db.Name(), f.Schema); err != nil {
			return err
		}
		if err := record(ctx, db, now.Version, f.Schema.Sum()); err != nil {
			return err
		}
	}
	if now.Version < f.Version() {
		// If one of several controllers does this, another one may take over.
		if ctx, err = lease.FenceToo(ctx, db); err != nil {
			return err
		}
	}
	for version := now.Version; version < f.Version(); version++ {
		step := f.Steps[version-1]
		logger.Infof("upgrading %s to version %d of its schema: %s", what, version+1, step.About)
		if err := ctx.Err(); err != nil {
			return err
		}
		err := step.Run(ctx, store, db)
		if err == nil {
			err = record(ctx, db, version+1, f.Schema.Sum())
		}
		if err != nil {
			return fmt.Errorf("cannot upgrade %s to version %d of its schema: %w", what, version+1, err)
		}
	}
	if now.Version < f.Version() {
		logger.Infof("%s has version %d of its schema now", what, f.Version())
	}
	return nil
}

// TooNew is the error, of the kind NotSupported, for what has a version that this program doesn't know.
func TooNew(what string, has, known int) error {
	return entity.WithHint(entity.Errorf(entity.NotSupported,
		"the schema of %s has version %d, and this program supports up to %d", what, has, known),
		"It was used by a newer juju: start that version or a newer one.")
}

// IsBehind reports whether Reach would run steps on a database.
func (f Form) IsBehind(ctx context.Context, db *mongo.Database) (bool, error) {
	now, _, err := read(ctx, db)
	return now.Version < f.Version(), err
}

// read returns the form of a database; there is false if the database does not record one.
func read(ctx context.Context, db *mongo.Database) (now doc, there bool, err error) {
	err = db.Get(ctx, Collection, Collection, &now, "schema")
	if errors.Is(err, entity.NotFound) {
		return doc{Version: 1}, false, nil
	}
	return now, err == nil, err
}

// record records that a database has reached a version, if it hasn't already.
func record(ctx context.Context, db *mongo.Database, to int, made string) error {
	return db.Change(ctx, func(o *mongo.Ops) error {
		now, there, err := read(ctx, db)
		if err != nil {
			return err
		}
		switch {
		case now.Version > to || now.Version == to && now.Made == made:
			return mongo.ErrNothing
		case !there:
			o.Insert(Collection, Collection, doc{Collection, to, made})
		default:
			o.Update(Collection, Collection, bson.D{{"version", now.Version}},
				bson.D{{"$set", bson.D{{"version", to}, {"made", made}}}})
		}
		return nil
	})
}

// Rename returns the Run of a step that moves all documents from one collection to another.
func Rename(from, to string) func(context.Context, *mongo.Store, *mongo.Database) error {
	return func(ctx context.Context, _ *mongo.Store, db *mongo.Database) error {
		var docs []bson.M
		if err := db.All(ctx, from, nil, &docs); err != nil {
			return err
		}
		for _, doc := range docs {
			id := fmt.Sprint(doc["_id"])
			for _, field := range mongo.TxnFields {
				delete(doc, field)
			}
			err := db.Change(ctx, func(o *mongo.Ops) error {
				if n, err := db.Count(ctx, from, bson.D{{"_id", id}}); err != nil {
					return err
				} else if n == 0 {
					return mongo.ErrNothing // another controller has moved it
				}
				o.Insert(to, id, doc)
				o.Remove(from, id, txn.DocExists)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}
