package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// stalling is a connection whose messages are held up at random.
type stalling struct{ net.Conn }

func (s stalling) Write(b []byte) (int, error) {
	if rand.IntN(4) == 0 {
		time.Sleep(rand.N(4 * time.Millisecond))
	}
	return s.Conn.Write(b)
}

// Two controllers that stall between all their steps lose no update of each other: every transaction that was applied
// counts, and none relied on what the other has changed. mgo/txn fails in this (its own test of it is skipped).
func TestTwoControllersLoseNoUpdate(t *testing.T) {
	set := mongotest.NewSet(t, 3)
	twoControllersLoseNoUpdate(t, set.URL(), set.Dial)
}

func twoControllersLoseNoUpdate(t *testing.T, url string, dial mongo.Dial) {
	stalls := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dial(ctx, address)
		return stalling{conn}, err
	}
	_, a := openURL(t, url, mongo.Options{Dial: stalls})
	_, b := openURL(t, url, mongo.Options{Dial: stalls})
	const counters, pairs = 2, 2
	each := 60
	if testing.Short() {
		each = 20
	}
	for i := range counters {
		insert(t, a, doc{fmt.Sprint(i), 0})
	}
	for i := range pairs {
		insert(t, a, doc{fmt.Sprint("left ", i), 1})
		insert(t, a, doc{fmt.Sprint("right ", i), 1})
	}
	ctx := context.Background()
	var work sync.WaitGroup
	for _, db := range []*mongo.Database{a, b} {
		for range 3 {
			work.Go(func() {
				for range each {
					id := fmt.Sprint(rand.IntN(counters))
					if err := db.Run(ctx, func(int) ([]txn.Op, error) {
						var d doc
						if err := db.Get(ctx, "c", id, &d, "counter"); err != nil {
							return nil, err
						}
						return []txn.Op{{C: "c", Id: id, Assert: bson.D{{"n", d.N}}, Update: bson.D{{"$set", bson.D{{"n", d.N + 1}}}}}}, nil
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		// Of each pair at most one may be 0: whoever makes it so asserts the other, and changes it not.
		work.Go(func() {
			for range each {
				pair := rand.IntN(pairs)
				mine, other := fmt.Sprint("left ", pair), fmt.Sprint("right ", pair)
				if rand.IntN(2) == 0 {
					mine, other = other, mine
				}
				var is, beside doc
				if err := errors.Join(db.Get(ctx, "c", mine, &is, "doc"), db.Get(ctx, "c", other, &beside, "doc")); err != nil {
					t.Error(err)
				}
				err := db.Run(ctx, func(attempt int) ([]txn.Op, error) {
					if attempt > 3 {
						return nil, mongo.ErrNothing
					}
					return []txn.Op{
						{C: "c", Id: mine, Assert: bson.D{{"n", is.N}}, Update: bson.D{{"$set", bson.D{{"n", 1 - is.N}}}}},
						{C: "c", Id: other, Assert: bson.D{{"n", 1}}},
					}, nil
				})
				if err != nil {
					t.Error(err)
				}
				if err := db.Get(ctx, "c", mine, &is, "doc"); err != nil {
					t.Error(err)
				}
				var both []doc
				if err := a.All(ctx, "c", bson.D{{"_id", bson.D{{"$in", []string{mine, other}}}}, {"n", 0}}, &both); err != nil || len(both) > 1 {
					t.Errorf("%v are 0 (%v)", both, err)
				}
			}
		})
	}
	work.Wait()
	total := 0
	for i := range counters {
		total += get(t, b, fmt.Sprint(i)).N
	}
	if want := 2 * 3 * each; total != want {
		t.Errorf("the counters say %d, but %d transactions were applied", total, want)
	}
}

// Random operations end alike in the server's transactions and in mgo/txn's: all are applied or none, with the same
// documents.
func TestServerTransactionsEndAsMgoTxns(t *testing.T) {
	_, server := open(t)
	_, client := openStandalone(t)
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
	_, db := open(t)
	write(t, db, "c", func(c *mgo.Collection) error { return c.EnsureIndex(mgo.Index{Key: []string{"n"}, Unique: true}) })
	insert(t, db, doc{"old", 1})
	err := db.Run(t.Context(), func(attempt int) ([]txn.Op, error) {
		if attempt > 0 {
			return nil, errRefused
		}
		return []txn.Op{
			{C: "c", Id: "new", Assert: txn.DocMissing, Insert: doc{"new", 1}},
			{C: "c", Id: "old", Assert: txn.DocExists, Update: bson.D{{"$set", bson.D{{"m", 1}}}}},
			{C: "c", Id: "old", Remove: true},
		}, nil
	})
	if err != nil || get(t, db, "new").N != 1 {
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
