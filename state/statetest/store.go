package statetest

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/state/controller"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
)

// StoreVariable is the environment variable that selects the store for the tests of
// state:
//
//	""              the embedded one, in memory
//	standalone      the same without transactions of its own: mgo/txn's are used
//	adapter         a simulated MongoDB, through the adapter
//	mongodb://HOST  the MongoDB there, on loopback and without TLS, if it holds no controller: each store that a test
//	                opens has its own databases in it, which are dropped when the test ends
const StoreVariable = "JUJU_TEST_STORE"

// Standalone reports whether the embedded stores of tests are without transactions of their own.
func Standalone() bool { return os.Getenv(StoreVariable) == "standalone" }

// Store opens an empty store with mongotest's hooks. The caller closes it.
func Store(t testing.TB, o mongo.Options) *mongo.Store {
	t.Helper()
	o.Hooks = mongotest.NewHooks()
	switch kind := os.Getenv(StoreVariable); {
	case kind == "" || Standalone():
		o.Embedded = embedded.Options{FS: vfs.NewMem(), Standalone: Standalone()}
		store, err := mongo.OpenEmbedded("store", o)
		if err != nil {
			t.Fatal(err)
		}
		return store
	case kind == "adapter":
		set := mongotest.NewSet(t, 1)
		set.RaceUpserts = true
		o.Dial = set.Dial
		return openURL(t, parseLocal(t, set.URL()), o)
	case strings.HasPrefix(kind, "mongodb://"):
		url := parseLocal(t, kind)
		if slices.Contains(mongotest.DatabaseNames(t, url, o.Dial), controller.DB) {
			t.Fatalf("%s=%s holds a controller, in its database %s, and no test made it: give the tests a MongoDB of their own",
				StoreVariable, url, controller.DB)
		}
		o.Dial = mongotest.Tenant(t, url, o.Dial)
		return openURL(t, url, o)
	default:
		t.Fatalf("%s is %q; see the package's documentation", StoreVariable, kind)
		return nil
	}
}

// Embedded opens an empty embedded store in memory, until the test ends; tap, if not nil, wraps its connections.
func Embedded(t testing.TB, tap func(net.Conn) net.Conn) *mongo.Store {
	t.Helper()
	store, err := mongo.OpenEmbedded("store", mongo.Options{Hooks: mongotest.NewHooks(),
		Embedded: embedded.Options{FS: vfs.NewMem(), Tap: tap, Standalone: Standalone()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// parseLocal parses the URL of a MongoDB, which must be on this host.
func parseLocal(t testing.TB, text string) *mongo.URL {
	t.Helper()
	url, err := mongo.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range url.Hosts() {
		host, _, err := net.SplitHostPort(address)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			t.Fatalf("%s is not on loopback: its databases may be in use", address)
		}
	}
	return url
}

func openURL(t testing.TB, url *mongo.URL, o mongo.Options) *mongo.Store {
	t.Helper()
	store, err := mongo.OpenURL(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
