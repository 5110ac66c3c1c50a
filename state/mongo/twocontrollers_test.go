package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

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

// What a transaction only asserts conflicts with a change of it by another one, in the middle of both: else each would rest on
// what the other has changed.
func TestAssertedDocumentsConflict(t *testing.T) {
	set := mongotest.NewSet(t, 1)
	var meanwhile func()
	set.Heard = func(c mongotest.Command) {
		if f := meanwhile; c.Client == "a" && c.Name == "commitTransaction" && f != nil {
			meanwhile = nil
			f()
		}
	}
	_, a := openURL(t, set.URL(), mongo.Options{Dial: set.DialAs("a")})
	_, b := openURL(t, set.URL(), mongo.Options{Dial: set.DialAs("b")})
	insert(t, a, doc{"left", 1})
	insert(t, a, doc{"right", 1})
	clears := func(db *mongo.Database, mine, other string) error {
		return db.Run(t.Context(), func(attempt int) ([]txn.Op, error) {
			if attempt > 0 {
				return nil, mongo.ErrNothing
			}
			return []txn.Op{{C: "c", Id: mine, Assert: bson.D{{"n", 1}}, Update: bson.D{{"$set", bson.D{{"n", 0}}}}},
				{C: "c", Id: other, Assert: bson.D{{"n", 1}}}}, nil
		})
	}
	meanwhile = func() {
		if err := clears(b, "left", "right"); err != nil {
			t.Error(err)
		}
	}
	if err := clears(a, "right", "left"); err != nil {
		t.Error(err)
	}
	if left, right := get(t, a, "left").N, get(t, a, "right").N; meanwhile != nil || left+right != 1 {
		t.Errorf("left is %d and right %d", left, right)
	}
}
