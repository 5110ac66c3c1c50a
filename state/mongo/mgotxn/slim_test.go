package mgotxn_test

import (
	"math/rand/v2"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// A document of a megabyte is rewritten repeatedly. The store must not grow with each
// rewrite: the contents of finished transactions are removed, and Pebble drops old versions.
func TestRewritesTakeNoSpace(t *testing.T) { mongotest.OnBoth(t, rewritesTakeNoSpace) }

func rewritesTakeNoSpace(t *testing.T, open mongotest.Opener) {
	_, db := open(t)
	const rewrites = 40
	size := 1 << 20
	if testing.Short() {
		size /= 2
	}
	write := func(n int) {
		noise := make([]byte, size) // incompressible
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
			op := txn.Op{C: "c", Id: "big", Insert: bson.M{"settings": bson.M{"all": noise}}}
			if n > 0 {
				op = txn.Op{C: "c", Id: "big", Assert: txn.DocExists, Update: bson.D{{Name: "$set", Value: bson.M{"settings": bson.M{"all": noise}}}}}
			}
			return []txn.Op{op, {C: "c", Id: n, Insert: mongotest.Doc{N: n}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range rewrites {
		write(n)
	}
	var txns []struct {
		Ops []txn.Op `bson:"o"`
		S   int      `bson:"s"`
	}
	if err := db.All(t.Context(), mongo.TxnsC, nil, &txns); err != nil {
		t.Fatal(err)
	}
	for i, tx := range txns {
		if text, err := bson.Marshal(tx); err != nil || len(text) > 2048 {
			t.Fatalf("transaction %d still has %d bytes, error %v", i, len(text), err)
		}
		if tx.S != 6 || len(tx.Ops) != 2 || tx.Ops[0].Id != "big" || tx.Ops[0].Insert == nil && tx.Ops[0].Update == nil {
			t.Fatalf("transaction %d is %+v", i, tx)
		}
	}
	var status struct {
		Engine struct {
			DiskBytes int64 `bson:"diskBytes"`
		} `bson:"storageEngine"`
	}
	if err := db.With(t.Context(), "c", func(c *mgo.Collection) error { return c.Database.Session.Run("serverStatus", &status) }); err != nil {
		t.Fatal(err)
	}
	if used := status.Engine.DiskBytes; used > 36*int64(size) {
		t.Errorf("%d KiB on disk after %d rewrites of %d KiB", used>>10, rewrites, size>>10)
	} else {
		t.Logf("%d MiB on disk", used>>20)
	}
	found, err := db.Problems(t.Context(), time.Now().Add(time.Hour))
	if err != nil || len(found) > 0 {
		t.Errorf("problems %v, error %v", found, err)
	}
}
