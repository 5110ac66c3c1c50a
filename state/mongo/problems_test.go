package mongo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/mongo/mgotxn"
	"juju/state/mongo/mongotest"
)

// Each kind of problem is described, with its repair, and after the repair it is gone and the document can be changed.
func TestProblems(t *testing.T) {
	t.Parallel()
	lost := bson.NewObjectId()
	mark := func(collection string, id any, field string, value any) func(*mongo.Database) {
		return func(db *mongo.Database) {
			write(t, db, collection, func(c *mgo.Collection) error {
				_, err := c.UpsertId(id, bson.D{{"$set", bson.D{{field, value}}}})
				return err
			})
		}
	}
	stashed := bson.D{{"c", "c"}, {"id", "new"}}
	for name, c := range map[string]struct {
		damage func(*mongo.Database)
		want   []string
	}{
		"none":              {func(*mongo.Database) {}, nil},
		"a queue":           {mark("c", "a", "txn-queue", []string{lost.Hex() + "_0123abcd"}), []string{"c a: it waits for transaction " + lost.Hex() + ", which is lost: remove it from the queue"}},
		"a malformed queue": {mark("c", "a", "txn-queue", []string{"x"}), []string{`c a: its queue holds "x", which is not a transaction: remove it from the queue`}},
		"a removal":         {mark("c", "a", "txn-remove", lost), []string{"c a: it is being removed by transaction " + lost.Hex() + ", which is lost: remove the mark"}},
		"an insert":         {mark(mongo.StashC, stashed, "txn-insert", lost), []string{"c new: it is being inserted by transaction " + lost.Hex() + ", which is lost: remove the mark"}},
		"a stashed queue":   {mark(mongo.StashC, stashed, "txn-queue", []string{"y"}), []string{`c new: its queue holds "y", which is not a transaction: remove it from the queue`}},
		"chunks of a file":  {mark("blobs.chunks", "a", "txn-remove", lost), nil},
		"two": {func(db *mongo.Database) {
			mark("c", "a", "txn-remove", lost)(db)
			mark("c", "a", "txn-queue", []string{"x", lost.Hex() + "_0123abcd"})(db)
		}, []string{
			"c a: it is being removed by transaction " + lost.Hex() + ", which is lost: remove the mark",
			"c a: it waits for transaction " + lost.Hex() + ", which is lost: remove it from the queue",
			`c a: its queue holds "x", which is not a transaction: remove it from the queue`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, db := openStandalone(t)
			insert(t, db, doc{"a", 1})
			c.damage(db)
			if diff := cmp.Diff(c.want, mongotest.Repair(t, db)); diff != "" {
				t.Errorf("got (-want +got):\n%s", diff)
			}
			if found := mongotest.Repair(t, db); len(found) > 0 {
				t.Errorf("after the repair: %q", found)
			}
			if err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
				return []txn.Op{{C: "c", Id: "a", Assert: txn.DocExists, Remove: true}, {C: "c", Id: "new", Insert: bson.D{{"n", 1}}}}, nil
			}); err != nil {
				t.Errorf("a change after the repair: %v", err)
			}
		})
	}
	// A mark left over after its insert or removal has ended would make mgo/txn process it forever.
	t.Run("a mark that stays", func(t *testing.T) {
		t.Parallel()
		_, db := openStandalone(t)
		insert(t, db, doc{"a", 1})
		var done struct {
			ID bson.ObjectId `bson:"_id"`
		}
		write(t, db, mongo.TxnsC, func(c *mgo.Collection) error { return c.Find(nil).One(&done) })
		mark("c", "a", "txn-remove", done.ID)(db)
		want := []string{"c a: it is being removed by transaction " + done.ID.Hex() + ", which has ended: remove the mark"}
		if diff := cmp.Diff(want, mongotest.Repair(t, db)); diff != "" {
			t.Error(diff)
		}
		insert(t, db, doc{"b", 1})
		if err := db.Run(t.Context(), func(int) ([]txn.Op, error) { return []txn.Op{{C: "c", Id: "a", Remove: true}}, nil }); err != nil {
			t.Error(err)
		}
	})
}

