package mongo_test

import (
	"errors"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// A copy has every document of a store. A store that differs is not taken for one, and has another digest.
func TestACopyIsCompared(t *testing.T) {
	t.Parallel()
	from, db := mongotest.Open(t)
	for _, id := range []string{"a", "b"} {
		mongotest.Insert(t, db, mongotest.Doc{ID: id, N: 1})
	}
	to, err := mongo.OpenMemory(mongo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := mongo.Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	copy := to.Open("db")
	defer copy.Close(errors.New("the test has ended"))
	if got := mongotest.Get(t, copy, "b"); got.N != 1 {
		t.Errorf("the copy has %+v", got)
	}
	sums := func(n int) (all [2]string) {
		t.Helper()
		mongotest.Write(t, copy, "c", func(c *mgo.Collection) error { return c.UpdateId("a", bson.D{{"$set", bson.D{{"n", n}}}}) })
		for i, d := range []*mongo.Database{db, copy} {
			if all[i], err = d.Sum(t.Context(), map[string]bson.D{"c": nil}); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	if s := sums(1); s[0] != s[1] {
		t.Errorf("the digests of a store and its copy are %q", s)
	}
	if s := sums(2); s[0] == s[1] {
		t.Errorf("a document differs, and the digests are %q", s)
	}
	if err := mongo.Copy(t.Context(), from, to); err == nil {
		t.Error("a store that has something is copied to")
	}
}
