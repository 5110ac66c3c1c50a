package mongo_test

import (
	"slices"
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

func TestFailedAssertsAreDescribed(t *testing.T) { onBoth(t, failedAssertsAreDescribed) }

func failedAssertsAreDescribed(t *testing.T, open opener) {
	_, db := open(t)
	long := strings.Repeat("x", 1000)
	err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
		return []txn.Op{{C: "c", Id: "a", Insert: bson.D{{"life", entity.Dying}, {"n", 3}, {"text", "here"}, {"long", long},
			{"hash", "1234"}, {"map", bson.D{{"k", "v"}}}, {"list", []string{"x", "y"}}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id     string
		assert any
		words  string
	}{
		{"a", txn.DocExists, ""},
		{"b", txn.DocMissing, ""},
		{"a", nil, ""},
		{"a", bson.D{{"life", entity.Dying}, {"n", 3}}, ""},
		{"a", bson.M{"n": bson.M{"$gt": 2}}, ""},
		{"a", txn.DocMissing, "c a: it already exists"},
		{"b", txn.DocExists, "c b: it does not exist"},
		{"b", bson.D{{"n", 3}}, "c b: it does not exist"},
		{"a", bson.D{{"n", 3}, {"life", entity.Alive}}, "c a: life is dying, not alive"},
		{"a", bson.M{"life": entity.Dead}, "c a: life is dying, not dead"},
		{"a", bson.D{{"life", bson.D{{"$ne", entity.Dying}}}}, "c a: life is dying"},
		{"a", bson.D{{"n", bson.D{{"$gt", 3}}}}, "c a: n is 3, not more than 3"},
		{"a", bson.D{{"n", bson.D{{"$lt", 3}}}}, "c a: n is 3, not less than 3"},
		{"a", bson.D{{"n", bson.D{{"$gte", 4}}}}, "c a: n is 3, not at least 4"},
		{"a", bson.D{{"n", bson.D{{"$lte", 2}}}}, "c a: n is 3, not at most 2"},
		{"a", bson.D{{"n", bson.D{{"$in", []int{1, 2}}}}}, `c a: n is 3, wanted {"$in":[1,2]}`},
		{"a", bson.D{{"none", 1}}, "c a: none is not set, not 1"},
		{"a", bson.D{{"none", bson.D{{"$exists", true}}}}, "c a: none is not set"},
		{"a", bson.D{{"text", bson.D{{"$exists", false}}}}, `c a: text is "here"`},
		{"a", bson.D{{"map.k", "w"}}, `c a: map.k is "v", not "w"`},
		{"a", bson.D{{"map", bson.D{{"k", "w"}}}}, `c a: map is {"k":"v"}, not {"k":"w"}`},
		{"a", bson.D{{"list", "z"}}, `c a: list is ["x","y"], not "z"`},
		{"a", bson.D{{"hash", "12"}}, "c a: hash is (not shown), not (not shown)"},
		{"a", bson.D{{"$or", []bson.D{{{"n", 1}}, {{"n", 2}}}}}, `c a: {"$or":[{"n":1},{"n":2}]} does not hold`},
		{"a", bson.D{{"long", "y"}}, `c a: long is "` + long[:199] + `…, not "y"`},
	} {
		ops := []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", 3}}}, {C: "c", Id: c.id, Assert: c.assert}}
		failed, err := db.FailedAsserts(t.Context(), ops, len(ops))
		if err != nil {
			t.Fatalf("%v: %v", c.assert, err)
		}
		words := ""
		if len(failed) > 0 {
			words = failed[0].String()
		}
		if words != c.words {
			t.Errorf("%v: got %q, want %q", c.assert, words, c.words)
		}
	}
}

func TestAbandonedTransactionsAreRecorded(t *testing.T) {
	_, db := openWith(t, mongo.Options{Patience: 50 * time.Millisecond})
	insert(t, db, doc{"a", 1})
	insert(t, db, doc{"b", 1})
	for _, n := range []int{98, 99} {
		_ = db.Run(t.Context(), func(int) ([]txn.Op, error) {
			return []txn.Op{{C: "c", Id: "b", Assert: txn.DocExists}, {C: "c", Id: "a", Assert: bson.D{{"n", n}}}}, nil
		})
	}
	for _, id := range []string{"a", "b"} {
		all, err := db.Refusals(t.Context(), "c", id)
		if err != nil || len(all) != 2 {
			t.Fatalf("%v, %v", all, err)
		}
		if r := all[0]; r.Why != "c a: n is 1, not 99" || r.Found != "1" || len(r.Docs) != 2 || r.At.IsZero() {
			t.Errorf("the last one is %+v", r)
		}
	}
	if all, err := db.Refusals(t.Context(), "c", "z"); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if longest, err := mongotest.LongestQueue(t.Context(), db); err != nil || longest > 20 {
		t.Errorf("a queue of %d (%v)", longest, err)
	}
}

// A transaction that was refused though all of its asserts hold afterwards is recorded without a reason.
func TestARefusalWithoutAReason(t *testing.T) {
	_, db := openWith(t, mongo.Options{Patience: 50 * time.Millisecond})
	insert(t, db, doc{"a", 1})
	set := func(n int) func() {
		return func() {
			write(t, db, "c", func(c *mgo.Collection) error { return c.UpdateId("a", bson.D{{"$set", bson.D{{"n", n}}}}) })
		}
	}
	mongotest.HooksOf(db).Set(slices.Repeat([]mongotest.TestHook{{Before: set(2), After: set(1)}}, 100_000)...)
	if err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
		return []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", 1}}}}, nil
	}); err == nil {
		t.Fatal("it was not refused")
	}
	all, err := db.Refusals(t.Context(), "c", "a")
	if err != nil || len(all) != 1 || all[0].Why != "" || all[0].Found != "" {
		t.Errorf("recorded %+v, %v", all, err)
	}
}

func TestHooksRewriteOperations(t *testing.T) {
	_, db := openWith(t, mongo.Options{Patience: 50 * time.Millisecond})
	insert(t, db, doc{"a", 1})
	var seen []txn.Op
	mongotest.HooksOf(db).RewriteOps(func(ops []txn.Op) []txn.Op {
		seen = append(seen, ops...)
		ops[0].Assert = nil
		return ops
	})
	wrong := func(attempt int) ([]txn.Op, error) {
		return []txn.Op{{C: "c", Id: "a", Assert: bson.D{{"n", 9}}, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
	}
	if err := db.Run(t.Context(), wrong); err != nil {
		t.Fatal(err)
	}
	if n := get(t, db, "a").N; n != 2 || len(seen) != 1 {
		t.Errorf("n is %d, saw %v", n, seen)
	}
	mongotest.HooksOf(db).RewriteOps(nil)
	if err := db.Run(t.Context(), wrong); err == nil || len(seen) != 1 {
		t.Errorf("got %v, saw %v", err, seen)
	}
}
