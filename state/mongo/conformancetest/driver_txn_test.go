package conformancetest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

// driveTransactions uses transactions as programs do, and looks at what others see of them.
func driveTransactions(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{Key: "_id", Value: "a"}, {Key: "n", Value: 0}}))
	number := func(ctx context.Context, id string) int {
		t.Helper()
		var doc struct{ N int }
		if err := c.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&doc); err == mongo.ErrNoDocuments {
			return -1
		} else if err != nil {
			t.Fatal(err)
		}
		return doc.N
	}
	add := func(ctx context.Context, id string) error {
		_, err := c.UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}})
		return err
	}
	begin := func() mongo.SessionContext {
		t.Helper()
		session := must[mongo.Session](t)(db.Client().StartSession())
		t.Cleanup(func() { session.EndSession(context.Background()) })
		if err := session.StartTransaction(); err != nil {
			t.Fatal(err)
		}
		return mongo.NewSessionContext(ctx, session)
	}

	// A transaction sees its own writes; others see all of them or none.
	one := begin()
	if err := add(one, "a"); err != nil {
		t.Fatal(err)
	}
	must[*mongo.InsertOneResult](t)(c.InsertOne(one, bson.D{{Key: "_id", Value: "b"}, {Key: "n", Value: 5}}))
	if inside, outside := [2]int{number(one, "a"), number(one, "b")}, [2]int{number(ctx, "a"), number(ctx, "b")}; inside != [2]int{1, 5} || outside != [2]int{0, -1} {
		t.Errorf("before the commit: inside %v, outside %v", inside, outside)
	}
	if err := one.CommitTransaction(one); err != nil {
		t.Fatal(err)
	}
	if a, b := number(ctx, "a"), number(ctx, "b"); a != 1 || b != 5 {
		t.Errorf("after the commit: %d, %d", a, b)
	}

	// An aborted one leaves nothing.
	two := begin()
	if err := add(two, "a"); err != nil {
		t.Fatal(err)
	}
	if err := two.AbortTransaction(two); err != nil {
		t.Fatal(err)
	}
	if a := number(ctx, "a"); a != 1 {
		t.Errorf("after an abort: %d", a)
	}

	// It reads a snapshot, and the first writer wins.
	three, four := begin(), begin()
	if n := number(four, "a"); n != 1 {
		t.Errorf("in the snapshot: %d", n)
	}
	if err := add(three, "a"); err != nil {
		t.Fatal(err)
	}
	if err := three.CommitTransaction(three); err != nil {
		t.Fatal(err)
	}
	if n := number(four, "a"); n != 1 {
		t.Errorf("in the snapshot after another's commit: %d", n)
	}
	var conflict mongo.CommandError
	if err := add(four, "a"); !errors.As(err, &conflict) || conflict.Code != 112 || !conflict.HasErrorLabel("TransientTransactionError") {
		t.Errorf("the second writer got %v", err)
	}
	if err := four.CommitTransaction(four); !errors.As(err, &conflict) || conflict.Code != 251 {
		t.Errorf("the second writer's commit gave %v", err)
	}

	// A duplicate key aborts it.
	five := begin()
	if err := add(five, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.InsertOne(five, bson.D{{Key: "_id", Value: "b"}}); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("a duplicate gave %v", err)
	}
	if err := five.CommitTransaction(five); !errors.As(err, &conflict) || conflict.Code != 251 {
		t.Errorf("the commit after a duplicate gave %v", err)
	}

	// Before 4.4, a transaction creates no collection.
	six := begin()
	if _, err := db.Collection("none").InsertOne(six, bson.D{}); !errors.As(err, &conflict) || conflict.Code != 263 {
		t.Errorf("an insert into no collection gave %v", err)
	}

	// Counting up concurrently, with the retries of the driver, loses nothing.
	const writers, each = 4, 20
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			session, err := db.Client().StartSession()
			if err != nil {
				t.Error(err)
				return
			}
			defer session.EndSession(ctx)
			for range each {
				_, err := session.WithTransaction(ctx, func(ctx mongo.SessionContext) (any, error) {
					n := number(ctx, "b")
					_, err := c.UpdateOne(ctx, bson.D{{Key: "_id", Value: "b"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: n + 1}}}})
					return nil, err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if n := number(ctx, "b"); n != 5+writers*each {
		t.Errorf("counted to %d, want %d", n, 5+writers*each)
	}
}

