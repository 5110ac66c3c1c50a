package controller_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/state/controller"
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
