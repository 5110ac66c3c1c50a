package embedded_test

import (
	"net"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo/embedded"
)

// open opens a store in memory for the length of a test.
func open(t testing.TB, opts embedded.Options) *embedded.Server {
	t.Helper()
	if opts.FS == nil {
		opts.FS = vfs.NewMem()
	}
	opts.Logger = testLog{t}
	s, err := embedded.Open("store", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// testLog fails the test on what the server calls an error: a panic that it
// caught, say.
type testLog struct{ t testing.TB }

func (l testLog) Infof(format string, args ...any)  { l.t.Logf(format, args...) }
func (l testLog) Errorf(format string, args ...any) { l.t.Errorf(format, args...) }

// dial opens an mgo session on a server for the length of a test.
func dial(t testing.TB, s *embedded.Server) *mgo.Session {
	t.Helper()
	session, err := mgo.DialWithInfo(&mgo.DialInfo{
		Addrs:      []string{"127.0.0.1:1"}, // a name that needs no resolving
		Direct:     true,
		Timeout:    10 * time.Second,
		Database:   "test",
		DialServer: func(*mgo.ServerAddr) (net.Conn, error) { return s.Dial() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func TestFirst(t *testing.T) {
	s := open(t, embedded.Options{})
	c := dial(t, s).DB("test").C("things")
	if err := c.Insert(bson.M{"_id": 1, "a": "x"}, bson.M{"_id": 2, "a": "y"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Insert(bson.M{"_id": 1.0}); !mgo.IsDup(err) {
		t.Fatalf("got %v", err)
	}
	if err := c.Update(bson.M{"a": "y"}, bson.M{"$set": bson.M{"b": 7}}); err != nil {
		t.Fatal(err)
	}
	var doc bson.M
	info, err := c.FindId(2).Apply(mgo.Change{Update: bson.M{"$inc": bson.M{"b": 1}}, ReturnNew: true}, &doc)
	if err != nil || info.Updated != 1 || doc["b"] != 8 {
		t.Fatalf("got %v, %v, %v", info, doc, err)
	}
	if err := c.RemoveId(1); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Count(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	var all []bson.M
	if err := c.Find(nil).All(&all); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
}