// driveChangeStreams follows the changes of a database.
func driveChangeStreams(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	stream := must[*mongo.ChangeStream](t)(db.Watch(ctx, mongo.Pipeline{}))
	defer stream.Close(ctx)
	type event struct {
		Operation string `bson:"operationType"`
		Key       struct {
			ID any `bson:"_id"`
		} `bson:"documentKey"`
		Doc    bson.M `bson:"fullDocument"`
		Update struct {
			Fields  bson.M   `bson:"updatedFields"`
			Removed []string `bson:"removedFields"`
		} `bson:"updateDescription"`
	}
	next := func(stream *mongo.ChangeStream, operation string, id any) (e event) {
		t.Helper()
		if !stream.Next(ctx) {
			t.Fatalf("no event: %v", stream.Err())
		}
		if err := stream.Decode(&e); err != nil || e.Operation != operation || e.Key.ID != id {
			t.Fatalf("event %s, want %s of %v, %v", stream.Current, operation, id, err)
		}
		return e
	}
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{Key: "_id", Value: "a"}, {Key: "n", Value: 1}, {Key: "list", Value: bson.A{1}}}))
	if e := next(stream, "insert", "a"); e.Doc["n"] != int32(1) {
		t.Errorf("inserted %v", e.Doc)
	}
	resume := stream.ResumeToken()
	must[*mongo.UpdateResult](t)(c.UpdateOne(ctx, bson.D{{Key: "_id", Value: "a"}}, bson.D{
		{Key: "$set", Value: bson.D{{Key: "sub.x", Value: 2}}}, {Key: "$unset", Value: bson.D{{Key: "n", Value: ""}}},
		{Key: "$push", Value: bson.D{{Key: "list", Value: 2}}}}))
	e := next(stream, "update", "a")
	if sub, _ := e.Update.Fields["sub"].(bson.M); sub["x"] != int32(2) || e.Update.Fields["list.1"] != int32(2) || len(e.Update.Removed) != 1 || e.Update.Removed[0] != "n" {
		t.Errorf("updated %+v", e.Update)
	}
	must[*mongo.UpdateResult](t)(c.ReplaceOne(ctx, bson.D{{Key: "_id", Value: "a"}}, bson.D{{Key: "m", Value: 3}}))
	if e := next(stream, "replace", "a"); e.Doc["m"] != int32(3) {
		t.Errorf("replaced by %v", e.Doc)
	}

	// A transaction's changes come when it commits, in their order.
	session := must[mongo.Session](t)(db.Client().StartSession())
	defer session.EndSession(ctx)
	must[any](t)(session.WithTransaction(ctx, func(tx mongo.SessionContext) (any, error) {
		if _, err := c.DeleteOne(tx, bson.D{{Key: "_id", Value: "a"}}); err != nil {
			return nil, err
		}
		if _, err := c.InsertOne(ctx, bson.D{{Key: "_id", Value: "outside"}}); err != nil {
			return nil, err
		}
		_, err := c.InsertOne(tx, bson.D{{Key: "_id", Value: "b"}})
		return nil, err
	}))
	next(stream, "insert", "outside")
	next(stream, "delete", "a")
	next(stream, "insert", "b")

	// A stream resumes after an event, and looks documents up.
	again := must[*mongo.ChangeStream](t)(c.Watch(ctx, mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "update"}}}}},
		options.ChangeStream().SetResumeAfter(resume).SetFullDocument(options.UpdateLookup)))
	defer again.Close(ctx)
	if e := next(again, "update", "a"); e.Doc != nil {
		t.Errorf("looked up %v, which is deleted", e.Doc)
	}
	if err := c.Drop(ctx); err != nil {
		t.Fatal(err)
	}
	next(stream, "drop", nil)
	// A token that the server never gave: its history is lost, or, to MongoDB 4.0, it is no token at all.
	lost := bson.D{{Key: "_data", Value: "00000000000000000000000000000000"}}
	var history mongo.CommandError
	if _, err := c.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(lost)); !errors.As(err, &history) ||
		history.Code != 286 && history.Code != 50811 {
		t.Errorf("a token of another run gave %v", err)
	}
}
