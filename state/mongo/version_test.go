package mongo_test

import (
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/mongo/mgotxn"
	"juju/state/mongo/mongotest"
)

// A transaction can assert that a document is as it was read, whether it is there or not, and whether a transaction ever
// changed it.
func TestVersionsAreAsserted(t *testing.T) { onBoth(t, versionsAreAsserted) }

func versionsAreAsserted(t *testing.T, open opener) {
	_, db := open(t)
	mongotest.Write(t, db, "c", func(c *mgo.Collection) error { return c.Insert(bson.D{{"_id", "raw"}, {"n", 1}}) })
	mongotest.Insert(t, db, mongotest.Doc{ID: "a", N: 1})
	read := func(id string) mongo.Version {
		t.Helper()
		var doc struct{ N int }
		v, err := db.Read(t.Context(), "c", id, []string{"n"}, &doc)
		if err != nil || v.There != (doc.N == 1) {
			t.Fatalf("%s is read as %+v, %+v, %v", id, doc, v, err)
		}
		return v
	}
	for _, id := range []string{"raw", "a", "none"} {
		v := read(id)
		if settled, err := db.Settled(t.Context(), []mongo.Version{v}); err != nil || !settled {
			t.Errorf("%s: %+v is settled: %v, %v", id, v, settled, err)
		}
		op := txn.Op{C: "c", Id: id, Assert: v.Assert(), Update: bson.D{{"$inc", bson.D{{"others", 1}}}}}
		if !v.There {
			op.Update, op.Insert = nil, bson.D{{"n", 1}}
		}
		once := func(n int) ([]txn.Op, error) {
			if n > 0 {
				return nil, mongo.ErrNothing
			}
			return []txn.Op{op}, nil
		}
		if err := db.Run(t.Context(), once); err != nil {
			t.Errorf("%s as it was read: %v", id, err)
		}
		if after := read(id); after.Revno == v.Revno && after.There == v.There {
			t.Errorf("%s has the same version after a change: %+v", id, after)
		}
		if failed, err := db.FailedAsserts(t.Context(), []txn.Op{op}, 1); err != nil || len(failed) != 1 {
			t.Errorf("%s after a change: %v, %v", id, failed, err)
		}
	}
}

// A version with a transaction of mgo/txn that has not ended is not settled.
func TestUnfinishedTransactionsAreNotSettled(t *testing.T) {
	t.Parallel()
	_, db := mongotest.OpenStandalone(t)
	mongotest.Insert(t, db, mongotest.Doc{ID: "a", N: 1})
	for _, state := range append([]int{5, 6}, mgotxn.Unfinished...) {
		id := bson.NewObjectId()
		mongotest.Write(t, db, mongo.TxnsC, func(c *mgo.Collection) error { return c.Insert(bson.D{{"_id", id}, {"s", state}}) })
		mongotest.Write(t, db, "c", func(c *mgo.Collection) error {
			return c.UpdateId("a", bson.D{{"$set", bson.D{{"txn-queue", []string{id.Hex() + "_0123abcd"}}}}})
		})
		v, err := db.Read(t.Context(), "c", "a", nil, &bson.M{})
		if err != nil {
			t.Fatal(err)
		}
		settled, err := db.Settled(t.Context(), []mongo.Version{v})
		if want := state >= 5; err != nil || settled != want {
			t.Errorf("a transaction in state %d: settled %v, %v", state, settled, err)
		}
	}
}
