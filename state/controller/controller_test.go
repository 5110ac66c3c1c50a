package controller_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/statetest"
)

// Initialize can be run again after an interruption. Here nothing is left to do, and nothing is
// repeated.
func TestControllerInitializationResumes(t *testing.T) {
	store, err := mongo.OpenEmbedded("store", mongo.Options{Embedded: embedded.Options{FS: vfs.NewMem()}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p := controller.InitParams{Name: "test", Cloud: "dummy", Series: "jammy", User: statetest.Admin,
		Password: statetest.Password}
	for range 2 {
		if err := controller.Initialize(t.Context(), store, p, controller.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := controller.Open(t.Context(), store, controller.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	models, err := c.Models(t.Context())
	if err != nil || len(models) != 1 {
		t.Fatalf("models %v, %v", models, err)
	}
	st, err := c.Model(t.Context(), models[0].UUID)
	if err != nil {
		t.Fatal(err)
	}
	if machines, err := st.Machines(t.Context()); err != nil || len(machines) != 1 || !machines[0].IsManager() {
		t.Errorf("machines %v, %v", machines, err)
	}
}

// All databases of a controller are dropped, and no others.
func TestControllerDropsItsDatabases(t *testing.T) {
	w := newWorld(t)
	removing := w.mustAddModel("removing")
	w.beginRemoval(removing)
	w.ok(w.store.Make(w.ctx, "theirs", mongo.Schema{LogSize: 1 << 20}))
	databases := func() []string {
		t.Helper()
		names, err := w.store.Databases(w.ctx)
		w.ok(err)
		return names
	}
	w.ctrl.Close()
	c, err := controller.Attach(w.ctx, w.store, controller.Options{})
	w.ok(err)
	defer c.Close()
	if c.Name() != "test" || c.Cloud() != "dummy" || c.Remote() != (w.store.Embedded() == nil) || c.UUID() == "" {
		t.Errorf("the controller is %s (%s) on %s", c.Name(), c.UUID(), c.Cloud())
	}
	ctx, cancel := context.WithCancelCause(w.ctx)
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if err := c.DropDatabases(ctx); !errors.Is(err, interrupted) || len(databases()) != 5 {
		t.Errorf("it returns %v, and %v are left", err, databases())
	}
	w.ok(c.DropDatabases(w.ctx))
	w.same("the databases", databases(), []string{"theirs"})
	w.ok(c.DropDatabases(w.ctx))
	_, err = controller.Open(w.ctx, w.store, controller.Options{})
	w.refused(err, entity.NotFound, "cannot open the controller: controller not found")
}
