package mongo_test

import (
	"encoding/json"
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
)

// The log of a new database has one entry, because a tail of an empty capped collection ends at once. Making the database
// again adds none.
func TestTheLogBeginsWithOneEntry(t *testing.T) { onBoth(t, theLogBeginsWithOneEntry) }

func theLogBeginsWithOneEntry(t *testing.T, open opener) {
	_, db := open(t)
	if n, err := db.Count(t.Context(), mongo.LogC, nil); n != 1 || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
}

// The numbers of a sequence begin with 0, and several can be reserved at once.
func TestSequences(t *testing.T) { onBoth(t, sequences) }

func sequences(t *testing.T, open opener) {
	_, db := open(t)
	for _, c := range []struct {
		sequence string
		n, want  int
	}{{"a", 1, 0}, {"a", 3, 1}, {"b", 2, 0}, {"a", 1, 4}} {
		if first, err := db.Next(t.Context(), c.sequence, c.n); first != c.want || err != nil {
			t.Errorf("%d of %s begin with %d, %v, want %d", c.n, c.sequence, first, err, c.want)
		}
	}
}

// A dump has the documents as people number them, without what transactions add, secrets or what JSON has no form for.
func TestDump(t *testing.T) { onBoth(t, dumped) }

func dumped(t *testing.T, open opener) {
	_, db := open(t)
	for _, id := range []string{"u/10", "u/9"} {
		insert(t, db, doc{id, 1})
	}
	if err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
		return []txn.Op{{C: "c", Id: "u/9", Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	write(t, db, "secret", func(c *mgo.Collection) error {
		return c.Insert(bson.D{{"_id", 1}, {"hash", "xyzzy"}, {"password", ""}, {"list", []any{math.NaN(), 2}}})
	})
	all, err := db.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]json.RawMessage{
		"c":      {json.RawMessage(`{"_id":"u/9","n":2}`), json.RawMessage(`{"_id":"u/10","n":1}`)},
		"secret": {json.RawMessage(`{"_id":1,"hash":"(not shown)","list":["(damaged: json: unsupported value: NaN)",2],"password":""}`)},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// Changes are followed in the log that mgo/txn keeps or in the server's own, and with traces each names the span of its
// transaction.
func TestTails(t *testing.T) {
	for _, standalone := range []bool{true, false} {
		for _, traces := range []bool{true, false} {
			_, db := openWith(t, mongo.Options{Traces: traces, Embedded: embedded.Options{Standalone: standalone}})
			source := db.Tail()
			if (source.Log == mongo.LogC) != standalone || (source.Span != nil) != (traces && !standalone) {
				t.Errorf("standalone %v, traces %v: the log is %q, there are spans: %v", standalone, traces, source.Log, source.Span != nil)
			}
			source.DB.Session.Close()
		}
	}
}

// A database that is closed ends the sessions of its transactions on a MongoDB, if it had any.
func TestAClosedDatabaseEndsItsSessions(t *testing.T) {
	set := mongotest.NewSet(t, 1)
	var ended atomic.Int32
	set.Heard = func(c mongotest.Command) {
		if c.Name == "endSessions" {
			ended.Add(1)
		}
	}
	store, db := openURL(t, set.URL(), mongo.Options{Dial: set.Dial})
	unused := store.Open("db")
	unused.Close(nil)
	if n := ended.Load(); n != 0 {
		t.Errorf("a database without transactions ended sessions %d times", n)
	}
	insert(t, db, doc{"a", 1})
	db.Close(errors.New("closed"))
	if n := ended.Load(); n != 1 {
		t.Errorf("it ended its sessions %d times", n)
	}
}
