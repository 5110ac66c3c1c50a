package state_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A store with the first schema opens with everything in it, and keeps working.
func TestOpenFirstSchema(t *testing.T) {
	store := statetest.Embedded(t, nil)
	statetest.ReadSnapshot(t, "testdata/form-1.txt").Restore(t, store)
	w := &world{T: t, ctx: t.Context()}
	var err error
	w.ctrl, err = controller.Open(w.ctx, store, controller.Options{})
	w.ok(err)
	defer w.ctrl.Close()
	_, err = w.ctrl.CheckUser(w.ctx, statetest.Admin, statetest.Password)
	w.ok(err)
	_, err = w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "bob", Password: "Bob's", Creator: statetest.Admin})
	w.ok(err)
	w.ok(w.ctrl.GrantController(w.ctx, "bob", "superuser"))
	w.ok(w.ctrl.RevokeController(w.ctx, statetest.Admin, "superuser"))
	models := map[string]*state.State{}
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	for _, row := range rows {
		models[row.Name], err = w.ctrl.Model(w.ctx, row.UUID)
		w.ok(err)
	}
	if len(models) != 3 {
		t.Fatalf("models are %v", rows)
	}
	w.st = models["default"]
	w.checkCounts()
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	if len(status.Services) != 4 || len(status.Machines) != 5 || !status.Services[1].Exposed ||
		len(status.Services[1].Units) != 2 ||
		status.Services[1].Units[0].Workload.Message != "ready" || status.Services[1].Units[0].OpenedPorts[0].From != 3306 {
		t.Errorf("the status is %+v", status)
	}
	mysql := mustService(w, "mysql")
	config, err := mysql.EffectiveConfig(w.ctx, mysql.CharmURL())
	w.ok(err)
	if config["title"] != "T" || config["a.b"] != "x" {
		t.Errorf("the configuration is %v", config)
	}
	for _, name := range []string{"default", "other"} {
		archive, sum, err := models[name].Charms().Archive(w.ctx, "local:jammy/mysql-0")
		w.ok(err)
		text, err := io.ReadAll(archive)
		w.ok(errors.Join(err, archive.Close()))
		if got := sha256.Sum256(text); hex.EncodeToString(got[:]) != sum {
			t.Errorf("the archive of model %s has changed", name)
		}
	}
	// Interrupted work resumes: riak is Dying, and one model was never completed.
	_, _, err = w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	w.end("riak/0", 0)
	_, err = w.st.Service(w.ctx, "riak")
	w.gone("service", "riak", err)
	if left, err := statetest.ResumeModels(w.ctx, w.ctrl, statetest.Nowhere); left != 0 || err != nil {
		t.Errorf("%d models are left half done: %v", left, err)
	}
	half, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "half", Owner: statetest.Admin, Series: "jammy"})
	w.ok(err)
	if half.UUID() == "deadbeef-0000-4000-8000-00000000beef" {
		t.Error("the abandoned model came back")
	}
	_, err = mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.ok(w.unit("wordpress/0").Destroy(w.ctx, entity.Destruction{}))
	w.checkCounts()
}
