package conformancetest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"

	"juju/doc/tools/verify"
)

// TestDriver uses MongoDB's own Go driver as a second, independent client of the embedded store:
// it speaks OP_MSG, over TCP.
func TestDriver(t *testing.T) {
	t.Parallel()
	server := memory(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("serving ended with %v", err)
		}
		listener.Close()
	})
	client, bound := connectDriver(t, "mongodb://"+listener.Addr().String()+"/?directConnection=true")
	for _, subject := range []struct {
		name string
		run  func(*testing.T, context.Context, *mongo.Database)
	}{
		{"CRUD", driveCRUD},
		{"FindAndModify", driveFindAndModify},
		{"Indexes", driveIndexes},
		{"Cursors", driveCursors},
		{"Tail", driveTail},
		{"BulkWrite", driveBulkWrite},
		{"Names", driveNames},
		{"Refusals", driveRefusals},
		{"Transactions", driveTransactions},
		{"ChangeStreams", driveChangeStreams},
		{"Faithful", driveFaithful},
	} {
		t.Run(subject.name, func(t *testing.T) { subject.run(t, bound, client.Database("driver-"+subject.name)) })
	}
}

// connectDriver connects MongoDB's Go driver to a server until the test ends. The context ends with verify.Patience.
func connectDriver(t *testing.T, url string) (*mongo.Client, context.Context) {
	t.Helper()
	bound, done := context.WithTimeout(context.Background(), verify.Patience)
	t.Cleanup(done)
	client, err := mongo.Connect(bound, options.Client().ApplyURI(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := client.Ping(bound, nil); err != nil {
		t.Fatal(err)
	}
	return client, bound
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func driveCRUD(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	one := must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{Key: "n", Value: 1}}))
	if _, ok := one.InsertedID.(primitive.ObjectID); !ok {
		t.Errorf("inserted as %v", one.InsertedID)
	}
	var docs []any
	for i := range 500 {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "n", Value: i % 10}})
	}
	if many := must[*mongo.InsertManyResult](t)(c.InsertMany(ctx, docs)); len(many.InsertedIDs) != 500 {
		t.Errorf("inserted %d", len(many.InsertedIDs))
	}
	// The driver counts documents with an aggregation, and estimates their number with count.
	if n := must[int64](t)(c.EstimatedDocumentCount(ctx)); n != 501 {
		t.Errorf("%d documents", n)
	}
	var doc struct {
		ID int `bson:"_id"`
		N  int
	}
	if err := c.FindOne(ctx, bson.D{{Key: "_id", Value: 42}}).Decode(&doc); err != nil || doc.N != 2 {
		t.Errorf("found %+v, %v", doc, err)
	}
	if err := c.FindOne(ctx, bson.D{{Key: "_id", Value: 9999}}).Err(); err != mongo.ErrNoDocuments {
		t.Errorf("found nothing: %v", err)
	}
	u := must[*mongo.UpdateResult](t)(c.UpdateMany(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$lt", Value: 10}}}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 100}}}}))
	if u.MatchedCount != 10 || u.ModifiedCount != 10 {
		t.Errorf("updated %+v", u)
	}
	u = must[*mongo.UpdateResult](t)(c.UpdateOne(ctx, bson.D{{Key: "_id", Value: "new"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: 1}}}}, options.Update().SetUpsert(true)))
	if u.UpsertedID != "new" || u.UpsertedCount != 1 {
		t.Errorf("upserted %+v", u)
	}
	u = must[*mongo.UpdateResult](t)(c.ReplaceOne(ctx, bson.D{{Key: "_id", Value: "new"}}, bson.D{{Key: "m", Value: 2}}))
	if u.ModifiedCount != 1 {
		t.Errorf("replaced %+v", u)
	}
	d := must[*mongo.DeleteResult](t)(c.DeleteMany(ctx, bson.D{{Key: "n", Value: bson.D{{Key: "$gte", Value: 100}}}}))
	if d.DeletedCount != 10 {
		t.Errorf("deleted %+v", d)
	}
	values := must[[]any](t)(c.Distinct(ctx, "n", bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: 0}}}}))
	if len(values) != 10 {
		t.Errorf("distinct %v", values)
	}
	if err := c.Drop(ctx); err != nil {
		t.Error(err)
	}
	if n := must[int64](t)(c.EstimatedDocumentCount(ctx)); n != 0 {
		t.Errorf("%d documents after the drop", n)
	}
}

