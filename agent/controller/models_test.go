package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// addModel makes a model, which the system's methods use from then on.
func (s *system) addModel(name string) *state.State {
	s.Helper()
	st, err := s.c.ctrl.AddModel(s.ctx, controller.AddModelParams{Name: name, Owner: statetest.Admin, Series: "jammy"})
	s.ok(err)
	s.st = st
	return st
}

// modelGone waits until nothing is left of a model.
func (s *system) modelGone(st *state.State) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	events, err := s.c.ctrl.WatchUnfinishedModels(ctx)
	s.ok(err)
	for range events {
		rows, err := s.c.ctrl.Models(ctx)
		s.ok(err)
		if slices.ContainsFunc(rows, func(r controller.ModelRow) bool { return r.UUID == st.UUID() }) {
			continue
		}
		databases, err := s.c.store.Databases(ctx)
		s.ok(err)
		if slices.Contains(databases, st.UUID()) {
			s.Errorf("the database of model %q is left", st.Name())
		}
		if _, err := os.Stat(filepath.Join(s.c.own, "logs", st.UUID())); !errors.Is(err, os.ErrNotExist) {
			s.Errorf("the log of model %q is left", st.Name())
		}
		if instances := s.instances(st); len(instances) > 0 {
			s.Errorf("instances of model %q are left: %v", st.Name(), instances)
		}
		return
	}
	s.Fatalf("gave up waiting for the end of model %q", st.Name())
}

func (s *system) instances(st *state.State) []provider.Instance {
	s.Helper()
	environ, err := s.cloud.Open(s.ctx, provider.Config{Controller: s.c.conf.Controller, Model: st.UUID()})
	s.ok(err)
	instances, err := environ.Instances(s.ctx)
	s.ok(err)
	return instances
}

// A model with everything in it is destroyed while another with the same names goes on; then
// its name can be used again.
func TestAModelIsDestroyedByItsAgents(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	other := s.st
	s.deploy("mysql", statetest.MySQL, 1)
	one := s.addModel("one")
	for i := range 2 {
		s.deploy("mysql", statetest.MySQL, 1)
		s.deploy("wordpress", statetest.Wordpress, 1)
		s.deploy("logging", statetest.Logging, 0)
		for _, ends := range [][]string{{"wordpress", "mysql"}, {"mysql", "logging"}} {
			_, err := s.st.AddRelation(s.ctx, ends...)
			s.ok(err)
		}
		s.until("idle units", func(m *entity.ModelStatus) bool {
			idle, all := units(m)
			return idle == 2 && all == 2 && len(m.Services[1].Units[0].Subordinates) == 1
		})
		s.ok(s.c.ctrl.DestroyModel(s.ctx, one.UUID(), entity.Destruction{}))
		if i == 1 {
			// The controller stops meanwhile; the next one continues.
			s.stop()
			s.start()
		}
		s.modelGone(one)
		one = s.addModel("one")
	}
	var err error
	s.st, err = s.c.ctrl.Model(s.ctx, other.UUID())
	s.ok(err)
	s.until("the other model", func(m *entity.ModelStatus) bool { idle, _ := units(m); return idle == 1 })
	if n := len(s.instances(other)); n != 1 {
		t.Errorf("the other model has %d instances", n)
	}
}

// With force a model goes even if no agent answers. What its cloud fails to do at first is
// tried again, also by the next controller.
func TestAModelIsDestroyedWithForce(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{Retry: 50 * time.Millisecond})
	one := s.addModel("one")
	s.deploy("mysql", statetest.MySQL, 1)
	s.until("an idle unit", func(m *entity.ModelStatus) bool { idle, _ := units(m); return idle == 1 })
	s.host.Stop()
	s.ok(s.c.ctrl.DestroyModel(s.ctx, one.UUID(), entity.Destruction{}))
	s.until("a dying unit", func(m *entity.ModelStatus) bool {
		return len(m.Services) == 1 && m.Services[0].Units[0].Life == entity.Dying
	})
	release := s.cloud.Stall("Destroy")
	defer release()
	s.ok(s.c.ctrl.DestroyModel(s.ctx, one.UUID(), entity.Destruction{Strength: entity.Force}))
	s.removing(one)
	s.stop()
	s.cloud.Fail("Destroy", 3, errors.New("the cloud is away"))
	release()
	s.start()
	s.modelGone(one)
}

// Filesystems that are to be destroyed keep the rest of a removal waiting, because that would
// release them; those that can't be are named.
func TestFilesystemsOfARemovedModel(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	environ, err := cloud.Open(t.Context(), provider.Config{Controller: "c", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	cloud.Fail("DestroyFilesystem", 1, errors.New("busy"))
	err = destroyFilesystems(t.Context(), environ, []string{"fs-data-0", "fs-data-1"})
	if err == nil || err.Error() != "cannot destroy filesystem fs-data-0: busy" {
		t.Errorf("the error is %v", err)
	}
	if err := destroyFilesystems(t.Context(), environ, []string{"fs-data-0"}); err != nil {
		t.Error(err)
	}
	n := 0
	for _, op := range cloud.Ops() {
		if op.Method == "DestroyFilesystem" {
			n++
		}
	}
	if n != 3 {
		t.Errorf("the cloud was asked %d times to destroy a filesystem, want 3", n)
	}
}

// removing waits until only the removal of a model's remains is left to do.
func (s *system) removing(st *state.State) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	events, err := s.c.ctrl.WatchUnfinishedModels(ctx)
	s.ok(err)
	for range events {
		rows, err := s.c.ctrl.Models(ctx)
		s.ok(err)
		if slices.ContainsFunc(rows, func(r controller.ModelRow) bool { return r.UUID == st.UUID() && r.IsRemoving() }) {
			return
		}
	}
	s.Fatalf("gave up waiting for the removal of model %q", st.Name())
}
