package apiserver

import (
	"context"
	"errors"
	"slices"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
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
	err = facadestest.Within(bob.call("ModelManager", 10, "DestroyModels", destroy))
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
	if _, err := root.ModelInfo(ctx, w.st.UUID()); !errors.Is(err, entity.NotFound) {
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
		for facadestest.Receive(t, events); life() != step.life; facadestest.Receive(t, events) {
		}
		if late != nil {
			facadestest.Receive(t, late)
		} else if step.life == "dead" {
			late, err = root.WatchModel(ctx, w.st.UUID())
			w.ok(err)
			facadestest.Receive(t, late)
		}
	}
	cancel()
	closes(t, events)
	closes(t, late)
	if _, err := root.WatchModel(t.Context(), w.st.UUID()); !errors.Is(err, entity.NotFound) {
		t.Errorf("a model that is gone can be watched: %v", err)
	}
}
