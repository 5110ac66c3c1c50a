package controller

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
)

// completeUsers upgrades to version 3. In version 2 a user had only a name as id, a password and access.
func completeUsers(ctx context.Context, _ *mongo.Store, db *mongo.Database) error {
	old := bson.D{{"name", bson.D{{"$exists", false}}}}
	var users []struct {
		ID string `bson:"_id"`
	}
	if err := db.All(ctx, "users", old, &users); err != nil {
		return err
	}
	for _, u := range users {
		err := db.Change(ctx, func(o *mongo.Ops) error {
			if n, err := db.Count(ctx, "users", append(bson.D{{"_id", u.ID}}, old...)); err != nil {
				return err
			} else if n == 0 {
				return mongo.ErrNothing // another controller did it
			}
			o.Update("users", u.ID, old, bson.D{{"$set", bson.D{
				{"name", u.ID}, {"displayname", ""}, {"hash", ""}, {"disabled", false}, {"removed", false}, {"createdby", u.ID},
			}}})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
