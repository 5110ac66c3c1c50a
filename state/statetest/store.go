package statetest

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

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
//	mongodb://HOST  the MongoDB there, on loopback; each test drops all its databases
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
		o.Dial = set.Dial
		return openURL(t, set.URL(), o)
	case strings.HasPrefix(kind, "mongodb://"):
		store := openURL(t, kind, o)
		names, err := store.Databases()
		for _, name := range names {
			if err == nil {
				err = store.Drop(name)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return store
	default:
		t.Fatalf("%s is %q; see the package's documentation", StoreVariable, kind)
		return nil
	}
}

func openURL(t testing.TB, text string, o mongo.Options) *mongo.Store {
	t.Helper()
	u, err := mongo.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range u.Hosts() {
		host, _, err := net.SplitHostPort(address)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			t.Fatalf("%s is not on loopback: its databases may be in use", address)
		}
	}
	store, err := mongo.OpenURL(t.Context(), u, o)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
