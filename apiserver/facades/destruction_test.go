package facades_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A controller with models refuses to be destroyed, unless they are included. It ends itself
// only if it can.
func TestDestroyController(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	root := w.root()
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
	root := w.root()
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
	w := newWorld(t, func(c *facades.Config) { c.Controller = ctrl })
	w.controller, w.st = ctrl, st
	ctx := t.Context()
	w.addUser("bob")
	w.addUser("eve")
	theirs, err := ctrl.AddModel(ctx, controller.AddModelParams{Name: "theirs", Owner: "bob"})
	w.ok(err)
	root := w.root().client()
	dump, err := root.DumpModel(ctx, theirs.UUID())
	if err != nil || len(dump["model"]) != 1 {
		t.Errorf("the store of the model has %v (%v)", dump["model"], err)
	}
	w.ok(root.DestroyModel(ctx, theirs.UUID(), entity.Forced()))
	w.ok(theirs.EnsureDead(ctx))
	w.ok(ctrl.RemoveModel(ctx, theirs.UUID()))
	// Until it is removed, its owner sees it and waits for that.
	bob := w.user("bob", "").client()
	if info, err := bob.ModelInfo(ctx, theirs.UUID()); err != nil || info.Name != "theirs" || info.Life != "dead" {
		t.Errorf("while it is removed, it is %+v, %v", info, err)
	}
	changes, err := bob.WatchModel(ctx, theirs.UUID())
	w.ok(err)
	<-changes
	clock.Store(int64(state.CloudTimeout))
	_, err = statetest.ResumeModels(ctx, ctrl, func(context.Context, controller.ModelRow) error { return errors.New("no route to host") })
	w.ok(err)
	<-changes
	if info, err := bob.ModelInfo(ctx, theirs.UUID()); err == nil {
		t.Errorf("after it was removed, it is %+v", info)
	}
	for who, want := range map[string]int{"bob": 1, "eve": 0, statetest.Admin: 1} {
		conn := root
		if who != statetest.Admin {
			conn = w.user(who, "").client()
		}
		left, err := conn.ModelLeftovers(ctx)
		if err != nil || len(left) != want || want == 1 && left[0].Of != theirs.UUID() {
			t.Errorf("%s is shown %+v (%v), want %d", who, left, err, want)
		}
	}
}
