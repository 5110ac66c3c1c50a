package conformancetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"go.mongodb.org/mongo-driver/mongo/writeconcern"

	"juju/doc/tools/verify"
)

// driveFaithful tests that the server never ignores part of a request: it does what the client
// asks for, or rejects the request with MongoDB's code.
func driveFaithful(t *testing.T, ctx context.Context, db *mongo.Database) {
	c := db.Collection("c")
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{Key: "_id", Value: 1}, {Key: "a", Value: bson.A{1, 5, 9}},
		{Key: "b", Value: bson.A{bson.D{{Key: "n", Value: 1}}, bson.D{{Key: "n", Value: 2}}}}}))
	run := func(cmd ...bson.E) error { return db.RunCommand(ctx, bson.D(cmd)).Err() }
	one := func(d ...bson.E) bson.A { return bson.A{bson.D(d)} }
	e := func(key string, value any) bson.E { return bson.E{Key: key, Value: value} }
	german := bson.D{e("locale", "de")}

	t.Run("unacknowledged", func(t *testing.T) {
		w0 := db.Collection("w0", options.Collection().SetWriteConcern(writeconcern.Unacknowledged()))
		for i := range 20 {
			// If one were answered, the next request would get that answer.
			if _, err := w0.InsertOne(ctx, bson.D{e("_id", i%10)}); err != nil && !errors.Is(err, mongo.ErrUnacknowledgedWrite) {
				t.Fatal(err)
			}
			if err := run(e("ping", 1)); err != nil {
				t.Fatal(err)
			}
		}
		for deadline := time.Now().Add(verify.Patience); ; {
			n := must[int64](t)(db.Collection("w0").EstimatedDocumentCount(ctx))
			if n == 10 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d documents of 10", n)
			}
		}
		var reply bson.M
		if err := db.RunCommand(ctx, bson.D{e("insert", "w0"), e("documents", one(e("_id", 1))), e("writeConcern", bson.D{e("w", 0)})}).Decode(&reply); err != nil || len(reply) != 1 {
			t.Errorf("an unacknowledged write was answered: %v, error %v", reply, err)
		}
	})

	t.Run("array filters", func(t *testing.T) {
		set := func(path string, value any, filters ...any) error {
			_, err := c.UpdateOne(ctx, bson.D{e("_id", 1)}, bson.D{e("$set", bson.D{e(path, value)})},
				options.Update().SetArrayFilters(options.ArrayFilters{Filters: filters}))
			return err
		}
		if err := set("a.$[big]", 100, bson.D{e("big", bson.D{e("$gte", 5)})}); err != nil {
			t.Fatal(err)
		}
		if err := set("b.$[el].n", 20, bson.D{e("$or", bson.A{bson.D{e("el.n", 2)}, bson.D{e("el.n", 3)}})}); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			A []int
			B []struct{ N int }
		}
		found := options.FindOneAndUpdate().SetReturnDocument(options.After).
			SetArrayFilters(options.ArrayFilters{Filters: []any{bson.D{e("one", 1)}}})
		if err := c.FindOneAndUpdate(ctx, bson.D{e("_id", 1)}, bson.D{e("$inc", bson.D{e("a.$[one]", 1)})}, found).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.A) != 3 || doc.A[0] != 2 || doc.A[1] != 100 || doc.A[2] != 100 || doc.B[0].N != 1 || doc.B[1].N != 20 {
			t.Errorf("got %+v", doc)
		}
		refused(t, set("a.$[x]", 1, bson.D{e("y", 1)}), 2, "No array filter found for identifier 'x' in path 'a.$[x]'")
		refused(t, set("n", 1, bson.D{e("y", 1)}), 9, "The array filter for identifier 'y' was not used in the update")
		refused(t, set("a.$[x]", 1, bson.D{e("x", 1)}, bson.D{e("x", 2)}), 9, "same top-level field name x")
	})

	t.Run("collation", func(t *testing.T) {
		for name, err := range map[string]error{
			"find":          c.FindOne(ctx, bson.D{}, options.FindOne().SetCollation(&options.Collation{Locale: "de"})).Err(),
			"count":         run(e("count", "c"), e("collation", german)),
			"distinct":      run(e("distinct", "c"), e("key", "a"), e("collation", german)),
			"update":        run(e("update", "c"), e("updates", one(e("q", bson.D{}), e("u", bson.D{e("$set", bson.D{e("z", 1)})}), e("collation", german)))),
			"delete":        run(e("delete", "c"), e("deletes", one(e("q", bson.D{}), e("limit", 1), e("collation", german)))),
			"findAndModify": run(e("findAndModify", "c"), e("remove", true), e("collation", german)),
			"create":        run(e("create", "d"), e("collation", german)),
			"createIndexes": run(e("createIndexes", "c"), e("indexes", one(e("key", bson.D{e("a", 1)}), e("name", "a"), e("collation", german)))),
		} {
			t.Run(name, func(t *testing.T) { refused(t, err, 2, "Field 'locale' is invalid in: ") })
		}
		simple := options.Find().SetCollation(&options.Collation{Locale: "simple"})
		must[*mongo.Cursor](t)(c.Find(ctx, bson.D{}, simple)).Close(ctx)
	})

	t.Run("maxTimeMS", func(t *testing.T) {
		for name, err := range map[string]error{
			"negative":  run(e("find", "c"), e("maxTimeMS", -1)),
			"no number": run(e("update", "c"), e("updates", one(e("q", bson.D{}), e("u", bson.D{}))), e("maxTimeMS", "x")),
		} {
			t.Run(name, func(t *testing.T) { refused(t, err, 2, "maxTimeMS") })
		}
	})

	t.Run("unknown fields", func(t *testing.T) {
		refused(t, run(e("insert", "c"), e("documents", one(e("n", 1))), e("frob", 1)), 40415, "BSON field 'insert.frob' is an unknown field.")
		refused(t, run(e("update", "c"), e("updates", one(e("q", bson.D{}), e("u", bson.D{}), e("frob", bson.D{})))), 40415, "BSON field 'update.updates.frob' is an unknown field.")
		refused(t, run(e("delete", "c"), e("deletes", one(e("q", bson.D{}), e("limit", 0), e("frob", nil)))), 40415, "BSON field 'delete.deletes.frob' is an unknown field.")
		refused(t, run(e("find", "c"), e("frob", 1)), 9, "frob")
	})

	t.Run("killCursors", func(t *testing.T) {
		if err := run(e("killCursors", "$cmd.listCollections"), e("cursors", bson.A{int64(12)})); err != nil {
			t.Error(err)
		}
		refused(t, run(e("killCursors", "a$b"), e("cursors", bson.A{int64(12)})), 73, "Invalid namespace")
	})

	t.Run("_id", func(t *testing.T) {
		insert := func(id any) error { _, err := c.InsertOne(ctx, bson.D{e("_id", id)}); return err }
		refused(t, insert(bson.D{e("$a", 1)}), 52, "The dollar ($) prefixed field '$a' in '_id' is not valid for storage.")
		refused(t, insert(bson.D{e("x", bson.D{e("$a", 1)})}), 52, "'$a'")
		refused(t, insert(bson.A{1}), 53, "The '_id' value cannot be of type array")
		refused(t, insert(primitive.Regex{Pattern: "x"}), 53, "The '_id' value cannot be of type regex")
		refused(t, insert(primitive.Undefined{}), 53, "The '_id' value cannot be of type undefined")
		_, err := c.UpdateOne(ctx, bson.D{e("n", 77)}, bson.D{e("$set", bson.D{e("_id", bson.D{e("$a", 1)})})}, options.Update().SetUpsert(true))
		refused(t, err, 52, "'$a'")
	})

	t.Run("duplicate keys", func(t *testing.T) {
		d := db.Collection("dup")
		oid := must[primitive.ObjectID](t)(primitive.ObjectIDFromHex("5a934e000102030405000000"))
		for _, test := range []struct {
			id   any
			want string
		}{
			{"x", `"x"`}, {`a"b`, `"a\"b"`}, {7, "7"}, {int64(8), "8"}, {1.5, "1.5"}, {9.0, "9.0"}, {true, "true"}, {nil, "null"},
			{oid, "ObjectId('5a934e000102030405000000')"}, {primitive.DateTime(1500), "new Date(1500)"},
			{bson.D{e("c", "units"), e("id", bson.A{1, 2})}, `{ c: "units", id: [ 1, 2 ] }`},
			{primitive.Timestamp{T: 3, I: 4}, "Timestamp(3, 4)"}, {primitive.Binary{Data: []byte{1, 0xab}}, "BinData(0, 01AB)"},
		} {
			must[*mongo.InsertOneResult](t)(d.InsertOne(ctx, bson.D{e("_id", test.id)}))
			_, err := d.InsertOne(ctx, bson.D{e("_id", test.id)})
			refused(t, err, 11000, "dup key: { : "+test.want+" }")
			_, err = d.UpdateOne(ctx, bson.D{e("_id", test.id), e("other", 1)}, bson.D{e("$set", bson.D{e("n", 1)})},
				options.Update().SetUpsert(true))
			refused(t, err, 11000, "dup key: { : "+test.want+" }")
		}
	})
}

// refused fails the test unless err is this error of MongoDB.
func refused(t *testing.T, err error, code int, words string) {
	t.Helper()
	var of mongo.ServerError
	if !errors.As(err, &of) || !of.HasErrorCode(code) || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, want code %d and %q", err, code, words)
	}
}
