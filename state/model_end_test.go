package state_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

func (w *world) modelLife(want entity.Life) {
	w.Helper()
	life, err := w.st.Life(w.ctx)
	w.ok(err)
	if life != want {
		w.Errorf("the model is %s, want %s", life, want)
	}
}

// ended acts as the agents and the cloud until the model is empty.
func (w *world) ended() {
	w.Helper()
	for range 20 {
		if w.agents() == 0 {
			break
		}
	}
	machines, err := w.st.Machines(w.ctx)
	w.ok(err)
	for _, m := range machines {
		w.ok(m.EnsureDead(w.ctx))
		m, err := w.st.Machine(w.ctx, m.ID())
		w.ok(err)
		w.ok(m.Remove(w.ctx))
	}
}

func TestDyingModelAcceptsNothingNew(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 0)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	const refusal = `model "default" is no longer alive`
	_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "other", CharmURL: s.CharmURL()})
	w.refused(err, entity.NotAlive, refusal)
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.refused(err, entity.NotAlive, refusal)
	_, err = w.st.AddRelation(w.ctx, "wordpress", "mysql")
	w.refused(err, entity.NotAlive, refusal)
	_, err = w.st.Charms().Add(w.ctx, statetest.CharmArchive(t, statetest.Riak), "")
	w.refused(err, entity.NotAlive, refusal)
	if _, err = s.AddUnits(w.ctx, 1, nil); !errors.Is(err, entity.NotAlive) {
		t.Errorf("a unit was added: %v", err)
	}
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	if status.Model.Life != entity.Dying || status.Model.Status.Status != entity.StatusDestroying {
		t.Errorf("status shows the model as %+v", status.Model)
	}
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	for _, row := range rows {
		if row.Name == state.ControllerModel {
			err := w.ctrl.DestroyModel(w.ctx, row.UUID, entity.Forced())
			w.refused(err, entity.Invalid, `"controller" is a controller; use 'juju destroy-controller' to destroy it`)
		}
	}
	_, err = w.ctrl.AddModel(w.ctx, statetest.NamedModel(state.ControllerModel))
	w.refused(err, entity.Invalid, `cannot add model "controller"`)
}

func TestModelIsDeadOnceItIsEmpty(t *testing.T) {
	w := newWorld(t)
	w.related()
	w.provisioned("0")
	w.provisioned("1")
	c, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: statetest.At("lxd:1")})
	w.ok(err)
	w.refused(w.st.EnsureDead(w.ctx), entity.Invalid, `model "default" is not dying`)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.refused(w.st.EnsureDead(w.ctx), entity.InUse, "model not empty, found 3 machine(s), 3 service(s)")
	w.clean()
	_, err = w.st.Machine(w.ctx, c.ID())
	w.gone("machine", c.ID(), err) // it had no instance
	for _, name := range []string{"mysql/0", "logging/0", "wordpress/0"} {
		if life := w.unit(name).Life(); life != entity.Dying {
			t.Errorf("%s is %s", name, life)
		}
	}
	w.checkCounts()
	w.refused(w.st.EnsureDead(w.ctx), entity.InUse, "model not empty, found 2 machine(s), 3 service(s)")
	w.ended()
	w.empty()
	w.ok(w.st.EnsureDead(w.ctx))
	w.ok(w.st.EnsureDead(w.ctx))
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.modelLife(entity.Dead)
	w.ok(w.ctrl.RemoveModel(w.ctx, w.st.UUID()))
	statetest.CheckResumed(t, w.ctrl)
	w.refused(w.ctrl.DestroyModel(w.ctx, w.st.UUID(), entity.Forced()), entity.NotFound, "not found")
	statetest.AddModel(t, w.ctrl, "default")
}

