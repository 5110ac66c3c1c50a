package mgotxn_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// A document that waits for a lost transaction blocks transactions on itself only, until it is
// repaired; it doesn't block later ones on the documents that should have changed with it.
func TestADamagedDocumentRefusesOnlyItsOwn(t *testing.T) {
	lost := bson.NewObjectId()
	queue := bson.D{{"$push", bson.D{{"txn-queue", lost.Hex() + "_0123abcd"}}}}
	mark := func(field string) bson.D { return bson.D{{"$set", bson.D{{field, lost}}}} }
	key := bson.D{{"c", "c"}, {"id", "new"}}
	for name, c := range map[string]struct {
		collection string
		id         any
		damage     bson.D
		op         txn.Op
		words      string
	}{
		"a queue":             {"c", "a", queue, txn.Op{C: "c", Id: "a", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}, "c a"},
		"a malformed queue":   {"c", "a", bson.D{{"$push", bson.D{{"txn-queue", "x"}}}}, txn.Op{C: "c", Id: "a", Assert: txn.DocExists}, "c a"},
		"a removal under way": {"c", "a", mark("txn-remove"), txn.Op{C: "c", Id: "a", Remove: true}, "c a"},
		"a stashed queue":     {mongo.StashC, key, queue, txn.Op{C: "c", Id: "new", Insert: bson.D{{"n", 1}}}, "c new"},
		"an insert under way": {mongo.StashC, key, mark("txn-insert"), txn.Op{C: "c", Id: "new", Insert: bson.D{{"n", 1}}}, "c new"},
	} {
		t.Run(name, func(t *testing.T) {
			_, db := mongotest.OpenStandalone(t)
			mongotest.Insert(t, db, mongotest.Doc{"a", 1})
			mongotest.Insert(t, db, mongotest.Doc{"b", 1})
			mongotest.Write(t, db, c.collection, func(col *mgo.Collection) error { _, err := col.UpsertId(c.id, c.damage); return err })
			more := txn.Op{C: "c", Id: "b", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}
			both := func(int) ([]txn.Op, error) { return []txn.Op{more, c.op}, nil }
			for range 3 {
				err := db.Run(t.Context(), both)
				if want := "cannot change " + c.words + ": it waits for a lost transaction"; err == nil || err.Error() != want ||
					!errors.Is(err, entity.Unavailable) || entity.Hint(err) != "To repair it: juju check --repair" {
					t.Fatalf("got %v (%s), want %s", err, entity.Hint(err), want)
				}
			}
			if n, err := db.Count(t.Context(), mongo.TxnsC, bson.M{"s": bson.M{"$lt": 5}}); err != nil || n != 0 {
				t.Errorf("%d transactions are unfinished (%v)", n, err)
			}
			if err := db.Run(t.Context(), func(int) ([]txn.Op, error) { return []txn.Op{more}, nil }); err != nil {
				t.Errorf("the other document: %v", err)
			}
			if n := mongotest.Get(t, db, "b").N; n != 2 {
				t.Errorf("n is %d, want 2", n)
			}
			if found := mongotest.Repair(t, db); len(found) != 1 || !strings.HasPrefix(found[0], c.words+": ") {
				t.Errorf("found %q", found)
			}
			if found := mongotest.Repair(t, db); len(found) != 0 {
				t.Errorf("after the repair, found %q", found)
			}
			if err := db.Run(t.Context(), both); err != nil {
				t.Errorf("after the repair: %v", err)
			}
		})
	}
}

// At worst the pruner fails; it doesn't panic.
func TestAPrunerAndDamage(t *testing.T) {
	for token, prunes := range map[string]bool{bson.NewObjectId().Hex() + "_0123abcd": true, "x": false} {
		_, db := mongotest.OpenStandalone(t)
		mongotest.Insert(t, db, mongotest.Doc{"a", 1})
		mongotest.Write(t, db, "c", func(c *mgo.Collection) error {
			return c.UpdateId("a", bson.D{{"$push", bson.D{{"txn-queue", token}}}})
		})
		if _, err := db.PruneTransactions(t.Context(), time.Now().Add(time.Hour)); (err == nil) != prunes {
			t.Errorf("%s: %v", token, err)
		}
	}
}

// Transactions that a crash has left waiting for a lost one block others only until the resumer
// runs.
func TestAnUnfinishedTransactionThatWaitsForALostOneIsTakenBack(t *testing.T) {
	_, db := mongotest.OpenStandalone(t)
	mongotest.Insert(t, db, mongotest.Doc{"a", 1})
	mongotest.Insert(t, db, mongotest.Doc{"b", 1})
	mongotest.Write(t, db, "c", func(c *mgo.Collection) error {
		return c.UpdateId("a", bson.D{{"$push", bson.D{{"txn-queue", bson.NewObjectId().Hex() + "_0123abcd"}}}})
	})
	ops := []txn.Op{{C: "c", Id: "b", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}, {C: "c", Id: "a", Assert: txn.DocExists}}
	mongotest.Write(t, db, mongo.TxnsC, func(c *mgo.Collection) error {
		err := txn.NewRunner(c).Run(ops, bson.NewObjectIdWithTime(time.Now().Add(-time.Minute)), nil)
		if err == nil || !strings.Contains(err.Error(), "cannot find transaction") {
			t.Errorf("it was not left unfinished: %v", err)
		}
		return nil
	})
	if err := db.ResumeTransactions(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := db.Run(t.Context(), func(int) ([]txn.Op, error) { return ops[:1], nil }); err != nil {
		t.Fatal(err)
	}
	if n := mongotest.Get(t, db, "b").N; n != 2 {
		t.Errorf("n is %d, want 2", n)
	}
}