// An unfinished transaction is described with the documents that it holds up, each once, and its repair completes it. One
// that has just begun is its runner's.
func TestUnfinishedTransactionsAreProblems(t *testing.T) {
	t.Parallel()
	_, db := openStandalone(t)
	insert(t, db, doc{"a", 1})
	insert(t, db, doc{"b", 1})
	began := time.Now().Add(-time.Minute)
	old, young := bson.NewObjectIdWithTime(began), bson.NewObjectIdWithTime(time.Now().Add(time.Hour))
	inc := func(id string) bson.M { return bson.M{"c": "c", "d": id, "u": bson.M{"$inc": bson.M{"n": 1}}} }
	for _, id := range []bson.ObjectId{old, young} {
		write(t, db, mongo.TxnsC, func(c *mgo.Collection) error {
			return c.Insert(bson.M{"_id": id, "s": 1, "o": []bson.M{inc("a"), inc("b"), inc("a")}})
		})
	}
	// Another will be aborted, because what it asserts does not hold.
	refused := bson.NewObjectIdWithTime(began.Add(-time.Minute))
	write(t, db, mongo.TxnsC, func(c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": refused, "s": 2, "o": []bson.M{{"c": "c", "d": "b", "a": bson.M{"n": 99}}}})
	})
	what := func(id bson.ObjectId, state, docs string) string {
		return fmt.Sprintf("txns %s: it is %s since %s and holds up %s: complete or abort it", id.Hex(), state,
			id.Time().UTC().Format(time.RFC3339), docs)
	}
	want := []string{what(old, "preparing", "c a, c b"), what(refused, "prepared", "c b")}
	slices.Sort(want)
	if diff := cmp.Diff(want, mongotest.Repair(t, db)); diff != "" {
		t.Error(diff)
	}
	if found := mongotest.Repair(t, db); len(found) > 0 {
		t.Errorf("after the repair: %q", found)
	}
	if a, b := get(t, db, "a").N, get(t, db, "b").N; a != 3 || b != 2 {
		t.Errorf("after the repair n is %d and %d, want 3 and 2", a, b)
	}
}

// A repair leaves what has changed since the problem was found.
func TestARepairThatComesTooLate(t *testing.T) {
	t.Parallel()
	_, db := openStandalone(t)
	insert(t, db, doc{"a", 1})
	set := func(token string, mark bson.ObjectId) {
		write(t, db, "c", func(c *mgo.Collection) error {
			return c.UpdateId("a", bson.D{{"$set", bson.D{{"txn-queue", []string{token}}, {"txn-remove", mark}}}})
		})
	}
	set("x", bson.NewObjectId())
	problems, err := db.Problems(t.Context(), time.Now())
	if err != nil || len(problems) != 2 {
		t.Fatalf("found %+v, %v", problems, err)
	}
	mark := bson.NewObjectId()
	set("y", mark)
	for _, p := range problems {
		if err := p.Mend(t.Context()); err != nil {
			t.Errorf("%s: %v", p.What, err)
		}
	}
	var is mgotxn.Bookkeeping
	write(t, db, "c", func(c *mgo.Collection) error { return c.FindId("a").One(&is) })
	if is.Remove != mark || !slices.Equal(is.Queue, []string{"y"}) {
		t.Errorf("the document has %+v", is)
	}
}

// The documents that refer to lost transactions are looked up in batches; each is found once.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	_, db := openStandalone(t)
	const many = 1100
	write(t, db, "c", func(c *mgo.Collection) error {
		docs := make([]any, many)
		for i := range docs {
			docs[i] = bson.D{{"_id", i}, {"txn-queue", []string{bson.NewObjectId().Hex() + "_0123abcd"}}}
		}
		return c.Insert(docs...)
	})
	problems, err := db.Problems(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[any]bool{}
	for _, p := range problems {
		ids[p.ID] = true
	}
	if len(problems) != many || len(ids) != many {
		t.Errorf("found %d problems of %d documents, want %d", len(problems), len(ids), many)
	}
}
