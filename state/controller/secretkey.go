package controller

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/sealing"
)

// SecretKeyID returns the ID of the key with which the content of secrets is sealed, as it was when the controller was
// opened; "" if there is none yet.
func (c *Controller) SecretKeyID() string { return c.doc.SecretKey }

// UseSecretKey has models that are opened from now on seal the content of secrets with a key, and records its ID. The error
// is entity.Invalid if another key is in use, unless this one is to replace it: what that sealed can't be read then.
func (c *Controller) UseSecretKey(ctx context.Context, key *sealing.Key, replace bool) error {
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		var doc controllerDoc
		if err := c.db.Get(ctx, controllerC, controllerC, &doc, "controller"); err != nil {
			return err
		}
		c.doc.SecretKey = doc.SecretKey
		switch {
		case doc.SecretKey == key.ID():
			return mongo.ErrNothing
		case doc.SecretKey != "" && !replace:
			return entity.Errorf(entity.Invalid, "%v is not the one in use", key)
		}
		assert := bson.D{{Name: "secretkey", Value: bson.D{{Name: "$exists", Value: false}}}}
		if doc.SecretKey != "" {
			assert = bson.D{{Name: "secretkey", Value: doc.SecretKey}}
		}
		o.Update(controllerC, controllerC, assert, bson.D{{Name: "$set", Value: bson.D{{Name: "secretkey", Value: key.ID()}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot use the key of secrets: %w", err)
	}
	c.doc.SecretKey, c.options.SecretKey = key.ID(), key
	return nil
}
