package controller_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A world is a controller with a model, for tests.
type world struct {
	*testing.T
	ctx   context.Context
	ctrl  *controller.Controller
	st    *state.State
	store *mongo.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctrl, st := statetest.Controller(t)
	return &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st, store: statetest.StoreOf(ctrl)}
}

func (w *world) ok(err error) {
	w.Helper()
	statetest.OK(w, err)
}

func (w *world) refused(err error, kind entity.Kind, words string) {
	w.Helper()
	statetest.Refused(w, err, kind, words)
}

// db opens the controller's own database.
func (w *world) db() *mongo.Database {
	w.Helper()
	return statetest.ControllerDB(w, w.store)
}

// newController returns the controller of an empty store, without models but its own.
func newController(t *testing.T, store *mongo.Store) *world {
	t.Helper()
	statetest.OpenController(t, store, controller.Options{}).Close()
	return reopen(t, store)
}

// reopen opens a controller that is there, as another process would.
func reopen(t *testing.T, store *mongo.Store) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), ctrl: statetest.ReopenController(t, store, controller.Options{}), store: store}
	t.Cleanup(w.ctrl.Close)
	return w
}

func (w *world) addModel(name string) (*state.State, error) {
	return w.ctrl.AddModel(w.ctx, statetest.NamedModel(name))
}

func (w *world) mustAddModel(name string) *state.State {
	w.Helper()
	return statetest.AddModel(w, w.ctrl, name)
}

func (w *world) beginRemoval(st *state.State) {
	w.Helper()
	statetest.BeginRemoval(w, w.ctrl, st)
}

func (w *world) checkResumed() {
	w.Helper()
	statetest.CheckResumed(w, w.ctrl)
}

// before calls f between the reads of the next transaction on the controller's database and
// its commit. Transactions that f runs itself are not intercepted.
func (w *world) before(f func()) {
	w.Helper()
	w.beforeNext(0, f)
}

// beforeNext is before for the transaction after the next others.
func (w *world) beforeNext(others int, f func()) {
	w.Helper()
	mongotest.HooksOf(w.db()).Set(append(make([]mongotest.TestHook, others), mongotest.TestHook{Before: f})...)
}

// addUser adds a user with a password. Hashing is slow, so tests should add few.
func (w *world) addUser(name string) {
	w.Helper()
	_, err := w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: name, Password: name + "'s", Creator: statetest.Admin})
	w.ok(err)
}

// may checks the user's access to the controller and to the model.
func (w *world) may(user, onController, onModel string) {
	w.Helper()
	rights, err := w.ctrl.Rights(w.ctx, user, w.st.UUID())
	w.ok(err)
	rights.Password = ""
	if rights != (controller.Rights{Controller: onController, Model: onModel}) {
		w.Errorf("%s has rights %+v, want %q and %q", user, rights, onController, onModel)
	}
}

func (w *world) logsIn(user, password string, want bool) {
	w.Helper()
	u, err := w.ctrl.CheckUser(w.ctx, user, password)
	if want {
		w.ok(err)
		if !strings.EqualFold(u.Name, user) {
			w.Errorf("%s logged in as %s", user, u.Name)
		}
		return
	}
	w.refused(err, entity.Unauthorized, "invalid entity name or password")
}

// named waits until events have named all of some ids. They may name others too.
func (w *world) named(events <-chan []string, ids ...string) {
	w.Helper()
	for missing := slices.Clone(ids); len(missing) > 0; {
		select {
		case got := <-events:
			missing = slices.DeleteFunc(missing, func(id string) bool { return slices.Contains(got, id) })
		case <-time.After(verify.Patience):
			w.Fatalf("no event names %q", missing)
		}
	}
}

// same checks what a function returned.
func (w *world) same(what string, got, want any) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Errorf("%s: got %v, want %v", what, got, want)
	}
}
