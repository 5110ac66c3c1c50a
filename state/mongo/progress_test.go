package mongo_test

import (
	"errors"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
)

// Each transaction that is applied is progress of who runs it, and one that changes nothing is not.
func TestTransactionsAreProgress(t *testing.T) {
	t.Parallel()
	_, db := open(t)
	moved := 0
	ctx := mongo.Moving(t.Context(), func() { moved++ })
	insert := func(id string) error {
		return db.Change(ctx, func(o *mongo.Ops) error { o.Insert("c", id, bson.D{{"n", 1}}); return nil })
	}
	refused := errors.New("refused")
	for _, err := range []error{insert("a"), insert("b"), db.Change(ctx, func(*mongo.Ops) error { return nil })} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Change(ctx, func(*mongo.Ops) error { return refused }); err != refused {
		t.Error(err)
	}
	if moved != 2 {
		t.Errorf("two transactions moved %d times", moved)
	}
}
