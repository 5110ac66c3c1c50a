package cursor_test

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/doc/tools/verify"
	"juju/state/mongo/adapter"
	"juju/state/mongo/cursor"
	"juju/state/mongo/mongotest"
)

// open returns a collection with documents of the ids 0 to n-1.
func open(t *testing.T, n int) (*mongotest.Set, *mgo.Collection) {
	t.Helper()
	set := mongotest.NewSet(t, 1)
	a := adapter.New(adapter.Options{Name: "test", Set: mongotest.Name, Dial: set.Dial})
	t.Cleanup(a.Close)
	session, err := mgo.DialWithInfo(&mgo.DialInfo{
		Addrs: set.Hosts(), ReplicaSetName: mongotest.Name, Timeout: verify.Patience,
		DialServer: func(addr *mgo.ServerAddr) (net.Conn, error) { return a.Connect(addr.String()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	c := session.DB("db").C("c")
	for i := range n {
		if err := c.Insert(bson.D{{"_id", i}, {"n", -i}, {"other", "x"}}); err != nil {
			t.Fatal(err)
		}
	}
	return set, c
}

type doc struct {
	ID    int `bson:"_id"`
	N     int
	Other string
}

func TestAQueryReadsAllBatches(t *testing.T) {
	const n = 250 // more than a first batch has
	_, c := open(t, n)
	var up []doc
	iter := cursor.Find(c, nil).Sort("_id").Iter()
	for d := (doc{}); iter.Next(&d); d = (doc{}) {
		up = append(up, d)
	}
	if err := iter.Close(); err != nil || len(up) != n || up[n-1].N != 1-n || up[n-1].Other != "x" {
		t.Errorf("read %d documents, %v", len(up), err)
	}
	down := []doc{{ID: 1}, {ID: 2}}
	filter := bson.D{{"_id", bson.D{{"$lt", 10}}}}
	if err := cursor.Find(c, filter).Sort("-_id").Select(bson.D{{"n", 1}}).Skip(1).Limit(3).All(&down); err != nil {
		t.Error(err)
	}
	if want := []doc{{8, -8, ""}, {7, -7, ""}, {6, -6, ""}}; !slices.Equal(down, want) {
		t.Errorf("read %v, want %v", down, want)
	}
	if err := cursor.Find(c, bson.D{{"$no", 1}}).All(&down); err == nil || len(down) != 0 {
		t.Errorf("a wrong filter: %v, %v", down, err)
	}
}

// Between two batches the connection closes.
func TestAConnectionIsLostBetweenBatches(t *testing.T) {
	set, c := open(t, 10)
	iter := cursor.Find(c, nil).Batch(5).Iter()
	var d doc
	if !iter.Next(&d) {
		t.Fatal(iter.Err())
	}
	set.Restart()
	ended := make(chan int)
	go func() {
		n := 1
		for ; iter.Next(&d); n++ {
		}
		ended <- n
	}()
	select {
	case n := <-ended:
		if err := iter.Close(); n != 5 || err == nil {
			t.Errorf("read %d documents, %v, want 5 and an error", n, err)
		}
	case <-time.After(verify.Patience):
		t.Fatal("the cursor waits for a reply")
	}
}

// A cursor that the server has forgotten is that of a server that has been replaced: the caller reads again.
func TestAKilledCursor(t *testing.T) {
	_, c := open(t, 10)
	iter := cursor.Find(c, nil).Batch(5).Iter()
	if err := iter.Kill(c.Database); err != nil {
		t.Fatal(err)
	}
	n := 0
	for d := (doc{}); iter.Next(&d); n++ {
	}
	if err := iter.Err(); n != 5 || err != mgo.ErrCursor {
		t.Errorf("read %d documents, %v, want 5 and %v", n, err, mgo.ErrCursor)
	}
}

// Kill ends the wait of another session's Next.
func TestAWaitIsEnded(t *testing.T) {
	_, c := open(t, 0)
	iter := cursor.Run(c.Database, bson.D{{"aggregate", 1}, {"pipeline", []bson.D{{{"$changeStream", bson.D{}}}}},
		{"cursor", bson.D{}}}, time.Hour)
	ended := make(chan bool)
	go func() { ended <- iter.Next(&bson.D{}) }()
	other := c.Database.Session.Copy()
	defer other.Close()
	for kill := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case next := <-ended:
			kill.Stop()
			if next || iter.Open() || iter.Err() == nil {
				t.Errorf("next %v, open %v, error %v", next, iter.Open(), iter.Err())
			}
			return
		case <-kill.C:
			if err := iter.Kill(c.Database.With(other)); err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}
	}
}
