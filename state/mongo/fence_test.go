package mongo_test

import (
	"context"
	"errors"
	"testing"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
)

// A fenced task changes its database while what the fence asserts holds, and then nothing more. Other databases, and tasks
// without the fence, are not concerned.
func TestFences(t *testing.T) { onBoth(t, fences) }

func fences(t *testing.T, open opener) {
	store, db := open(t)
	insert(t, db, doc{"mine", 1})
	insert(t, db, doc{"a", 0})
	if err := store.Make(t.Context(), "other", mongo.Schema{LogSize: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	other := store.Open("other")
	defer other.Close(errors.New("the test has ended"))
	lost := errors.New("another has taken over")
	task := mongo.KeepFences(t.Context(), db.Fenced(context.Background(), "c", "mine", bson.D{{"n", 1}}, lost))
	change := func(ctx context.Context, db *mongo.Database, op txn.Op) error {
		return db.Run(ctx, func(int) ([]txn.Op, error) { return []txn.Op{op}, nil })
	}
	inc := txn.Op{C: "c", Id: "a", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}
	if err := change(task, db, inc); err != nil {
		t.Errorf("while it holds: %v", err)
	}
	if err := change(t.Context(), db, txn.Op{C: "c", Id: "mine", Assert: txn.DocExists, Update: bson.D{{"$set", bson.D{{"n", 2}}}}}); err != nil {
		t.Fatal(err)
	}
	if err := change(task, db, inc); err != lost {
		t.Errorf("after it was lost: %v", err)
	}
	if err := change(task, other, txn.Op{C: "c", Id: "b", Insert: doc{"b", 1}}); err != nil {
		t.Errorf("in another database: %v", err)
	}
	if err := change(mongo.KeepFences(t.Context(), t.Context()), db, inc); err != nil {
		t.Errorf("without the fence: %v", err)
	}
	if n := get(t, db, "a").N; n != 2 {
		t.Errorf("n is %d, want 2", n)
	}
}
