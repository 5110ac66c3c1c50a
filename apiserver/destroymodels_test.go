package apiserver

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// life returns the life of the model "default".
func (w *world) life() entity.Life {
	w.Helper()
	life, err := w.st.Life(w.Context())
	w.ok(err)
	return life
}

// When an admin destroys a model and it is gone, all connections to it end, even those with
// requests in progress. Other connections do not.
func TestDestroyModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.with(map[string]facades.Handler{
		"Work": facades.Act(func(ctx context.Context, c *facades.Caller, _ facades.None) error {
			for {
				if _, err := c.Model.Status(ctx); err != nil {
					return err // and no panic
				}
			}
		}),
	})
	ctx := t.Context()
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "write", ""))
	m, err := w.st.AddMachine(ctx, state.AddMachineParams{})
	w.ok(err)
	w.ok(m.SetProvisioned(ctx, entity.Instance{ID: "i-0", Nonce: nonce}))
	w.passwords[entity.MachineTag("0")] = w.newPassword(w.st, entity.MachineTag("0"))
	root, theirs := w.dial(w.adminInfo("")), w.dial(w.info(entity.MachineTag("0")))

	bob := w.user("bob", "/api")
	model := params.TagOf(entity.ModelTag(w.st.UUID()))
	destroy := params.DestroyModelsParams{Models: []params.DestroyModelParams{{ModelTag: model}}}
	err = within(bob.call("ModelManager", 10, "DestroyModels", destroy))
	if !errors.Is(err, entity.Unauthorized) || err.Error() != "permission denied" {
		t.Errorf("a writer destroys the model: %v", err)
	}
	w.ok(w.st.Blocks().SwitchOn(ctx, entity.BlockDestroy, "keep it"))
	if err := root.DestroyModel(ctx, w.st.UUID(), entity.Forced()); !errors.Is(err, entity.OperationBlocked) ||
		err.Error() != "keep it" {
		t.Errorf("a blocked destruction: %v", err)
	}
	w.ok(w.st.Blocks().SwitchOff(ctx, entity.BlockDestroy))
	err = root.DestroyModel(ctx, w.server.controllerModel.UUID(), entity.Destruction{})
	if !errors.Is(err, entity.Invalid) ||
		err.Error() != `"controller" is a controller; use 'juju destroy-controller' to destroy it` {
		t.Errorf("the controller's own model: %v", err)
	}
	if life := w.life(); life != entity.Alive {
		t.Fatalf("the model is %s", life)
	}
	w.ok(root.DestroyModel(ctx, w.st.UUID(), entity.Destruction{}))
	w.ok(root.DestroyModel(ctx, w.st.UUID(), entity.Destruction{}))
	info, err := root.ModelInfo(ctx, w.st.UUID())
	w.ok(err)
	if info.Life != "dying" || info.Status.Status != "destroying" || len(info.Machines) != 1 {
		t.Errorf("the model is shown as %+v", info)
	}
	// The controller's workers and the machine's agent do their part.
	_, _, err = w.st.Cleaner().Cleanup(ctx)
	w.ok(err)
	w.ok(client.MachinerFacade{Caller: theirs}.EnsureDead(ctx, theirs.Tag()))
	m, err = w.st.Machine(ctx, "0")
	w.ok(err)
	w.ok(m.Remove(ctx))
	w.ok(w.st.EnsureDead(ctx))
	working := w.admin()
	working.send("Test", 1, "Work", "", nil)
	w.ok(w.controller.RemoveModel(ctx, w.st.UUID()))
	closes(t, theirs.Context().Done())
	if _, _, err := working.ws.ReadMessage(); err == nil {
		if _, _, err = working.ws.ReadMessage(); err == nil { // the first may be the answer
			t.Error("the user's connection is still there")
		}
	}
	if _, err := client.Dial(ctx, w.info(entity.MachineTag("0"))); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("an agent logs in again: %v", err)
	}
	if _, err := client.Dial(ctx, w.adminInfo(w.st.UUID())); !errors.Is(err, entity.NotFound) {
		t.Errorf("a user logs in again: %v", err)
	}
	info, err = root.ModelInfo(ctx, w.st.UUID())
	w.ok(err)
	if info.Life != "dead" || info.Status.Message == "" {
		t.Errorf("while it is being removed the model is shown as %+v", info)
	}
	left, err := statetest.ResumeModels(ctx, w.controller, func(context.Context, controller.ModelRow) error { return nil })
	if left != 0 || err != nil {
		t.Errorf("%d are left, %v", left, err)
	}
	if _, err := root.ModelInfo(ctx, w.st.UUID()); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("it is still shown: %v", err)
	}
	if left, err := root.ModelLeftovers(ctx); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := root.Err(); err != nil {
		t.Errorf("the connection to the controller: %v", err)
	}
	_, err = root.CreateModel(ctx, "default", client.ModelPlace{}, nil)
	w.ok(err)
}

