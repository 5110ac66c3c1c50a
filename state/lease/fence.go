package lease

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// Fences is the collection of a database with the epoch of the lease under which work that must run once is done there.
const Fences = "fences"

// fenceID is the id of its only document.
const fenceID = "singular"

type fenceDoc struct {
	ID    string `bson:"_id"`
	Epoch int64  `bson:"epoch"`
}

// Fenced returns the epoch that Fence has recorded last in a database; 0 if it was not called.
func Fenced(ctx context.Context, db *mongo.Database) (epoch int64, err error) {
	var doc fenceDoc
	err = db.Get(ctx, Fences, fenceID, &doc, "fence")
	if entity.IsNotFound(err) {
		err = nil
	}
	return doc.Epoch, err
}

// Fence records the epoch of a lease in a database, and returns a context whose transactions there assert it. So the
// holder of an earlier epoch, which may have been paused for longer than its lease, can't write there any more. The
// error, like that of such a transaction, is Unavailable if a later epoch is recorded.
func Fence(ctx context.Context, db *mongo.Database, epoch int64) (context.Context, error) {
	lost := entity.Errorf(entity.Unavailable, "another controller has taken over this work")
	err := db.Change(ctx, func(o *mongo.Ops) error {
		recorded, err := Fenced(ctx, db)
		switch {
		case err != nil:
			return err
		case recorded == 0:
			o.Insert(Fences, fenceID, fenceDoc{fenceID, epoch})
		case recorded > epoch:
			return lost
		case recorded < epoch:
			o.Update(Fences, fenceID, bson.D{{"epoch", recorded}}, bson.D{{"$set", bson.D{{"epoch", epoch}}}})
		}
		return nil
	})
	ctx = context.WithValue(ctx, epochKey{}, epoch)
	return db.Fenced(ctx, Fences, fenceID, bson.D{{"epoch", epoch}}, lost), err
}

// epochKey is the key of the epoch in a context that Fence returns.
type epochKey struct{}

// FenceToo calls Fence for another database if a context has been fenced.
func FenceToo(ctx context.Context, db *mongo.Database) (context.Context, error) {
	epoch, ok := ctx.Value(epochKey{}).(int64)
	if !ok {
		return ctx, nil
	}
	return Fence(ctx, db, epoch)
}
