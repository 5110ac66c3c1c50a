package mongo_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/mongo/servertxn"
)

// An import writes batches of a limited number of documents and bytes, for a MongoDB refuses larger ones.
func TestAnImportWritesBatches(t *testing.T) {
	from, db := open(t)
	const small, large, size = 2*servertxn.MaxStatements + 1, 5, servertxn.MaxStatementBytes/2 - 1024
	write(t, db, "small", func(c *mgo.Collection) error {
		bulk := c.Bulk()
		for i := range small {
			bulk.Insert(bson.D{{"_id", i}})
		}
		_, err := bulk.Run()
		return err
	})
	text := strings.Repeat("x", size)
	for i := range large {
		write(t, db, "large", func(c *mgo.Collection) error { return c.Insert(bson.D{{"_id", i}, {"text", text}}) })
	}
	set := mongotest.NewSet(t, 1)
	batches := map[string][]int{} // numbers of documents, by collection
	set.Heard = func(c mongotest.Command) {
		if docs, ok := c.Body.Lookup("documents").ArrayOK(); ok && c.Database == "db" {
			values, err := docs.Values()
			if err != nil {
				t.Error(err)
			}
			batches[c.Collection] = append(batches[c.Collection], len(values))
		}
	}
	u, err := mongo.ParseURL(set.URL())
	if err != nil {
		t.Fatal(err)
	}
	to, err := mongo.OpenURL(t.Context(), u, mongo.Options{Dial: set.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := mongo.Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	for collection, want := range map[string][]int{
		"small": {servertxn.MaxStatements, servertxn.MaxStatements, 1}, "large": {3, 2},
	} {
		if diff := cmp.Diff(want, batches[collection]); diff != "" {
			t.Errorf("%s was written in batches (-want +got):\n%s", collection, diff)
		}
	}
}