// A user can watch a model from its destruction until it is gone.
func TestWatchModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	root := w.dial(w.adminInfo(""))
	events, err := root.WatchModel(ctx, w.st.UUID())
	w.ok(err)
	life := func() string {
		models, err := root.Models(ctx)
		w.ok(err)
		if !slices.ContainsFunc(models, func(m client.Model) bool { return m.UUID == w.st.UUID() }) {
			return "gone"
		}
		info, err := root.ModelInfo(ctx, w.st.UUID())
		w.ok(err)
		return info.Life
	}
	var late <-chan struct{} // of one who comes when nothing of the model can be read any more
	for _, step := range []struct {
		life string
		take func() error
	}{
		{"alive", func() error { return nil }},
		{"dying", func() error { return root.DestroyModel(ctx, w.st.UUID(), entity.Destruction{}) }},
		{"dead", func() error {
			return errors.Join(w.st.EnsureDead(ctx), w.controller.RemoveModel(ctx, w.st.UUID()))
		}},
		{"gone", func() error {
			_, err := statetest.ResumeModels(ctx, w.controller, func(context.Context, controller.ModelRow) error { return nil })
			return err
		}},
	} {
		w.ok(step.take())
		for receive(t, events); life() != step.life; receive(t, events) {
		}
		if late != nil {
			receive(t, late)
		} else if step.life == "dead" {
			late, err = root.WatchModel(ctx, w.st.UUID())
			w.ok(err)
			receive(t, late)
		}
	}
	cancel()
	closes(t, events)
	closes(t, late)
	if _, err := root.WatchModel(t.Context(), w.st.UUID()); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a model that is gone can be watched: %v", err)
	}
}

// A controller with models refuses to be destroyed, unless they are included. It ends itself
// only if it can.
func TestDestroyController(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	admin := w.adminInfo("")
	root := w.raw("/api").login(admin.Tag, admin.Password, "")
	destroy := func(models bool) error {
		return root.do("Controller", 12, "DestroyController", params.DestroyControllerArgs{DestroyModels: models}, nil)
	}
	if err := destroy(false); !errors.Is(err, entity.InUse) ||
		err.Error() != "cannot destroy controller: hosting 1 other model" {
		t.Errorf("with one: %v", err)
	}
	other, err := w.controller.AddModel(ctx, controller.AddModelParams{Name: "other", Owner: "admin"})
	w.ok(err)
	if err := destroy(false); !errors.Is(err, entity.InUse) ||
		err.Error() != "cannot destroy controller: hosting 2 other models" {
		t.Errorf("with two: %v", err)
	}
	w.ok(other.Blocks().SwitchOn(ctx, entity.BlockRemove, "keep it"))
	if err := destroy(true); !errors.Is(err, entity.OperationBlocked) || w.life() != entity.Alive {
		t.Errorf("one is blocked: %v, the other is %s", err, w.life())
	}
	w.ok(other.Blocks().SwitchOff(ctx, entity.BlockRemove))
	w.ok(destroy(true))
	for _, st := range []*state.State{w.st, other} {
		w.ok(st.EnsureDead(ctx))
		w.ok(w.controller.RemoveModel(ctx, st.UUID()))
	}
	_, err = statetest.ResumeModels(ctx, w.controller, func(context.Context, controller.ModelRow) error { return nil })
	w.ok(err)
	err = destroy(true)
	if !errors.Is(err, entity.NotSupported) || entity.Hint(err) != "Destroy it on its host: juju destroy-environment test" {
		t.Errorf("with none: %v (%s)", err, entity.Hint(err))
	}
}