// Whatever is added meanwhile, nothing is left behind in a Dead model.
func TestAdditionsDuringDestroyModel(t *testing.T) {
	w := newWorld(t)
	w.st.Before(func() { w.deploy("mysql", statetest.MySQL, 1) })
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.modelLife(entity.Dying)
	w.refused(w.st.EnsureDead(w.ctx), entity.InUse, "model not empty, found 1 machine(s), 1 service(s)")
	w.clean() // nothing had started
	w.empty()
	w.ok(w.st.EnsureDead(w.ctx))
}

func TestAddMachineWhileTheModelBecomesDying(t *testing.T) {
	w := newWorld(t)
	w.st.Before(func() { w.ok(w.st.Destroy(w.ctx, entity.Destruction{})) })
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.refused(err, entity.NotAlive, "no longer alive")
	w.clean()
	w.ok(w.st.EnsureDead(w.ctx))
}

func TestForceRemovesModelWithoutAgents(t *testing.T) {
	w, later := forcedWorld(t)
	w.related()
	w.provisioned("0")
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	// No agent is there to act.
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: 20 * time.Second}))
	if due := w.clean(); due <= 0 || due > 20*time.Second {
		t.Errorf("next cleanup due in %v", due)
	}
	w.checkCounts()
	later(20 * time.Second)
	w.clean()
	w.checkCounts()
	machines, err := w.st.Machines(w.ctx)
	w.ok(err)
	if len(machines) != 1 || machines[0].Life() != entity.Dead {
		t.Fatalf("machines %v, want the one that the cloud is to stop", machines)
	}
	w.refused(w.st.EnsureDead(w.ctx), entity.InUse, "model not empty, found 1 machine(s)")
	later(time.Minute)
	w.clean()
	w.ok(w.st.EnsureDead(w.ctx))
	w.ok(w.ctrl.RemoveModel(w.ctx, w.st.UUID()))

	// The cloud does not do its part here either, so a leftover records it.
	away := func(context.Context, controller.ModelRow) error {
		return entity.WithHint(errors.New("no such region"), "rm -r /cloud")
	}
	resume := func(want int, outside func(context.Context, controller.ModelRow) error) []entity.Leftover {
		t.Helper()
		left, err := statetest.ResumeModels(w.ctx, w.ctrl, outside)
		if left != want || err != nil {
			t.Errorf("%d models are left, want %d, %v", left, want, err)
		}
		leftovers, err := w.ctrl.ModelLeftovers(w.ctx, statetest.Admin)
		w.ok(err)
		return leftovers
	}
	if left := resume(1, away); len(left) > 0 {
		t.Errorf("leftovers too early: %v", left)
	}
	later(time.Minute)
	left := resume(0, away)
	if len(left) != 1 || left[0].What != `instances of model "default"` || left[0].Where != "cloud dummy" ||
		left[0].Why != "no such region" || left[0].How != "rm -r /cloud" {
		t.Errorf("leftovers are %+v", left)
	}
	statetest.AddModel(t, w.ctrl, "default")
	if left := resume(0, statetest.Nowhere); len(left) > 0 {
		t.Errorf("leftovers remain: %v", left)
	}
}

