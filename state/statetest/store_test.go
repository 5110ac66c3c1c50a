package statetest_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"juju/state/controller"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A server is a simulated MongoDB, which the environment names until the test ends.
type server struct {
	*mongotest.Set
	url  *mongo.URL
	root *mongo.Store // sees all databases
}

func newServer(t *testing.T) *server {
	t.Helper()
	set := mongotest.NewSet(t, 1)
	t.Setenv(statetest.StoreVariable, set.URL())
	url, err := mongo.ParseURL(set.URL())
	statetest.OK(t, err)
	root, err := mongo.OpenURL(t.Context(), url, mongo.Options{Dial: set.Dial, Hooks: mongotest.NewHooks()})
	statetest.OK(t, err)
	return &server{set, url, root}
}

func (s *server) databases(t *testing.T) []string {
	t.Helper()
	return mongotest.DatabaseNames(t, s.url, s.Dial)
}

// controllerOn creates a controller with a charm on the server, as tests do, and returns a function that checks that
// its store has its databases and no others.
func (s *server) controllerOn(t *testing.T) (check func()) {
	t.Helper()
	store := statetest.Store(t, mongo.Options{Dial: s.Dial})
	ctrl, st := statetest.ControllerOn(t, store, controller.Options{})
	statetest.Charm(t, st, statetest.MySQL)
	return func() {
		t.Helper()
		models, err := ctrl.Models(t.Context())
		statetest.OK(t, err)
		want := []string{controller.DB}
		for _, m := range models {
			want = append(want, m.UUID)
		}
		slices.Sort(want)
		got, err := store.Databases(t.Context())
		statetest.OK(t, err)
		if slices.Sort(got); len(models) != 2 || !slices.Equal(got, want) {
			t.Errorf("the databases are %q, want %q", got, want)
		}
	}
}

// Each store that a test opens on one MongoDB has databases of its own, also when tests run at the same time. They are
// dropped when the test ends, and no others.
func TestTestsShareAMongoDB(t *testing.T) {
	s := newServer(t)
	t.Cleanup(func() { s.root.Close() })
	statetest.OK(t, s.root.Make(t.Context(), "theirs", mongo.Schema{LogSize: 1 << 20}))
	before := s.databases(t)
	t.Run("tests", func(t *testing.T) {
		check := s.controllerOn(t)
		t.Run("subtests", func(t *testing.T) {
			for i := range 4 {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					check, other := s.controllerOn(t), s.controllerOn(t)
					check()
					other()
				})
			}
		})
		check()
	})
	if after := s.databases(t); !slices.Equal(after, before) {
		t.Errorf("the server's databases were %q, and are %q", before, after)
	}
}

// A verdict is a test that ends itself only.
type verdict struct {
	testing.TB
	fatal string
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// A MongoDB that holds a controller which no test made is refused, and left as it is.
func TestAForeignControllerIsRefused(t *testing.T) {
	s := newServer(t)
	ctrl, _ := statetest.ControllerOn(t, s.root, controller.Options{})
	before := s.databases(t)
	t.Run("test", func(t *testing.T) {
		v := &verdict{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			store := statetest.Store(v, mongo.Options{Dial: s.Dial})
			t.Cleanup(func() { store.Close() })
		}()
		<-ended
		if !strings.Contains(v.fatal, "holds a controller, in its database juju") {
			t.Errorf("it was not refused: %q", v.fatal)
		}
	})
	if after := s.databases(t); !slices.Equal(after, before) {
		t.Errorf("the server's databases were %q, and are %q", before, after)
	}
	if models, err := ctrl.Models(t.Context()); err != nil || len(models) != 2 {
		t.Errorf("the controller has %d models, %v", len(models), err)
	}
}
