package servertxn_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// Random operations end alike in the server's transactions and in mgo/txn's: all are applied or none, with the same
// documents.
func TestServerTransactionsEndAsMgoTxns(t *testing.T) {
	_, server := mongotest.Open(t)
	_, client := mongotest.OpenStandalone(t)
	rounds := 1500
	if testing.Short() {
		rounds = 400
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	contents := func(db *mongo.Database) (all []string) {
		t.Helper()
		var docs []bson.M
		if err := db.All(t.Context(), "c", nil, &docs); err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			maps.DeleteFunc(d, func(name string, _ any) bool { return slices.Contains(mongo.TxnFields, name) })
			all = append(all, fmt.Sprint(d))
		}
		slices.Sort(all)
		return all
	}
	outcomes := map[bool]int{}
	for range rounds {
		var ops []txn.Op
		for range 1 + r.IntN(4) {
			ops = append(ops, randomOp(r))
		}
		run := func(db *mongo.Database) bool {
			t.Helper()
			err := db.Run(t.Context(), func(attempt int) ([]txn.Op, error) {
				if attempt > 0 {
					return nil, errRefused
				}
				return ops, nil
			})
			if err != nil && !errors.Is(err, errRefused) {
				t.Fatalf("%+v: %v (%v)", ops, err, entity.KindOf(err))
			}
			return err == nil
		}
		before := contents(server)
		here, there := run(server), run(client)
		outcomes[here]++
		if is, want := contents(server), contents(client); here != there || !slices.Equal(is, want) {
			t.Fatalf("%+v on %v: applied %v, with mgo/txn %v;\nleft %v,\nwith mgo/txn %v", ops, before, here, there, is, want)
		}
	}
	if outcomes[true] < rounds/10 || outcomes[false] < rounds/10 {
		t.Errorf("%d were applied, %d refused: the test proves little", outcomes[true], outcomes[false])
	}
}

var errRefused = errors.New("refused")

// A document may take the place of another one that the same transaction removes after it has changed it, though a unique
// index allows only one of them.
func TestARemovedDocumentMakesRoom(t *testing.T) {
	_, db := mongotest.Open(t)
	mongotest.Write(t, db, "c", func(c *mgo.Collection) error { return c.EnsureIndex(mgo.Index{Key: []string{"n"}, Unique: true}) })
	mongotest.Insert(t, db, mongotest.Doc{"old", 1})
	err := db.Run(t.Context(), func(attempt int) ([]txn.Op, error) {
		if attempt > 0 {
			return nil, errRefused
		}
		return []txn.Op{
			{C: "c", Id: "new", Assert: txn.DocMissing, Insert: mongotest.Doc{"new", 1}},
			{C: "c", Id: "old", Assert: txn.DocExists, Update: bson.D{{"$set", bson.D{{"m", 1}}}}},
			{C: "c", Id: "old", Remove: true},
		}, nil
	})
	if err != nil || mongotest.Get(t, db, "new").N != 1 {
		t.Error(err)
	}
}

// randomOp returns an operation on one of a few documents.
func randomOp(r *rand.Rand) txn.Op {
	op := txn.Op{C: "c", Id: fmt.Sprint(r.IntN(4))}
	switch r.IntN(6) {
	case 0, 1:
		op.Assert = txn.DocExists
	case 2:
		op.Assert = txn.DocMissing
	case 3:
		op.Assert = bson.D{{"n", r.IntN(3)}}
	case 4:
		op.Assert = bson.D{{"$or", []bson.D{{{"n", r.IntN(3)}}, {{"m", bson.D{{"$exists", true}}}}}}}
	}
	switch r.IntN(6) {
	case 0, 1:
		op.Insert = bson.D{{"n", r.IntN(3)}}
		if op.Assert != nil {
			op.Assert = txn.DocMissing
		}
	case 2:
		op.Update = bson.D{{"$set", bson.D{{"n", r.IntN(3)}}}}
	case 3:
		op.Update = bson.D{{"$inc", bson.D{{"n", 1}}}, {"$set", bson.D{{"m", r.IntN(3)}}}}
	case 4:
		op.Remove = true
	default:
		if op.Assert == nil {
			op.Assert = txn.DocExists
		}
	}
	return op
}
