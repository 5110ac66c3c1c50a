package mongo_test

import (
	"errors"
	"sync"
	"testing"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// A change is only made if nobody has changed anything since a digest was made, not even while it was being built; and its
// own later transactions need no such thing.
func TestOnlyIf(t *testing.T) {
	_, db := open(t)
	insert(t, db, doc{"a", 1})
	insert(t, db, doc{"b", 1})
	sum := func() string {
		t.Helper()
		text, err := db.Sum(t.Context(), map[string]bson.D{"c": nil})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	inc := func(id string) []txn.Op {
		return []txn.Op{{C: "c", Id: id, Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}
	}
	moved := errors.New("it has moved")
	unmoved := func(was string) func() error {
		return func() error {
			if sum() != was {
				return moved
			}
			return nil
		}
	}
	first := sum()
	if err := db.Run(t.Context(), func(int) ([]txn.Op, error) { return []txn.Op{{C: "c", Id: "a", Assert: txn.DocExists}}, nil }); err != nil || sum() != first {
		t.Errorf("an assert alone changes the digest (%v)", err)
	}
	ctx := db.OnlyIf(t.Context(), unmoved(first))
	err := db.Run(ctx, func(int) ([]txn.Op, error) {
		// Another change of other documents, which the transaction does not assert.
		return inc("a"), db.Run(t.Context(), func(int) ([]txn.Op, error) { return inc("b"), nil })
	})
	if !errors.Is(err, moved) || get(t, db, "a").N != 1 || get(t, db, "b").N != 2 {
		t.Errorf("got %v, a %d, b %d", err, get(t, db, "a").N, get(t, db, "b").N)
	}
	ctx = db.OnlyIf(t.Context(), unmoved(sum()))
	for range 2 {
		if err := db.Run(ctx, func(int) ([]txn.Op, error) { return inc("a"), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if get(t, db, "a").N != 3 {
		t.Errorf("a is %d, want 3", get(t, db, "a").N)
	}

	// Of many at once, all but one find that the first has changed something.
	was := sum()
	var made sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			ctx := db.OnlyIf(t.Context(), unmoved(was))
			if err := db.Run(ctx, func(int) ([]txn.Op, error) { return inc([]string{"a", "b"}[i%2]), nil }); err == nil {
				made.Store(i, true)
			} else if !errors.Is(err, moved) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	made.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d of 8 were made, want 1", n)
	}
}
