package mongo_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/tracing/tracingtest"
)

// The span of a change has its attempts and how it ended, and that of one that is refused the kind of the error.
func TestTransactionsHaveSpans(t *testing.T) {
	t.Parallel()
	_, db := openWith(t, mongo.Options{Traces: true})
	insert(t, db, doc{ID: "a"})
	tracer, spans := tracingtest.Record(t)
	ctx, request := tracer.Start(t.Context(), "request")
	err := db.Run(ctx, func(attempt int) ([]txn.Op, error) {
		assert := any(txn.DocExists)
		if attempt == 0 {
			assert = bson.D{{"n", "what it is not"}}
		}
		return []txn.Op{{C: "c", Id: "a", Assert: assert, Update: bson.D{{"$set", bson.D{{"n", attempt}}}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	refusal := func(int) ([]txn.Op, error) { return nil, entity.Errorf(entity.InUse, "xyzzy") }
	if err := db.Run(ctx, refusal); entity.KindOf(err) != entity.InUse {
		t.Fatal(err)
	}
	if err := db.Run(t.Context(), refusal); entity.KindOf(err) != entity.InUse { // in no span
		t.Fatal(err)
	}
	request.End()
	var got []string
	for _, s := range spans() {
		got = append(got, fmt.Sprintf("%s %v %v %v below %q", s.Name, s.Attributes, s.Events, s.Failed, tracingtest.Above(spans(), s)))
	}
	want := []string{
		`transaction map[db.namespace:db juju.attempts:2 juju.outcome:applied] [aborted] false below ["request"]`,
		`transaction map[db.namespace:db error.type:in use juju.attempts:1 juju.outcome:refused] [] true below ["request"]`,
		`request map[] [] false below []`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