func driveFindAndModify(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	for i := range 3 {
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{Key: "_id", Value: i}, {Key: "n", Value: 10 - i}}))
	}
	var doc struct {
		ID int `bson:"_id"`
		N  int
	}
	err := c.FindOneAndUpdate(ctx, bson.D{}, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 5}}}},
		options.FindOneAndUpdate().SetSort(bson.D{{Key: "n", Value: 1}}).SetReturnDocument(options.After)).Decode(&doc)
	if err != nil || doc.ID != 2 || doc.N != 13 {
		t.Errorf("updated %+v, %v", doc, err)
	}
	err = c.FindOneAndReplace(ctx, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "n", Value: 77}}).Decode(&doc)
	if err != nil || doc.N != 9 {
		t.Errorf("replaced %+v, %v", doc, err)
	}
	err = c.FindOneAndDelete(ctx, bson.D{{Key: "n", Value: 77}}).Decode(&doc)
	if err != nil || doc.ID != 1 {
		t.Errorf("deleted %+v, %v", doc, err)
	}
	err = c.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: 7}}, bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: 1}}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&doc)
	if err != nil || doc.ID != 7 {
		t.Errorf("upserted %+v, %v", doc, err)
	}
	if err := c.FindOneAndDelete(ctx, bson.D{{Key: "_id", Value: 99}}).Err(); err != mongo.ErrNoDocuments {
		t.Errorf("deleted nothing: %v", err)
	}
}

func driveIndexes(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	name := must[string](t)(c.Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys: bson.D{{Key: "a", Value: 1}, {Key: "b", Value: -1}}, Options: options.Index().SetUnique(true),
	}))
	if name != "a_1_b_-1" {
		t.Errorf("made index %q", name)
	}
	doc := bson.D{{Key: "a", Value: 1}, {Key: "b", Value: "x"}}
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, doc))
	if _, err := c.InsertOne(ctx, doc); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("inserted twice: %v", err)
	}
	specs := must[[]*mongo.IndexSpecification](t)(c.Indexes().ListSpecifications(ctx))
	if len(specs) != 2 || specs[1].Name != name || specs[1].Unique == nil || !*specs[1].Unique {
		t.Errorf("listed %+v", specs)
	}
	must[bson.Raw](t)(c.Indexes().DropOne(ctx, name))
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, doc))
}

func driveCursors(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	var docs []any
	for i := range 250 {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "v", Value: bson.A{i, bson.D{{Key: "x", Value: i}}}}})
	}
	must[*mongo.InsertManyResult](t)(c.InsertMany(ctx, docs))
	cur := must[*mongo.Cursor](t)(c.Find(ctx, bson.D{}, options.Find().SetBatchSize(20).SetSort(bson.D{{Key: "_id", Value: -1}}).SetSkip(10).SetLimit(200).SetProjection(bson.D{{Key: "v.x", Value: 1}})))
	next := 239
	for cur.Next(ctx) {
		var doc struct {
			ID int `bson:"_id"`
			V  []struct{ X int }
		}
		if err := cur.Decode(&doc); err != nil || doc.ID != next || len(doc.V) != 1 || doc.V[0].X != next {
			t.Fatalf("got %+v, %v, want document %d", doc, err, next)
		}
		next--
	}
	if err := cur.Err(); err != nil || next != 39 {
		t.Errorf("ended before %d: %v", next, err)
	}
	// A cursor that is closed early is gone: the driver sends killCursors, on any connection.
	cur = must[*mongo.Cursor](t)(c.Find(ctx, bson.D{}, options.Find().SetBatchSize(2)))
	id := cur.ID()
	if id == 0 || !cur.Next(ctx) {
		t.Fatalf("cursor %d: %v", id, cur.Err())
	}
	if err := cur.Close(ctx); err != nil {
		t.Error(err)
	}
	err := db.RunCommand(ctx, bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: "c"}}).Err()
	var refused mongo.CommandError
	if !errors.As(err, &refused) || refused.Code != 43 {
		t.Errorf("getMore of a closed cursor: %v", err)
	}
}

func driveTail(t *testing.T, ctx context.Context, db *mongo.Database) {
	if err := db.CreateCollection(ctx, "log", options.CreateCollection().SetCapped(true).SetSizeInBytes(1<<20).SetMaxDocuments(10)); err != nil {
		t.Fatal(err)
	}
	c := db.Collection("log")
	insert := func(i int) {
		t.Helper()
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{Key: "_id", Value: i}}))
	}
	insert(0)
	for _, kind := range []options.CursorType{options.TailableAwait, options.Tailable} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			find := options.Find().SetCursorType(kind)
			if kind == options.TailableAwait {
				find.SetMaxAwaitTime(2 * verify.Patience) // so that only inserts wake it in time
			}
			cur := must[*mongo.Cursor](t)(c.Find(ctx, bson.D{}, find))
			seen := make(chan int, 100)
			tailing, stop := context.WithCancel(ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for cur.Next(tailing) {
					seen <- int(cur.Current.Lookup("_id").AsInt64())
				}
			}()
			last := -1
			receive := func(want int) {
				t.Helper()
				for last < want {
					select {
					case last = <-seen:
					case <-time.After(verify.Patience):
						t.Fatalf("waited for %d, the last was %d", want, last)
					}
				}
			}
			from := int(must[int64](t)(c.EstimatedDocumentCount(ctx)))
			receive(from - 1)
			for i := from; i < from+3; i++ {
				insert(i)
				receive(i)
			}
			stop()
			<-ended
			cur.Close(ctx)
		})
	}
}

