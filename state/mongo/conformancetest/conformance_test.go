package conformancetest_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"gopkg.in/mgo.v2"

	"juju/doc/tools/verify"
	"juju/state/mongo"
	"juju/state/mongo/adapter"
	"juju/state/mongo/conformancetest"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
)

// memory opens an embedded store in memory, closed when the test ends.
func memory(t testing.TB) *embedded.Server {
	t.Helper()
	server, err := embedded.Open("store", embedded.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("cannot close the store: %v", err)
		}
	})
	return server
}

// connect opens a session with a server in this process, without a network.
func connect(t testing.TB, server *embedded.Server) *mgo.Session {
	t.Helper()
	return dial(t, &mgo.DialInfo{
		Addrs:      []string{"127.0.0.1:1"}, // mgo resolves it, and then doesn't use it
		DialServer: func(*mgo.ServerAddr) (net.Conn, error) { return server.Dial() },
	})
}

func dial(t testing.TB, info *mgo.DialInfo) *mgo.Session {
	t.Helper()
	info.Direct = true
	info.Timeout = verify.Patience
	session, err := mgo.DialWithInfo(info)
	if err != nil {
		t.Fatalf("cannot connect: %v", err)
	}
	return session
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	server := memory(t)
	conformancetest.Run(t, func(t testing.TB) *mgo.Session { return connect(t, server) })
}

// TestMongod runs the suite on a real MongoDB, a replica set of one: on the one named by $MONGOD, or else the one on PATH.
// MongoDB's own driver uses its transactions and change streams there, too.
func TestMongod(t *testing.T) {
	verify.Only(t, "needs a MongoDB")
	t.Parallel()
	mongod := mongotest.FindMongod(t)
	text := mongod.StartSet(t, 1)
	url, err := mongo.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	address := url.Hosts()[0]
	a := adapter.New(adapter.Options{Logf: t.Logf})
	t.Cleanup(a.Close)
	t.Run("Direct", func(t *testing.T) {
		if !mongod.TakesOpQuery() {
			t.Skipf("MongoDB %d.%d does not accept OP_QUERY", mongod.Major, mongod.Minor)
		}
		conformancetest.Run(t, func(t testing.TB) *mgo.Session { return dial(t, &mgo.DialInfo{Addrs: []string{address}}) })
	})
	t.Run("Adapter", func(t *testing.T) {
		conformancetest.Run(t, func(t testing.TB) *mgo.Session { return dialThrough(t, a, address) })
	})
	t.Run("Driver", func(t *testing.T) {
		if mongod.Major < 4 {
			t.Skipf("MongoDB %d.%d has no transactions", mongod.Major, mongod.Minor)
		}
		client, ctx := connectDriver(t, text)
		t.Run("Transactions", func(t *testing.T) { driveTransactions(t, ctx, client.Database("driver-transactions")) })
		t.Run("ChangeStreams", func(t *testing.T) { driveChangeStreams(t, ctx, client.Database("driver-changestreams")) })
	})
}

// buildJujud builds jujud in a temporary directory of the test.
func buildJujud(t *testing.T) (jujud string) {
	t.Helper()
	jujud = filepath.Join(t.TempDir(), "jujud")
	build := exec.Command("go", "build", "-o", jujud, "juju/cmd/jujud")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build jujud: %v\n%s", err, out)
	}
	return jujud
}

// asMongod writes a script that calls jujud as an executable named mongod, in its own
// directory, for PATH.
func asMongod(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mongod"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
