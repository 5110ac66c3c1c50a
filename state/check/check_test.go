package check_test

import (
	"errors"
	"fmt"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/mongo"
)

// A check makes progress with each document that it reads, and with each that it judges: it takes the longer the more there
// are.
func TestChecksAreProgress(t *testing.T) {
	t.Parallel()
	store, err := mongo.OpenMemory(mongo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db := store.Open("db")
	defer db.Close(errors.New("the test is over"))
	moves := func(documents int) (moved int) {
		for n := range documents {
			if err := db.Change(t.Context(), func(o *mongo.Ops) error {
				o.Insert("c", fmt.Sprint(documents, "-", n), bson.D{{"n", n}})
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		k := &check.Checker{DB: db, Fields: map[string][]string{"c": nil},
			Rules: []check.Rule{{Of: "c", Judge: func(*check.View, string) *check.Wrong { return nil }}}}
		if _, err := k.Run(mongo.Moving(t.Context(), func() { moved++ }), false); err != nil {
			t.Fatal(err)
		}
		return moved
	}
	if few, more := moves(1), moves(20); more-few != 2*20 {
		t.Errorf("20 documents more are %d steps more, want 40", more-few)
	}
}
