package mongo_test

import (
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
)

// Unadvanced holds for the number that was read, also if there was none.
func TestUnadvanced(t *testing.T) { onBoth(t, unadvanced) }

func unadvanced(t *testing.T, open opener) {
	_, db := open(t)
	write(t, db, "c", func(c *mgo.Collection) error {
		return c.Insert(bson.D{{"_id", "none"}}, bson.D{{"_id", "two"}, {"n", 2}})
	})
	for _, c := range []struct {
		id    string
		read  int
		holds bool
	}{{"none", 0, true}, {"none", 2, false}, {"two", 0, false}, {"two", 1, false}, {"two", 2, true}} {
		failed, err := db.FailedAsserts(t.Context(), []txn.Op{{C: "c", Id: c.id, Assert: mongo.Unadvanced("n", c.read)}}, 1)
		if err != nil || (len(failed) == 0) != c.holds {
			t.Errorf("%s read as %d: %v, %v", c.id, c.read, failed, err)
		}
	}
}
