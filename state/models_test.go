package state_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"juju/doc/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/schema"
	"juju/state/statetest"
)

// newController returns an open controller on a store of its own.
func newController(t *testing.T, store *mongo.Store) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), store: store}
	w.ok(controller.Initialize(w.ctx, store, controller.InitParams{
		Name: "test", Cloud: "dummy", Series: "jammy", User: statetest.Admin, Password: statetest.Password}, controller.Options{}))
	w.open(store)
	return w
}

// open opens the controller again, as another process would.
func (w *world) open(store *mongo.Store) {
	w.Helper()
	if w.ctrl != nil {
		w.ctrl.Close()
	}
	var err error
	w.store = store
	w.ctrl, err = controller.Open(w.ctx, store, controller.Options{})
	w.ok(err)
	w.Cleanup(w.ctrl.Close)
}

func (w *world) addModel(name string) (*state.State, error) {
	return w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: name, Owner: statetest.Admin, Series: "jammy"})
}

func (w *world) mustAddModel(name string) *state.State {
	w.Helper()
	st, err := w.addModel(name)
	w.ok(err)
	return st
}

// checkResumed checks that no model is left half added or half removed.
func (w *world) checkResumed() {
	w.Helper()
	left, err := statetest.ResumeModels(w.ctx, w.ctrl, nowhere)
	w.ok(err)
	if left > 0 {
		w.Errorf("%d models are left half done", left)
	}
}

// beginRemoval takes an empty model to the start of its removal.
func (w *world) beginRemoval(st *state.State) {
	w.Helper()
	w.ok(st.Destroy(w.ctx, entity.Destruction{}))
	w.ok(st.EnsureDead(w.ctx))
	w.ok(w.ctrl.RemoveModel(w.ctx, st.UUID()))
}

// checkStore checks that the store holds what the complete models need, and
// nothing else.
func (w *world) checkStore(store *mongo.Store) {
	w.Helper()
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	want := map[string][]string{"databases": {"juju"}}
	for _, row := range rows {
		if row.IsRemoving() {
			w.Errorf("model %q is still being removed", row.Name)
		}
		want["databases"] = append(want["databases"], row.UUID)
		want["names"] = append(want["names"], row.Name)
		st, err := w.ctrl.Model(w.ctx, row.UUID)
		w.ok(err)
		dump, err := st.Dump(w.ctx)
		w.ok(err)
		for _, doc := range dump["charms"] {
			url := field(w, doc, "_id")
			archive, _, err := st.Charms().Archive(w.ctx, url)
			w.ok(err)
			w.ok(archive.Close())
			want["archives"] = append(want["archives"], field(w, doc, "sha256"))
		}
	}
	got := map[string][]string{}
	got["databases"], err = store.Databases(w.ctx)
	w.ok(err)
	all, err := take(w.ctx, store)
	w.ok(err)
	got["names"] = w.values(all, "modelnames", "name")
	got["archives"] = w.values(all, "blobs", "_id")
	for k := range got {
		for _, m := range []map[string][]string{got, want} {
			slices.Sort(m[k])
			m[k] = slices.Compact(m[k])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("the store does not hold what it should: %s", diff)
	}
	if names, files := w.values(all, "blobs", "file"), w.values(all, "charms.files", "filename"); !slices.Equal(names,
		files) {
		w.Errorf("got files %v for archives %v", files, names)
	}
	if left := w.values(all, "oldfiles", "_id"); len(left) > 0 {
		w.Errorf("unreferenced files are left: %v", left)
	}
}

// twins returns two models that share an archive, of which one has another
// archive as well.
func (w *world) twins() (one, two *state.State, shared string) {
	w.Helper()
	one, two = w.mustAddModel("one"), w.mustAddModel("two")
	shared = statetest.CharmArchive(w, statetest.MySQL)
	for _, st := range []*state.State{one, two} {
		_, err := st.Charms().Add(w.ctx, shared, "")
		w.ok(err)
	}
	statetest.Charm(w, one, statetest.Wordpress)
	return one, two, shared
}

func TestModelIsRemovedWithEverythingItOwns(t *testing.T) {
	store := newStore(t, nil)
	w := newController(t, store)
	one, two, shared := w.twins()
	_, err := w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "bob", Password: "Bob's", Creator: statetest.Admin})
	w.ok(err)
	for _, st := range []*state.State{one, two} {
		w.ok(w.ctrl.GrantModel(w.ctx, st.UUID(), "bob", "read", statetest.Admin))
		w.ok(w.ctrl.NoteLogin(w.ctx, "bob", st.UUID()))
	}
	watch, err := one.Watches().Status(w.ctx)
	w.ok(err)
	<-watch

	w.refused(w.ctrl.RemoveModel(w.ctx, one.UUID()), entity.InUse, `cannot remove model "one": it is alive`)
	w.beginRemoval(one)
	w.ok(w.ctrl.RemoveModel(w.ctx, one.UUID()))
	<-one.Done()
	if _, open := <-watch; open {
		t.Error("a watch of the model did not end")
	}
	_, err = w.ctrl.Model(w.ctx, one.UUID())
	w.gone("model", "one", err)
	_, err = one.Status(w.ctx)
	w.gone("model", "one", err)
	_, err = one.AddMachine(w.ctx, state.AddMachineParams{})
	w.gone("model", "one", err)
	_, err = one.Charms().Add(w.ctx, shared, "")
	w.gone("model", "one", err)
	// The name stays taken until everything is gone.
	_, err = w.addModel("one")
	w.refused(err, entity.AlreadyExists, `model "one" for admin already exists`)
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	if len(rows) != 3 || !rows[1].IsRemoving() || rows[2].IsRemoving() {
		t.Errorf("the models are %+v", rows)
	}
	// Cleaning up outside of the store fails at first.
	left, err := statetest.ResumeModels(w.ctx, w.ctrl, func(_ context.Context, row controller.ModelRow) error {
		if row.UUID != one.UUID() {
			t.Errorf("model %q was removed too", row.Name)
		}
		return errors.New("the cloud is away")
	})
	if left != 1 || err != nil {
		t.Errorf("%d models are left, %v", left, err)
	}
	w.checkResumed()
	w.ok(w.ctrl.RemoveModel(w.ctx, one.UUID()))
	w.checkStore(store)
	all, err := take(t.Context(), store)
	w.ok(err)
	if users, logins := w.values(all, "modelusers", "model"), w.values(all, "logins", "_id"); !slices.Equal(users,
		[]string{two.UUID()}) ||
		!slices.Equal(logins, []string{two.UUID() + "#bob", "bob"}) &&
			!slices.Equal(logins, []string{"bob", two.UUID() + "#bob"}) {
		t.Errorf("grants are left on %v, and logins %v", users, logins)
	}
	again := w.mustAddModel("one")
	if again.UUID() == one.UUID() {
		t.Error("a UUID was reused")
	}
	w.beginRemoval(two)
	w.checkResumed()
	w.checkStore(store)
	statetest.Charm(t, again, statetest.MySQL)
	w.checkStore(store)
}

