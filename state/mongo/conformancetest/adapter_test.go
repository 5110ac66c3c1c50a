package conformancetest_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"gopkg.in/mgo.v2"

	"juju/state/mongo/adapter"
	"juju/state/mongo/conformancetest"
	"juju/state/mongo/embedded"
)

// TestAdapter runs the suite through the adapter on a server that accepts only OP_MSG, as MongoDB
// does from 5.1 on: it would reject a message that the adapter doesn't translate.
func TestAdapter(t *testing.T) {
	t.Parallel()
	server, err := embedded.Open("store", embedded.Options{FS: vfs.NewMem(), OnlyMsg: true, Logger: refusals{t}})
	if err != nil {
		t.Fatal(err)
	}
	a := adapter.New(adapter.Options{
		Dial: func(context.Context, string) (net.Conn, error) { return server.Dial() },
		Logf: func(format string, args ...any) { t.Errorf("the adapter logged: "+format, args...) },
	})
	t.Cleanup(func() {
		a.Close()
		if err := server.Close(); err != nil {
			t.Errorf("cannot close the store: %v", err)
		}
	})
	conformancetest.Run(t, func(t testing.TB) *mgo.Session { return dialThrough(t, a, "127.0.0.1:1") })
}

// dialThrough opens a session with the server at an address through an adapter.
func dialThrough(t testing.TB, a *adapter.Adapter, address string) *mgo.Session {
	t.Helper()
	return dial(t, &mgo.DialInfo{
		Addrs:      []string{address},
		DialServer: func(addr *mgo.ServerAddr) (net.Conn, error) { return a.Connect(addr.String()) },
	})
}

// refusals fails the test when the server logs anything.
type refusals struct{ t testing.TB }

func (r refusals) Infof(format string, args ...any) {
	r.t.Error("the server logged:", fmt.Sprintf(format, args...))
}
func (r refusals) Errorf(format string, args ...any) { r.Infof(format, args...) }