func driveBulkWrite(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	r := must[*mongo.BulkWriteResult](t)(c.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(bson.D{{Key: "_id", Value: 1}}),
		mongo.NewInsertOneModel().SetDocument(bson.D{{Key: "_id", Value: 2}}),
		mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: 1}}).SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}}),
		mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: 3}}).SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}}).SetUpsert(true),
		mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: "_id", Value: 2}}),
	}))
	if r.InsertedCount != 2 || r.ModifiedCount != 1 || r.UpsertedCount != 1 || r.DeletedCount != 1 {
		t.Errorf("wrote %+v", r)
	}
	_, err := c.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(bson.D{{Key: "_id", Value: 1}}),
		mongo.NewInsertOneModel().SetDocument(bson.D{{Key: "_id", Value: 4}}),
	}, options.BulkWrite().SetOrdered(false))
	if !mongo.IsDuplicateKeyError(err) {
		t.Errorf("a duplicate in a bulk: %v", err)
	}
	if n := must[int64](t)(c.EstimatedDocumentCount(ctx)); n != 3 {
		t.Errorf("%d documents, want 3", n)
	}
	if n := must[int64](t)(c.CountDocuments(ctx, bson.D{}, options.Count().SetSkip(1).SetLimit(5))); n != 2 {
		t.Errorf("%d documents but the first, want 2", n)
	}
	if n := must[int64](t)(c.CountDocuments(ctx, bson.D{{Key: "nobody", Value: 1}})); n != 0 {
		t.Errorf("%d documents that nobody has", n)
	}
}

func driveNames(t *testing.T, ctx context.Context, db *mongo.Database) {
	for _, name := range []string{"a", "b"} {
		must[*mongo.InsertOneResult](t)(db.Collection(name).InsertOne(ctx, bson.D{}))
	}
	if names := must[[]string](t)(db.ListCollectionNames(ctx, bson.D{{Key: "name", Value: "b"}})); len(names) != 1 || names[0] != "b" {
		t.Errorf("collections %q", names)
	}
	if names := must[[]string](t)(db.Client().ListDatabaseNames(ctx, bson.D{{Key: "name", Value: db.Name()}})); len(names) != 1 {
		t.Errorf("databases %q", names)
	}
	if err := db.Drop(ctx); err != nil {
		t.Fatal(err)
	}
	if names := must[[]string](t)(db.ListCollectionNames(ctx, bson.D{})); len(names) != 0 {
		t.Errorf("collections %q after the drop", names)
	}
}

func driveRefusals(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{Key: "_id", Value: 1}, {Key: "s", Value: "x"}}))
	code := func(what string, err error, want ...int) {
		t.Helper()
		var refused mongo.ServerError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, want an error from the server", what, err)
			return
		}
		for _, w := range want {
			if refused.HasErrorCode(w) {
				return
			}
		}
		t.Errorf("%s: %v, want code %v", what, err, want)
	}
	_, err := c.Aggregate(ctx, mongo.Pipeline{{{Key: "$lookup", Value: bson.D{}}}})
	code("an unknown stage", err, 40324)
	_, err = c.Watch(ctx, mongo.Pipeline{{{Key: "$sort", Value: bson.D{{Key: "_id", Value: 1}}}}})
	code("watch", err, 20)
	code("an unknown command", db.RunCommand(ctx, bson.D{{Key: "frobnicate", Value: 1}}).Err(), 59)
	code("an unknown query operator", c.FindOne(ctx, bson.D{{Key: "s", Value: bson.D{{Key: "$frob", Value: 1}}}}).Err(), 2)
	_, err = c.UpdateOne(ctx, bson.D{}, bson.D{{Key: "$frob", Value: bson.D{{Key: "s", Value: 1}}}})
	code("an unknown update operator", err, 9)
	_, err = c.UpdateOne(ctx, bson.D{}, bson.D{{Key: "$inc", Value: bson.D{{Key: "s", Value: 1}}}})
	code("$inc of a string", err, 14)
	_, err = c.InsertOne(ctx, bson.D{{Key: "_id", Value: 1}})
	code("a duplicate", err, 11000)
}