// A controller stops creating a model that others have given up meanwhile.
func TestAddModelStopsOnceGivenUp(t *testing.T) {
	store := newStore(t, nil)
	w := newController(t, store)
	other := &world{T: t, ctx: t.Context()}
	other.open(store)
	for name, meanwhile := range map[string]func(){
		"taken":   func() { other.mustAddModel("taken") },
		"removed": other.checkResumed,
	} {
		w.beforeNextOfController(1, meanwhile) // before the existing row becomes ready
		_, err := w.addModel(name)
		w.refused(err, entity.Unavailable, "another controller has taken it over or removed it; try again")
		w.checkResumed()
		other.checkStore(store)
	}
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	if len(rows) != 2 || rows[1].Name != "taken" {
		t.Errorf("the models are %+v", rows)
	}
	w.mustAddModel("removed")
}

// On a shared store, an incomplete model is given up only after no progress for
// a long time.
func TestModelBeingCreatedIsNotRemoved(t *testing.T) {
	store := newStore(t, nil)
	w := newController(t, store)
	now := time.Now()
	var mu sync.Mutex
	other, err := controller.Open(w.ctx, store, controller.Options{Shared: true, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	w.ok(err)
	defer other.Close()
	look := func(want int) {
		t.Helper()
		left, err := statetest.ResumeModels(w.ctx, other, nowhere)
		if left != want || err != nil {
			t.Errorf("%d models are left, want %d, %v", left, want, err)
		}
		_, err = other.AddModel(w.ctx, controller.AddModelParams{Name: "one", Owner: statetest.Admin})
		if want > 0 {
			w.refused(err, entity.AlreadyExists, `model "one" for admin already exists`)
		}
	}
	w.beforeNextOfController(1, func() {
		look(1)
		mu.Lock()
		now = now.Add(time.Minute)
		mu.Unlock()
		look(1)
		mu.Lock()
		now = now.Add(90 * time.Second)
		mu.Unlock()
		look(0)
	})
	_, err = w.addModel("one")
	w.refused(err, entity.Unavailable, "taken it over")
	w.checkStore(store)
}

// Clients work on a model while two controllers remove it.
func TestModelIsRemovedWhileInUse(t *testing.T) {
	store := newStore(t, nil)
	w := newController(t, store)
	other := &world{T: t, ctx: t.Context()}
	other.open(store)
	st := w.mustAddModel("one")
	url := statetest.Charm(t, st, statetest.MySQL)
	theirs, err := other.ctrl.Model(w.ctx, st.UUID())
	w.ok(err)
	var users sync.WaitGroup
	// Each works until its call fails because the model is gone.
	work := func(do func() error) {
		users.Go(func() {
			for {
				if err := do(); errors.Is(err, entity.NotFound) {
					return
				} else if err != nil && entity.KindOf(err) == "" {
					t.Errorf("an error of no kind: %v", err)
					return
				}
			}
		})
	}
	for _, st := range []*state.State{st, theirs} {
		work(func() error { _, err := st.Status(w.ctx); return err })
		work(func() error { _, _, err := st.Cleaner().Cleanup(w.ctx); return err })
		work(func() error { _, err := st.AddMachine(w.ctx, state.AddMachineParams{}); return err })
		work(func() error {
			_, err := st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url})
			return err
		})
		work(func() error {
			ctx, cancel := context.WithCancel(w.ctx)
			defer cancel()
			ch, err := st.Watches().Machines(ctx)
			if err != nil {
				return err
			}
			<-ch
			return nil
		})
	}
	w.st = st
	w.ok(st.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.ok(st.EnsureDead(w.ctx))
	users.Go(func() {
		// The other controller learns of it from its watch of models.
		events, err := other.ctrl.WatchModels(w.ctx)
		if err != nil {
			t.Error(err)
			return
		}
		for range events {
			if _, err := other.ctrl.Model(w.ctx, st.UUID()); errors.Is(err, entity.NotFound) {
				break
			}
		}
		if _, err := statetest.ResumeModels(w.ctx, other.ctrl, nowhere); err != nil {
			t.Error(err)
		}
	})
	w.ok(w.ctrl.RemoveModel(w.ctx, st.UUID()))
	w.checkResumed()
	users.Wait()
	other.checkResumed()
	w.mustAddModel("one")
}

// A model that is removed while another controller opens it leaves no database behind,
// though opening makes collections that are missing.
func TestModelIsRemovedWhileItIsOpened(t *testing.T) {
	store := newStore(t, nil)
	w := newController(t, store)
	// The other controller's program has an upgrade step, which takes its time.
	var uuid string
	reached, release := make(chan struct{}), make(chan struct{})
	slow := step("this takes long", func(_ context.Context, db *mongo.Database) error {
		if db.Name() == uuid {
			close(reached)
			<-release
		}
		return nil
	})
	other, err := controller.Open(w.ctx, store, withSteps(nil, []schema.Step{slow}))
	w.ok(err)
	defer other.Close()
	w.st = w.mustAddModel("one")
	uuid = w.st.UUID()
	opened := make(chan error)
	go func() {
		_, err := other.Model(w.ctx, uuid)
		opened <- err
	}()
	<-reached
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.ok(w.st.EnsureDead(w.ctx))
	w.ok(w.ctrl.RemoveModel(w.ctx, uuid))
	w.checkResumed()
	close(release)
	w.refused(<-opened, entity.NotFound, "not found")
	names, err := store.Databases(t.Context())
	w.ok(err)
	if slices.Contains(names, uuid) {
		t.Error("the database of the model is left")
	}
}

// Models are created, used, watched, and removed by two controllers,
// concurrently. No goroutine, connection, database or name is left.
func TestManyModelsLeakNothing(t *testing.T) {
	store := newStore(t, nil)
	w := newController(t, store)
	other := &world{T: t, ctx: t.Context()}
	other.open(store)
	shared := statetest.CharmArchive(t, statetest.MySQL)
	life := func(name string) error {
		st, err := w.addModel(name)
		if err != nil {
			return err
		}
		if _, err := st.Charms().Add(w.ctx, shared, ""); err != nil {
			return err
		}
		watch, err := st.Watches().Machines(w.ctx)
		if err != nil {
			return err
		}
		<-watch
		if err := errors.Join(st.Destroy(w.ctx, entity.Destruction{}), st.EnsureDead(w.ctx),
			w.ctrl.RemoveModel(w.ctx, st.UUID())); err != nil {
			return err
		}
		if _, open := <-watch; open {
			return errors.New("a watch did not end")
		}
		return nil
	}
	lives := func(n int) {
		t.Helper()
		var all errgroup.Group
		for i := range n {
			all.Go(func() error { return life(fmt.Sprint("m", i)) })
		}
		w.ok(all.Wait())
		all.Go(func() error { _, err := statetest.ResumeModels(w.ctx, other.ctrl, nowhere); return err })
		all.Go(func() error { _, err := statetest.ResumeModels(w.ctx, w.ctrl, nowhere); return err })
		w.ok(all.Wait())
		w.checkResumed()
	}
	const models, rounds = 5, 20
	lives(models)
	w.checkStore(store)
	before, open := runtime.NumGoroutine(), connections(w, store)
	for range rounds {
		lives(models)
	}
	w.checkStore(store)
	// mgo keeps as many connections as were ever used at once, so that a few more say nothing; a leak leaves one or more for
	// each model.
	more := max(0, connections(w, store)-open)
	if more > rounds*models/2 {
		t.Errorf("%d more connections are open after %d models, there were %d before", more, rounds*models, open)
	}
	// Both ends of each connection have goroutines. Give those that end with one time to do so.
	limit := before + 30 + 3*more
	for began := time.Now(); runtime.NumGoroutine() > limit; runtime.Gosched() {
		if time.Since(began) > verify.Patience {
			t.Fatalf("%d goroutines are running, there were %d before", runtime.NumGoroutine(), before)
		}
	}
}
