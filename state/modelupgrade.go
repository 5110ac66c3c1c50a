package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
)

// oldCleanups leads from the kinds of cleanups that a model had in version 1 to the
// prefixes of the keys that "destroy" has.
var oldCleanups = map[string]string{"model": "", "units": "s#", "relations": "s#", "subordinates": "u#", "guests": "m#"}

// mergeCleanups is the models' step to version 2. Before, there was a kind of cleanup
// for each kind of entity that destroys others with it, named by its id.
func mergeCleanups(ctx context.Context, _ *Controller, db *mongo.Database) error {
	type cleanup struct {
		ID   string `bson:"_id"`
		Kind string `bson:"kind"`
		Arg  string `bson:"arg"`
	}
	var docs []cleanup
	if err := db.All("cleanups", nil, &docs); err != nil {
		return err
	}
	for _, doc := range docs {
		prefix, old := oldCleanups[doc.Kind]
		if !old {
			continue
		}
		err := db.Run(ctx, func(int) ([]txn.Op, error) {
			var now cleanup
			if err := db.Get("cleanups", doc.ID, &now, "cleanup"); isNotFound(err) || err == nil && now.Kind != doc.Kind {
				return nil, mongo.ErrNothing // another controller was faster
			} else if err != nil {
				return nil, err
			}
			o := newOps()
			o.update("cleanups", doc.ID, bson.D{{"kind", doc.Kind}}, bson.D{{"$set", bson.D{{"kind", "destroy"}, {"arg", prefix + doc.Arg}}}})
			return o.build()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// renameCollection returns a step that moves the documents of a collection to another.
func renameCollection(from, to string) func(context.Context, *Controller, *mongo.Database) error {
	return func(ctx context.Context, _ *Controller, db *mongo.Database) error {
		var docs []bson.M
		if err := db.All(from, nil, &docs); err != nil {
			return err
		}
		for _, doc := range docs {
			id := doc["_id"]
			delete(doc, "txn-queue")
			delete(doc, "txn-revno")
			err := db.Run(ctx, func(int) ([]txn.Op, error) {
				if n, err := db.Count(from, bson.D{{"_id", id}}); err != nil {
					return nil, err
				} else if n == 0 {
					return nil, mongo.ErrNothing // another controller was faster
				}
				return []txn.Op{{C: to, Id: id, Assert: txn.DocMissing, Insert: doc}, {C: from, Id: id, Assert: txn.DocExists, Remove: true}}, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}
