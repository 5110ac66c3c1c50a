package conformancetest

import (
	"testing"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

// testAggregate runs pipelines through mgo, and explains one.
func testAggregate(t *testing.T, s *store) {
	c := s.db.C("c")
	for i := range 300 {
		if err := c.Insert(bson.D{{"_id", i}, {"a", i % 3}, {"l", []int{i, -i}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.EnsureIndex(mgo.Index{Key: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		ID  int `bson:"_id"`
		N   int
		Avg float64
	}
	if err := c.Pipe([]bson.D{
		{{"$match", bson.D{{"a", bson.D{{"$gt", 0}}}}}},
		{{"$group", bson.D{{"_id", "$a"}, {"n", bson.D{{"$sum", 1}}}, {"avg", bson.D{{"$avg", "$_id"}}}}}},
		{{"$sort", bson.D{{"_id", -1}}}},
	}).All(&groups); err != nil {
		t.Fatal(err)
	}
	if len(groups) != 2 || groups[0].ID != 2 || groups[0].N != 100 || groups[0].Avg != 150.5 || groups[1].Avg != 149.5 {
		t.Errorf("groups %v", groups)
	}
	// More than one batch.
	it := c.Pipe([]bson.D{{{"$unwind", "$l"}}, {{"$project", bson.D{{"_id", 0}, {"l", 1}}}}}).Batch(50).Iter()
	n, sum := 0, 0
	for doc := (struct{ L int }{}); it.Next(&doc); n++ {
		sum += doc.L
	}
	if err := it.Close(); err != nil || n != 600 || sum != 0 {
		t.Errorf("%d documents with the sum %d, %v", n, sum, err)
	}
	err := c.Pipe([]bson.D{{{"$frob", 1}}}).All(&groups)
	if e, ok := err.(*mgo.QueryError); !ok || e.Code != 40324 {
		t.Errorf("an unknown stage: %v", err)
	}
	var plan struct {
		Stats struct {
			Returned int `bson:"nReturned"`
			Keys     int `bson:"totalKeysExamined"`
			Docs     int `bson:"totalDocsExamined"`
		} `bson:"executionStats"`
	}
	if err := s.db.Run(bson.D{{"explain", bson.D{{"find", "c"}, {"filter", bson.D{{"a", 1}}}}}, {"verbosity", "executionStats"}}, &plan); err != nil {
		t.Fatal(err)
	}
	if s := plan.Stats; s.Returned != 100 || s.Docs != 100 || s.Keys != 100 {
		t.Errorf("the plan of a query by index: %+v", s)
	}
}