// Clients work on a model while two controllers remove it.
func TestModelIsRemovedWhileInUse(t *testing.T) {
	w := newWorld(t)
	other := statetest.ReopenController(t, w.store, controller.Options{})
	defer other.Close()
	st := w.st
	url := statetest.Charm(t, st, statetest.MySQL)
	theirs, err := other.Model(w.ctx, st.UUID())
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
	w.ok(st.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.ok(st.EnsureDead(w.ctx))
	users.Go(func() {
		// The other controller learns of it from its watch of models.
		events, err := other.WatchModels(w.ctx)
		if err != nil {
			t.Error(err)
			return
		}
		for range events {
			if _, err := other.Model(w.ctx, st.UUID()); errors.Is(err, entity.NotFound) {
				break
			}
		}
		if _, err := statetest.ResumeModels(w.ctx, other, statetest.Nowhere); err != nil {
			t.Error(err)
		}
	})
	w.ok(w.ctrl.RemoveModel(w.ctx, st.UUID()))
	statetest.CheckResumed(t, w.ctrl)
	users.Wait()
	statetest.CheckResumed(t, other)
	statetest.AddModel(t, w.ctrl, "default")
}

// An agent that enters a relation before the cleaner has run gets no
// subordinate.
func TestDyingModelCreatesNoSubordinate(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", statetest.Logging, 0)
	r := w.relate("mysql", "logging")
	my := w.started("mysql/0")
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.refused(my.EnterScope(w.ctx, r.ID()), entity.CannotEnter, `cannot enter scope: model "default" is no longer alive`)
}

// What a forced removal has left of a model's storage is the removal's to destroy, and is named
// when it can't; what is to be released is not.
func TestARemovedModelLeavesFilesystems(t *testing.T) {
	for _, release := range []bool{false, true} {
		s := sharedStage(t).scene(t, nil)
		withStorage(s)
		fails := func(id string) {
			s.ok(s.storage(id).SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "busy"}))
		}
		s.ok(s.storage("data/0").Destroy(s.ctx, atLast, release))
		fails("data/0")
		s.cleans()
		s.ok(s.st.Destroy(s.ctx, entity.Destruction{Strength: entity.Force, Storage: true}))
		s.cleans()
		s.later.Add(int64(2 * state.CloudTimeout))
		s.cleans()
		s.ok(s.st.EnsureDead(s.ctx))
		s.ok(s.ctrl.RemoveModel(s.ctx, s.st.UUID()))
		var want []string
		if !release {
			want = []string{"fs-data/0"}
		}
		var seen []string
		busy := func(_ context.Context, row controller.ModelRow) error {
			seen = row.Filesystems
			return errors.New("busy")
		}
		resume := func(outside func(context.Context, controller.ModelRow) error) (what []string) {
			_, err := statetest.ResumeModels(s.ctx, s.ctrl, outside)
			s.ok(err)
			left, err := s.ctrl.ModelLeftovers(s.ctx, statetest.Admin)
			s.ok(err)
			for _, l := range left {
				what = append(what, l.What)
			}
			return what
		}
		resume(busy)
		if !slices.Equal(seen, want) {
			t.Errorf("release %v: the filesystems to destroy are %q, want %q", release, seen, want)
		}
		err := s.ctrl.DestroyModel(s.ctx, s.st.UUID(), entity.Destruction{Release: true})
		if release {
			s.ok(err)
		} else {
			s.refused(err, entity.NotAlive, "the cloud is destroying filesystem fs-data/0")
		}
		s.later.Add(int64(2 * state.CloudTimeout))
		what := `instances of model "default"`
		if !release {
			what += ", and its filesystem fs-data/0,"
		}
		if got := resume(busy); !slices.Equal(got, []string{what}) {
			t.Errorf("release %v: left is %q", release, got)
		}
		s.later.Add(int64(time.Minute)) // what is left is tried again later
		seen = nil
		resume(busy)
		if !slices.Equal(seen, want) {
			t.Errorf("release %v: the filesystems to destroy later are %q, want %q", release, seen, want)
		}
		if left := resume(statetest.Nowhere); len(left) > 0 {
			t.Errorf("release %v: left is %q", release, left)
		}
	}
}

// With the model, subordinates are destroyed before their principals. Otherwise they would see that they are orphans before they
// are destroyed with force, and end with their hooks.
func TestSubordinatesAreDestroyedFirst(t *testing.T) {
	if statetest.Standalone() {
		t.Skip("a standalone store does not tell of writes")
	}
	w := newWorld(t)
	w.addSubordinate()
	writes := statetest.WatchWrites(t, w.store)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: time.Minute}))
	w.clean()
	var turns []string
	for _, line := range writes.Read() {
		if words := strings.Fields(line); words[0] == "update" && words[2] == "services" && !slices.Contains(turns, words[3]) {
			turns = append(turns, words[3])
		}
	}
	if got := strings.Join(turns, " "); got != "logging mysql" {
		t.Errorf("the services are destroyed in the order %s", got)
	}
}
