package mgotxn_test

import (
	"fmt"
	"strings"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// bulk builds a transaction that inserts documents, counts them, and asserts one that it
// doesn't change.
func bulk(name string, n int) mongo.Builder {
	return func(int) ([]txn.Op, error) {
		ops := []txn.Op{
			{C: "c", Id: "count", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", n}}}}},
			{C: "c", Id: "basis", Assert: txn.DocExists},
		}
		for i := range n {
			id := fmt.Sprint(name, i)
			ops = append(ops, txn.Op{C: "c", Id: id, Assert: txn.DocMissing, Insert: mongotest.Doc{id, i}})
		}
		return ops, nil
	}
}

func queue(t *testing.T, db *mongo.Database, id string) (tokens []string) {
	t.Helper()
	var found struct {
		Queue []string `bson:"txn-queue"`
	}
	mongotest.Write(t, db, "c", func(c *mgo.Collection) error { return c.FindId(id).One(&found) })
	return found.Queue
}

// A transaction with many inserts costs no more if an earlier one has touched its counter or
// its asserted document: finished transactions aren't read again.
func TestManyInsertsIgnoreFinishedTransactions(t *testing.T) {
	const n = 40
	_, db := mongotest.OpenStandalone(t)
	mongotest.Insert(t, db, mongotest.Doc{"count", 0})
	mongotest.Insert(t, db, mongotest.Doc{"basis", 0})
	cost := func(name string) int {
		mgo.SetStats(true)
		defer mgo.SetStats(false)
		if err := db.Run(t.Context(), bulk(name, n)); err != nil {
			t.Fatal(err)
		}
		return mgo.GetStats().SentOps
	}
	cost("warm")
	if sent := cost("b"); sent > 8*n {
		t.Errorf("%d requests for %d documents", sent, n)
	}
	if got := mongotest.Get(t, db, "count").N; got != 2*n {
		t.Errorf("the count is %d, want %d", got, 2*n)
	}
}

// An unfinished transaction stays in a queue until it is completed, and a token without a
// transaction until it is repaired.
func TestOnlyFinishedTransactionsLeaveAQueue(t *testing.T) {
	_, db := mongotest.OpenStandalone(t)
	mongotest.Insert(t, db, mongotest.Doc{"count", 0})
	mongotest.Insert(t, db, mongotest.Doc{"basis", 0})
	// A runner was stopped between its first two steps.
	begun := bson.NewObjectId()
	mongotest.Write(t, db, mongo.TxnsC, func(c *mgo.Collection) error {
		return c.Insert(bson.D{{"_id", begun}, {"s", 2}, {"n", "0123abcd"},
			{"o", []txn.Op{{C: "c", Id: "count", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1000}}}}}}}})
	})
	push := func(id string, txn bson.ObjectId) {
		mongotest.Write(t, db, "c", func(c *mgo.Collection) error {
			return c.UpdateId(id, bson.D{{"$push", bson.D{{"txn-queue", txn.Hex() + "_0123abcd"}}}})
		})
	}
	push("count", begun)
	if err := db.Run(t.Context(), bulk("a", 40)); err != nil {
		t.Fatal(err)
	}
	if got := mongotest.Get(t, db, "count").N; got != 1040 {
		t.Errorf("n is %d, want 1040", got)
	}
	push("basis", bson.NewObjectId())
	if err := db.Run(t.Context(), bulk("b", 40)); err == nil || !strings.Contains(err.Error(), "waits for a lost transaction") {
		t.Errorf("got %v", err)
	}
	if q := queue(t, db, "basis"); len(q) != 1 {
		t.Errorf("the queue is %v", q)
	}
}
