package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
)

// oldCleanups maps the kinds of cleanups of version 1 to the prefixes of the keys that
// "destroy" has.
var oldCleanups = map[string]string{"model": "", "units": "s#", "relations": "s#", "subordinates": "u#", "guests": "m#"}

// mergeCleanups is the models' step to version 2. In version 1 there was a kind of
// cleanup for each kind of entity that destroys others, with the entity's id.
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
		err := change(ctx, db, func(o *ops) error {
			var now cleanup
			if err := db.Get("cleanups", doc.ID, &now, "cleanup"); isNotFound(err) || err == nil && now.Kind != doc.Kind {
				return mongo.ErrNothing // another controller has done it
			} else if err != nil {
				return err
			}
			o.update("cleanups", doc.ID, bson.D{{"kind", doc.Kind}},
				bson.D{{"$set", bson.D{{"kind", "destroy"}, {"arg", prefix + doc.Arg}}}})
			return nil
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
			id := fmt.Sprint(doc["_id"])
			delete(doc, "txn-queue")
			delete(doc, "txn-revno")
			err := change(ctx, db, func(o *ops) error {
				if n, err := db.Count(from, bson.D{{"_id", id}}); err != nil {
					return err
				} else if n == 0 {
					return mongo.ErrNothing // another controller has done it
				}
				o.insert(to, id, doc)
				o.remove(from, id, exists)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}