// A controller with storage is destroyed only with a word on what becomes of it; before, none of its
// models is.
func TestDestroyControllerWithStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	other, err := w.controller.AddModel(ctx, controller.AddModelParams{Name: "other", Owner: "admin"})
	w.ok(err)
	url := statetest.Charm(t, other,
		"{name: disk, summary: s, description: d, storage: {data: {type: filesystem, multiple: {range: 0-2}}}}")
	_, err = other.AddService(ctx, state.AddServiceParams{Name: "disk", CharmURL: url, Units: 1,
		Storage: map[string]entity.StorageConstraints{"data": {Count: 2}}})
	w.ok(err)
	admin := w.adminInfo("")
	root := w.raw("/api").login(admin.Tag, admin.Password, "")
	args := params.DestroyControllerArgs{DestroyModels: true}
	err = root.do("Controller", 12, "DestroyController", args, nil)
	if !errors.Is(err, entity.PersistentStorage) || err.Error() != "cannot destroy controller \"test\"\n\n"+
		"The controller has persistent storage remaining:\n\t2 filesystems in 1 model" {
		t.Errorf("without a word on storage: %v", err)
	}
	if life := w.life(); life != entity.Alive {
		t.Errorf("a model without storage is %s", life)
	}
	args.DestroyStorage = new(bool)
	w.ok(root.do("Controller", 12, "DestroyController", args, nil))
	if life, err := other.Life(ctx); life != entity.Dying || err != nil {
		t.Errorf("the model is %s, %v", life, err)
	}
}

// What a model that was destroyed with force leaves behind is shown to its owner and to superusers.
func TestLeftoversOfAModel(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64 // of the controller, ahead of the host's
	ctrl, st := statetest.ControllerWith(t, controller.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }})
	w := newWorld(t, func(c *Config) { c.Controller = ctrl })
	w.controller, w.st = ctrl, st
	ctx := t.Context()
	w.addUser("bob")
	w.addUser("eve")
	theirs, err := ctrl.AddModel(ctx, controller.AddModelParams{Name: "theirs", Owner: "bob"})
	w.ok(err)
	root := w.dial(w.adminInfo(""))
	dump, err := root.DumpModel(ctx, theirs.UUID())
	if err != nil || len(dump["model"]) != 1 {
		t.Errorf("the store of the model has %v (%v)", dump["model"], err)
	}
	w.ok(root.DestroyModel(ctx, theirs.UUID(), entity.Forced()))
	w.ok(theirs.EnsureDead(ctx))
	w.ok(ctrl.RemoveModel(ctx, theirs.UUID()))
	clock.Store(int64(state.CloudTimeout))
	_, err = statetest.ResumeModels(ctx, ctrl, func(context.Context, controller.ModelRow) error { return errors.New("no route to host") })
	w.ok(err)
	for who, want := range map[string]int{"bob": 1, "eve": 0, statetest.Admin: 1} {
		conn := root
		if who != statetest.Admin {
			conn = w.userConn(who, "")
		}
		left, err := conn.ModelLeftovers(ctx)
		if err != nil || len(left) != want || want == 1 && left[0].Of != theirs.UUID() {
			t.Errorf("%s is shown %+v (%v), want %d", who, left, err, want)
		}
	}
}
